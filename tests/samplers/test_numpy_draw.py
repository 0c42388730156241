"""NumPy's draws against NumPy, by any indices, from marks, and from streams that others seeded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.answers import answers
from birthmark.generators.numpy_seeding import array_window
from birthmark.generators.pcg64 import pcg64_of
from birthmark.samplers.numpy_draw import Distribution, NumpyDraw

FILE = ("birthmark.samplers", "neighbour_answers.txt")
#: Long enough for some values of the ziggurat's tail (one in 4,000 values) and many of its wedges.
SIZE = 60_000

LINES: list[tuple[str, str, Distribution, str]] = [
    ("numpy-randn", "RandomState", "normal", "float64"),
    ("numpy-sample", "RandomState", "uniform", "float64"),
    ("numpy-standard-normal", "default_rng", "normal", "float64"),
    ("numpy-standard-normal-float32", "default_rng", "normal", "float32"),
    ("numpy-random", "default_rng", "uniform", "float64"),
    ("numpy-random-float32", "default_rng", "uniform", "float32"),
]


def stock(generator: str, distribution: str, dtype: str, seed: int) -> Any:
    if generator == "RandomState":
        legacy = np.random.RandomState(seed)
        return legacy.randn(SIZE) if distribution == "normal" else legacy.random_sample(SIZE)
    fresh: Any = np.random.default_rng(seed)
    drawn = fresh.standard_normal if distribution == "normal" else fresh.random
    return drawn(SIZE, dtype=dtype)


@pytest.mark.parametrize(("what", "generator", "distribution", "dtype"), LINES)
def test_equal_numpy_and_the_kept_lines(
    what: str, generator: str, distribution: Distribution, dtype: str
) -> None:
    """The whole draw equals the NumPy that runs here, and its first values the lines of the file."""
    draw = NumpyDraw(generator, distribution, SIZE, (0.0, 1.0), dtype)
    assert np.array_equal(draw.values(17, np.arange(SIZE)), stock(generator, distribution, dtype, 17))
    for answer in answers(*FILE, what):
        seed, expected = answer.numbers[0], list(answer.floats)
        assert draw.values(seed, np.arange(len(expected))).tolist() == expected


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(LINES),
    st.integers(0, 999),
    st.lists(st.integers(0, 4999), min_size=1, max_size=6),
    st.sampled_from([1, 700, 4096]),
)
def test_random_access(line: Any, skip: int, chosen: list[int], every: int) -> None:
    """Elements in any order, after any number of earlier values, from marks or from the start."""
    _, generator, distribution, dtype = line
    whole = NumpyDraw(generator, distribution, 6000, (0.0, 1.0), dtype).values(3, np.arange(6000))
    later = NumpyDraw(generator, distribution, 5000, (0.0, 1.0), dtype, skip)
    indices = np.array(chosen)
    assert np.array_equal(later.values(3, indices), whole[indices + skip])
    assert np.array_equal(later.values(3, indices, later.marks(3, every)), whole[indices + skip])


def test_scaled_draws() -> None:
    """Means, standard deviations and bounds are applied in double precision as NumPy applies them."""
    indices = np.arange(3000)
    legacy = NumpyDraw("RandomState", "normal", 3000, (0.5, 0.02))
    assert np.array_equal(legacy.values(8, indices), np.random.RandomState(8).normal(0.5, 0.02, 3000))
    uniform = NumpyDraw("RandomState", "uniform", 3000, (-0.05, 0.07))
    assert np.array_equal(uniform.values(8, indices), np.random.RandomState(8).uniform(-0.05, 0.07, 3000))
    fresh = NumpyDraw("default_rng", "normal", 3000, (0.1, 0.02))
    assert np.array_equal(fresh.values(8, indices), np.random.default_rng(8).normal(0.1, 0.02, 3000))
    bounded = NumpyDraw("default_rng", "uniform", 3000, (-0.1, 0.2))
    assert np.array_equal(bounded.values(8, indices), np.random.default_rng(8).uniform(-0.1, 0.2, 3000))


def test_streams_that_others_seeded() -> None:
    """A window or a stream stands for a seed; the other generator's is refused."""
    window, stream = array_window(np.array([1, 2], np.uint32)), pcg64_of(9, (4,))
    legacy, fresh = (NumpyDraw(one, "normal", 50, (0.0, 1.0)) for one in ("RandomState", "default_rng"))
    assert np.array_equal(legacy.values(window, np.arange(50)), np.random.RandomState([1, 2]).randn(50))
    child = np.random.Generator(np.random.PCG64(np.random.SeedSequence(9, spawn_key=(4,))))
    assert np.array_equal(fresh.values(stream, np.arange(50)), child.standard_normal(50))
    with pytest.raises(UsageError, match="PCG64 stream for RandomState"):
        legacy.values(stream, np.arange(3))
    with pytest.raises(UsageError, match="MT19937 window for default_rng"):
        fresh.values(window, np.arange(3))


def test_what_cannot_be_is_refused() -> None:
    """Names, dtypes, seeds, marks and indices that NumPy does not have are refused."""
    with pytest.raises(UnknownName, match="RandomState"):
        NumpyDraw("RandomStat", "normal", 4, (0.0, 1.0))
    with pytest.raises(UsageError, match="float32 draw of RandomState"):
        NumpyDraw("RandomState", "normal", 4, (0.0, 1.0), "float32")
    draw = NumpyDraw("RandomState", "normal", 4, (0.0, 1.0))
    with pytest.raises(UsageError, match="2\\^32 - 1"):
        draw.values(2**32, np.arange(4))
    with pytest.raises(UsageError, match="index"):
        draw.values(1, np.array([4]))
    with pytest.raises(UsageError, match="between marks"):
        draw.marks(1, 0)
