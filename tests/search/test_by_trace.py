"""With a trace each layout has its own offset of a tensor, and a seed one trial a place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from birthmark.recipes.trace import Trace, TracedDraw, TracedStream, TracedTensor
from birthmark.recipes.trace_values import Applied, Constant, Drawn, Region, Value, Viewed
from birthmark.search.by_trace import Group, TracedPlaces, confirm, fewest_groups, narrowed
from birthmark.search.engine import search
from birthmark.search.options import Options

from .conftest import Planted

SHAPE = (8192, 144)
FIRST = TracedDraw("uniform", (0.0, 1.0), (2_000_000,))
LAYOUTS = (221_184, 270_336, 303_104)


def places(
    *calls: TracedDraw, value: Value | None = None, device: str = "cpu", torch: str = "2.13"
) -> TracedPlaces:
    """A trace in which the last call fills the embedding."""
    draws = tuple(replace(call, after=number - 1 if number else None) for number, call in enumerate(calls))
    tensor = TracedTensor("embed", SHAPE, "float32", value or Drawn(len(calls) - 1))
    other = TracedTensor("other", (4,), "float32", Constant(0.0, "float32"))
    trace = Trace(draws, (tensor, other), (TracedStream(device),), torch)
    return TracedPlaces(trace, {"embed.weight": "embed", "other.weight": "other"})


EMBEDDING = TracedDraw("normal", (0.0, 0.02), SHAPE)


def test_layouts_share_an_offset_or_have_their_own() -> None:
    """Two million values cost 12 on a narrow card and 8 on wide ones."""
    found = places(FIRST, EMBEDDING)

    assert found.groups("embed.weight", LAYOUTS) == (Group(12, (221_184,)), Group(8, (270_336, 303_104)))
    assert found.indices("embed.weight") == (2_000_000,)
    assert places(EMBEDDING).groups("embed.weight", LAYOUTS) == (Group(0, LAYOUTS),)


def test_redraws_before_a_tensor_give_several_places() -> None:
    """One for each likely number of rounds, the expected one first."""
    cut = TracedDraw("truncated-normal", (0.0, 1.0, -2.0, 2.0), (1000,))
    found = places(cut, EMBEDDING)

    assert found.indices("embed.weight")[0] == 3 * 1016
    assert len(found.indices("embed.weight")) == 9
    assert {group.offset for group in found.groups("embed.weight", LAYOUTS)} >= {8, 12, 16}


@pytest.mark.parametrize(
    ("value", "aimed"),
    [
        (Drawn(0), True),
        (Applied("mul", (0.5,), Drawn(0), "float32"), True),
        (Viewed(Region((144, 8192), (1, 144)), Drawn(0)), False),
        (Constant(0.0, "float32"), False),
    ],
)
def test_only_a_draw_in_its_own_order_is_aimed_at(value: Value, aimed: bool) -> None:
    """Scaled it still is; transposed or constant it is not."""
    assert (places(EMBEDDING, value=value).aim("embed.weight") is not None) is aimed


def test_what_the_trace_does_not_have_has_no_place() -> None:
    """A tensor of another name, and one that no draw decides."""
    found = places(EMBEDDING)

    assert found.aim("nobody") is None
    assert found.groups("other.weight", LAYOUTS) == ()
    assert found.indices("nobody") == ()


def test_a_gpu_trace_has_no_cpu_index() -> None:
    """Nor a CPU draw of a mixed trace an offset."""
    assert places(EMBEDDING, device="cuda").indices("embed.weight") == ()
    mixed = Trace(
        (EMBEDDING, replace(EMBEDDING, stream=1)),
        (TracedTensor("embed", SHAPE, "float32", Drawn(0)),),
        (TracedStream("cpu"), TracedStream("cuda")),
    )
    assert TracedPlaces(mixed, {"embed.weight": "embed"}).groups("embed.weight", LAYOUTS) == ()


def test_a_later_tensor_is_searched_at_its_own_offset() -> None:
    """The seed is found where the trace has the tensor, and not at the start of the stream."""
    planted = Planted(threads=270_336, offset=8, seed=42)
    found = places(FIRST, EMBEDDING)
    aim = found.aim("embed.weight")
    assert aim is not None
    group = found.groups("embed.weight", LAYOUTS)[1]
    options = narrowed(Options(seeds=(0, 0)), group, aim)
    outcome = search(planted.selection(), options)

    assert [each.seed for each in outcome.candidates] == [42]
    assert outcome.candidates[0].hypothesis.offset == 8
    assert not search(planted.selection(), replace(options, offset=0)).candidates
    assert (options.ways, options.truncated) == ((1,), False)


def test_a_known_seed_is_confirmed_with_one_trial_a_place() -> None:
    """The true seed stands out among the places; another one, or another place, does not."""
    planted = Planted(threads=270_336, offset=8, seed=42)
    found = places(FIRST, EMBEDDING)
    aim = found.aim("embed.weight")
    assert aim is not None
    groups = found.groups("embed.weight", LAYOUTS)
    outcome = confirm(planted.selection(), 42, groups, Options(), aim)

    assert outcome.candidates[0].hypothesis.threads == 270_336
    assert outcome.candidates[0].hypothesis.offset == 8
    assert outcome.searched.trials <= len(LAYOUTS)
    assert not confirm(planted.selection(), 43, groups, Options(), aim).candidates
    assert not confirm(planted.selection(), 42, [Group(16, LAYOUTS)], Options(), aim).candidates
    noise = np.random.default_rng(1).normal(0, 0.02, len(planted.indices()))
    assert not confirm(planted.selection(noise), 42, groups, Options(), aim).candidates


def test_the_cheapest_tensor_is_searched_first() -> None:
    """Fewer offsets, fewer passes; what has none comes last."""
    found = places(FIRST, EMBEDDING)

    assert fewest_groups(found, ["other.weight", "embed.weight"], LAYOUTS) == ["embed.weight", "other.weight"]
