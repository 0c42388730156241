"""Values back to words: the true word always lies within what an inversion says."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from birthmark.generators.mt19937 import words
from birthmark.numerics.dtypes import round_to
from birthmark.samplers.cpu_normal import consumed, fill, places
from birthmark.samplers.cpu_uniform import uniform
from birthmark.search.solve.equations import Words, bits_of
from birthmark.search.solve.inversion import (
    coarse_normals,
    coarse_uniforms,
    exact_normals,
    exact_uniforms,
    pairs,
)

SIZE = 200_000
STREAM = words(11, 0, consumed(SIZE)) & np.uint32(0xFFFFFF)
NORMALS = fill(STREAM, SIZE, 0.0, 0.02).astype(np.float64)
PLACES = places(SIZE, np.arange(SIZE))
BOUND = 1.0 / math.sqrt(784)
UNIFORMS = uniform(STREAM, -BOUND, BOUND).astype(np.float64)


def holds(found: Words) -> bool:
    """Whether every word of the stream lies within its interval."""
    truth = STREAM[found.position]
    return bool(np.all((found.low <= truth) & (truth <= found.high)))


def stored(values: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    return round_to(values, dtype).astype(np.float64)


def test_exact_normals_keep_the_true_words() -> None:
    """All pairs invert; 85 % of the words are unique and none is further off than a few steps."""
    found = exact_normals(NORMALS, PLACES, 0.02)

    assert found.used == SIZE
    assert found.moved == found.alone == 0
    assert holds(found.words)
    assert found.words.exact.mean() > 0.8
    assert int((found.words.high - found.words.low).max()) <= 4


def test_a_wrong_standard_deviation_leaves_a_third_on_the_lattice() -> None:
    """One last place or one per cent off, about 30 % of the pairs still have words, by chance."""
    for std in (0.0202, float(np.nextafter(np.float32(0.02), np.float32(1)))):
        assert 0.2 < exact_normals(NORMALS, PLACES, std).used / SIZE < 0.4


@pytest.mark.parametrize(("arithmetic", "unique"), [("cpu-fused", 0.999), ("cpu-unfused", 0.85)])
def test_uniforms_invert_in_their_own_arithmetic(arithmetic: str, unique: float) -> None:
    """Each arithmetic inverts its own values, 11 % of the unfused up to a step, and half of the other's."""
    values = uniform(STREAM, -BOUND, BOUND, arithmetic).astype(np.float64)
    other = "cpu-unfused" if arithmetic == "cpu-fused" else "cpu-fused"
    position = np.arange(len(values))

    found = exact_uniforms(values, position, BOUND, arithmetic)

    assert found.used == len(values)
    assert holds(found.words)
    assert found.words.exact.mean() > unique
    assert exact_uniforms(values, position, BOUND, other).moved > 0.3 * len(values)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("scale", [(0.02, 0.02), (0.0194, 0.0206)])
def test_coarse_normals_keep_the_true_words(dtype: str, scale: tuple[float, float]) -> None:
    """Rounded pairs give intervals that hold the words, whether or not the scale is known."""
    found = coarse_normals(stored(NORMALS, dtype), PLACES, scale, dtype)

    assert holds(found.words)
    assert found.used == SIZE


def test_coarse_normals_say_nine_bits_a_value_in_bfloat16() -> None:
    """The angle gives ten bits at any scale; the radius eight at a known one and four within 3 %."""
    known = bits_of(coarse_normals(stored(NORMALS, "bfloat16"), PLACES, (0.02, 0.02), "bfloat16").words)
    unknown = bits_of(coarse_normals(stored(NORMALS, "bfloat16"), PLACES, (0.0194, 0.0206), "bfloat16").words)

    assert known.mean() > 8.9
    assert unknown.mean() > 7.0


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("slack", [0.0, 0.002])
def test_coarse_uniforms_keep_the_true_words(dtype: str, slack: float) -> None:
    """Rounded uniforms give intervals that hold the words, whether or not the bound is known."""
    position = np.arange(len(UNIFORMS))

    found = coarse_uniforms(
        stored(UNIFORMS, dtype), position, (BOUND * (1 - slack / 8), BOUND * (1 + slack)), dtype
    )

    assert holds(found.words)
    assert bits_of(found.words).mean() > 8.0


def test_bfloat16_draws_keep_the_true_words() -> None:
    """A tensor drawn in bfloat16, where the upper bound became the lower one, is read rightly too."""
    torch.manual_seed(11)
    drawn = torch.empty(SIZE, dtype=torch.bfloat16).uniform_(-0.05, 0.05).double().numpy()

    assert holds(coarse_uniforms(drawn, np.arange(SIZE), (0.05, 0.05), "bfloat16").words)


def test_values_without_partner_are_left_out() -> None:
    """Of a block with one value missing seven pairs remain."""
    some = np.delete(np.arange(16), 3)
    first, second, alone = pairs(places(16, some))

    assert (len(first), alone) == (7, 1)
    assert np.array_equal(some[second] - some[first], np.full(7, 8))


def test_moved_values_are_dropped() -> None:
    """Values moved by a thousandth mostly lose their words, untouched ones never do."""
    moved = stored(NORMALS, "float32")
    moved[:8_000] *= 1.001
    found = exact_normals(stored(moved, "float32"), PLACES, 0.02)

    assert found.moved > 5_000
    assert np.isin(np.arange(8_000, SIZE), found.words.position).all()
