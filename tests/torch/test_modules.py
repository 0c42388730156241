"""Modules built on a virtual GPU hold what hypotheses with running offsets predict, tensor by tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from birthmark.devices.catalogue import find
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.torch import virtual_device

SEED, GPU = 11, "RTX 3060"
ROOT_3 = math.sqrt(3.0)


def default_bound(fan_in: int) -> float:
    """`kaiming_uniform_` with a = sqrt(5), as torch computes it."""
    return ROOT_3 * (math.sqrt(2.0 / (1 + math.sqrt(5) ** 2)) / math.sqrt(fan_in))


class Prediction:
    """Draws one after the other on one GPU."""

    def __init__(self, gpu: str = GPU, seed: int = SEED) -> None:
        self.threads, self.seed, self.offset = find(gpu).threads, seed, 0

    def __call__(
        self, distribution: Any, parameters: tuple[float, ...], shape: tuple[int, ...], **more: Any
    ) -> Any:
        hypothesis = Hypothesis(
            Draw(distribution, parameters, shape, **more), self.threads, offset=self.offset
        )
        self.offset = hypothesis.end_offset_of(self.seed)
        return hypothesis.tensor(self.seed)


def built(make: Callable[[], nn.Module], gpu: str = GPU) -> list[np.ndarray]:
    """The parameters of a module made on a GPU, in order."""
    with virtual_device(gpu):
        torch.manual_seed(SEED)
        module = make()
        return [parameter.detach().float().cpu().numpy() for parameter in module.parameters()]


def test_layers_with_default_initialisers() -> None:
    """Linear, convolution, embedding with a padding row, and a layer without bias, in constructor order."""

    def make() -> nn.Module:
        return nn.Sequential(
            nn.Embedding(1000, 96, padding_idx=3, device="cuda"),
            nn.Linear(96, 512, device="cuda"),
            nn.Conv2d(16, 64, 5, device="cuda"),
            nn.LayerNorm(96, device="cuda"),
            nn.Linear(512, 700, bias=False, device="cuda"),
        )

    predict = Prediction()
    embedding = predict("normal", (0.0, 1.0), (1000, 96))
    embedding[3] = 0
    expected = [
        embedding,
        predict("uniform", (-default_bound(96), default_bound(96)), (512, 96)),
        predict("uniform", (-1 / math.sqrt(96), 1 / math.sqrt(96)), (512,)),
        predict("uniform", (-default_bound(400), default_bound(400)), (64, 16, 5, 5)),
        predict("uniform", (-1 / math.sqrt(400), 1 / math.sqrt(400)), (64,)),
        np.ones(96, np.float32),
        np.zeros(96, np.float32),
        predict("uniform", (-default_bound(512), default_bound(512)), (700, 512)),
    ]
    found = built(make)

    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    # Larger than one wave, the embedding and the last matrix tell GPUs apart; the last by its offset as well.
    other = built(make, "T4")
    differs = [not np.array_equal(one, another) for one, another in zip(found, other, strict=True)]
    assert differs == [True, True, False, False, False, False, False, True]


INITIALISERS: dict[str, tuple[Callable[[torch.Tensor], object], str, tuple[float, ...]]] = {
    "normal_": (lambda w: nn.init.normal_(w, 0.1, 0.02), "normal", (0.1, 0.02)),
    "uniform_": (lambda w: nn.init.uniform_(w, -0.3, 0.2), "uniform", (-0.3, 0.2)),
    "kaiming_normal_": (
        lambda w: nn.init.kaiming_normal_(w, nonlinearity="relu"),
        "normal",
        (0.0, math.sqrt(2.0) / math.sqrt(300)),
    ),
    "kaiming_uniform_": (
        lambda w: nn.init.kaiming_uniform_(w, mode="fan_out", nonlinearity="relu"),
        "uniform",
        (-ROOT_3 * (math.sqrt(2.0) / math.sqrt(200)), ROOT_3 * (math.sqrt(2.0) / math.sqrt(200))),
    ),
    "xavier_normal_": (nn.init.xavier_normal_, "normal", (0.0, math.sqrt(2.0 / 500))),
    "xavier_uniform_": (
        lambda w: nn.init.xavier_uniform_(w, gain=2.0),
        "uniform",
        (-ROOT_3 * (2.0 * math.sqrt(2.0 / 500)), ROOT_3 * (2.0 * math.sqrt(2.0 / 500))),
    ),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", INITIALISERS)
def test_initialisers(name: str, dtype: str) -> None:
    """Drawn where no function mode sees it; a transposed parameter is filled in the order of memory."""
    call, distribution, parameters = INITIALISERS[name]
    with virtual_device(GPU):
        torch.manual_seed(SEED)
        weight = torch.empty(200, 300, dtype=getattr(torch, dtype), device="cuda")
        call(weight)
        transposed = torch.empty(300, 200, dtype=getattr(torch, dtype), device="cuda").t()
        call(transposed)
        found = [weight.float().cpu().numpy(), transposed.t().float().cpu().numpy()]
    predict = Prediction()
    expected = [
        predict(distribution, parameters, (200, 300), dtype=dtype),
        predict(distribution, parameters, (300, 200), dtype=dtype),
    ]

    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def test_orthogonal_initialisation_starts_from_the_draw() -> None:
    """The factorisation is the CPU's; its first row is the draw's, but for its length."""
    with virtual_device(GPU):
        torch.manual_seed(SEED)
        found = nn.init.orthogonal_(torch.empty(8, 40, device="cuda")).cpu().numpy()
        offset = torch.cuda.default_generators[0].get_offset()
    drawn = Prediction()("normal", (0.0, 1.0), (8, 40))[0]

    assert offset == 4
    assert np.allclose(found[0], drawn / np.linalg.norm(drawn), atol=1e-6)


def test_built_on_the_cpu_and_moved() -> None:
    """Then its numbers are the CPU's, also for `to_empty` and a constructor under no device."""
    torch.manual_seed(SEED)
    expected = nn.Linear(30, 40)
    with virtual_device(GPU):
        torch.manual_seed(SEED)
        moved = nn.Linear(30, 40).to("cuda")
        assert moved.weight.is_cuda
        meta = nn.Linear(30, 40, device="meta").to_empty(device="cuda")
        torch.manual_seed(SEED)
        meta.reset_parameters()
        assert meta.weight.is_cuda
    predicted = Prediction()("uniform", (-default_bound(30), default_bound(30)), (40, 30))

    assert torch.equal(moved.weight, expected.weight)
    assert np.array_equal(meta.weight.detach().numpy(), predicted)


def test_a_transformer_layer_draws_in_order() -> None:
    """Every parameter of a library module; the same module on another GPU differs only where it may."""

    def make() -> nn.Module:
        return nn.TransformerEncoderLayer(64, 4, dim_feedforward=128, device="cuda")

    found, other = built(make), built(make, "H100 SXM")
    predict = Prediction()
    bound = math.sqrt(6.0 / (3 * 64 + 64))
    projection = ROOT_3 * (1.0 * math.sqrt(2.0 / float(192 + 64)))
    predict("uniform", (-default_bound(64), default_bound(64)), (64, 64))  # out_proj, as Linear's constructor
    predict("uniform", (-1 / 8, 1 / 8), (64,))
    attention = predict("uniform", (-projection, projection), (192, 64))

    assert abs(projection - bound) < 1e-12
    assert np.array_equal(found[0], attention)
    assert all(np.array_equal(one, another) for one, another in zip(found, other, strict=True))
