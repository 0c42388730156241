"""Steps of a construction: redraws, copies, what follows a draw, and either kind of generator."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from birthmark.errors import UsageError
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.recipes import torch_init, torch_layers
from birthmark.recipes.torch_steps import Copied, Filled, Random, Scaled, cpu_places, replay
from birthmark.samplers.cpu_stream import CpuStream
from birthmark.samplers.cuda_stream import CudaStream


def test_a_model_that_draws_again_equals_torch() -> None:
    """Default draws that an initialiser overwrites move the generator; the last draw is what stays."""
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 4))
    nn.init.trunc_normal_(model[0].weight, std=0.02)
    nn.init.orthogonal_(model[1].weight, 2.0)
    nn.init.normal_(model[1].bias, 0.5, 0.1)
    with torch.no_grad():
        model[1].bias.mul_(0.3)
    after = torch.get_rng_state().numpy().tobytes()
    stream = CpuStream(5)
    built = [*torch_layers.linear(6, 8).under("0").steps, *torch_layers.linear(8, 4).under("1").steps]
    bias = Random("1.bias", torch_init.normal((4,), 0.5, 0.1), (Scaled(0.3),))

    made = replay(
        [
            *built,
            Random("0.weight", torch_init.truncated_normal((8, 6), std=0.02)),
            torch_layers.orthogonal("1.weight", (4, 8), 2.0),
            bias,
        ],
        stream,
    )

    for name in ("0.weight", "0.bias", "1.bias"):
        assert np.array_equal(made[name], model.state_dict()[name].numpy())
    assert np.allclose(made["1.weight"], model[1].weight.detach().numpy(), rtol=0, atol=1e-6)
    assert stream.state_bytes() == after


def test_sparse_matrices_equal_torch() -> None:
    """The zeros of each column come from one permutation of the rows, the rest from the draw."""
    torch.manual_seed(4)
    tensor = nn.init.sparse_(torch.empty(10, 7), 0.31)
    after = torch.get_rng_state().numpy().tobytes()
    step = torch_layers.sparse("w", (10, 7), 0.31)
    stream = CpuStream(4)

    assert np.array_equal(replay([step], stream)["w"], tensor.numpy())
    assert stream.state_bytes() == after
    assert len(cpu_places([step])) == 8


def test_a_gpu_draws_the_same_steps_from_its_own_stream() -> None:
    """Each tensor is what the GPU's sampler gives at its offset; permutations still come from the CPU."""
    layer = torch_layers.linear(600, 700)
    stream = CudaStream(42, threads=221_184)

    made = replay(layer, stream)

    draws = [step.draw for step in layer.steps if isinstance(step, Random)]
    offset = 0
    for name, draw in zip(layer.names, draws, strict=True):
        hypothesis = Hypothesis(Draw("uniform", draw.parameters, draw.shape), 221_184, offset=offset)
        assert np.array_equal(made[name].ravel(), hypothesis.values(42, np.arange(draw.size)))
        offset = hypothesis.end_offset
    assert not np.array_equal(made["weight"], replay(layer, CpuStream(42))["weight"])

    sparse = torch_layers.sparse("w", (6, 3), 0.5)
    host = CpuStream(42)
    mixed = replay([sparse], CudaStream(42, threads=221_184), host)["w"]
    assert host.index == 15
    assert np.all((mixed == 0).sum(axis=0) == 3)


def test_copies_and_fills() -> None:
    """A clone keeps its own memory; copies of nothing are refused."""
    made = replay([Filled("a", (2,), 3.0), Copied("b", "a"), Filled("a", (2,))], CpuStream(1))

    assert made["a"].tolist() == [0.0, 0.0]
    assert made["b"].tolist() == [3.0, 3.0]
    with pytest.raises(UsageError, match="not made before"):
        replay([Copied("b", "a")], CpuStream(1))
    with pytest.raises(UsageError, match="depends on the seed"):
        cpu_places([Random("a", torch_init.truncated_normal((3,))), Random("b", torch_init.normal((3,)))])
