"""Known answers of every sampler: what V100s and others drew, with twins that must fail."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import birthmark.samplers.known_draws as module
from birthmark.errors import SelfTestFailed, UsageError
from birthmark.samplers.bernoulli import Bernoulli, BernoulliEach
from birthmark.samplers.cuda_draw import CudaDraw
from birthmark.samplers.dropout import Dropout
from birthmark.samplers.known_draws import KnownDraw, check_draws, known_draws

DRAWS = known_draws()
#: Lines with values of many threads, at which a layout shows.
WITNESSED = [known for known in DRAWS if known.witnessed and len(known.values) > 4]


def test_every_known_answer_is_reproduced() -> None:
    """The check that a machine has to pass finds nothing to say."""
    check_draws()


def test_the_file_covers_every_sampler_and_names_its_sources() -> None:
    """Each sampler has lines; most sources are other people's, and the first are."""
    assert {known.sampler for known in DRAWS} == set(module._CALLS)
    assert DRAWS[0].witnessed
    assert not DRAWS[-1].witnessed
    witnessed = {known.sampler for known in DRAWS if known.witnessed}
    assert witnessed == {"uniform", "normal", "integers", "exponential", "permutation", "bernoulli-each"}


def differs(known: KnownDraw, **change: Any) -> bool:
    """Whether the call with something changed gives other values than the published ones."""
    twin = dataclasses.replace(known, **change)
    return bool(known.differing(twin.call().values(twin.seed, twin.indices)))


@pytest.mark.parametrize("sampler", ["uniform", "normal", "integers", "exponential", "permutation"])
def test_twins_of_published_draws_fail(sampler: str) -> None:
    """The next seed and the next offset give other values at every line of other people's."""
    for known in WITNESSED:
        if known.sampler == sampler:
            assert differs(known, seed=known.seed + 1)
            assert differs(known, offset=known.offset + 4)


def test_a_neighbouring_layout_fails() -> None:
    """One multiprocessor less changes every published value beyond the first wave, and none below."""
    for known in WITNESSED:
        if known.threads == 163_840 and known.sampler not in ("permutation", "bernoulli-each"):
            changed = differs(known, threads=known.threads - 2048)
            assert changed == (known.first >= known.threads - 2048 and known.size > known.threads - 2048)


def test_the_older_rule_of_integers_is_the_published_permutations() -> None:
    """Since 2.7 the keys of a permutation take two words, and it is another one."""
    for known in WITNESSED:
        if known.sampler == "permutation":
            assert differs(known, rules=("2.7+", "2.5+"))


def test_a_wrong_machine_is_told_what_it_got_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """One changed value ends the check with the element, both values and the source."""
    wrong = dataclasses.replace(DRAWS[-1], values=("77", *DRAWS[-1].values[1:]))
    monkeypatch.setattr(module, "known_draws", lambda: (DRAWS[0], wrong))
    with pytest.raises(SelfTestFailed, match=r"element 270334 of geometric .* not 77 \(no outside witness"):
        check_draws()


def test_values_compare_as_they_are_written() -> None:
    """Bits compare as bits, whole numbers exactly, decimals within half a last digit or what was allowed."""
    known = dataclasses.replace(DRAWS[0], dtype="float32", values=("0x3f800000", "0.500"), tolerance=0.01)
    assert known.differing(np.array([1.0, 0.509], np.float32)) == []
    assert known.differing(np.array([np.nextafter(np.float32(1), np.float32(2)), 0.52], np.float32)) == [0, 1]
    printed = dataclasses.replace(known, values=("0.50", "0.50"), tolerance=0.0)
    assert printed.differing(np.array([0.5049, 0.5051])) == [1]
    assert dataclasses.replace(known, values=("3", "4")).differing(np.array([3, 5])) == [1]


def test_an_unknown_sampler_is_refused() -> None:
    """A line that names no sampler is an error, not a pass."""
    with pytest.raises(UsageError, match="no such sampler"):
        dataclasses.replace(DRAWS[0], sampler="poisson").call()


@pytest.mark.slow
def test_all_flips_of_a_v100_with_a_probability_each() -> None:
    """PaddlePaddle's test_bernoulli_op.py: the places of the true values of 33,554,432, summed by axis."""
    chances = np.random.RandomState(100).rand(32, 1024, 1024)
    for dtype, offset, sums in (
        ("float64", 0, (260028995, 8582429431, 8581445798)),
        ("float32", 12, (260092343, 8583509076, 8582778540)),
    ):
        given = chances.reshape(-1).astype(dtype)
        places = np.nonzero(BernoulliEach(given, dtype, offset).run(100).reshape(chances.shape))
        assert tuple(int(axis.sum()) for axis in places) == sums


@pytest.mark.parametrize(
    ("threads", "total"), [(56 * 2048, 999_826), (13 * 2048, 999_100)], ids=["P100", "K80"]
)
def test_dropout_of_two_cards(threads: int, total: int) -> None:
    """pytorch issue 25690 (torch 1.2): the sum of a dropout of a million ones by half, seed 0.

    That release took one element at a time. One multiprocessor more gives another sum.
    """
    for cap, same in ((threads, True), (threads + 2048, False)):
        mask = Dropout(1_000_000, cap, 0.5, vector=1).run(0)
        assert (2 * int(mask.sum()) == total) == same
        assert np.array_equal(mask, CudaDraw(Bernoulli(0.5), 1_000_000, cap).run(0))
