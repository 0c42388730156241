"""A running CPU generator against stock torch: programs of many draws, continued on either side."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import UnknownName, UsageError
from birthmark.samplers.cpu_call import CpuCall
from birthmark.samplers.cpu_draw import chain
from birthmark.samplers.cpu_stream import CpuStream

FLOATS = ("float32", "float64", "bfloat16", "float16")

steps = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *("normal", "strided", "uniform", "exponential", "log_normal", "random", "bernoulli"),
                *("each", "permutation", "truncated", "restore"),
            ]
        ),
        st.sampled_from([0, 1, 2, 3, 15, 16, 17, 33, 623, 625]),
        st.sampled_from(FLOATS),
    ),
    max_size=9,
)


def both(stream: CpuStream, step: str, n: int, dtype: str) -> tuple[Any, torch.Tensor]:
    """What the stream and torch make of one step."""
    empty = torch.empty(n, dtype=getattr(torch, dtype))
    if step == "normal":
        return stream.normal(n, 0.1, 0.02, dtype), empty.normal_(0.1, 0.02)
    if step == "strided":
        wide = torch.empty(n, 2, dtype=getattr(torch, dtype))[:, 0].normal_(0.1, 0.02)
        return stream.normal(n, 0.1, 0.02, dtype, contiguous=n < 2), wide
    if step == "uniform":
        return stream.uniform(n, -0.1, 0.3, dtype), empty.uniform_(-0.1, 0.3)
    if step == "exponential":
        return stream.exponential(n, 1.7, dtype), empty.exponential_(1.7)
    if step == "log_normal":
        return stream.log_normal(n, 0.1, 0.2, dtype), empty.log_normal_(0.1, 0.2)
    if step == "random":
        return stream.random(n, -3, 1 << 40), torch.randint(-3, 1 << 40, (n,))
    if step == "bernoulli":
        return stream.bernoulli(n, 0.3, dtype), empty.bernoulli_(0.3)
    if step == "each":
        chances = np.linspace(0.0, 1.0, n).astype(np.float64 if dtype == "float64" else np.float32)
        return stream.bernoulli(n, chances), torch.bernoulli(torch.from_numpy(chances))
    if step == "permutation":
        return stream.permutation(n), torch.randperm(n)
    return (
        stream.truncated_normal(n, 0.0, 1.0, -2.0, 2.0, dtype),
        torch.nn.init.trunc_normal_(empty, 0.0, 1.0, -2.0, 2.0),
    )


@settings(deadline=None, max_examples=80)
@given(seed=st.integers(-(2**63), 2**64 - 1), program=steps, index=st.integers(0, 700))
def test_any_program_equals_torch(seed: int, program: list[tuple[str, int, str]], index: int) -> None:
    """Values and state bytes agree after each draw, and either side can go on from the other's bytes."""
    torch.manual_seed(seed)
    torch.rand(index)
    stream = CpuStream(seed, index=index)
    for step, n, dtype in program:
        if step == "restore":
            stream = CpuStream.from_state_bytes(torch.get_rng_state().numpy().tobytes())
            torch.set_rng_state(torch.frombuffer(bytearray(stream.state_bytes()), dtype=torch.uint8))
            continue
        mine, truth = both(stream, step, n, dtype)
        wide = truth.double() if truth.is_floating_point() else truth
        assert np.array_equal(mine, wide.numpy())
        assert stream.state_bytes() == torch.get_rng_state().numpy().tobytes()


def test_a_large_draw_of_every_dtype() -> None:
    """A million values and what follows, normals and uniforms."""
    for dtype in FLOATS:
        torch.manual_seed(1)
        stream = CpuStream(1)
        tensor = torch.empty(1_000_003, dtype=getattr(torch, dtype))
        assert np.array_equal(stream.normal(1_000_003, 0.1, 0.02, dtype), tensor.normal_(0.1, 0.02).double())
        assert np.array_equal(
            stream.uniform(1_000_003, -0.1, 0.3, dtype), tensor.uniform_(-0.1, 0.3).double()
        )
        assert stream.state_bytes() == torch.get_rng_state().numpy().tobytes()


def test_transposed_parameters_are_filled_in_storage_order_pair_by_pair() -> None:
    """A transposed matrix takes the scalar path whatever its size."""
    torch.manual_seed(1)
    transposed = torch.empty(40, 30).t().normal_()

    values = CpuStream(1).normal(1_200, contiguous=False)

    assert np.array_equal(values.reshape(40, 30).T, transposed.numpy())
    assert not np.array_equal(CpuStream(1).normal(1_200).reshape(40, 30).T, transposed.numpy())


def test_a_chain_of_calls_has_the_places_of_a_stream() -> None:
    """Draws chained one after the other give, element by element, what the stream gives."""
    calls = [
        CpuCall("normal", (0.0, 1.0), 3),
        CpuCall("uniform", (0.0, 1.0), 700),
        CpuCall("normal", (0.0, 1.0), 50),
        CpuCall("log-normal", (0.0, 1.0), 2),
        CpuCall("permutation", (), 20, "int64"),
        CpuCall("normal", (0.5, 1.0), 4, "float64"),
    ]
    stream = CpuStream(6)

    for draw in chain(calls):
        assert stream.index == draw.index
        every = np.arange(draw.size)[::-1]
        assert np.array_equal(draw.values(6, every)[::-1], stream.run(draw.call))
    with pytest.raises(UsageError, match="depends on the seed"):
        chain([CpuCall("truncated-normal", (0.0, 1.0, -2.0, 2.0), 3), calls[0]])


def test_wrong_seeds_places_and_arithmetics_are_seen() -> None:
    """The next seed and the next word agree nowhere, the scalar kernel not everywhere."""
    truth = CpuStream(1, index=5).normal(1_000)

    assert not np.any(CpuStream(2, index=5).normal(1_000) == truth)
    assert not np.any(CpuStream(1, index=6).normal(1_000) == truth)
    assert 0.5 < np.mean(CpuStream(1, index=5, arithmetic="cpu-scalar").normal(1_000) == truth) < 0.95
    assert np.array_equal(CpuStream(1 + 2**32, index=5).normal(1_000), truth)


def test_bad_calls_are_refused() -> None:
    """Versions, arithmetics, bounds and probabilities that cannot be."""
    with pytest.raises(UsageError, match="version"):
        CpuStream(1, version="latest")
    with pytest.raises(UnknownName, match="cpu-fussed"):
        CpuStream(1, arithmetic="cpu-fussed")
    with pytest.raises(UsageError, match="one bound"):
        CpuStream(1).random(3, 5)
    with pytest.raises(UsageError, match="probabilities of shape"):
        CpuStream(1).bernoulli(3, np.zeros(2))
    with pytest.raises(UsageError, match="-1 elements"):
        CpuStream(1).normal(-1)


_SCALAR = """
import sys, torch
torch.manual_seed(1)
dtypes = (torch.float32, torch.bfloat16, torch.float64)
out = [torch.empty(100_001, dtype=d).normal_(0.1, 0.02) for d in dtypes]
out += [torch.empty(10_001, dtype=d).uniform_(-0.1, 0.3) for d in (torch.float32, torch.float16)]
sys.stdout.buffer.write(b"".join(t.double().numpy().tobytes() for t in out))
sys.stdout.buffer.write(torch.get_rng_state().numpy().tobytes())
"""


@pytest.mark.slow
def test_the_scalar_kernel_of_stock_torch() -> None:
    """With ATEN_CPU_CAPABILITY=default the installed torch draws as "cpu-scalar"."""
    environment = os.environ | {"ATEN_CPU_CAPABILITY": "default"}
    ran = subprocess.run([sys.executable, "-c", _SCALAR], env=environment, capture_output=True, check=True)
    stream = CpuStream(1, arithmetic="cpu-scalar")
    mine = [stream.normal(100_001, 0.1, 0.02, dtype) for dtype in ("float32", "bfloat16", "float64")]
    mine += [stream.uniform(10_001, -0.1, 0.3, dtype) for dtype in ("float32", "float16")]

    assert (
        b"".join(values.astype(np.float64).tobytes() for values in mine) + stream.state_bytes() == ran.stdout
    )
