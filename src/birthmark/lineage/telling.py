"""Tensors that every model of a kind has alike: constants, masks and tables made by a formula.

Layer norms of ones, causal masks and tables of sines have equal bits in models that never met, so they are
set aside before anything is counted. A table made by a formula follows from its own neighbours: each value is
the same combination of the two before it along one axis (all sines, cosines, exponentials and ramps are),
which neither a draw nor training brings about.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.numerics.dtypes import FORMATS

#: With so few different values a tensor is a mask or a constant.
FEW_VALUES: Final = 16
#: Rows and columns that are looked at, from the first on: neighbours must be neighbours.
MOST_ROWS, MOST_COLUMNS = 256, 1024
#: Values in a line from which a recurrence of two terms is told.
LEAST_LINE: Final = 8
#: Share of the energy that a formula's table may leave to the recurrence: in units of its rounding squared,
#: and at least, since tables of sines are made with angles that are rounded themselves.
LEFT, LEAST_LEFT = 64.0, 1e-6
#: Buffers of signal processing, which libraries compute alike: triangles and windows fit no recurrence.
_FIXED: Final = re.compile(
    r"(^|[._])(mel_?(filters?|basis|scale|fb|filterbank)|fbank|filter_?bank|stft\w*|dft\w*|hann\w*|window\w*)"
    r"([._]|$)",
    re.IGNORECASE,
)


def untelling(checkpoint: Checkpoint, name: str) -> str | None:
    """Why a tensor says nothing about where it came from, in words; None where it may.

    Args:
        checkpoint: open.
        name: of one of its float tensors.
    """
    if _FIXED.search(name):
        return "a signal-processing buffer, by its name"
    info = checkpoint.tensors[name]
    rows, columns = info.matrix_shape
    if columns <= MOST_COLUMNS:
        values = checkpoint.rows(name, 0, min(rows, MOST_ROWS))
    else:
        places = np.arange(min(rows, MOST_ROWS))[:, None] * columns + np.arange(MOST_COLUMNS)
        values = checkpoint.elements(name, places.ravel()).reshape(places.shape)
    wide = values.astype(np.float64)
    different = len(np.unique(wide))
    if different <= FEW_VALUES and _few_everywhere(checkpoint, name):
        return f"{different} different value{'s' if different != 1 else ''}"
    rounding = 2.0 ** -min(FORMATS[info.dtype].precision, 24)
    for dtype in ("bfloat16", "float16"):
        if info.dtype in ("float32", "float64") and _on_grid(wide, FORMATS[dtype].precision):
            rounding = max(rounding, 2.0 ** -FORMATS[dtype].precision)
    most = max(LEAST_LEFT, LEFT * rounding * rounding)
    if any(_left(each) <= most for each in (wide, wide.T)):
        return "a table made by a formula"
    return None


def _few_everywhere(checkpoint: Checkpoint, name: str) -> bool:
    """Whether the rest of a tensor is as poor as its beginning."""
    size = checkpoint.tensors[name].size
    count = min(size, 1 << 14)
    spread = checkpoint.elements(name, np.arange(count, dtype=np.int64) * size // count)
    return len(np.unique(spread)) <= FEW_VALUES


def _on_grid(values: NDArray[np.float64], precision: int) -> bool:
    fraction, _ = np.frexp(values)
    lifted = np.ldexp(fraction, precision)
    return bool((np.isfinite(values) & (lifted == np.rint(lifted))).all())


def _left(values: NDArray[np.float64]) -> float:
    """What the best recurrence of two terms, one a column, leaves of the energy; 1 where it is not told."""
    if len(values) < LEAST_LINE or not np.isfinite(values).all():
        return 1.0
    now, before, earlier = values[2:], values[1:-1], values[:-2]
    aa, bb, ab = (_along(x, y) for x, y in ((before, before), (earlier, earlier), (before, earlier)))
    an, bn = _along(now, before), _along(now, earlier)
    determinant = aa * bb - ab * ab
    sound = determinant > 1e-12 * np.maximum(aa * bb, 1e-300)
    safe = np.where(sound, determinant, 1.0)
    first = np.where(sound, (an * bb - bn * ab) / safe, np.where(aa > 0.0, an / np.where(aa > 0, aa, 1), 0.0))
    second = np.where(sound, (bn * aa - an * ab) / safe, 0.0)
    rest = now - first * before - second * earlier
    spread = values - values.mean(axis=0)
    energy = float(np.einsum("ij,ij->", spread, spread))
    # A column that is constant follows from itself, and shows nothing.
    return float(np.einsum("ij,ij->", rest, rest)) / energy if energy > 0.0 else 1.0


def _along(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    total: NDArray[np.float64] = np.einsum("ij,ij->j", x, y)
    return total
