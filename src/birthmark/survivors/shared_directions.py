"""The directions that trained rows share, and how much of a row's energy lies in them.

Training moves rows along few directions: the gradient of an embedding row comes from a small model state that
all rows have in common. A row that nothing has touched has no more energy there than chance gives.

Wide rows are first projected on the `MOST_DIRECTIONS` strongest directions of a sample of trained rows; the
energy outside them is kept as one number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.survivors.units import Units

#: Dimensions of the projection of wide rows, at most.
MOST_DIRECTIONS = 256
#: Trained units from which the directions of wide units are learnt.
SAMPLE = 256
#: Values of such a sample, at most.
SAMPLE_VALUES = 1 << 22
#: Trained units that it takes to learn one direction.
UNITS_PER_DIRECTION = 4
#: Share of the mean spectrum that every direction keeps, so that no direction is thought to be never trained.
FLOOR = 0.02


def _squares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of squares of each row."""
    return np.asarray(np.einsum("ij,ij->i", values, values))


@dataclass(frozen=True, slots=True, eq=False)
class Projected:
    """Units in fewer dimensions, in units of a reference scale.

    Attributes:
        inside: float64[n, p], coordinates.
        outside: float64[n], the sum of squares of what the coordinates leave out.
        width: dimensions of the units themselves.
    """

    inside: NDArray[np.float64]
    outside: NDArray[np.float64]
    width: int

    @property
    def total(self) -> NDArray[np.float64]:
        """Mean square of each unit."""
        return (_squares(self.inside) + self.outside) / self.width

    def about(self, centre: NDArray[np.float64]) -> Projected:
        """The same units seen from another origin, which lies inside the projection."""
        return Projected(self.inside - centre, self.outside, self.width)


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A projection of wide units: origin and basis; for narrow ones only the origin.

    Attributes:
        origin: float64[width].
        basis: float64[width, p] with orthonormal columns, or None where all dimensions are kept.
        scale: what a value of 1 stands for.
    """

    origin: NDArray[np.float64]
    basis: NDArray[np.float64] | None
    scale: float

    def project(self, units: Units, ids: NDArray[np.int64]) -> Projected:
        """The given units in this frame."""
        kept = len(self.origin) if self.basis is None else self.basis.shape[1]
        inside, outside = np.empty((len(ids), kept)), np.zeros(len(ids))
        for part, values in units.chunks(ids):
            # Single precision is enough for energies, once the values are of the order of 1.
            centred = (values - self.origin.astype(values.dtype)) / values.dtype.type(self.scale)
            if self.basis is None:
                inside[part] = centred
            else:
                inside[part] = centred @ self.basis.astype(values.dtype)
                outside[part] = np.maximum(_squares(centred) - _squares(inside[part]), 0.0)
        return Projected(inside, outside, units.width)


def frame_for(units: Units, trained: NDArray[np.int64], origin: NDArray[np.float64], scale: float) -> Frame:
    """The frame in which units are compared.

    Args:
        units: the rows or columns.
        trained: ids of units that training certainly moved; their strongest directions span the frame.
        origin: float64[width], the point from which deviations are measured: zero, or a common shift.
        scale: a typical magnitude of the values.
    """
    if units.width <= MOST_DIRECTIONS:
        return Frame(origin, None, scale)
    # Fewer units than this have directions of their own only; so have all of them, by chance.
    kept = min(MOST_DIRECTIONS, len(trained) // UNITS_PER_DIRECTION)
    if not kept:
        return Frame(origin, np.zeros((units.width, 0)), scale)
    count = min(SAMPLE, len(trained), max(kept, SAMPLE_VALUES // units.width))
    kept = min(kept, count)
    sample = trained[np.arange(count) * len(trained) // count]
    parts = [(values.astype(np.float64) - origin) / scale for _, values in units.chunks(sample)]
    rows = np.concatenate(parts)
    _, vectors = np.linalg.eigh(rows @ rows.T)
    strongest = rows.T @ vectors[:, ::-1][:, :kept]
    basis, _ = np.linalg.qr(strongest)
    return Frame(origin, basis, scale)


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """How the energy of a touch spreads over directions: its mean over all dimensions is 1.

    Attributes:
        directions: float64[p, k], the shared directions inside a projection.
        energy: float64[k], relative energy of each.
        rest: relative energy of every other dimension.
    """

    directions: NDArray[np.float64]
    energy: NDArray[np.float64]
    rest: float


def no_directions(units: Projected) -> Spectrum:
    """The spectrum where too little is known: every dimension alike."""
    return Spectrum(np.zeros((units.inside.shape[1], 0)), np.zeros(0), 1.0)


def shared_directions(touched: Projected, untouched_energy: float) -> Spectrum:
    """What touched units have in common, beyond what chance gives.

    Directions count as shared when their energy lies above the Marchenko-Pastur edge of the rest
    (V. Marchenko and L. Pastur, Math. USSR Sbornik 1 (1967) 457); the rest is taken to be alike everywhere.

    Args:
        touched: units that training moved, a little or more.
        untouched_energy: mean square of an untouched unit, in the same scale.
    """
    count, inner = touched.inside.shape
    width = touched.width
    values, vectors = np.linalg.eigh(touched.inside.T @ touched.inside / max(1, count))
    values, vectors = values[::-1], vectors[:, ::-1]
    if inner < width:
        base = float(touched.outside.mean()) / (width - inner)
    else:
        # The median is a little below the mean of chance energies, so that a few directions too many are
        # kept. Fewer units than dimensions have no energy but along their own directions: keep all of those.
        base = float(np.median(values)) if count >= inner else 0.0
    edge = max(base * (1.0 + np.sqrt(width / max(1, count))) ** 2, FLOOR * untouched_energy)
    shared = min(int((values > edge).sum()), max(0, inner - 8))
    left = touched.total.mean() * width - values[:shared].sum()
    rest = left / max(1, width - shared) - untouched_energy
    energy = values[:shared] - untouched_energy
    least = FLOOR * max((energy.sum() + rest * (width - shared)) / width, 1e-3 * untouched_energy)
    energy, rest = np.maximum(energy, least), max(rest, least)
    mean = (energy.sum() + rest * (width - shared)) / width
    return Spectrum(vectors[:, :shared], energy / mean, float(rest / mean))
