"""Stages come in their order, and together they serve what the plan promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from birthmark.devices.catalogue import exhaustive_threads, table_threads
from birthmark.errors import NothingToSearch, UsageError
from birthmark.search.miss import COVERED
from birthmark.search.options import Options
from birthmark.search.places import unpack
from birthmark.search.plan import Plan, make_plan
from birthmark.search.stage import ENDLESS, Stage
from birthmark.search.stages import stages

RANGE = Options(dictionary=False, seeds=(0, 1 << 20))


def built(selection: Any, options: Options = RANGE) -> list[Stage]:
    return list(stages(make_plan(selection, options)))


def names(found: list[Stage]) -> list[str]:
    return [stage.name for stage in found]


class TestOrder:
    def test_low_rows_decide_without_layouts(self, planted: Callable[..., Any]) -> None:
        """Three rows below every layout make one block each; no stage over the table is left."""
        found = built(planted(rows=(20, 60, 100, *range(8160, 8190))).selection())

        assert names(found) == ["layout-free"]
        assert all(len(each.blocks) == 1 for each in found[0].passes)
        assert found[0].at_least is not None
        assert found[0].at_least <= min(table_threads())

    def test_one_low_row_is_tried_first_and_not_trusted(self, planted: Callable[..., Any]) -> None:
        """A single row that may be an impostor leaves the table to be searched."""
        found = built(planted(rows=(100, *range(8160, 8190)), probability=0.9).selection())

        assert names(found) == ["layout-free", "table"]
        assert min(found[0].miss) > COVERED
        assert max(found[1].miss) < 1e-3

    def test_high_rows_need_the_table(self, planted: Callable[..., Any]) -> None:
        """Without a row below the layouts every layout of the table has blocks of its own."""
        found = built(planted(rows=range(8160, 8190)).selection())

        assert names(found) == ["table"]
        assert found[0].threads == table_threads()

    def test_the_dictionary_goes_first(self, planted: Callable[..., Any]) -> None:
        """With the table's layouts, then with all of them."""
        found = built(planted(rows=range(8160, 8190)).selection(), Options(seeds=(0, 0)))

        assert names(found) == ["dictionary", "wide dictionary"]
        assert set(found[0].threads) | set(found[1].threads) == set(exhaustive_threads())

    def test_exhaustive_adds_what_is_left(self, planted: Callable[..., Any]) -> None:
        """The layouts outside the table, and only those, each once."""
        options = Options(dictionary=False, seeds=(0, 1 << 20), exhaustive=True)
        found = built(planted(rows=range(8160, 8190)).selection(), options)

        assert names(found) == ["table", "exhaustive"]
        assert set(found[1].threads) >= set(exhaustive_threads()) - set(table_threads())

    def test_given_layouts_replace_the_table(self, planted: Callable[..., Any]) -> None:
        """One device, one prediction for each sharding."""
        found = built(
            planted(rows=range(8160, 8190)).selection(),
            Options(layouts=(270_336,), ways=(1,), seeds=(0, 1 << 20)),
        )

        assert names(found) == ["dictionary", "table"]
        assert found[1].threads == (270_336,)
        assert len(found[1].predictions) == 1


class TestBlocks:
    @pytest.mark.parametrize("rows", [range(8160, 8190), (700, 900, *range(4000, 4030))])
    def test_every_prediction_has_its_probes(self, planted: Callable[..., Any], rows: Any) -> None:
        """Each prediction of a stage is a member of as many blocks as its chance of a miss takes."""
        for stage in built(planted(rows=rows).selection()):
            served = np.zeros(len(stage.predictions), np.int64)
            for each in stage.passes:
                for block in each.blocks:
                    served[block.members] += 1

            assert served.min() >= 3

    def test_a_block_is_where_its_members_have_the_probe(self, planted: Callable[..., Any]) -> None:
        """Rank, counter and thread agree with the hypothesis of every member; no block comes twice."""
        selection = planted(rows=range(8160, 8190), offset=12).selection()
        (stage,) = built(selection, Options(dictionary=False, seeds=(0, 99), offset=12))
        seen = set()
        for each in stage.passes:
            for block in each.blocks:
                assert (block.element, block.packed) not in seen
                seen.add((block.element, block.packed))
                for member in block.members:
                    rank, call, thread, _ = unpack(int(stage.places[member, block.element]))
                    assert (block.rank, block.counter, block.thread) == (rank, 3 + call, thread)

    def test_predictions_that_agree_share_a_block(self, planted: Callable[..., Any]) -> None:
        """A row low in its last shard is below most layouts there: far fewer blocks than predictions."""
        selection = planted(rows=(7685, 7690, 7700)).selection()
        (stage,) = built(selection, Options(dictionary=False, ways=(16,), seeds=(0, 99)))

        assert max(len(block.members) for each in stage.passes for block in each.blocks) > 1


class TestPlan:
    def test_the_fingerprint_is_the_searchs(self, planted: Callable[..., Any]) -> None:
        """The same for the same search; another for other values, seeds, layouts or probes."""
        selection = planted().selection()
        base = make_plan(selection, RANGE).fingerprint
        others: list[Plan] = [
            make_plan(planted(seed=778).selection(), RANGE),
            make_plan(selection, Options(dictionary=False, seeds=(0, 1 << 21))),
            make_plan(selection, Options(dictionary=False, seeds=(0, 1 << 20), layouts=(270_336,))),
            make_plan(selection, Options(dictionary=False, seeds=(0, 1 << 20), probes=5)),
            make_plan(selection, Options(seeds=(0, 1 << 20))),
        ]

        assert make_plan(planted().selection(), RANGE).fingerprint == base
        assert len({base, *(plan.fingerprint for plan in others)}) == 6

    def test_workers_do_not_matter_to_it(self, planted: Callable[..., Any]) -> None:
        """A search may be resumed with more threads."""
        selection = planted().selection()
        more = Options(dictionary=False, seeds=(0, 1 << 20), workers=7)

        assert make_plan(selection, more).fingerprint == make_plan(selection, RANGE).fingerprint

    def test_too_few_values_are_refused_with_numbers(self, planted: Callable[..., Any]) -> None:
        """The message says how many there are and how many it takes."""
        with pytest.raises(NothingToSearch, match=r"40 untouched values .* \d+ are needed"):
            make_plan(planted(shape=(8192, 20), rows=(5, 6)).selection(), Options())

    @pytest.mark.parametrize(("scale", "error"), [(0.0, 0.1), (float("nan"), 0.1), (0.02, float("nan"))])
    def test_a_scale_that_is_none_is_refused(
        self, planted: Callable[..., Any], scale: float, error: float
    ) -> None:
        """All-zero or broken values are nothing to search, not a warning from numpy."""
        selection = replace(planted().selection(), scale=scale, scale_error=error)
        with pytest.raises(NothingToSearch, match="scale"):
            make_plan(selection, RANGE)

    def test_cuts_that_do_not_fit_are_a_usage_error(self, planted: Callable[..., Any]) -> None:
        """Rows that do not divide by three cannot have been cut so."""
        with pytest.raises(UsageError, match="cannot be cut"):
            make_plan(planted().selection(), Options(ways=(3,)))

    def test_units_tile_every_pass(self, planted: Callable[..., Any]) -> None:
        """From the first seed to the last, without gap or overlap, for any unit size."""
        for unit in (None, 1000, 4096):
            options = Options(dictionary=False, seeds=(5, 100_000), unit=unit)
            (stage,) = built(planted().selection(), options)
            for number in range(len(stage.passes)):
                units = [each for each in stage.units() if each.number == number]
                assert units[0].start == 0
                assert units[-1].stop == 99_995
                assert all(a.stop == b.start for a, b in pairwise(units))

    def test_probes_can_be_asked_for(self, planted: Callable[..., Any]) -> None:
        """Two probes instead of as many as it takes, and the chance of a miss says so."""
        options = Options(dictionary=False, seeds=(0, 99), probes=2, ways=(1,))
        stage, *_ = built(planted().selection(), options)

        assert stage.probes == 2
        assert max(stage.miss) > 1e-3


def test_an_endless_layout_is_no_layout(planted: Callable[..., Any]) -> None:
    """What stands for every large G is not reported as one."""
    (stage,) = built(planted().selection())

    assert any(ENDLESS in each.threads for each in stage.predictions)
    assert ENDLESS not in stage.threads
