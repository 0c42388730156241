"""The integer tests let every true value pass, and few others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from birthmark.generators.philox import words
from birthmark.numerics.dtypes import round_to
from birthmark.samplers.fill import finish, standard_at
from birthmark.search.kernel import RUN, constants, scan
from birthmark.search.windows import (
    LARGEST_NORMAL,
    WordsTest,
    around,
    chance,
    radius_limit,
    standard_interval,
    words_test,
)


def holds(test: WordsTest, seed: int, counter: int, thread: int) -> bool:
    """Whether one seed passes, by the kernel."""
    return scan(seed, 1, constants(counter, thread), test, np.empty(64, np.uint64)).found == 1


@pytest.mark.parametrize("stored", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("distribution", ["normal", "uniform"])
@pytest.mark.parametrize("arithmetic", ["nvidia-volta+", "nvidia-pascal-", "amd"])
def test_a_true_seed_passes(distribution: Any, stored: str, arithmetic: str) -> None:
    """Whatever the platform, lane and dtype, with the scale off by three standard errors either way."""
    double = stored == "float64"
    if double and arithmetic != "nvidia-volta+":
        pytest.skip("double precision has one arithmetic")
    n, lanes = 3000, 2 if double else 4
    seeds = np.arange(n, dtype=np.uint64) * np.uint64(7919)
    counter, thread = np.full(n, 3, np.uint64), np.full(n, 77, np.uint64)
    lane = (np.arange(n) % lanes).astype(np.uint8)
    standard = standard_at(distribution, seeds, counter, thread, lane, arithmetic, double)
    parameters = (0.0, 0.02) if distribution == "normal" else (-0.02, 0.02)
    drawn = finish(distribution, standard, parameters, "float64" if double else "float32")
    values = np.asarray(round_to(drawn, stored), np.float64)
    missed = tested = 0
    for scale in (0.02 * 0.97, 0.02 * 1.03):
        low, high = standard_interval(values, stored, distribution, scale, 0.01)
        edge = np.abs(values) >= 0.0198 if distribution == "uniform" else np.abs(values) < 0.03
        for i in np.flatnonzero(~edge)[:250].tolist():
            test = words_test(distribution, float(low[i]), float(high[i]), int(lane[i]), double=double)
            if test is None:
                continue
            tested += 1
            missed += not holds(test, int(seeds[i]), 3, 77)

    assert tested > 100
    assert missed == 0


@pytest.mark.parametrize("lane", [0, 1, 2, 3])
@pytest.mark.parametrize("sign", [-1, 1])
def test_shares_are_those_measured(lane: int, sign: int) -> None:
    """The shares that a test claims for windows and stairs are met, so that plans cost what they say."""
    ends = sorted((sign * 2.4, sign * 2.6))
    test = words_test("normal", ends[0], ends[1], lane, double=False)
    assert test is not None
    done = scan(0, 400_000, constants(0, 5), test, np.empty(400_000, np.uint64))

    assert done.passed / 400_000 == pytest.approx(test.share, rel=0.05)
    assert done.found / 400_000 == pytest.approx(test.fine, rel=0.1)
    assert test.share > 4 * test.fine


def test_the_wrong_sign_does_not_pass() -> None:
    """The angle's window is a half-plane at the most: a normal of the other sign is turned away."""
    low, high = np.float64(2.4), np.float64(2.6)
    right = words_test("normal", low, high, 0, double=False)
    wrong = words_test("normal", -high, -low, 0, double=False)
    assert right is not None
    assert wrong is not None
    hits = np.empty(1 << 14, np.uint64)
    found = set(hits[: scan(0, 100_000, constants(0, 5), right, hits).found].tolist())

    assert found
    assert found.isdisjoint(hits[: scan(0, 100_000, constants(0, 5), wrong, hits).found].tolist())


@pytest.mark.parametrize(("low", "high"), [(-0.1, 0.1), (6.9, 7.1), (-7.1, -6.9)])
def test_no_test_where_there_can_be_none(low: float, high: float) -> None:
    """A normal around 0 excludes no radius, and one beyond the generator's reach no word can make."""
    assert words_test("normal", low, high, 0, double=False) is None


def test_the_radius_limit_is_the_definition() -> None:
    """u <= exp(-z^2 / 2): no larger word can give the magnitude, and one a little smaller can."""
    for size in (0.5, 2.0, 4.0):
        limit = radius_limit(size)
        assert np.sqrt(-2 * np.log((limit + 1) / RUN)) < size
        assert np.sqrt(-2 * np.log((limit * 0.999 + 0.5) / RUN)) > size - 1e-3
    assert radius_limit(LARGEST_NORMAL) < 4


def test_chance_is_exact_in_the_tail() -> None:
    """The probability of a far interval is a difference of tails, not of numbers near 1."""
    found = chance("normal", np.array([6.0, -6.1]), np.array([6.1, -6.0]))

    assert found[0] == pytest.approx(9.865876e-10 - 5.303423e-10, rel=1e-4)
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_around_holds_its_words_only() -> None:
    """A planted pair of words passes; the next block's does not."""
    pair = words(11, np.array([0, 1], np.uint64), np.array([5, 5], np.uint64))[:, 2:].tolist()
    test = around(1, pair[0][0], pair[0][1], margin=3)

    assert holds(test, 11, 0, 5)
    assert not holds(test, 11, 1, 5)
