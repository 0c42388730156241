"""All seeds at all positions near the start: found at the right place, at every edge, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from birthmark.errors import NothingToSearch, UsageError
from birthmark.generators.mt19937 import words
from birthmark.search.cpu_positions import near_search
from birthmark.search.cpu_positions.near import near_matches
from birthmark.search.cpu_positions.near_search import FURTHEST, search_near
from birthmark.search.cpu_positions.streams import Probe
from birthmark.search.ledger import Ledger

SEED = 1005


def placed(offsets: list[int], position: int, first: int = 0) -> Probe:
    """A probe for the seed's words at offsets from `first` words behind a position."""
    places = np.array(offsets, np.int64)
    low = words(SEED, position + first, int(places.max()) + 1)[places] & np.uint32(0xFFFFFF)
    return Probe(first, places, low, np.zeros(len(offsets), np.uint32))


@pytest.mark.parametrize("position", [0, 5, 623, 624, 625, 1247, 3000])
@pytest.mark.parametrize(("offsets", "first"), [([0, 1], 0), ([8, 0], 3), ([1500, 3, 0], 100)])
def test_words_are_found_where_they_are(position: int, offsets: list[int], first: int) -> None:
    """On both sides of the blocks' borders, with any distance between the words, at the ends of ranges."""
    probe = placed(offsets, position, first)
    here = [(SEED, position)]
    assert near_matches(900, 300, 0, 4000, probe) == here
    assert near_matches(SEED, 1, position, position + 1, probe) == here
    assert near_matches(900, 300, position + 1, position + 700, probe) == []
    assert near_matches(900, 300, max(0, position - 700), position, probe) == []
    assert near_matches(900, SEED - 900, 0, position + 5, probe) == []


def test_all_matches_of_a_loose_probe_are_found() -> None:
    """Against plain numpy, for seeds at the end of the range."""
    first, count = 2**32 - 40, 40
    low = np.array([1 << 20, 1 << 22], np.uint32)
    width = np.full(2, 1 << 18, np.uint32)
    expected: list[tuple[int, int]] = []
    for seed in range(first, first + count):
        made = words(seed, 0, 1009) & np.uint32(0xFFFFFF)
        right = (made[9:] - low[0] <= width[0]) & (made[:-9] - low[1] <= width[1])
        expected.extend((seed, int(position)) for position in np.flatnonzero(right))
    assert len(expected) > 1
    found = near_matches(first, count, 0, 1000, Probe(0, np.array([9, 0]), low, width))
    assert sorted(found) == expected


def test_a_probe_that_everything_passes_is_refused() -> None:
    """Words that may be anything tell nothing apart."""
    anything = Probe(0, np.array([0, 1]), np.zeros(2, np.uint32), np.full(2, 0xFFFFFF, np.uint32))
    with pytest.raises(NothingToSearch, match="do not tell them apart"):
        near_matches(0, 16, 0, 1000, anything)


@pytest.mark.parametrize(
    "facts", [{"stored": "bfloat16"}, {"distribution": "normal", "places": range(100, 124)}]
)
def test_few_survivors_give_seed_and_position(left: Callable[..., Any], facts: dict[str, Any]) -> None:
    """Neither is assumed."""
    draw = left(seed=SEED, index=777, **facts)
    outcome = search_near(draw.conditions(), (0, 1000), seeds=(0, 5000))
    assert [(each.seed, each.index) for each in outcome.candidates] == [(SEED, 777)]
    assert outcome.candidates[0].equal == outcome.candidates[0].values
    assert outcome.searched.trials == 5000 * 1000


def test_what_is_not_there_is_not_found(left: Callable[..., Any]) -> None:
    """A position or a seed beyond the range, and noise."""
    draw = left(seed=SEED, index=777)
    noise = np.random.default_rng(2).uniform(-0.03, 0.03, 12).astype(np.float32).astype(np.float64)
    for conditions, positions, seeds in (
        (draw.conditions(), (0, 777), (0, 2000)),
        (draw.conditions(), (778, 900), (0, 2000)),
        (draw.conditions(), (0, 900), (SEED + 1, 2000)),
        (draw.conditions(noise), (0, 900), (0, 2000)),
    ):
        outcome = search_near(conditions, positions, seeds=seeds)
        assert outcome.candidates == ()
        assert outcome.searched.complete


def test_it_is_taken_up_again(
    left: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finished units come from the ledger."""
    monkeypatch.setattr(near_search, "UNIT", 1 << 20)
    draw = left(seed=SEED, index=77)
    path = tmp_path / "near.ledger"
    with Ledger(path) as ledger:
        whole = search_near(draw.conditions(), (0, 100), seeds=(0, 3000), everything=True, ledger=ledger)
    size = path.stat().st_size
    with Ledger(path, resume=True) as ledger:
        again = search_near(draw.conditions(), (0, 100), seeds=(0, 3000), everything=True, ledger=ledger)
    assert whole.searched.units[0] > 2
    assert again.candidates == whole.candidates != ()
    assert again.searched.units == whole.searched.units
    assert path.stat().st_size == size


def test_impossible_ranges_are_refused(left: Callable[..., Any]) -> None:
    """Backwards, or too far for this way."""
    conditions = left().conditions()
    for positions, seeds in (((3, 2), (0, 9)), ((0, FURTHEST + 1), (0, 9)), ((0, 9), (0, 2**32 + 1))):
        with pytest.raises(UsageError, match="expected"):
            search_near(conditions, positions, seeds=seeds)
