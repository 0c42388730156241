"""Likely seeds at supposed places: found where a recipe draws, and nowhere else; every prediction counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from birthmark.errors import NothingToSearch
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.recipes.hypotheses import Supposition, redrawn, sharded, suppositions
from birthmark.recipes.seeds import in_order
from birthmark.recipes.sharding import Sharding
from birthmark.samplers.truncated import symmetric
from birthmark.search.options import Options
from birthmark.search.progress import Status
from birthmark.search.supposed import places_of, search_supposed

SHAPE = (8192, 64)
LAYOUTS = (40_960, 221_184, 270_336)
CONFIG: dict[str, Any] = {
    "model_type": "llama", "vocab_size": 8192, "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 96,
}  # fmt: skip
EMBEDDING = "model.embed_tokens.weight"
#: Few enough that all tests together take a second or two.
BUDGET = 1 << 16


def supposed() -> list[Supposition]:
    """What is supposed of the embedding."""
    return [redrawn(SHAPE, LAYOUTS), *suppositions(CONFIG, EMBEDDING, SHAPE, LAYOUTS)]


def found(selection: Any, options: Options | None = None) -> list[tuple[Any, ...]]:
    """Seed, G, offset and shards of what a search finds."""
    wanted = options or Options(workers=1)
    places = places_of(selection, supposed(), wanted)
    outcome = search_supposed(selection, places, wanted, budget=BUDGET)
    return [
        (one.seed, one.not_excluded, one.hypothesis.offset, one.hypothesis.sharding.ways)
        for one in outcome.candidates
    ]


@pytest.mark.parametrize(
    ("threads", "offset"),
    [
        pytest.param(270_336, 4, id="behind its constructor"),
        pytest.param(40_960, 16, id="behind its constructor, another layout"),
        pytest.param(270_336, 60, id="behind all constructors, as transformers does"),
    ],
)
def test_a_later_draw_is_found(planted: Callable[..., Any], threads: int, offset: int) -> None:
    """At the offset that its layout gives, with that layout alone."""
    made = planted(seed=42, shape=SHAPE, offset=offset, threads=threads)

    assert found(made.selection()) == [(42, (threads,), offset, 1)]


def test_shards_of_a_distributed_tensor_are_found(planted: Callable[..., Any]) -> None:
    """Sixteen processes under one seed; rows of several of them survived."""
    draw = Draw("normal", (0.0, 0.02), SHAPE)
    made = planted(shape=SHAPE, rows=range(5, 8192, 250), stored="float32")
    truth = Hypothesis(draw, 270_336, sharding=Sharding(16, "dtensor"))
    values = truth.values(1234, made.indices()).astype(np.float64)

    ((seed, _, offset, ways),) = found(made.selection(values))
    assert (seed, offset, ways) == (1234, 0, 16)


def test_truncated_normals_are_found(planted: Callable[..., Any]) -> None:
    """Lingua's tables are truncated normals; without them nothing is found."""
    draw = Draw("truncated-normal", symmetric(0.125, 3.0), SHAPE)
    made = planted(shape=SHAPE, rows=range(5, 8192, 250), stored="float32")
    truth = Hypothesis(draw, 270_336, sharding=Sharding(8, "dtensor"))
    values = truth.values(777, made.indices()).astype(np.float64)

    ((seed, _, _, ways),) = found(made.selection(values))
    assert (seed, ways) == (777, 8)
    assert found(made.selection(values), Options(workers=1, truncated=False)) == []


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param({"seed": 42, "offset": 12}, id="an offset that nobody supposes"),
        pytest.param({"seed": 3_000_000_007, "offset": 4}, id="a seed that is not likely"),
        pytest.param({"seed": 42, "offset": 4, "threads": 288_768}, id="a layout that is not compared"),
    ],
)
def test_nothing_is_found_elsewhere(planted: Callable[..., Any], plant: dict[str, Any]) -> None:
    """Negative twins of the draws above; the last has a first wave alike and all else different."""
    made = planted(shape=SHAPE, rows=range(4400, 4430), **plant)

    assert found(made.selection()) == []


def test_shuffled_values_are_not_found(planted: Callable[..., Any]) -> None:
    """The right values in the wrong order."""
    made = planted(seed=42, shape=SHAPE, offset=4)

    assert found(made.selection(np.random.default_rng(1).permutation(made.values()))) == []


def test_every_prediction_is_counted(planted: Callable[..., Any]) -> None:
    """Seeds times distinct predictions, as many seeds as the budget gives to each; all named in words."""
    selection = planted(shape=SHAPE).selection()
    places = places_of(selection, supposed(), Options())
    searched = search_supposed(selection, places, Options(workers=1), budget=BUDGET).searched
    (stage,) = searched.stages

    assert stage.predictions == sum(len(place.classes) for place in places)
    assert searched.trials == stage.trials == stage.seeds * stage.predictions
    assert BUDGET // 2 < stage.seeds * stage.units[1] <= BUDGET
    assert searched.complete
    assert all(f"{stage.seeds:,} likeliest seeds" in text for text in searched.hypotheses)
    assert any("(8, 16, 32, 64, 128, 256, 512, 1024)" in text for text in searched.hypotheses)
    assert not any(place.supposed.plain for place in places)


def test_named_layouts_are_all_that_is_tried(planted: Callable[..., Any]) -> None:
    """With --device, only its own offsets count."""
    selection = planted(shape=SHAPE).selection()
    places = places_of(selection, supposed(), Options(layouts=(40_960,)))

    assert {threads for place in places for one in place.classes for threads in one.threads} == {40_960}


def test_likely_seeds_come_first() -> None:
    """Named seeds, then what rules make of them, and all of the dictionary in the end."""
    seeds = in_order()
    first = seeds[:1000].tolist()

    assert first[:2] == [1234, 42]
    assert 42 + 2718 in first
    assert len(np.unique(seeds)) == len(seeds)


def test_too_few_values_are_refused(planted: Callable[..., Any]) -> None:
    """Half a row of a narrow table cannot tell seeds apart."""
    made = planted(shape=(8192, 32), rows=(7,))
    selection = made.selection()
    places = places_of(selection, [redrawn((8192, 32), LAYOUTS)], Options())

    with pytest.raises(NothingToSearch, match="36 are needed"):
        search_supposed(selection, places)


def test_ctrl_c_stops_it(planted: Callable[..., Any]) -> None:
    """What was not finished is not claimed."""

    class Impatient:
        def update(self, status: Status) -> None:  # noqa: ARG002 - the protocol's signature
            raise KeyboardInterrupt

    selection = planted(shape=SHAPE).selection()
    places = places_of(selection, supposed(), Options())
    outcome = search_supposed(selection, places, Options(workers=1), budget=BUDGET, progress=Impatient())

    assert outcome.stopped
    assert not outcome.searched.complete


def test_one_seed_for_all_cuts(planted: Callable[..., Any]) -> None:
    """A known seed is held against every number of shards, one trial each, and named in the account."""
    made = planted(shape=SHAPE, rows=range(5, 8192, 250), stored="float32")
    truth = Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), 270_336, sharding=Sharding(64, "dtensor"))
    selection = made.selection(truth.values(99, made.indices()).astype(np.float64))
    places = places_of(selection, sharded(SHAPE, LAYOUTS), Options())
    outcome = search_supposed(selection, places, Options(workers=1), seeds=np.array([99], np.uint64))

    assert outcome.candidates[0].hypothesis.sharding == Sharding(64, "dtensor")
    assert outcome.searched.trials == sum(len(place.classes) for place in places)
    assert all(text.endswith("scale estimated: seed 99") for text in outcome.searched.hypotheses)
