"""Where the random bits of a tensor's values lie under each way in which JAX may have drawn it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.threefry import COUNTERS, Counters
from birthmark.search.neighbours.observed import Observed

#: Bits of the uniforms of a dtype, and how many low ones of them are dropped.
WIDTHS: Final = {"float32": (32, 9), "float16": (16, 6), "bfloat16": (8, 1)}


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """Where the random bits of some values lie.

    Attributes:
        counters: the order of the generator's counters.
        dtype: of the draw.
        transposed: whether the draw was the transpose of the stored matrix, as converters leave it.
        size: elements of the draw.
        c0: uint32[n], the counter's first words.
        c1: uint32[n], its second ones.
        lane: uint8[n], which output holds the bits: 0, 1, or 2 for the exclusive or of both.
        shift: uint32[n], how far to shift it up until the bits are at the top.
    """

    counters: Counters
    dtype: str
    transposed: bool
    size: int
    c0: NDArray[np.uint32]
    c1: NDArray[np.uint32]
    lane: NDArray[np.uint8]
    shift: NDArray[np.uint32]


def probes_of(observed: Observed, indices: NDArray[np.int64]) -> tuple[Probe, ...]:
    """A probe for each order of counters, likely dtype of the draw, and a matrix's transpose.

    Args:
        observed: the tensor.
        indices: int64, flat indices in it of the values that are looked at.
    """
    dtypes = ["float32"]
    if observed.dtype in ("float16", "bfloat16"):
        dtypes.append(observed.dtype)
    found = []
    for transposed in (False, True) if len(observed.shape) == 2 and min(observed.shape) > 1 else (False,):
        drawn = turned(indices, observed.shape) if transposed else indices
        found += [
            _probe(counters, dtype, transposed, observed.size, drawn)
            for counters in COUNTERS
            for dtype in dtypes
        ]
    return tuple(found)


def turned(indices: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Flat indices of a matrix as those of its transpose."""
    rows, columns = shape
    return indices % columns * rows + indices // columns


def _probe(counters: Counters, dtype: str, transposed: bool, size: int, indices: NDArray[np.int64]) -> Probe:
    width, _ = WIDTHS[dtype]
    n = len(indices)
    if counters == "partitionable":
        c0, c1 = (indices >> 32).astype(np.uint32), (indices & 0xFFFFFFFF).astype(np.uint32)
        shift = np.full(n, 32 - width, np.uint32)
        return Probe(counters, dtype, transposed, size, c0, c1, np.full(n, 2, np.uint8), shift)
    packed = 32 // width
    total = -(-size // packed)
    half = (total + 1) // 2
    place = indices // packed
    second = place >= half
    first = np.where(second, place - half, place)
    c1 = np.where(first + half < total, first + half, 0)
    # The bits of an element are moved to the top of the word, above those of its neighbours.
    shift = (32 - width - width * (indices % packed)).astype(np.uint32)
    return Probe(
        counters, dtype, transposed, size, first.astype(np.uint32), c1.astype(np.uint32),
        second.astype(np.uint8), shift,
    )  # fmt: skip
