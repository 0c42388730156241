"""From what a search may see of tensors to candidates: the solver's words in the search's terms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from birthmark.samplers.cpu_normal import BLOCK, places
from birthmark.search.cpu_origin import CpuOrigin
from birthmark.search.origin import Found
from birthmark.search.solve.certify import ENOUGH_TRIPLES, certify
from birthmark.search.solve.inversion import exact_normals, exact_uniforms
from birthmark.search.solve.readings import Observation, by_angles, observation
from birthmark.search.solve.recover import ATTEMPTS, is_coarser
from birthmark.search.solve.scales import Scale, bound_of, deviation_of
from birthmark.search.solve.solve import Solved, Unsolved, solve
from birthmark.search.solve.together import Piece, Together, solve_together
from birthmark.survivors.split import Selection

#: Scales that initialisers have by default, tried where too few values leave the scale open.
USUAL_SCALES: Final = (0.02, 0.01, 0.006, 1.0)
#: The scale lies within so many standard errors of the survey's.
ERRORS: Final = 5.0
#: A solution could have been any of 2^32 seeds at any of 2^32 positions: it stands for so many trials.
SOLVE_TRIALS: Final = 1 << 64
#: Share of values on the CPU's lattice from which there is hardly a doubt; by chance it is a third.
SURE: Final = 0.9
#: Values that a share is measured on, at least.
LEAST: Final = 48


@dataclass(frozen=True, slots=True)
class Lattice:
    """A CPU sampler's lattice that holds a selection's values.

    Attributes:
        scale: the exact scale, its arithmetic, and the share of values that lie on the lattice.
        words: about how many words the values fix.
    """

    scale: Scale
    words: int


def observed(selection: Selection) -> Observation:
    """A selection as the solver sees it."""
    return observation(
        selection.values,
        selection.indices,
        selection.shape,
        selection.distribution,
        scale_range(selection),
        selection.dtype,
        selection.unit,
        selection.probability,
    )


def scale_range(selection: Selection) -> tuple[float, float]:
    """The least and the most that the scale can be."""
    margin = min(0.5, ERRORS * max(selection.scale_error, 1e-6))
    return selection.scale * (1.0 - margin), selection.scale * (1.0 + margin)


def lattice_of(selection: Selection, nominals: Sequence[float] = ()) -> Lattice | None:
    """The CPU lattice that nearly all values lie on; None where there is none.

    GPU draws, trained values and those of other frameworks lie on it by chance only, so that this costs some
    hundredths of a second and spares an elimination.
    """
    if selection.distribution == "normal" and math.prod(selection.shape) < BLOCK:
        return None
    seen = observed(selection)
    if seen.dtype != "float32" or len(seen.values) < LEAST:
        return None
    if seen.distribution == "uniform":
        fit = bound_of(seen.values, *seen.scale)
        if fit is None or fit.share < SURE:
            return None
        inversion = exact_uniforms(seen.values, seen.indices, fit.value, fit.arithmetic)
    else:
        where = places(seen.size, seen.indices)
        fit = deviation_of(seen.values, where, *seen.scale, nominals)
        if fit is None or fit.share < SURE:
            return None
        inversion = exact_normals(seen.values, where, fit.value)
    if inversion.used < LEAST or is_coarser(inversion.words):
        return None
    return Lattice(fit, len(inversion.words))


def recurs(selection: Selection) -> bool | None:
    """Whether the generator's recurrence holds between float32 normals, whatever their scale.

    This takes a tenth of a second and no elimination.

    Returns:
        None where it cannot be seen: values of another kind, or too few at the distances of the recurrence.
    """
    reading = by_angles(observed(selection))
    if reading is None:
        return None
    certificate = certify(reading.inversion.words)
    if certificate.triples < ENOUGH_TRIPLES:
        return None
    return not certificate.refuted


def solve_selection(
    selection: Selection, nominals: Sequence[float] = (), *, attempts: int = ATTEMPTS
) -> Found | Unsolved:
    """Solve one tensor alone.

    Args:
        selection: the values.
        nominals: scales that are likely, likeliest first.
        attempts: random subsets of the words that are tried at most.
    """
    found = solve(
        selection.values,
        selection.indices,
        selection.shape,
        selection.distribution,
        scale_range(selection),
        dtype=selection.dtype,
        nominals=(*nominals, *USUAL_SCALES),
        unit=selection.unit,
        trust=selection.probability,
        attempts=attempts,
    )
    return found if isinstance(found, Unsolved) else _alone(selection, found)


def solve_selections(
    selections: Sequence[Selection],
    starts: Sequence[int],
    nominals: Sequence[float] = (),
    *,
    attempts: int = ATTEMPTS,
) -> list[Found] | Unsolved:
    """Solve tensors of one stream together.

    Args:
        selections: the values, in the order of their draws.
        starts: words between the first tensor's first element and each one's.
        nominals: scales that are likely.
        attempts: random subsets of the words that are tried at most.
    """
    pieces = [
        Piece(
            start - starts[0],
            one.values,
            one.indices,
            one.shape,
            one.distribution,
            scale_range(one),
            one.dtype,
            (*nominals, *USUAL_SCALES),
            one.unit,
            one.probability,
        )
        for one, start in zip(selections, starts, strict=True)
    ]
    found = solve_together(pieces, attempts=attempts)
    return found if isinstance(found, Unsolved) else _several(selections, pieces, found)


def _alone(selection: Selection, solved: Solved) -> Found:
    origin = CpuOrigin(
        selection.distribution,
        math.prod(selection.shape),
        solved.scale,
        solved.arithmetic,
        solved.seed,
        solved.index,
        solved.dtype,
        solved.worn,
    )
    return Found(
        selection.tensor,
        origin,
        "solve",
        "solved alone",
        solved.scale_written,
        solved.exact,
        SOLVE_TRIALS,
        solved.tally,
        solved.attempts,
    )


def _several(selections: Sequence[Selection], pieces: Sequence[Piece], found: Together) -> list[Found]:
    names = ", ".join(one.tensor for one in selections)
    each = zip(selections, pieces, found.arithmetics, found.fits, strict=True)
    return [
        Found(
            one.tensor,
            CpuOrigin(
                one.distribution,
                math.prod(one.shape),
                fit.scale,
                arithmetic,
                found.seed,
                found.index + piece.start,
                observed(one).dtype,
            ),
            "solve",
            f"solved together: {names}",
            fit.written,
            bool(np.mean(fit.equal) > SURE),
            SOLVE_TRIALS,
            found.tally,
            found.attempts,
        )
        for one, piece, arithmetic, fit in each
    ]
