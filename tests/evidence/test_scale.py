"""The scale from the stored values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from birthmark.evidence.scale import estimate, most_covered
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.numerics.dtypes import round_to

SHAPE = (512, 128)
INDICES = np.arange(4096, dtype=np.int64)


def _drawn(scale: float, distribution: str = "normal", dtype: str = "float32") -> Hypothesis:
    parameters = (0.0, scale) if distribution == "normal" else (-scale, scale)
    return Hypothesis(Draw(distribution, parameters, SHAPE, dtype), 40960)  # type: ignore[arg-type]


@pytest.mark.parametrize("stored", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("scale", [0.02, 0.006, np.sqrt(2.0 / 640.0), 0.02 / np.sqrt(48.0)])
def test_estimate_finds_the_nominal_scale(scale: float, stored: str) -> None:
    """The scale that was written down is found to the last bit, in every stored dtype."""
    hypothesis = _drawn(scale)
    values = round_to(hypothesis.values(3, INDICES), stored)

    found = estimate(values, hypothesis.standard(3, INDICES), hypothesis.draw, stored)

    assert found is not None
    assert found.value == scale
    assert found.nominal is not None
    assert found.covered == found.of


def test_estimate_finds_a_bound() -> None:
    """A uniform's bound is found likewise."""
    hypothesis = _drawn(1.0 / np.sqrt(128.0), "uniform")

    found = estimate(
        hypothesis.values(3, INDICES), hypothesis.standard(3, INDICES), hypothesis.draw, "float32"
    )

    assert found is not None
    assert found.value == 1.0 / np.sqrt(128.0)


def test_estimate_outvotes_altered_values() -> None:
    """A third of altered values does not move the scale."""
    hypothesis = _drawn(0.02)
    values = hypothesis.values(3, INDICES).astype(np.float64)
    rng = np.random.default_rng(0)
    altered = rng.random(values.size) < 0.33
    values[altered] += rng.normal(size=int(altered.sum())) * 0.01

    found = estimate(
        round_to(values, "bfloat16"), hypothesis.standard(3, INDICES), hypothesis.draw, "bfloat16"
    )

    assert found is not None
    assert found.value == 0.02
    assert found.covered < found.of


def test_estimate_of_a_scale_nobody_writes_is_the_centre() -> None:
    """A decayed scale is given by its interval, narrow and without a name."""
    scale = 0.02 * 0.796104177
    hypothesis = _drawn(scale)
    values = round_to(hypothesis.values(3, INDICES), "bfloat16")

    found = estimate(values, hypothesis.standard(3, INDICES), hypothesis.draw, "bfloat16")

    assert found is not None
    assert found.nominal is None
    assert found.value == pytest.approx(scale, rel=3e-6)
    assert found.low <= scale <= found.high


def test_estimate_sees_through_another_arithmetic() -> None:
    """Last bits of another sine unit blur the intervals, but the scale is found and the blur is said."""
    hypothesis = _drawn(0.02)
    other = Hypothesis(hypothesis.draw, 40960, "amd")

    found = estimate(other.values(3, INDICES), hypothesis.standard(3, INDICES), hypothesis.draw, "float32")

    assert found is not None
    assert found.value == 0.02
    assert found.blurred


def test_estimate_of_values_without_a_scale_is_none() -> None:
    """Where every sign disagrees with its standard value there is no positive scale."""
    standard = np.array([1.0, 2.0, -3.0])

    assert estimate(-standard, standard, Draw("normal", (0.0, 1.0), (3,)), "float32") is None
    assert estimate(np.ones(3), np.zeros(3), Draw("normal", (0.0, 1.0), (3,)), "float32") is None


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1])),
        min_size=1,
        max_size=30,
    )
)
def test_most_covered_agrees_with_counting(intervals: list[tuple[int, int]]) -> None:
    """The sweep finds what counting at every end finds, and its stretch is covered that often throughout."""
    low = np.array([first for first, _ in intervals], float)
    high = np.array([last for _, last in intervals], float)
    counted = max(int(((low <= point) & (point <= high)).sum()) for point in np.concatenate([low, high]))

    first, last, count = most_covered(low, high)

    assert count == counted
    for point in (first, last, 0.5 * (first + last)):
        assert int(((low <= point) & (point <= high)).sum()) == count
