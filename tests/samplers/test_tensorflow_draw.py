"""TensorFlow's operators: values that 2.21.0 gave, random access, 16 bits, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.answers import answers
from birthmark.numerics.dtypes import round_to
from birthmark.samplers.tensorflow_draw import Distribution, Stream, TensorflowDraw, seeded, stateless

FILE = ("birthmark.samplers", "neighbour_answers.txt")
KINDS: list[Distribution] = ["normal", "uniform", "truncated-normal"]


@pytest.mark.parametrize("kind", KINDS)
def test_values_that_tensorflow_gave(kind: Distribution) -> None:
    """Stateful and stateless operators come out bit for bit (with glibc's functions), other seeds do not."""
    draw = TensorflowDraw(kind, 10_007, (0.0, 1.0))
    for what, stream in ((f"tensorflow-{kind}", seeded), (f"stateless-{kind}", stateless)):
        for answer in answers(*FILE, what):
            first, second = answer.numbers
            found = draw.values(stream(first, second), np.arange(len(answer.floats)))
            assert np.allclose(found, answer.floats, rtol=3e-7, atol=1e-7)
            assert np.sum(found == np.array(answer.floats)) >= len(answer.floats) - 1
            other = draw.values(stream(first, second + 1), np.arange(len(answer.floats)))
            assert not np.any(other == np.array(answer.floats))


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(KINDS), st.lists(st.integers(0, 499), max_size=8), st.integers(0, 10**6))
def test_random_access(kind: Distribution, chosen: list[int], block: int) -> None:
    """Elements in any order are those of the whole; truncated ones lie within two standard deviations."""
    draw, stream = TensorflowDraw(kind, 500, (0.0, 1.0)), Stream(7, 9, block)
    whole = draw.values(stream, np.arange(500))
    assert np.array_equal(draw.values(stream, np.array(chosen, np.int64)), whole[chosen])
    assert kind != "truncated-normal" or np.abs(whole).max() < 2.0


def test_sixteen_bits() -> None:
    """16-bit normals are float32 ones rounded; 16-bit uniforms are the low bits of the same words."""
    indices = np.arange(400)
    wide = TensorflowDraw("normal", 400, (0.0, 1.0)).values(seeded(3), indices)
    for dtype, bits in (("bfloat16", 7), ("float16", 10)):
        narrow = TensorflowDraw("normal", 400, (0.0, 1.0), dtype).values(seeded(3), indices)
        assert np.array_equal(narrow, round_to(wide, dtype))
        low = TensorflowDraw("uniform", 400, (0.0, 1.0), dtype).values(seeded(3), indices) * 2.0**bits
        word = TensorflowDraw("uniform", 400, (0.0, 1.0)).values(seeded(3), indices) * 2.0**23
        assert np.array_equal(low, np.mod(word, 2.0**bits))


def test_scaling_rounds_twice() -> None:
    """Bounds and moments are a product and a sum, each rounded."""
    standard = TensorflowDraw("uniform", 99, (0.0, 1.0)).values(seeded(3), np.arange(99))
    scaled = TensorflowDraw("uniform", 99, (-0.05, 0.07)).values(seeded(3), np.arange(99))
    span = np.float32(np.float32(0.07) - np.float32(-0.05))
    assert np.array_equal(scaled, standard * span + np.float32(-0.05))


def test_what_cannot_be_is_refused() -> None:
    """Two seeds of 0, unknown dtypes and elements outside the draw are refused."""
    with pytest.raises(UsageError, match="both seeds 0"):
        seeded(0)
    with pytest.raises(UnknownName, match="float16"):
        TensorflowDraw("normal", 4, (0.0, 1.0), "float61")
    with pytest.raises(UsageError, match="index"):
        TensorflowDraw("normal", 4, (0.0, 1.0)).values(seeded(1), np.array([4]))
