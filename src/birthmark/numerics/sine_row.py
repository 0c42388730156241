"""One row of the sine unit with trial coefficients, for many inputs at once, in exact integers.

The data path is that of Oberman and Siu, "A high-performance area-efficient multifunction interpolator"
(ARITH-17, 2005), with the widths and truncations that the envytools project documents for the unit. `sine` is
the same unit with the finished table; here the coefficients are arguments, so that the table can be derived.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Rows of the table: the first quarter turn in 64 equal steps.
ROWS = 64
#: Inputs within one row.
ROW_BITS = 17
#: An output of 2^37 stands for the sine 1.
SCALE_BITS = 37
#: Significant bits of an output.
SIGNIFICANT_BITS = 24


def squared(x: NDArray[np.int64]) -> NDArray[np.int64]:
    """The unit's square, about x^2 / 2^19, of 17-bit x: each partial product is truncated before the sum."""
    total = np.zeros_like(x)
    for bit in range(ROW_BITS):
        total += (x >> bit & 1) * (x >> (18 - bit))
    return total >> 1


def truncated(value: NDArray[np.int64]) -> NDArray[np.int64]:
    """Non-negative integers below 2^53 with all but their 24 leading bits cleared."""
    length = np.frexp(value.astype(np.float64))[1]
    lost = np.maximum(length - SIGNIFICANT_BITS, 0)
    kept: NDArray[np.int64] = value >> lost << lost
    return kept


def outputs(
    triples: NDArray[np.int64], x: NDArray[np.int64], squares: NDArray[np.int64]
) -> NDArray[np.int64]:
    """What each trial row gives for each input.

    Args:
        triples: shape (n, 3): C0, C1 and the magnitude of C2.
        x: shape (m,): inputs within the row, 17 bits.
        squares: `squared(x)`; passed in because it is the same for every trial.

    Returns:
        Shape (n, m): the sine in units of 2^-37, truncated to 24 bits; 0 where the sum is negative.
    """
    c0, c1, c2 = (triples[:, column, None] for column in range(3))
    return truncated(np.maximum((c0 << 11) + c1 * x - c2 * squares, 0))
