"""Every seed at given positions: the true one comes out with its evidence, and nothing else ever does."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from birthmark.checkpoints import open_checkpoint
from birthmark.errors import LedgerError, NothingToSearch, UsageError
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.search.cpu_positions import plan as plan_module
from birthmark.search.cpu_positions.conditions import Conditions, conditions_of
from birthmark.search.cpu_positions.outcome import PositionsOutcome
from birthmark.search.cpu_positions.search import search_positions
from birthmark.search.cpu_positions.units import is_piece, pieces
from birthmark.search.ledger import Ledger
from birthmark.search.progress import Status

AROUND = 20_000


def near(seed: int, around: int = AROUND) -> tuple[int, int]:
    return max(0, seed - around), min(2**32, seed + around)


def answers(outcome: PositionsOutcome) -> list[tuple[int, int]]:
    return [(each.seed, each.index) for each in outcome.candidates]


#: Few survivors of several kinds; each must be found by itself.
DRAWS: dict[str, dict[str, Any]] = {
    "twelve float32 values": {"index": 1_000_000_007},
    "forty bfloat16 values of a row of normals": {
        "distribution": "normal",
        "places": range(4000, 4040),
        "stored": "bfloat16",
        "scale": (0.0291, 0.0309),
        "one_unit": True,
        "trust": 0.97,
    },
    "sixty normals without partners": {
        "distribution": "normal",
        "places": range(0, 960, 16),
        "scale": (0.029, 0.031),
    },
    "ten values of a small bias": {
        "distribution": "normal",
        "shape": (10,),
        "places": range(10),
        "seed": 2**32 - 1,
    },
    "float16 uniforms from the very start": {"stored": "float16", "index": 0, "seed": 0},
}


@pytest.mark.parametrize("name", DRAWS)
def test_few_survivors_give_the_seed(left: Callable[..., Any], name: str) -> None:
    """Seed and index come out among wrong positions, with every value bit for bit."""
    draw = left(**DRAWS[name])
    outcome = search_positions(draw.conditions(), (draw.index + 1, draw.index), seeds=near(draw.seed))

    assert answers(outcome) == [(draw.seed, draw.index)]
    assert not outcome.stopped
    best = outcome.candidates[0]
    assert (best.equal, best.agreeing) == (best.values, best.of)
    assert outcome.searched.trials == 2 * (near(draw.seed)[1] - near(draw.seed)[0])
    assert best.log10_p < -6.0


def test_searched_says_what_was_done(left: Callable[..., Any]) -> None:
    """Everything is counted, to the last unit, where the search is told to go on after an answer."""
    draw = left()
    outcome = search_positions(draw.conditions(), (5, draw.index, 5), seeds=near(draw.seed), everything=True)
    searched = outcome.searched
    assert answers(outcome) == [(draw.seed, draw.index)]
    assert searched.positions == (5, draw.index)
    assert searched.complete
    assert searched.passes == (2, 2)
    assert searched.units == (4, 4)
    assert 0.0 < searched.miss_chance < 0.02
    assert (searched.values, searched.tested) == (12, 1)
    assert searched.seeds == near(draw.seed)


def neither(name: str, left: Callable[..., Any]) -> tuple[Conditions, int, int]:
    """(conditions, seed, index) of values that no seed of the range predicts at this position."""
    draw = left(distribution="normal", places=range(64), scale=(0.028, 0.032))
    values, seed, index = draw.values(), draw.seed, draw.index
    if name == "noise":
        values = np.random.default_rng(3).normal(0.0, 0.03, 64).astype(np.float32).astype(np.float64)
    elif name == "another generator":
        hypothesis = Hypothesis(Draw("normal", (0.0, 0.03), draw.shape, "float32"), 270_336)
        values = np.asarray(hypothesis.values(seed, draw.indices()), np.float64)
    elif name == "a seed out of the range":
        seed += 2 * AROUND
    elif name == "a seed off by one":
        seed += AROUND + 1
    elif name == "an index off by one":
        index += 1
    elif name == "shuffled":
        values = np.random.default_rng(3).permutation(values)
    elif name == "all slightly trained":
        values = values + np.random.default_rng(3).normal(0.0, 0.003, 64)
        values = values.astype(np.float32).astype(np.float64)
    elif name == "a small tensor's values":
        small = left(distribution="normal", shape=(15,), places=range(15))
        values = np.concatenate([small.values(), values[15:]])[:15]
        draw = left(distribution="normal", places=range(15), scale=(0.028, 0.032))
    return draw.conditions(values), seed, index


@pytest.mark.parametrize(
    "name",
    [
        "noise",
        "another generator",
        "a seed out of the range",
        "a seed off by one",
        "an index off by one",
        "shuffled",
        "all slightly trained",
        "a small tensor's values",
    ],
)
def test_what_is_not_there_is_not_found(left: Callable[..., Any], name: str) -> None:
    """A complete search that comes back empty."""
    conditions, seed, index = neither(name, left)
    outcome = search_positions(conditions, (index,), seeds=near(seed), passes=1)
    assert outcome.candidates == ()
    assert outcome.searched.complete
    assert outcome.searched.miss_chance < 0.2


def test_a_touched_unit_is_passed_by(left: Callable[..., Any]) -> None:
    """Where the first pass rests on values that training touched, a later one still finds the seed."""
    draw = left(places=range(64), trust=0.9)
    first = plan_module.make_plan(draw.conditions(), (draw.index,), (0, 1), None, 1).passes.passes[0]
    values = draw.values()
    values[draw.conditions().first[first.strict[0]]] *= -1.0
    outcome = search_positions(draw.conditions(values), (draw.index,), seeds=near(draw.seed), workers=1)
    assert answers(outcome) == [(draw.seed, draw.index)]
    assert outcome.searched.passes[0] == 2
    assert outcome.candidates[0].equal == 63


@dataclass
class Stopping:
    """Progress that presses Ctrl-C after some reports."""

    after: int
    seen: list[Status] = field(default_factory=list)

    def update(self, status: Status) -> None:
        self.seen.append(status)
        if len(self.seen) == self.after:
            raise KeyboardInterrupt


def test_a_stopped_search_goes_on(
    left: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends it as stopped; its ledger lets it finish, with no unit done twice and the same answer."""
    monkeypatch.setattr(plan_module, "UNIT", 4000)
    draw = left()
    conditions = draw.conditions()

    def searched(ledger: Ledger | None, progress: Stopping | None = None) -> PositionsOutcome:
        return search_positions(
            conditions,
            (7, draw.index),
            seeds=near(draw.seed),
            everything=True,
            ledger=ledger,
            progress=progress,
            workers=2,
        )

    path = tmp_path / "positions.ledger"
    stopping = Stopping(after=7)
    with Ledger(path) as ledger:
        stopped = searched(ledger, stopping)
    with Ledger(path, resume=True) as ledger:
        resumed = searched(ledger)
    whole = searched(None)

    assert stopped.stopped
    assert not stopped.searched.complete
    assert 0 < stopped.searched.units[0] < stopped.searched.units[1] == 40
    assert not resumed.stopped
    assert resumed.candidates == whole.candidates
    assert resumed.searched.complete
    assert resumed.searched.tested == whole.searched.tested
    units = [tuple(json.loads(line)["unit"]) for line in path.read_text().splitlines()[1:]]
    assert len(units) == len(set(units)) == 40
    shares = [status.share for status in stopping.seen]
    assert shares == sorted(shares)
    assert 0.0 < shares[0] <= shares[-1] < 1.0
    assert stopping.seen[0].seeds_per_second > 0.0


def test_a_ledger_of_another_search_is_refused(left: Callable[..., Any], tmp_path: Path) -> None:
    """Other positions, seeds or values make another search; a foreign line is no work unit."""
    draw = left()
    path = tmp_path / "one.ledger"
    with Ledger(path) as ledger:
        search_positions(draw.conditions(), (draw.index,), seeds=near(draw.seed, 100), ledger=ledger)
    for positions, seeds in (
        ((draw.index + 1,), near(draw.seed, 100)),
        ((draw.index,), near(draw.seed, 101)),
    ):
        with Ledger(path, resume=True) as ledger, pytest.raises(LedgerError, match="another search"):
            search_positions(draw.conditions(), positions, seeds=seeds, ledger=ledger)
    with Ledger(path, resume=True) as ledger:
        plan = plan_module.make_plan(draw.conditions(), (draw.index,), near(draw.seed, 100), None, None)
        ledger.begin(plan.fingerprint, plan.description)
        ledger.append({"unit": [9, 9, 9, 9], "strict": 0, "found": []})
    with Ledger(path, resume=True) as ledger, pytest.raises(LedgerError, match="does not plan"):
        search_positions(draw.conditions(), (draw.index,), seeds=near(draw.seed, 100), ledger=ledger)


def test_impossible_searches_are_refused(left: Callable[..., Any]) -> None:
    """Ranges and positions that cannot be, and values that say too little for the trials."""
    conditions = left().conditions()
    for positions, seeds, passes in (((-1,), (0, 10), None), ((0,), (5, 2**32 + 1), None), ((0,), (0, 9), 0)):
        with pytest.raises(UsageError, match="expected"):
            search_positions(conditions, positions, seeds=seeds, passes=passes)
    with pytest.raises(NothingToSearch, match="no stream position"):
        search_positions(conditions, ())
    few = left(places=(0, 100, 200, 300, 400), stored="bfloat16").conditions()
    with pytest.raises(NothingToSearch, match="are needed for an answer"):
        search_positions(few, (0,))
    empty = search_positions(conditions, (0,), seeds=(5, 5))
    assert (empty.candidates, empty.searched.complete) == ((), True)


@pytest.mark.parametrize("bound", ["known", "open"])
def test_cgcnn_is_found_by_four_columns(cases: Path, bound: str) -> None:
    """256 values that never moved, too few to solve for the state, give the seed of a published model."""
    seed, width = 95_003_306, 92
    columns = np.array([66, 69, 71, 76])
    with open_checkpoint(cases / "real" / "cgcnn_band-gap.pth.tar") as checkpoint:
        weight = checkpoint.rows("state_dict.embedding.weight", 0, 64)
    indices = (np.arange(64)[:, None] * width + columns).ravel()
    values = weight.ravel()[indices]
    largest = float(np.abs(values).max())
    exact = 1.0 / math.sqrt(width)
    conditions = conditions_of(
        values,
        indices,
        (64, width),
        "uniform",
        (exact, exact) if bound == "known" else (largest, 1.02 * largest),
        unit=indices % width,
        trust=np.full(256, 0.97),
    )
    first = seed - seed % (1 << 20)

    outcome = search_positions(conditions, (0,), seeds=(first, first + (1 << 20)))

    assert answers(outcome) == [(seed, 0)]
    best = outcome.candidates[0]
    assert (best.equal, best.arithmetic) == (256, "cpu-unfused")
    assert best.agreeing == best.of
    elsewhere = search_positions(conditions, (64 * width,), seeds=near(seed), passes=1)
    assert elsewhere.candidates == ()


@pytest.mark.slow
def test_all_seeds_at_one_position(left: Callable[..., Any]) -> None:
    """All 2^32 seeds, through every pass: the true one and no other."""
    draw = left(seed=4_123_456_789)
    outcome = search_positions(draw.conditions(), (draw.index,), passes=1, everything=True)
    assert answers(outcome) == [(draw.seed, draw.index)]
    assert outcome.searched.complete


@pytest.mark.parametrize(("first", "stop", "size"), [(1000, 1035, 10), (0, 30, 10), (5, 6, 10), (4, 4, 10)])
def test_pieces_tile_a_range(first: int, stop: int, size: int) -> None:
    """Nothing is left out, nothing is done twice, and nothing else counts as a piece."""
    found = list(pieces(first, stop, size))
    assert [number for piece in found for number in range(*piece)] == list(range(first, stop))
    around = range(first - 12, stop + 12)
    assert [(a, b) for a in around for b in around if is_piece(a, b, first, stop, size)] == found


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.search.cpu_positions.conftest import Left
from birthmark.search.cpu_positions import plan
from birthmark.search.cpu_positions.search import search_positions
from birthmark.search.ledger import Ledger

plan.UNIT = 1 << 14
with Ledger(sys.argv[2]) as ledger:
    search_positions(Left().conditions(), (5, 6, 7), seeds=(0, 1 << 24), passes=1, ledger=ledger)
"""


@pytest.mark.slow
def test_a_killed_search_goes_on(
    left: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a killed process had noted is not done again, and the rest is done."""
    path = tmp_path / "killed.ledger"
    root = Path(__file__).resolve().parents[3]
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(root), str(path)],
        env={**os.environ, "PYTHONPATH": str(root / "src")},
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not path.exists() or path.read_bytes().count(b"\n") < 50):
        time.sleep(0.01)
    process.kill()
    process.wait()
    before = path.read_text().splitlines()
    monkeypatch.setattr(plan_module, "UNIT", 1 << 14)
    with Ledger(path, resume=True) as ledger:
        outcome = search_positions(
            left().conditions(), (5, 6, 7), seeds=(0, 1 << 24), passes=1, ledger=ledger
        )
    after = path.read_text().splitlines()
    assert outcome.searched.complete
    assert outcome.candidates == ()
    assert 50 <= len(before) < len(after) == 1 + 3 * 1024
    assert after[: len(before) - 1] == before[:-1]
    units = [tuple(json.loads(line)["unit"]) for line in after[1:]]
    assert len(set(units)) == len(units)
