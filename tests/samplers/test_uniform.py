"""Words to uniforms: the vendors' formulas in exact arithmetic, and published values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.samplers.arithmetic import AMD, PASCAL, VOLTA
from birthmark.samplers.uniform import unit, unit64

WORD = st.integers(0, 2**32 - 1)


def single(word: int, code: np.uint32) -> float:
    return float(unit(np.uint32(word), code))


def double(w0: int, w1: int, code: np.uint32) -> float:
    return float(unit64(np.uint32(w0), np.uint32(w1), code))


@settings(max_examples=300, deadline=None)
@given(WORD)
def test_formula(word: int) -> None:
    """x * 2^-32 plus half a step or a whole step, x rounded to float32, the sum rounded once."""
    rounded = Fraction(float(np.float32(np.uint32(word))))
    for code, step in ((VOLTA, Fraction(1, 2**33)), (PASCAL, Fraction(1, 2**33)), (AMD, Fraction(1, 2**32))):
        # A rational with less than 64 bits passes through float64 without meeting a tie of float32.
        assert single(word, code) == float(np.float32(float(rounded / 2**32 + step)))


def test_ends_of_the_range() -> None:
    """The smallest uniform is half a step, or a whole one on AMD; the 128 largest words give exactly 1."""
    assert (single(0, VOLTA), single(0, AMD)) == (2**-33, 2**-32)
    assert single(2**32 - 128, VOLTA) == single(2**32 - 1, VOLTA) == single(2**32 - 1, AMD) == 1.0
    assert single(2**32 - 129, VOLTA) < 1.0


def test_vendors_agree_above_an_eighth_of_a_sixteenth() -> None:
    """From 2^25 on the words' uniforms are equal on both vendors, below they differ."""
    high = np.random.default_rng(1).integers(2**25, 2**32, 2000)
    low = np.random.default_rng(2).integers(0, 2**20, 2000)
    assert all(single(word, VOLTA) == single(word, AMD) for word in high.tolist())
    assert sum(single(word, VOLTA) != single(word, AMD) for word in low.tolist()) > 1900


@settings(max_examples=300, deadline=None)
@given(WORD, WORD)
def test_double_formula(w0: int, w1: int) -> None:
    """NVIDIA joins the words by exclusive or, AMD by masking; half or whole steps are added."""
    nvidia, amd = w0 ^ (w1 << 21), w0 | (w1 >> 11) << 32
    assert double(w0, w1, VOLTA) == float(Fraction(nvidia, 2**53) + Fraction(1, 2**54))
    assert double(w0, w1, AMD) == float(Fraction(amd, 2**53) + Fraction(1, 2**53))


@pytest.mark.parametrize(
    ("word", "printed"),
    [(0x9CEAF053, "0.61295986"), (0x02933769, "0.01005884"), (0x65FE70A6, "0.39841369")],
)
def test_printed_values(word: int, printed: str) -> None:
    """The first words of seed 42 give what torch.rand prints on any GPU, as quoted in many posts."""
    assert f"{single(word, VOLTA):.8f}" == printed


@pytest.mark.parametrize(
    ("word", "value"),
    [
        (0x2090B348, "0x1.04859ap-3"),
        (0xDA7CF0AB, "0x1.b4f9e2p-1"),
        (0x4401906F, "0x1.100642p-2"),
        (0xCBCA470E, "0x1.97948ep-1"),
        (0x40234F12, "0x1.008d3cp-2"),
    ],
)
def test_worked_values(word: int, value: str) -> None:
    """Words of seed 1234 give the worked uniforms to the last bit."""
    assert single(word, VOLTA) == float.fromhex(value)
