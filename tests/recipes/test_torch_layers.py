"""The layers of torch.nn: whole state dicts of stock torch, bit for bit and in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from birthmark.errors import UsageError
from birthmark.recipes import torch_layers as layers
from birthmark.recipes.torch_steps import Layer, clones, cpu_places, module, replay
from birthmark.recipes.torch_transformer import LAYERS, decoder_layer, encoder_layer, transformer
from birthmark.samplers.cpu_stream import CpuStream

CASES: dict[str, tuple[Callable[[], nn.Module], Layer]] = {
    "Linear": (lambda: nn.Linear(7, 5), layers.linear(7, 5)),
    "Linear without bias": (lambda: nn.Linear(7, 3, bias=False), layers.linear(7, 3, bias=False)),
    "Bilinear": (lambda: nn.Bilinear(3, 4, 5), layers.bilinear(3, 4, 5)),
    "Conv1d": (lambda: nn.Conv1d(3, 4, 5), layers.convolution(3, 4, (5,))),
    "Conv2d": (lambda: nn.Conv2d(4, 8, 3, groups=2), layers.convolution(4, 8, (3, 3), groups=2)),
    "Conv3d": (
        lambda: nn.Conv3d(2, 3, (1, 2, 3), bias=False),
        layers.convolution(2, 3, (1, 2, 3), bias=False),
    ),
    "ConvTranspose2d": (
        lambda: nn.ConvTranspose2d(4, 8, 3, groups=2),
        layers.convolution(4, 8, (3, 3), groups=2, transposed=True),
    ),
    "Embedding": (lambda: nn.Embedding(11, 6, padding_idx=-1), layers.embedding(11, 6, padding=-1)),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(11, 6), LAYERS["EmbeddingBag"](11, 6)),
    "RNN": (lambda: nn.RNN(5, 6), LAYERS["RNN"](5, 6)),
    "LSTM": (
        lambda: nn.LSTM(5, 6, 2, bidirectional=True, proj_size=3),
        LAYERS["LSTM"](5, 6, layers=2, bidirectional=True, projection=3),
    ),
    "GRU": (lambda: nn.GRU(5, 6, 2, bias=False), LAYERS["GRU"](5, 6, layers=2, bias=False)),
    "LSTMCell": (lambda: nn.LSTMCell(5, 6), LAYERS["LSTMCell"](5, 6)),
    "GRUCell": (lambda: nn.GRUCell(5, 6, bias=False), LAYERS["GRUCell"](5, 6, bias=False)),
    "attention": (
        lambda: nn.MultiheadAttention(8, 2, add_bias_kv=True),
        layers.attention(8, extra_bias=True),
    ),
    "attention of three": (
        lambda: nn.MultiheadAttention(8, 2, kdim=4, vdim=6, bias=False),
        layers.attention(8, keys=4, values=6, bias=False),
    ),
    "BatchNorm": (lambda: nn.BatchNorm2d(4), layers.norm(4, running=True)),
    "LayerNorm": (lambda: nn.LayerNorm([3, 4]), layers.norm(3, 4)),
    "RMSNorm": (lambda: nn.RMSNorm(4), layers.norm(4, bias=False)),
    "PReLU": (lambda: nn.PReLU(), layers.prelu()),
    "encoder of clones": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 3, enable_nested_tensor=False),
        module({"layers": clones(encoder_layer(8, 16), 3)}),
    ),
    "decoder": (lambda: nn.TransformerDecoderLayer(8, 2, 16), decoder_layer(8, 16)),
    "Transformer": (
        lambda: nn.Transformer(8, 2, 2, 2, 16, batch_first=True),
        transformer(8, 2, 2, 16),
    ),
}


def state(build: Callable[[], nn.Module], seed: int) -> dict[str, np.ndarray[Any, Any]]:
    torch.manual_seed(seed)
    return {name: tensor.numpy() for name, tensor in build().state_dict().items()}


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return list(one) == list(other) and all(
        one[name].shape == other[name].shape and np.array_equal(one[name], other[name]) for name in one
    )


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("case", CASES)
def test_the_whole_state_equals_torch(case: str) -> None:
    """Names, shapes, values and the generator's state afterwards are torch's; another seed's are not."""
    build, layer = CASES[case]
    truth = state(build, 7)
    after = torch.get_rng_state().numpy().tobytes()
    stream = CpuStream(7)

    assert same(replay(layer, stream), truth)
    assert stream.state_bytes() == after
    if stream.index:
        assert not same(replay(layer, CpuStream(8)), truth)
        assert not same(replay(layer, CpuStream(7, index=1)), truth)


def test_a_model_of_many_parts_by_random_access() -> None:
    """In a model with small and large draws each element of each tensor is reached on its own."""

    class Model(nn.Module):  # type: ignore[misc]  # torch may be untyped
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(3, 5)
            self.body = nn.Sequential(nn.Conv1d(4, 6, 3), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(9, 2))
            self.memory = nn.GRU(3, 4)
            self.head = nn.Embedding(2, 3)

    layer = module(
        {
            "table": layers.embedding(3, 5),
            "body": module(
                {
                    "0": layers.convolution(4, 6, (3,)),
                    "1": layers.norm(6, running=True),
                    "3": layers.linear(9, 2),
                }
            ),
            "memory": layers.recurrent("GRU", 3, 4),
            "head": layers.embedding(2, 3),
        }
    )
    truth = state(Model, 3)

    places = cpu_places(layer)

    assert [name for name, _ in places] == [name for name in truth if "body.1" not in name]
    for name, draw in places:
        flat = truth[name].ravel()
        backwards = np.arange(draw.size)[::-1]
        assert np.array_equal(draw.values(3, backwards), flat[backwards])
    assert same(replay(layer, CpuStream(3)), truth)


def test_older_batch_norms_drew_their_weight() -> None:
    """Up to PyTorch 1.1 the weight was uniform, which moves every later draw."""
    old = module({"0": layers.norm(4, running=True, drawn=True), "1": layers.linear(3, 2)})
    new = module({"0": layers.norm(4, running=True), "1": layers.linear(3, 2)})

    assert [draw.index for _, draw in cpu_places(old)] == [0, 4, 10]
    assert [draw.index for _, draw in cpu_places(new)] == [0, 6]


@pytest.mark.parametrize(
    "build",
    [
        lambda: layers.recurrent("MLP", 3, 4),
        lambda: layers.recurrent("GRU", 3, 4, projection=2),
        lambda: layers.recurrent_cell("QRNN", 3, 4),
        lambda: layers.embedding(3, 4, padding=3),
        lambda: layers.sparse("w", (3, 4), 1.5),
        lambda: clones(layers.linear(2, 2), 0),
    ],
)
def test_layers_that_cannot_be_are_refused(build: Callable[[], Any]) -> None:
    """Each with a message."""
    with pytest.raises(UsageError, match=r"expected|only LSTM"):
        build()
