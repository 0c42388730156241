"""A weighted sum of draws, as a linear merge of models leaves it in the rows that none of them trained.

The weights are found by least squares on the selection, where values that were altered since are left out:
what lies eight times farther away than the median does, over and over until the same ones stay. A value
counts as given when the residual is one that roundings explain: of the inputs, of the products and of the sum
in the stored dtype, besides the last bits of the arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.case import Beside
from birthmark.evidence.elements import Elements
from birthmark.evidence.exactness import (
    ARITHMETIC_TOLERANCE,
    DECAY_TOLERANCE,
    ROUNDING_ULPS,
    Exactness,
    count,
    same_bits,
)
from birthmark.evidence.nominal import nominals
from birthmark.evidence.shares import Share, weighed_share
from birthmark.hypothesis import Draw
from birthmark.numerics.dtypes import format_of, itemsize, round_to, ulps

#: Residuals beyond so many medians are those of altered values.
FAR: Final = 8.0
#: Fits, each without what the one before left far away.
FITS: Final = 12
#: The sum of the weights may differ so much, relatively, from a scale that people write down.
SAME_SCALE: Final = 2e-3
#: Dtypes that the merged models may have been stored in, where the result has a finer one.
COARSE: Final = ("bfloat16", "float16")


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """A weighted sum beside what is stored.

    Attributes:
        equal: whether the stored bits are those of the sum, rounded once.
        distance: int64, units in the last place between the two.
        near: whether roundings explain the residual.
    """

    equal: NDArray[np.bool_]
    distance: NDArray[np.int64]
    near: NDArray[np.bool_]

    def exactness(self, which: NDArray[np.bool_] | None = None) -> Exactness:
        """Bit-exact counts of all elements, or of some."""
        if which is None:
            return count(self.equal, self.distance)
        return count(self.equal[which], self.distance[which])


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """How draws add up to the stored values.

    Attributes:
        draws: the draws, each with its seed; the one in question first.
        weights: float64[k]: what each standard normal is multiplied with; share times scale.
        covariance: float64[k, k], of the weights' estimates.
        residual: root mean square of what the sum leaves, on the values that it was fitted to.
        fitted: how many those are, and `of` how many.
        rounded: the dtype that the draws were rounded to before they were added; None for none that shows.
        scale: the scale of that rounding.
    """

    draws: tuple[Beside, ...]
    weights: NDArray[np.float64]
    covariance: NDArray[np.float64]
    residual: float
    fitted: int
    of: int
    rounded: str | None = None
    scale: float = 1.0

    @property
    def total(self) -> float:
        """The sum of the weights: the scale of the draws, where the shares add up to 1 and all had one."""
        return float(self.weights.sum())

    def share(self, which: int = 0) -> Share:
        """The share of one draw, supposing that all had the same scale."""
        return weighed_share(self.weights, self.covariance, which)

    def drawn(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """The draws at `indices`, free of their scale: float64[k, n]."""
        return drawn(self.draws, indices, self.rounded, self.scale)

    def others(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """What all draws but the first add to the values."""
        parts: NDArray[np.float64] = np.einsum("i,in->n", self.weights[1:], self.drawn(indices)[1:])
        return parts

    def compare(self, elements: Elements, dtype: str) -> Compared:
        """Hold stored values against the sum."""
        return self.compare_drawn(self.drawn(elements.indices), elements.values, dtype)

    def compare_drawn(self, parts: NDArray[np.float64], values: NDArray[np.float64], dtype: str) -> Compared:
        """The same for draws that are there already, or for wrong ones."""
        predicted = np.einsum("i,in->n", self.weights, parts)
        stored = np.asarray(round_to(predicted, dtype), np.float64)
        distance = ulps(np.asarray(round_to(values, dtype), np.float64), stored, dtype)
        sizes = np.einsum("i,in->n", np.abs(self.weights), np.abs(parts))
        allowed = (
            2.0 ** -format_of(dtype).precision * (np.abs(predicted) + 2.0 * sizes)
            + ARITHMETIC_TOLERANCE * float(np.abs(self.weights).sum())
            + DECAY_TOLERANCE * np.abs(predicted)
        )
        near = (distance <= ROUNDING_ULPS) | (np.abs(values - predicted) <= allowed)
        return Compared(same_bits(values, stored), distance, near)


def drawn(
    draws: tuple[Beside, ...], indices: NDArray[np.int64], rounded: str | None = None, scale: float = 1.0
) -> NDArray[np.float64]:
    """Draws at `indices`, free of their scale, rounded at that scale if at all: float64[k, n]."""
    parts = np.stack([np.asarray(one.hypothesis.standard(one.seed, indices), np.float64) for one in draws])
    return parts if rounded is None else np.asarray(round_to(parts * scale, rounded), np.float64) / scale


def narrowest(values: NDArray[np.float64], dtype: str) -> str:
    """The narrowest dtype that holds all values: a cast to a wider one does not hide what they were."""
    for each in COARSE:
        if itemsize(dtype) > itemsize(each) and np.array_equal(round_to(values, each), values):
            return each
    return dtype


def combine(draws: tuple[Beside, ...], elements: Elements, dtype: str) -> Combination:
    """The weights under which draws add up to values.

    Args:
        draws: the draws, the one in question first.
        elements: elements of the selection.
        dtype: the stored dtype; where it is a fine one, draws rounded to a coarser one are tried as well.
    """
    best = _fitted(draws, elements, None, 1.0)
    if itemsize(dtype) < 4 or best.total <= 0.0:
        return best
    shape = draws[0].hypothesis.draw.shape
    near = next(
        (
            one.value
            for one in nominals(best.total, Draw("normal", (0.0, best.total), shape))
            if abs(one.value / best.total - 1.0) <= SAME_SCALE
        ),
        None,
    )
    if near is None:
        return best
    return min(
        (best, *(_fitted(draws, elements, each, near) for each in COARSE)), key=lambda one: one.residual
    )


def _fitted(draws: tuple[Beside, ...], elements: Elements, rounded: str | None, scale: float) -> Combination:
    parts, values = drawn(draws, elements.indices, rounded, scale), elements.values
    kept = np.ones(values.size, dtype=np.bool_)
    weights, inverse = np.zeros(len(draws)), np.zeros((len(draws), len(draws)))
    rest = values
    for _ in range(FITS):
        some = parts[:, kept]
        inverse = np.linalg.pinv(np.einsum("in,jn->ij", some, some), rcond=1e-12, hermitian=True)
        weights = np.einsum("ij,j->i", inverse, np.einsum("in,n->i", some, values[kept]))
        rest = values - np.einsum("i,in->n", weights, parts)
        again = np.abs(rest) <= FAR * float(np.median(np.abs(rest)))
        if np.array_equal(again, kept) or np.count_nonzero(again) <= len(draws):
            break
        kept = again
    left, some = rest[kept], parts[:, kept]
    residual = float(np.einsum("n,n->", left, left) / max(1, left.size - len(draws))) ** 0.5
    # Rounding errors grow with the values, so that the plain covariance would be too small (White, "A
    # heteroskedasticity-consistent covariance matrix estimator", Econometrica 48, 1980).
    middle = np.einsum("in,jn,n->ij", some, some, left * left)
    covariance = np.einsum("ij,jk,kl->il", inverse, middle, inverse)
    return Combination(draws, weights, covariance, residual, int(kept.sum()), int(kept.size), rounded, scale)
