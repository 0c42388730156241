"""A search finds the seed that made a selection, and comes back empty where there is none."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from birthmark.errors import LedgerError, NothingToSearch, UsageError
from birthmark.search.engine import search
from birthmark.search.ledger import Ledger
from birthmark.search.options import Options
from birthmark.search.outcome import Outcome
from birthmark.search.progress import Status

SEED = 3_141_592
LOW = (20, 60, 100, *range(8160, 8190))
HIGH = tuple(range(8160, 8190))


def near(seed: int = SEED, half: int = 100_000, **more: Any) -> Options:
    """All seeds around one, without the dictionary."""
    wanted = {"dictionary": False, "truncated": False, **more}
    return Options(seeds=(seed - half, seed + half), **wanted)


def listed(**more: Any) -> Options:
    """The dictionary alone."""
    return Options(seeds=(0, 0), truncated=False, **more)


def answers(outcome: Outcome) -> list[tuple[int, int, int]]:
    """(seed, G, ways) of every candidate."""
    return [
        (each.seed, each.hypothesis.threads, each.hypothesis.sharding.ways) for each in outcome.candidates
    ]


class TestPlantedSeeds:
    @pytest.mark.parametrize("seed", [0, 777, 20_240_229, 67280421310721])
    def test_the_dictionary_has_it(self, planted: Callable[..., Any], seed: int) -> None:
        """Seeds that people use, dates and 64-bit ones among them, with their layout."""
        outcome = search(planted(seed=seed).selection(), listed())

        assert answers(outcome) == [(seed, 270_336, 1)]
        assert outcome.candidates[0].log10_p < -100
        assert outcome.candidates[0].layout_known

    def test_a_given_seed_is_tried(self, planted: Callable[..., Any]) -> None:
        """A declared seed of 64 bits goes with the dictionary, or alone."""
        made = planted(seed=2**64 - 12345)
        outcome = search(made.selection(), listed(dictionary=False, also=(-12345,)))

        assert answers(outcome) == [(2**64 - 12345, 270_336, 1)]

    @pytest.mark.parametrize("distribution", ["normal", "uniform"])
    @pytest.mark.parametrize("stored", ["bfloat16", "float32", "float64"])
    def test_low_rows_find_it_without_layouts(
        self, planted: Callable[..., Any], distribution: str, stored: str
    ) -> None:
        """In the layout-free stage; the layout follows from the other rows."""
        made = planted(seed=SEED, rows=LOW, distribution=distribution, stored=stored)
        outcome = search(made.selection(), near())

        assert answers(outcome) == [(SEED, 270_336, 1)]
        assert [stage.name for stage in outcome.searched.stages] == ["layout-free"]

    def test_high_rows_find_it_over_the_table(self, planted: Callable[..., Any]) -> None:
        """Where every layout has blocks of its own."""
        outcome = search(planted(seed=SEED, rows=HIGH, threads=221_184).selection(), near(half=5_000))

        assert (SEED, 221_184, 1) in answers(outcome)
        assert outcome.searched.stages[-1].name == "table"

    def test_a_layout_outside_the_table_takes_the_exhaustive_stage(self, planted: Callable[..., Any]) -> None:
        """200 SMs of 1,536 threads are no known device; the default comes back empty."""
        selection = planted(seed=SEED, rows=HIGH, threads=200 * 1536).selection()

        assert answers(search(selection, near(half=3_000, ways=(1,)))) == []
        found = search(selection, near(half=3_000, ways=(1,), exhaustive=True))
        assert (SEED, 200 * 1536, 1) in answers(found)

    @pytest.mark.parametrize("ways", [2, 8])
    def test_shards_are_found_by_the_seed_of_rank_0(self, planted: Callable[..., Any], ways: int) -> None:
        """Rows of several shards, each with a seed of its own."""
        made = planted(seed=SEED, ways=ways, rows=range(0, 8192, 250))
        outcome = search(made.selection(), near(half=20_000))

        assert (outcome.candidates[0].seed, outcome.candidates[0].hypothesis.sharding.ways) == (SEED, ways)

    def test_shards_beyond_32_bits_wrap_into_the_next_word(self, planted: Callable[..., Any]) -> None:
        """The seed of rank 0 is the last of 32 bits; rank 1 has a seed of 33."""
        made = planted(seed=2**32 - 1, ways=2, rows=range(4096, 4140))
        outcome = search(made.selection(), near(2**32 - 1, half=1000, ways=(2,)))

        assert (2**32 - 1, 2) in [(seed, ways) for seed, _, ways in answers(outcome)]

    def test_the_ends_of_the_range_belong_to_it(self, planted: Callable[..., Any]) -> None:
        """The first seed is searched, the one past the last is not."""
        selection = planted(seed=SEED, rows=LOW).selection()

        assert answers(search(selection, Options(seeds=(SEED, SEED + 1), dictionary=False)))
        assert not answers(search(selection, Options(seeds=(SEED + 1, SEED + 5000), dictionary=False)))
        assert not answers(search(selection, Options(seeds=(SEED - 5000, SEED), dictionary=False)))

    def test_another_offset_is_another_stream(self, planted: Callable[..., Any]) -> None:
        """Found at its own offset only."""
        selection = planted(seed=SEED, rows=LOW, offset=40).selection()

        assert answers(search(selection, near(offset=40))) == [(SEED, 270_336, 1)]
        assert answers(search(selection, near())) == []

    @pytest.mark.parametrize("arithmetic", ["nvidia-pascal-", "amd"])
    def test_arithmetic_does_not_matter(self, planted: Callable[..., Any], arithmetic: str) -> None:
        """Other platforms' last bits are within the tolerance of the probes."""
        made = planted(seed=SEED, rows=LOW, arithmetic=arithmetic, stored="float32")

        assert answers(search(made.selection(), near())) == [(SEED, 270_336, 1)]


class TestDisturbedSelections:
    @pytest.mark.parametrize(
        "disturbance",
        [{"impostors": 10, "probability": 0.7}, {"altered": 0.05}, {"impostors": 5, "altered": 0.03}],
    )
    def test_impostors_and_altered_elements_hide_nothing(
        self, planted: Callable[..., Any], disturbance: dict[str, Any]
    ) -> None:
        """Rows of correlation 0.93, and elements with noise of their own width."""
        made = planted(seed=SEED, rows=(*range(10, 30), *range(8160, 8180)), **disturbance)

        assert answers(search(made.selection(), near())) == [(SEED, 270_336, 1)]

    def test_the_probes_grow_with_doubt(self, planted: Callable[..., Any]) -> None:
        """Rows that are less sure take more probes, and the chance of a miss is told."""
        rows = tuple(range(10, 40))
        sure = search(planted(seed=1, rows=rows, probability=0.99).selection(), near(half=500))
        unsure = search(planted(seed=1, rows=rows, probability=0.6).selection(), near(half=500))

        assert sure.searched.probes < unsure.searched.probes
        assert sure.searched.miss_chance < 1e-3
        assert unsure.searched.miss_chance < 1e-3


class TestNegatives:
    def test_the_wrong_range_is_searched_in_vain(self, planted: Callable[..., Any]) -> None:
        """Empty, complete, and said to be so."""
        outcome = search(planted(seed=SEED, rows=LOW).selection(), near(SEED + 10**6))

        assert outcome.candidates == ()
        assert not outcome.stopped
        assert outcome.searched.complete
        assert outcome.searched.at_least is not None
        assert set(outcome.searched.layouts) >= {40_960, 270_336, 622_592}
        assert outcome.searched.miss_chance < 1e-3
        assert outcome.searched.trials >= 200_000

    @pytest.mark.parametrize(
        ("rows", "limits"), [(LOW, {"ways": (1, 8)}), (HIGH, {"layouts": (40_960, 221_184, 270_336)})]
    )
    def test_noise_has_no_seed(self, planted: Callable[..., Any], rows: Any, limits: dict[str, Any]) -> None:
        """Normal values of another generator, against the whole dictionary."""
        made = planted(rows=rows)
        noise = np.random.default_rng(42).normal(0, 0.02, len(made.indices()))
        selection = made.selection(noise.astype(np.float32).astype(float))
        outcome = search(selection, listed(**limits))

        assert outcome.candidates == ()
        assert outcome.searched.complete

    def test_shuffled_rows_are_another_tensor(self, planted: Callable[..., Any]) -> None:
        """The true values, each row in another's place."""
        made = planted(seed=777)
        values = made.values().reshape(len(made.rows), -1)
        shuffled = values[np.random.default_rng(1).permutation(len(values))].ravel()

        assert search(made.selection(shuffled), listed(ways=(1,))).candidates == ()

    def test_too_little_is_refused(self, planted: Callable[..., Any]) -> None:
        """Forty values cannot stand out of a billion trials."""
        with pytest.raises(NothingToSearch, match="are needed"):
            search(planted(shape=(8192, 20), rows=(5, 6)).selection(), Options())

    @pytest.mark.parametrize(
        "wrong",
        [{"seeds": (5, 4)}, {"seeds": (0, 2**65)}, {"layouts": ()}, {"ways": ()}, {"probes": 0}, {"unit": 3}],
    )
    def test_wrong_options_are_usage_errors(self, wrong: dict[str, Any]) -> None:
        """Each in one line."""
        with pytest.raises(UsageError):
            Options(**wrong)


class TestAmbiguity:
    def test_readings_that_predict_alike_are_all_told(self, planted: Callable[..., Any]) -> None:
        """Rows of the last of 4 shards with G = 221,184 look exactly like 8 shards with G = 73,728."""
        made = planted(seed=3952, ways=4, threads=221_184, rows=HIGH)
        found = answers(search(made.selection(), listed()))

        assert (3952, 221_184, 4) in found
        assert (3948, 73_728, 8) in found

    def test_a_seed_without_a_layout(self, planted: Callable[..., Any]) -> None:
        """Below every wave the seed is known and the layout is left open."""
        outcome = search(planted(seed=SEED, rows=range(20, 60)).selection(), near())
        (candidate,) = outcome.candidates

        assert candidate.seed == SEED
        assert not candidate.layout_known
        assert {40_960, 270_336, 622_592} <= set(candidate.not_excluded)


class Watcher:
    """Remembers what it is told, and presses Ctrl-C after some time."""

    def __init__(self, patience: int | None = None) -> None:
        self.heard: list[Status] = []
        self.patience = patience

    def update(self, status: Status) -> None:
        self.heard.append(status)
        if self.patience is not None and len(self.heard) > self.patience:
            raise KeyboardInterrupt


class TestInterruption:
    def test_progress_is_told(self, planted: Callable[..., Any]) -> None:
        """Shares grow to 1, with a rate and the hits of the probes so far."""
        watcher = Watcher()
        search(planted(seed=1, rows=LOW).selection(), near(truncated=False), progress=watcher)
        shares = [status.share for status in watcher.heard]

        assert shares == sorted(shares)
        assert shares[-1] == 1.0
        assert watcher.heard[-1].seeds_per_second > 0
        assert watcher.heard[-1].hits > 0
        assert watcher.heard[-1].stage == "layout-free"

    @pytest.mark.parametrize("patience", [0, 1, 5])
    def test_ctrl_c_leaves_a_ledger_that_goes_on(
        self, planted: Callable[..., Any], patience: int, tmp_path: Any
    ) -> None:
        """Stopped and resumed, a search ends as if it had never been stopped."""
        selection = planted(seed=1, rows=LOW).selection()
        options = near(half=300_000, unit=1 << 14, everything=True)
        path = tmp_path / "a.ledger"
        with Ledger(path) as ledger:
            first = search(selection, options, ledger=ledger, progress=Watcher(patience))
        with Ledger(path, resume=True) as ledger:
            second = search(selection, options, ledger=ledger)
        whole = search(selection, options)

        assert first.stopped
        assert not first.searched.complete
        assert not second.stopped
        assert comparable(second) == comparable(whole)

    def test_a_resumed_answer_is_the_answer(self, planted: Callable[..., Any], tmp_path: Any) -> None:
        """A seed found before the stop is in the ledger, and is judged again on resuming."""
        selection = planted(seed=SEED, rows=LOW).selection()
        path = tmp_path / "a.ledger"
        with Ledger(path) as ledger:
            first = search(selection, near(), ledger=ledger)
        with Ledger(path, resume=True) as ledger:
            again = search(selection, near(), ledger=ledger)

        assert answers(again) == answers(first) == [(SEED, 270_336, 1)]

    def test_a_ledger_of_another_selection_is_refused(
        self, planted: Callable[..., Any], tmp_path: Any
    ) -> None:
        """Other values, other search."""
        path = tmp_path / "a.ledger"
        with Ledger(path) as ledger:
            search(planted(seed=1, rows=LOW).selection(), near(half=1000), ledger=ledger)
        with Ledger(path, resume=True) as ledger, pytest.raises(LedgerError, match="another search"):
            search(planted(seed=2, rows=LOW).selection(), near(half=1000), ledger=ledger)

    def test_a_unit_counted_twice_is_refused(self, planted: Callable[..., Any], tmp_path: Any) -> None:
        """Even where its checksum is right."""
        selection = planted(seed=1, rows=LOW).selection()
        path = tmp_path / "a.ledger"
        with Ledger(path) as ledger:
            search(selection, near(half=1000), ledger=ledger)
        with Ledger(path, resume=True) as ledger:
            records = ledger.begin(fingerprint(selection, near(half=1000)), "tensor embed.weight")
            ledger.append(records[0])
        with Ledger(path, resume=True) as ledger, pytest.raises(LedgerError, match="twice"):
            search(selection, near(half=1000), ledger=ledger)

    def test_a_unit_that_is_not_planned_is_refused(self, planted: Callable[..., Any], tmp_path: Any) -> None:
        """A range that overlaps another would count seeds twice."""
        selection = planted(seed=1, rows=LOW).selection()
        path = tmp_path / "a.ledger"
        with Ledger(path) as ledger:
            ledger.begin(fingerprint(selection, near(half=1000)), "tensor embed.weight")
            ledger.append({"unit": ["layout-free", 0, 3, 77], "hits": 0, "found": []})
        with Ledger(path, resume=True) as ledger, pytest.raises(LedgerError, match="does not plan"):
            search(selection, near(half=1000), ledger=ledger)


def fingerprint(selection: Any, options: Options) -> str:
    from birthmark.search.plan import make_plan

    return make_plan(selection, options).fingerprint


def comparable(outcome: Outcome) -> Any:
    """All of an outcome but how long it took."""
    searched = outcome.searched
    return (
        outcome.candidates,
        searched.layouts,
        searched.complete,
        searched.trials,
        searched.candidates_tested,
        searched.stages,
    )


def test_ledger_units_tile_the_range(planted: Callable[..., Any], tmp_path: Any) -> None:
    """After a complete search every pass has every seed once, in the ledger as on paper."""
    import json

    path = tmp_path / "a.ledger"
    with Ledger(path) as ledger:
        search(planted(seed=1, rows=LOW).selection(), near(unit=7_000), ledger=ledger)
    units: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for line in path.read_text().splitlines()[1:]:
        stage, number, start, stop = json.loads(line)["unit"]
        units.setdefault((stage, number), []).append((start, stop))
    for ranges in units.values():
        ordered = sorted(ranges)
        assert (ordered[0][0], ordered[-1][1]) == (0, 200_000)
        assert all(a[1] == b[0] for a, b in pairwise(ordered))


@pytest.mark.slow
def test_the_whole_range_is_searched(planted: Callable[..., Any]) -> None:
    """All 2^32 seeds and one probe: the last seed is found, and noise is searched in vain."""
    made = planted(seed=2**32 - 1, rows=LOW, distribution="uniform")
    options = Options(dictionary=False, truncated=False, probes=1, ways=(1,))
    noise = np.random.default_rng(3).uniform(-0.02, 0.02, len(made.indices()))

    assert answers(search(made.selection(), options)) == [(2**32 - 1, 270_336, 1)]
    vain = search(made.selection(noise.astype(np.float32).astype(float)), options)
    assert vain.candidates == ()
    assert vain.searched.stages[0].complete
