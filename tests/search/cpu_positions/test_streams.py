"""A seed's stream against survivors: the position comes out wherever it lies, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from birthmark.errors import LedgerError, NothingToSearch, UsageError
from birthmark.generators.mt19937 import words
from birthmark.recipes.seeds import NAMED
from birthmark.search.cpu_positions import stream_search, streams
from birthmark.search.cpu_positions.stream_search import popular_seeds, search_streams
from birthmark.search.cpu_positions.streams import PIECE, Probe, matches, plan_probes
from birthmark.search.ledger import Ledger

FAR = 1_000_000_007

DRAWS: dict[str, dict[str, Any]] = {
    "float32 uniforms": {"index": FAR},
    "bfloat16 pairs of a row": {
        "index": FAR,
        "distribution": "normal",
        "places": range(4000, 4040),
        "stored": "bfloat16",
        "scale": (0.0291, 0.0309),
        "one_unit": True,
    },
    "values far apart": {"places": tuple(range(0, 120_000, 9_000)), "index": 5},
    "values from the very start": {"index": 0},
}


def placed(offsets: list[int], seed: int, position: int, slack: int = 0) -> Probe:
    """A probe for the words at these offsets from a position."""
    places = np.array(offsets, np.int64)
    low = words(seed, position, int(places.max()) + 1)[places] & np.uint32(0xFFFFFF)
    return Probe(0, places, low - np.uint32(slack), np.full(len(offsets), 2 * slack, np.uint32))


@pytest.mark.parametrize("position", [0, 1, PIECE - 1, PIECE, 3 * PIECE + 17, FAR])
@pytest.mark.parametrize("offsets", [[0, 1], [300, 0], [2 * PIECE + 5, 0, 7]])
def test_words_are_found_where_they_are(position: int, offsets: list[int]) -> None:
    """At any place of a piece, with any distance between the words, at both ends of the range."""
    probe = placed(offsets, 42, position)
    before = max(0, position - 20_000)
    assert matches(42, before, position + 20_000, probe) == [position]
    assert matches(42, before, position, probe) == []
    assert matches(42, position, position + 1, probe) == [position]
    assert matches(42, position + 1, position + 1000, probe) == []
    assert matches(43, before, position + 1000, probe) == []


def test_all_matches_of_a_loose_probe_are_found() -> None:
    """Against plain numpy: what lies between the bounds, and nothing else."""
    probe = placed([3, 0], 7, 1000, slack=1 << 17)
    low, width = probe.low, probe.width
    made = words(7, 0, 50_003) & np.uint32(0xFFFFFF)
    right = (made[3:] - low[0] <= width[0]) & (made[:-3] - low[1] <= width[1])
    expected = np.flatnonzero(right)
    assert 1000 in expected
    assert len(expected) > 5
    assert matches(7, 0, 50_000, probe) == expected.tolist()


def test_calls_continue_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long range is gone through in calls, without a gap; a halt is heard between them."""
    probe = placed([40, 0], 7, 99_999)
    monkeypatch.setattr(streams, "CALL", 1000)
    assert matches(7, 90_000, 100_500, probe) == [99_999]
    halt = Event()
    halt.set()
    assert matches(7, 90_000, 100_500, probe, halt) is None


def test_a_probe_that_everything_passes_is_refused() -> None:
    """Words that may be anything tell no positions apart."""
    anything = np.zeros(2, np.uint32)
    with pytest.raises(NothingToSearch, match="do not tell them apart"):
        matches(1, 0, 10_000, Probe(0, np.array([0, 1]), anything, anything + np.uint32(0xFFFFFF)))


@pytest.mark.parametrize("name", DRAWS)
def test_popular_seeds_are_found_anywhere(left: Callable[..., Any], name: str) -> None:
    """Seed and position come out, with every value bit for bit."""
    draw = left(seed=1337, **DRAWS[name])
    first = max(0, draw.index - 1000)
    outcome = search_streams(draw.conditions(), (42, 1337, 2**32 + 42), positions=(first, draw.index + 1000))
    assert [(each.seed, each.index) for each in outcome.candidates] == [(1337, draw.index)]
    best = outcome.candidates[0]
    assert (best.agreeing, best.equal) == (best.of, best.values)
    assert outcome.searched.seeds == (42, 1337)
    assert outcome.searched.trials == 2 * (draw.index + 1000 - first)


@pytest.mark.parametrize("change", ["seed", "range", "noise", "trained"])
def test_what_is_not_there_is_not_found(left: Callable[..., Any], change: str) -> None:
    """Another seed, a range that ends before the position, noise, and values that moved."""
    draw = left(seed=1337)
    values, stop = draw.values(), draw.index + 1
    if change == "noise":
        values = np.random.default_rng(1).uniform(-0.03, 0.03, 12).astype(np.float32).astype(np.float64)
    elif change == "trained":
        values = (values + 1e-4).astype(np.float32).astype(np.float64)
    elif change == "range":
        stop -= 1
    seeds = (1338,) if change == "seed" else (1337,)
    outcome = search_streams(draw.conditions(values), seeds, positions=(0, stop))
    assert outcome.candidates == ()
    assert outcome.searched.complete
    assert outcome.searched.miss_chance < 0.05


def test_further_probes_rest_on_other_values(left: Callable[..., Any]) -> None:
    """A touched value spoils one probe; the next finds the position, and its chance of a miss is told."""
    draw = left(seed=7, places=range(0, 3000, 100), trust=0.9, index=2000)
    clean = draw.conditions()
    probes = plan_probes(clean)
    assert len(probes.probes) > 1
    assert list(probes.misses) == sorted(probes.misses, reverse=True)
    first = probes.probes[0]
    words_used = clean.seen.indices[np.isin(clean.seen.indices, first.first + first.places)]
    values = draw.values()
    values[np.isin(draw.indices(), words_used)] *= -1.0
    outcome = search_streams(draw.conditions(values), (7,), positions=(0, 10_000), workers=1)
    assert [each.index for each in outcome.candidates] == [2000]
    assert outcome.searched.passes[0] == 2


def test_popular_seeds_fit_the_budget() -> None:
    """Named seeds come first, one at the least."""
    assert len(popular_seeds(10**9, 10**11)) == 100
    assert set(popular_seeds(10**9, 20 * 10**9)) <= {seed % 2**32 for seed in NAMED}
    assert len(popular_seeds(10**9, 1)) == 1


def test_a_ledger_takes_it_up_again(
    left: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finished ledger is only read; another range is another search."""
    monkeypatch.setattr(stream_search, "UNIT", 50_000)
    draw = left(seed=7)
    path = tmp_path / "streams.ledger"
    with Ledger(path) as ledger:
        whole = search_streams(
            draw.conditions(), (3, 7), positions=(0, 200_000), everything=True, ledger=ledger
        )
    size = path.stat().st_size
    with Ledger(path, resume=True) as ledger:
        again = search_streams(
            draw.conditions(), (3, 7), positions=(0, 200_000), everything=True, ledger=ledger
        )
    assert again.candidates == whole.candidates
    assert len(whole.candidates) == 1
    assert again.searched.complete
    assert path.stat().st_size == size
    units = [json.loads(line)["unit"] for line in path.read_text().splitlines()[1:]]
    assert len(units) == 2 * 4 * len(plan_probes(draw.conditions()).probes)
    with Ledger(path, resume=True) as ledger, pytest.raises(LedgerError, match="another search"):
        search_streams(draw.conditions(), (3, 7), positions=(0, 200_001), ledger=ledger)


def test_impossible_searches_are_refused(left: Callable[..., Any]) -> None:
    """Ranges that cannot be, no seed at all, and words that say too little near each other."""
    conditions = left().conditions()
    with pytest.raises(UsageError, match="positions 5 to 4"):
        search_streams(conditions, (1,), positions=(5, 4))
    with pytest.raises(NothingToSearch, match="no seed"):
        search_streams(conditions, ())
    sparse = left(places=(0, 60_000, 119_000), stored="bfloat16").conditions()
    with pytest.raises(NothingToSearch, match="cannot be told apart"):
        search_streams(sparse, (1,))
