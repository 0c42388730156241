"""The launch layout, and the generator's family, from survivors of a normal draw alone: no seed is needed.

Under the true layout the elements j and j + G of a call are the sine and the cosine of one Box-Muller step,
so that half the sum of their squares is -log u, with u on a lattice of 2^-24 (see `lattices`). Every layout
is asked whether its pairs lie on that lattice at some scale near the values' own. Half of the pairs choose
layout, window and scale; the other half, which had no say, is asked once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from birthmark.checkpoints.interface import Checkpoint
from birthmark.devices.catalogue import exhaustive_threads, table_threads
from birthmark.evidence.arrangement import (
    AS_STORED,
    Arrangement,
    shard_arrangements,
    usual_arrangements,
)
from birthmark.evidence.coherence import Coherence
from birthmark.evidence.elements import Elements
from birthmark.evidence.lattice import power, refined
from birthmark.evidence.lattices import LARGEST, LARGEST_WIDE
from birthmark.evidence.nominal import nominals
from birthmark.evidence.partners import blocks_of, count_partners
from birthmark.evidence.seed_free_values import LEAST_PAIRS, coarse, estimate, read, refusal_of, too_few
from birthmark.evidence.seed_free_verdict import SeedFree as SeedFree
from birthmark.evidence.seed_free_verdict import weigh_supposition
from birthmark.evidence.suppositions import Suppositions
from birthmark.hypothesis import Draw
from birthmark.numerics.dtypes import itemsize
from birthmark.survivors.survivor import Survivors

#: The scale is sought this many standard errors, and a little more, around its estimate.
ERRORS, MARGIN = 5.0, 1e-3
#: A mean phase shorter than this asks for shards; these must add so much to R^2 of the pairs that choose.
WHOLE, SHARDS_GAIN = 0.95, 20.0
#: Of small values, the share that must differ from each other.
LEAST_DISTINCT = 0.5


def seed_free(
    checkpoint: Checkpoint, survivors: Survivors, *, layouts: Sequence[int] | None = None
) -> SeedFree:
    """Read the layout, or the generator's family, off a tensor's survivors: the one way in.

    Args:
        checkpoint: where the values lie; `MOST` survivors at most are read, the first ones.
        survivors: what the survey saw in the tensor.
        layouts: the G's to try; None for every G of 16 to 512 SMs and of the device table.
    """
    if survivors.distribution != "normal":
        return SeedFree("refused", "only a normal draw comes in pairs, and these values look uniform", 0)
    if itemsize(survivors.dtype) < 4:
        return SeedFree("refused", coarse(survivors.dtype), 0)
    return read_layout(read(checkpoint, survivors), survivors.shape, survivors.dtype, layouts=layouts)


def read_layout(
    elements: Elements, shape: tuple[int, ...], dtype: str, *, layouts: Sequence[int] | None = None
) -> SeedFree:
    """The layout and the generator's family of survivors of a normal draw.

    First the values are asked as they are stored, at scales that people write down and under the layouts of
    the device table; then under every layout and at every scale near their own; then, under the layouts of
    the device table again, as a transposed tensor and as one of shards.

    Args:
        elements: survivors of one tensor, finite; indices ascending.
        shape: the tensor's extents.
        dtype: its stored dtype.
        layouts: the G's to try; None for every G of 16 to 512 SMs and of the device table.
    """
    count = len(elements)
    if (refused := refusal_of(elements, dtype)) is not None:
        return SeedFree("refused", refused, count)
    scale, spread, error = estimate(elements.values)
    small = np.abs(elements.values[np.abs(elements.values) < LARGEST * scale])
    if np.unique(small).size < LEAST_DISTINCT * small.size:
        return SeedFree("refused", "too many of the values equal each other", count)
    written = _written(scale, 3.0 * error + MARGIN, shape)
    nothing: SeedFree | None = None
    trials, most = 0, 0
    for stage in _stages(elements, shape, scale, spread, layouts):
        most = max(most, *stage.there.values(), 0)
        reach = 2.0 * (ERRORS * error + MARGIN) if stage.any_scale else None
        for number, best in enumerate(stage.suppositions.best(stage.asked, written, reach)):
            trials += best.trials
            if best.supposition is None:
                continue
            peak = best.peak
            if number == 1:
                peak = refined(best.supposition.selection, peak)
                trials += peak.trials
            found = weigh_supposition(
                stage.suppositions,
                elements,
                shape,
                best.supposition,
                peak.t,
                trials,
                stage.served,
                stage.there,
            )
            if found.result in ("layout", "family"):
                return _in_shards(found, elements, shape, scale, spread, sorted(stage.there))
            if stage.suppositions.arrangement == AS_STORED:
                nothing = found
    if nothing is None:
        return SeedFree("refused", _no_numbers(count, most), count, most)
    offered = len(exhaustive_threads() if layouts is None else set(layouts))
    if len(nothing.layouts) < offered:
        nothing = replace(nothing, reason=f"{nothing.reason}; {_out_of_reach(nothing.layouts, offered)}")
    return replace(nothing, trials=trials)


@dataclass(frozen=True, slots=True, eq=False)
class _Stage:
    """What is asked at a time.

    Attributes:
        suppositions: the survivors in one arrangement.
        asked: the G's to try.
        served: those that have pairs enough.
        there: surviving pairs under every G that was offered.
        any_scale: whether scales that nobody writes down are tried as well.
    """

    suppositions: Suppositions
    asked: tuple[int, ...]
    served: tuple[int, ...]
    there: dict[int, int]
    any_scale: bool


def _stages(
    elements: Elements,
    shape: tuple[int, ...],
    scale: float,
    spread: float,
    layouts: Sequence[int] | None,
) -> Iterator[_Stage]:
    """Known devices first, then every layout, then every other arrangement."""
    known = set(table_threads())
    for arrangement in (AS_STORED, *usual_arrangements(shape)):
        stored = arrangement == AS_STORED
        wanted = sorted(set(layouts or (exhaustive_threads() if stored else known)))
        there = _pairs_there(elements, shape, arrangement, wanted)
        served = tuple(threads for threads, pairs in there.items() if pairs >= LEAST_PAIRS)
        suppositions = Suppositions(elements, shape, scale, spread, arrangement)
        if stored and layouts is None:
            yield _Stage(suppositions, tuple(each for each in served if each in known), served, there, False)
        yield _Stage(suppositions, served, served, there, True)


def _no_numbers(count: int, most: int) -> str:
    if most < LEAST_PAIRS:
        return too_few(count, most)
    return (
        "hardly any of the values lie near zero, where lattices show: a draw around another mean is not read"
    )


def _out_of_reach(layouts: tuple[int, ...], wanted: int) -> str:
    """What a tensor cannot show."""
    if not layouts:
        return (
            f"under none of {wanted:,} layouts do {LEAST_PAIRS:,} pairs survive, so any of them may be true"
        )
    return (
        f"only {len(layouts):,} of {wanted:,} layouts, up to {max(layouts):,} threads, have {LEAST_PAIRS:,} "
        "surviving pairs: any other would leave no mark here"
    )


def _pairs_there(
    elements: Elements, shape: tuple[int, ...], arrangement: Arrangement, wanted: Sequence[int]
) -> dict[int, int]:
    """The surviving pairs of any size under each layout that is smaller than a launch."""
    ordered = arrangement.of_draw(elements, shape)
    blocks = blocks_of(ordered.indices, ordered.values, shape, arrangement.ways)
    return {threads: count_partners(blocks, threads) for threads in wanted if threads < blocks.longest}


def _in_shards(
    found: SeedFree,
    elements: Elements,
    shape: tuple[int, ...],
    scale: float,
    spread: float,
    wanted: Sequence[int],
) -> SeedFree:
    """A layout that shows in a part of the pairs, again with the shards that bring the rest into line."""
    if found.threads is None or found.scale is None or found.window is None:
        return found
    if found.arrangement.transposed or _length(found.together) >= WHOLE:
        return found
    near = elements.keep(np.abs(elements.values) < LARGEST_WIDE * scale)
    best, gained, tried = None, SHARDS_GAIN, 0
    for arrangement in shard_arrangements(shape):
        tried += 1
        suppositions = Suppositions(near, shape, scale, spread, arrangement)
        one = suppositions.in_window(found.threads, found.window)
        t = (one.scale / found.scale) ** 2 - 1.0
        gain = power(one.selection.at(t).turns) - found.selection_power
        if gain > gained:
            best, gained = (suppositions, one, t), gain
    if best is None:
        return found
    suppositions, one, t = best
    there = _pairs_there(elements, shape, suppositions.arrangement, wanted)
    served = tuple(threads for threads, pairs in there.items() if pairs >= LEAST_PAIRS)
    again = weigh_supposition(suppositions, elements, shape, one, t, found.trials + tried, served, there)
    longer = _length(again.holdout) > _length(found.holdout)
    return again if again.result == "layout" and longer else replace(found, trials=again.trials)


def _length(one: Coherence | None) -> float:
    return one.length if one is not None else 0.0


def _written(scale: float, span: float, shape: tuple[int, ...]) -> tuple[float, ...]:
    """Scales within a relative `span` that people write down, as the float32 that a sampler makes of them."""
    draw = Draw("normal", (0.0, scale), shape)
    found: dict[float, None] = {}
    for step in range(-math.ceil(span / 0.01), math.ceil(span / 0.01) + 1):
        for one in nominals(scale * (1.0 + 0.01 * step), draw):
            if abs(one.value / scale - 1.0) <= span:
                found[float(np.float32(one.value))] = None
    return tuple(found)
