"""The measured background as a probability, and where it ends.

Of n decoys b score at least as high as the candidate. If the candidate were one more decoy, each of the n + 1
would be the highest equally often, so that p = (b + 1) / (n + 1): never 0, and never smaller than 1 / (n + 1)
(Davison and Hinkley, "Bootstrap methods and their application", 1997, section 4.2; Phipson and Smyth,
"Permutation p-values should never be zero", 2010). Any smaller p rests on an analytic tail, and says so.
"""

from __future__ import annotations

import math


def log10_p_measured(reached: int, count: int) -> float:
    """log10 of (reached + 1) / (count + 1).

    Args:
        reached: decoys that score at least as high as the candidate, 0 to `count`.
        count: decoys.
    """
    return math.log10(1 + reached) - math.log10(1 + count)


def log10_p_least(count: int) -> float:
    """log10 of the smallest p that so many decoys can show."""
    return -math.log10(1 + count)


def statement(reached: int, count: int, *, decoys: str = "decoys", tail: str = "the Gaussian tail") -> str:
    """What the background says of the candidate, and what it can no longer say.

    Args:
        reached: decoys that score at least as high as the candidate.
        count: decoys, at least 1.
        decoys: what they are.
        tail: what any smaller p rests on.
    """
    least = f"10^{log10_p_least(count):.1f}"
    if reached == 0:
        return (
            f"Of {count:,} {decoys} none scores as high: by counting alone p is at most {least}, the least "
            f"that so many can show; any smaller p rests on {tail}."
        )
    return (
        f"Of {count:,} {decoys} {reached:,} score{'s' if reached == 1 else ''} at least as high: measured, "
        f"p = 10^{log10_p_measured(reached, count):.1f} (the least that so many can show is {least})."
    )
