"""`torch.nn.init.orthogonal_`: what of it needs no decomposition, and the whole by QR.

It draws a matrix of standard normals, rows by all other extents, and where there are fewer rows than columns
transposes it. QR with a positive diagonal of R makes the columns orthonormal, and the gain multiplies them.
The first column of Q is the first column of the matrix divided by its length. So of the tensor the first
*row* (fewer rows than columns), else the first *column*, is the draw's own up to one factor: its ratios are
those of the draw, and a search needs no QR. Source: pytorch `torch/nn/init.py`, 1.13.1 to 2.14.1.

The other elements depend on the whole draw, and their last bits on the library that decomposes. Against stock
torch 2.13.0 (Intel's library) NumPy's decomposition of the same float32 draws was off by up to 3 units of
2^-24 times the gain in oblong matrices (5 x 9 to 512 x 1,024) and by up to 21 in square ones (to 1,000 x
1,000), the leading line by up to 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError

#: The distance to torch to allow for, in units of 2^-24 times the gain: anywhere, and in the leading line.
CLOSE: Final = 64
LEADING_CLOSE: Final = 4


@dataclass(frozen=True, slots=True)
class Leading:
    """The line of an orthogonal tensor that is the draw's own up to one factor.

    Attributes:
        rows: the tensor's first extent.
        columns: its other extents together.
    """

    rows: int
    columns: int

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> Leading:
        """The line of a tensor of that shape.

        Raises:
            UsageError: fewer than two dimensions, or no elements.
        """
        if len(shape) < 2 or min(shape) < 1:
            raise UsageError(
                f"orthogonal_ of a tensor of shape {shape}: expected two dimensions or more, none empty."
            )
        return cls(shape[0], math.prod(shape[1:]))

    @property
    def axis(self) -> str:
        """Which line it is: "row" or "column"."""
        return "row" if self.rows < self.columns else "column"

    @property
    def indices(self) -> NDArray[np.int64]:
        """Flat indices of the line, in the tensor and in the draw alike: int64."""
        if self.axis == "row":
            return np.arange(self.columns, dtype=np.int64)
        return np.arange(self.rows, dtype=np.int64) * self.columns

    def values(self, drawn: NDArray[Any], gain: float = 1.0) -> NDArray[np.float64]:
        """The line from the draw's values at `indices`: float64, not rounded.

        Args:
            drawn: those values, all of them, standard normals.
            gain: what `orthogonal_` multiplied with.
        """
        line = np.asarray(drawn, np.float64)
        unit: NDArray[np.float64] = gain * line / math.sqrt(float(line @ line))
        return unit


def ratios(line: NDArray[Any]) -> NDArray[np.float64]:
    """A line divided by its largest magnitude, float64: the same for a draw and for what became of it.

    Two lines that agree but for rounding are the same draw, whatever the gain and the length.

    Raises:
        UsageError: a line of zeros.
    """
    values = np.asarray(line, np.float64)
    largest = float(np.abs(values).max(initial=0.0))
    if not largest > 0.0:
        raise UsageError("ratios of a line of zeros: an orthogonal matrix has none.")
    scaled: NDArray[np.float64] = values / largest
    return scaled


def orthogonal(drawn: NDArray[Any], shape: tuple[int, ...], gain: float = 1.0) -> NDArray[Any]:
    """What `orthogonal_` makes of its draw, in the tensor's shape and the draw's dtype.

    Args:
        drawn: float32 or float64, the whole draw, any shape.
        shape: the tensor's.
        gain: as the caller passed it.

    Raises:
        UsageError: a draw of another size, or a shape that `orthogonal_` refuses.
    """
    line = Leading.of(shape)
    if drawn.size != line.rows * line.columns:
        raise UsageError(
            f"a draw of {drawn.size} values for an orthogonal tensor of shape {shape}: expected "
            f"{line.rows * line.columns}."
        )
    matrix = drawn.reshape(line.rows, line.columns)
    tall = matrix.T if line.axis == "row" else matrix
    q, r = np.linalg.qr(tall)
    q = q * np.sign(np.diagonal(r))
    made = np.asarray((q.T if line.axis == "row" else q) * np.asarray(gain, q.dtype), drawn.dtype)
    return made.reshape(shape)
