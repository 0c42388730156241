"""CPU normals by the C library: against the published scalar values, and against each other."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.errors import UsageError
from birthmark.generators.mt19937 import words
from birthmark.samplers.cpu_block import BlockNormal, library_normal
from birthmark.samplers.cpu_call import CpuCall
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.cpu_normal import normal, places

#: torch 2.13.0 CPU without AVX2, seed 42, `normal_()` on 32 floats: the first 8.
PUBLISHED = [
    "0x1.ed4a4ep+0", "0x1.7cbea8p+0", "0x1.cd2acep-1", "-0x1.0d81bap+1", "0x1.5b59aap-1", "-0x1.3c0b24p+0",
    "-0x1.60cf0ep-5", "-0x1.9acb74p+0",
]  # fmt: skip


def test_published_values() -> None:
    """The first 8 values of seed 42 are the published ones, and not those of the AVX2 kernel."""
    scalar = CpuDraw("normal", (0.0, 1.0), 32, arithmetic="cpu-scalar").values(42, np.arange(8))
    vector = CpuDraw("normal", (0.0, 1.0), 32).values(42, np.arange(8))

    assert scalar.tolist() == [float.fromhex(text) for text in PUBLISHED]
    assert np.any(scalar != vector)
    assert np.allclose(scalar, vector, rtol=0, atol=2e-6)


def test_the_two_kernels_differ_in_last_bits_only() -> None:
    """About a fifth of the values of the two float32 kernels differ, none by more than 3e-6."""
    radius, angle, sine = places(16_000, np.arange(16_000))
    stream = words(1, 0, 16_000)
    one = library_normal(stream[radius], stream[angle], sine, 0.0, 1.0, fused=True)
    other = normal(stream[radius], stream[angle], sine, 0.0, 1.0)

    assert 0.05 < np.mean(one != other) < 0.5
    assert np.abs(one - other).max() < 3e-6


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_narrow_draws_are_another_distribution(dtype: str) -> None:
    """Up to 2.11 values lie on a small set, and their tails end early."""
    old = CpuDraw("normal", (0.0, 1.0), 65_536, dtype=dtype, version="2.11")
    values = old.values(3, np.arange(65_536))
    today = CpuDraw("normal", (0.0, 1.0), 65_536, dtype=dtype).values(3, np.arange(65_536))

    assert np.mean(values == today) < 0.05
    assert np.abs(values).max() < (3.5 if dtype == "bfloat16" else 4.0) < np.abs(today).max() + 0.5
    assert len(np.unique(values)) < len(np.unique(today))


def test_the_tail_of_narrow_draws_follows_a_filled_tensor() -> None:
    """Up to 2.11 a ragged 16-bit draw takes the words of a float32 one, from 2.12 on fewer."""
    taken = [
        CpuDraw("normal", (0.0, 1.0), 100, dtype="bfloat16", version=v).consumed for v in ("2.11", "2.12")
    ]

    assert taken == [116, 112]


def test_a_negative_deviation_is_refused() -> None:
    """As torch does."""
    with pytest.raises(UsageError, match="deviation -1"):
        BlockNormal(CpuCall("normal", (0.0, -1.0), 16))
