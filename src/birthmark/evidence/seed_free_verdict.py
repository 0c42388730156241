"""What a supposition about a draw without its seed is worth: on both halves of its pairs, with its controls.

The half that chose must be rarer than chance allows after all trials, and so must the half that had no say;
no other layout may stand out beside the one found. Then scale, arithmetic and what cannot be told apart from
it are added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from birthmark.evidence.arrangement import AS_STORED, Arrangement, alike_in_columns
from birthmark.evidence.coherence import Background, Coherence, coherence
from birthmark.evidence.elements import Elements
from birthmark.evidence.lattices import GPU, Family
from birthmark.evidence.nominal import Nominal, nominals
from birthmark.evidence.pair_arithmetic import PairArithmetic, compare_pairs, exact_scale
from birthmark.evidence.significance import SIGNIFICANT
from birthmark.evidence.suppositions import LEAST_NUMBERS, Supposition, Suppositions
from birthmark.hypothesis import Draw

#: A relative difference from the scale found that a nominal scale may have.
SAME_SCALE = 1e-7

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
        arrangement: how the tensor lies to its draw.
        alike: other cuts of the tensor with the same partners: shards of columns, and the G of each.
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
    arrangement: Arrangement = AS_STORED
    alike: tuple[tuple[int, int], ...] = ()
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

    @property
    def selection_power(self) -> float:
        """R^2 of the pairs that chose; 0 where nothing was tried."""
        return self.selection.r**2 if self.selection is not None else 0.0


def weigh_supposition(
    suppositions: Suppositions,
    elements: Elements,
    shape: tuple[int, ...],
    best: Supposition,
    t: float,
    trials: int,
    layouts: tuple[int, ...],
    there: dict[int, int],
) -> SeedFree:
    """The best supposition at its best scale, on selection and hold-out, with its controls."""
    pairs = there[best.threads] if best.threads is not None else max(there.values(), default=0)
    scale, nominal, exact = best.scale / math.sqrt(1.0 + t), None, False
    if coherence(best.selection, t, trials).log10_p_global <= SIGNIFICANT:
        scale, nominal, exact, tried = _named(best, scale, shape)
        trials += tried
        t = (best.scale / scale) ** 2 - 1.0
    selection = coherence(best.selection, t, trials)
    holdout = coherence(best.holdout, t)
    background, odd = None, None
    if best.threads is not None and selection.log10_p_global <= SIGNIFICANT:
        background = _background(suppositions, best, t, layouts)
        odd = coherence(suppositions.in_window(best.threads, best.window, wave=1).lattice, t)
    result, reason = _verdict(best, selection, holdout, background)
    if result == "none":
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
    alike: tuple[tuple[int, int], ...] = ()
    if best.threads is not None and suppositions.arrangement == AS_STORED:
        alike = tuple(alike_in_columns(best.threads, shape))
    known = best.family is GPU and (exact or nominal is not None)
    return SeedFree(
        result,
        reason,
        len(elements),
        pairs,
        family=best.family,
        threads=best.threads,
        arrangement=suppositions.arrangement,
        alike=alike,
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
    if best.family is GPU:
        exact, tried = exact_scale(best.sines[~best.held], best.cosines[~best.held], near)
        if exact is not None:
            named = (one for one in nominals(exact, draw) if float(np.float32(one.value)) == exact)
            return exact, next(named, None), True, tried
    else:
        tried = 0
    close = [one for one in nominals(near, draw) if abs(one.value / near - 1.0) <= SAME_SCALE]
    tried += len(close)
    if close:
        return float(np.float32(close[0].value)), close[0], False, tried
    return near, None, False, tried


def _background(
    suppositions: Suppositions, best: Supposition, t: float, layouts: tuple[int, ...]
) -> Background:
    """All other layouts at the chosen scale and window, on all their pairs."""
    found: list[tuple[int, float, int]] = []
    for threads in layouts:
        if threads != best.threads:
            one = coherence(suppositions.in_window(threads, best.window).lattice, t)
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
