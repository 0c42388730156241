"""The launch layout, and the generator's family, from survivors of a normal draw alone: no seed is needed.

Under the true layout the elements j and j + G of a call are the sine and the cosine of one Box-Muller step,
so that half the sum of their squares is -log u, with u on a lattice of 2^-24 (see `lattices`). Every layout
is asked whether its pairs lie on that lattice at some scale near the values' own. Half of the pairs choose
layout, window and scale; the other half, which had no say, is asked once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from birthmark.checkpoints.interface import Checkpoint
from birthmark.devices.catalogue import exhaustive_threads
from birthmark.evidence.coherence import Background, Coherence, coherence
from birthmark.evidence.elements import Elements
from birthmark.evidence.lattice import Peak, refined
from birthmark.evidence.lattices import GPU, Family
from birthmark.evidence.nominal import Nominal, nominals
from birthmark.evidence.pair_arithmetic import PairArithmetic, compare_pairs, exact_scale
from birthmark.evidence.partners import blocks_of, count_partners
from birthmark.evidence.seed_free_values import LEAST_PAIRS, coarse, estimate, read, refusal_of, too_few
from birthmark.evidence.significance import SIGNIFICANT
from birthmark.evidence.suppositions import LEAST_NUMBERS, Supposition, Suppositions
from birthmark.hypothesis import Draw
from birthmark.numerics.dtypes import itemsize
from birthmark.survivors.survivor import Survivors

#: The scale is sought this many standard errors, and a little more, around its estimate.
ERRORS, MARGIN = 5.0, 1e-3
#: A relative difference from the scale found that a nominal scale may have.
SAME_SCALE = 1e-7
#: Of small values, the share that must differ from each other.
LEAST_DISTINCT = 0.5

Result = Literal["layout", "family", "none", "refused"]


@dataclass(frozen=True, slots=True)
class SeedFree:
    """What survivors say about their draw without its seed.

    Attributes:
        result: "layout"; "family" where the generator has no layouts; "none"; "refused": nothing was tried.
        reason: why, in words.
        survivors: values that were looked at.
        pairs: surviving pairs of any size under the layout that was found, or else under the one with most.
        family: the generator's family; None where none was found.
        threads: G; None without a layout.
        window: the largest half sum of squares of the pairs that were used.
        scale: standard deviation of the draw, times any decay since; None where nothing was found.
        nominal: the scale as somebody wrote it down; None where it is no such number.
        selection, holdout: the pairs that chose and those that did not; None where nothing was tried.
        together: both, which the choice saw in part; None where nothing was found.
        background: other layouts at that scale, on all their pairs; None without a layout.
        odd_waves: elements as far apart that are no partners, a control; None without a layout.
        arithmetic: whose arithmetic made the pairs; None where no exact scale is known.
        largest: the largest magnitude of all survivors, in units of the scale; None where nothing was found.
        layouts: the G's that were tried.
        trials: layouts, families, windows and scales tried.
    """

    result: Result
    reason: str
    survivors: int
    pairs: int = 0
    family: Family | None = None
    threads: int | None = None
    window: float | None = None
    scale: float | None = None
    nominal: Nominal | None = None
    selection: Coherence | None = None
    holdout: Coherence | None = None
    together: Coherence | None = None
    background: Background | None = None
    odd_waves: Coherence | None = None
    arithmetic: PairArithmetic | None = None
    largest: float | None = None
    layouts: tuple[int, ...] = ()
    trials: int = 0


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

    Args:
        elements: survivors of one tensor, finite; indices ascending.
        shape: the tensor's extents.
        dtype: its stored dtype.
        layouts: the G's to try; None for every G of 16 to 512 SMs and of the device table.
    """
    count = len(elements)
    if (refused := refusal_of(elements, dtype)) is not None:
        return SeedFree("refused", refused, count)
    everything = blocks_of(elements.indices, elements.values, shape)
    wanted = exhaustive_threads() if layouts is None else sorted(set(layouts))
    there = {
        threads: count_partners(everything, threads) for threads in wanted if threads < everything.longest
    }
    served = tuple(threads for threads, pairs in there.items() if pairs >= LEAST_PAIRS)
    most = max(there.values(), default=0)
    scale, spread, error = estimate(elements.values)
    suppositions = Suppositions(elements, shape, scale, spread)
    small = np.abs(suppositions.small.values)
    if np.unique(small).size < LEAST_DISTINCT * small.size:
        return SeedFree("refused", "too many of the values equal each other", count, most)
    best, peak, trials = suppositions.best(served, 2.0 * (ERRORS * error + MARGIN))
    if best is None:
        return SeedFree("refused", too_few(count, most), count, most)
    if best.threads is not None:
        most = there[best.threads]
    return _judged(suppositions, elements, shape, best, peak, trials, served, most)


def _judged(
    suppositions: Suppositions,
    elements: Elements,
    shape: tuple[int, ...],
    best: Supposition,
    peak: Peak,
    trials: int,
    layouts: tuple[int, ...],
    pairs: int,
) -> SeedFree:
    """The best supposition at its best scale, on selection and hold-out, with its controls."""
    fine = refined(best.selection, peak)
    scale, nominal, exact, tried = _named(best, best.scale / math.sqrt(1.0 + fine.t), shape)
    trials += fine.trials + tried
    t = (best.scale / scale) ** 2 - 1.0
    selection = coherence(best.selection, t, trials)
    holdout = coherence(best.holdout, t)
    background, odd = None, None
    if best.threads is not None and selection.log10_p_global <= SIGNIFICANT:
        background = _background(suppositions, best, t, layouts)
        odd = coherence(_same_window(suppositions, best, best.threads, wave=1).lattice, t)
    result, reason = _verdict(best, selection, holdout, background)
    if result == "none":
        if not layouts:
            reason += f"; {too_few(len(elements), pairs)}"
        reason += (
            f" (the best of {trials:,} trials reaches R = {selection.r:.1f} on {selection.numbers:,} pairs)"
        )
        return SeedFree(
            "none",
            reason,
            len(elements),
            pairs,
            selection=selection,
            holdout=holdout,
            layouts=layouts,
            trials=trials,
        )
    known = best.family is GPU and (exact or nominal is not None)
    return SeedFree(
        result,
        reason,
        len(elements),
        pairs,
        family=best.family,
        threads=best.threads,
        window=best.window,
        scale=scale,
        nominal=nominal,
        selection=selection,
        holdout=holdout,
        together=coherence(best.lattice, t, trials),
        background=background,
        odd_waves=odd,
        arithmetic=compare_pairs(best.sines, best.cosines, scale) if known else None,
        largest=float(np.abs(elements.values).max()) / scale,
        layouts=layouts,
        trials=trials,
    )


def _named(best: Supposition, near: float, shape: tuple[int, ...]) -> tuple[float, Nominal | None, bool, int]:
    """The scale as it was drawn with or written down, where the selection shows it; scales tried for that."""
    draw = Draw("normal", (0.0, near), shape)
    close = [one for one in nominals(near, draw) if abs(one.value / near - 1.0) <= SAME_SCALE]
    tried = len(close)
    if best.family is GPU:
        exact, more = exact_scale(best.sines[~best.held], best.cosines[~best.held], near)
        tried += more
        if exact is not None:
            named = next((one for one in close if float(np.float32(one.value)) == exact), None)
            return exact, named, True, tried
    if close:
        return float(np.float32(close[0].value)), close[0], False, tried
    return near, None, False, tried


def _same_window(suppositions: Suppositions, best: Supposition, threads: int, wave: int = 0) -> Supposition:
    return next(one for one in suppositions.of_layout(threads, wave) if one.window == best.window)


def _background(
    suppositions: Suppositions, best: Supposition, t: float, layouts: tuple[int, ...]
) -> Background:
    """All other layouts at the chosen scale and window, on all their pairs."""
    found: list[tuple[int, float, int]] = []
    for threads in layouts:
        if threads != best.threads:
            one = coherence(_same_window(suppositions, best, threads).lattice, t)
            if one.numbers >= LEAST_NUMBERS:
                found.append((threads, one.r, one.numbers))
    return (
        Background(*(tuple(column) for column in zip(*found, strict=True)))
        if found
        else Background((), (), ())
    )


def _verdict(
    best: Supposition, selection: Coherence, holdout: Coherence, background: Background | None
) -> tuple[Result, str]:
    if selection.log10_p_global > SIGNIFICANT:
        return "none", "no layout and no family of generators stands out after all trials"
    if holdout.log10_p_global > SIGNIFICANT:
        return "none", "the held-out pairs do not confirm what the others chose"
    if best.threads is None:
        return "family", f"the values lie on the lattice of {best.family.name}, which has no launch layouts"
    rival = background.next_best if background is not None else None
    if rival is not None and rival[1].log10_p_global <= SIGNIFICANT:
        return (
            "none",
            f"layouts of {best.threads:,} and of {rival[0]:,} threads both stand out: the values repeat",
        )
    return "layout", "the pairs of one layout, and of no other, lie on the generator's lattice"
