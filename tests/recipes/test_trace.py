"""Positions of traced calls: words on the CPU, offsets on a GPU, and what redraws leave open."""

from __future__ import annotations

from dataclasses import replace

import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.recipes.trace import Trace, TracedDraw, TracedStream, TracedTensor
from birthmark.recipes.trace_costs import Position
from birthmark.recipes.trace_values import Constant, Drawn

G = 40_960
CUT = ("truncated-normal", (0.0, 1.0, -2.0, 2.0))


def following(*calls: TracedDraw) -> tuple[TracedDraw, ...]:
    """The calls, each after the one before."""
    return tuple(replace(call, after=number - 1 if number else None) for number, call in enumerate(calls))


def traced(*calls: TracedDraw, torch: str = "2.13") -> Trace:
    tensors = tuple(
        TracedTensor(f"w{number}", call.shape, call.dtype, Drawn(number)) for number, call in enumerate(calls)
    )
    return Trace(following(*calls), tensors, torch=torch)


def test_cpu_positions_count_words() -> None:
    """Uniforms take a word each, normals 16 more where blocks of 16 do not fit, doubles two."""
    trace = traced(
        TracedDraw("uniform", (0.0, 1.0), (10, 10)),
        TracedDraw("normal", (0.0, 1.0), (100,)),
        TracedDraw("uniform", (0.0, 1.0), (7,), "float64"),
        TracedDraw("bernoulli", (0.5,), (3,)),
        TracedDraw("permutation", (), (10,), "int64"),
        TracedDraw("normal", (0.0, 1.0), (96,)),
    )

    assert [each.index for each in trace.indices() if each] == [0, 100, 216, 230, 236, 245]


def test_a_scalar_normal_waits_for_the_next_small_draw() -> None:
    """Three normals leave one in the generator; the next three take it first."""
    small = TracedDraw("normal", (0.0, 1.0), (3,))
    trace = traced(small, TracedDraw("uniform", (0.0, 1.0), (5,)), small, small)

    assert trace.indices() == (Position(0), Position(8, 4), Position(13, 4), Position(17))


def test_gpu_offsets_follow_the_layout() -> None:
    """Offsets are those of the lottery net that a T4 drew; a wider card moves less."""
    shapes = [(300, 784), (300,), (100, 300), (100,), (10, 100), (10,)]
    trace = traced(*(TracedDraw("normal", (0.0, 1.0), shape) for shape in shapes))

    assert trace.offsets(G) == (0, 8, 12, 16, 20, 24)
    assert trace.offsets(163_840) == (0, 4, 8, 12, 16, 20)


def test_a_huge_tensor_moves_the_offset_as_if_it_were_split() -> None:
    """128,256 x 8,192 in float32 ends at 7,776 on 270,336 threads (reservation and two halves)."""
    trace = traced(TracedDraw("normal", (0.0, 1.0), (128_256, 8192)), TracedDraw("normal", (0.0, 1.0), (8,)))

    assert trace.offsets(270_336) == (0, 7776)


def test_positions_behind_an_unknown_call_are_unknown() -> None:
    """What a call of unknown cost leaves behind has no place, in its own stream."""
    draws = (
        TracedDraw("other", (), (5,), name="aten::poisson"),
        TracedDraw("normal", (0.0, 1.0), (32,), after=0),
        TracedDraw("normal", (0.0, 1.0), (32,), stream=1),
    )
    trace = Trace(draws, (), (TracedStream("cpu"), TracedStream("cpu", 7)))

    assert trace.indices() == (Position(0), None, Position(0))
    assert trace.offsets(G) == (0, None, 0)


def test_a_stream_can_go_back() -> None:
    """Two calls that follow the same one start at the same place, as after a restored state."""
    call = TracedDraw("uniform", (0.0, 1.0), (20,))
    trace = Trace((call, replace(call, after=0), replace(call, after=0)), ())

    assert [each.index for each in trace.indices() if each] == [0, 20, 20]


def test_redraws_leave_positions_open_for_the_rounds() -> None:
    """A truncated normal of torch 2.12 whose bounds bite costs a full draw for every round."""
    trace = traced(TracedDraw(*CUT, (1000,)), TracedDraw("normal", (0.0, 1.0), (32,)))

    assert trace.redraws(0)
    assert not trace.redraws(1)
    assert trace.open_before(1) == (0,)
    assert [each.index for each in trace.indices({0: 3}) if each] == [0, 4 * 1016]
    assert trace.offsets(G, {0: 2})[1] == 12


@pytest.mark.parametrize(
    ("torch", "parameters", "redraws"),
    [("2.11", CUT[1], False), ("2.12", CUT[1], True), ("2.12", (0.0, 0.02, -2.0, 2.0), False)],
)
def test_only_bounds_that_bite_redraw(torch: str, parameters: tuple[float, ...], redraws: bool) -> None:
    """Up to 2.11 one uniform a value, and bounds of a hundred sigma never bite."""
    trace = traced(TracedDraw("truncated-normal", parameters, (1000,)), torch=torch)

    assert trace.redraws(0) is redraws


def test_likely_rounds_lie_around_the_expected_one() -> None:
    """Of 65,536 values 4.6 % lie beyond two sigmas: four draws in all, as torch took with seed 42."""
    trace = traced(TracedDraw(*CUT, (65_536,)), TracedDraw("normal", (0.0, 1.0), (32,)))
    rounds = [each[0] for each in trace.likely_rounds(1)]

    assert rounds[0] == 3
    assert sorted(rounds) == list(range(12))


def test_a_trace_that_contradicts_itself_is_refused() -> None:
    """Draws follow earlier ones of their stream; names are unique; values are made of draws there are."""
    draw = TracedDraw("normal", (0.0, 1.0), (4,))
    with pytest.raises(UsageError, match="follows draw 0"):
        Trace((replace(draw, after=0),), ())
    with pytest.raises(UsageError, match="stream 1 of 1"):
        Trace((replace(draw, stream=1),), ())
    tensor = TracedTensor("w", (4,), "float32", Drawn(0))
    with pytest.raises(UsageError, match="twice"):
        Trace((draw,), (tensor, tensor))
    with pytest.raises(UsageError, match="does not have"):
        Trace((), (tensor,))
    with pytest.raises(UsageError, match="earlier tensor"):
        Trace((), (replace(tensor, value=Constant(0.0, "float32"), tied="v"),))


def test_an_unknown_tensor_lists_the_nearest() -> None:
    """A name with a slip is answered with the right one."""
    with pytest.raises(UnknownName, match="w0"):
        traced(TracedDraw("normal", (0.0, 1.0), (4,))).tensor("wO")
