"""Words that vouch for each other."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.generators.mt19937 import words
from birthmark.search.solve.certify import certify, checks
from birthmark.search.solve.equations import Words

COUNT = 4_000
TRUTH = words(3, 1_000, COUNT) & np.uint32(0xFFFFFF)


def known(values: NDArray[np.uint32], step: int = 1) -> Words:
    return Words(step * np.arange(len(values)), values, values)


def test_there_are_fifteen_checks_that_hold_on_a_stream() -> None:
    """Fifteen independent parities of the words k, k + 396 and k + 623 are even everywhere."""
    rows = [first | second << 24 | third << 48 for first, second, third in checks()]
    basis: list[int] = []
    for row in rows:
        rest = row
        for pivot in basis:
            rest = min(rest, rest ^ pivot)
        basis.append(rest)

    assert len(rows) == 15
    assert all(basis)
    certificate = certify(known(TRUTH))
    assert certificate.triples == certificate.passed == COUNT - 623
    assert np.all(certificate.passes > 0)


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_wrong_words_are_not_vouched_for(share: float) -> None:
    """With many wrong words the vouched ones are right, and still most of the right ones."""
    rng = np.random.default_rng(1)
    wrong = rng.random(COUNT) < share
    values = np.where(wrong, TRUTH ^ rng.integers(1, 2**24, COUNT, dtype=np.uint32), TRUTH)

    vouched = certify(known(values)).passes > 0

    assert not np.any(vouched & wrong)
    assert vouched.sum() > 0.6 * (~wrong).sum()


def test_words_known_up_to_a_step_are_settled() -> None:
    """A word that is one of two neighbours comes out as the right one, and never as the wrong one."""
    rng = np.random.default_rng(2)
    open_ = rng.random(COUNT) < 0.2
    low = np.where(open_ & (rng.random(COUNT) < 0.5) & (TRUTH > 0), TRUTH - np.uint32(1), TRUTH)
    high = np.where(open_, low + np.uint32(1), low)

    certificate = certify(Words(np.arange(COUNT), low, high))

    assert np.all(certificate.passes > 0)
    assert np.all((certificate.words.low <= TRUTH) & (certificate.words.high >= TRUTH))
    assert certificate.words.exact[open_].mean() > 0.9


def test_angles_of_unknown_scale_are_told_from_noise() -> None:
    """Words known to three steps pass all their triples; those of noise hardly any."""
    noise = np.random.default_rng(4).integers(1, 2**24 - 1, COUNT, dtype=np.uint32)

    passed = [certify(Words(np.arange(COUNT), values - 1, values + 1)).passed for values in (TRUTH, noise)]

    assert passed[0] == COUNT - 623
    assert passed[1] < COUNT / 256


def test_noise_and_regular_gaps_give_nothing() -> None:
    """Noise passes no triple; words at every second position have none to pass."""
    noise = np.random.default_rng(3).integers(0, 2**24, COUNT, dtype=np.uint32)

    assert certify(known(noise)).passed == 0
    assert certify(known(TRUTH, step=5)).triples == 0
    assert certify(known(TRUTH[:0])).triples == 0
