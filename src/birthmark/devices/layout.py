"""How one launch spreads the elements of a tensor over threads, calls and lanes, and moves the offset.

Source of all rules: pytorch `aten/src/ATen/native/cuda/DistributionTemplates.h` (1.7.1 to 2.15.0) and, for
the split of huge tensors, `aten/src/ATen/TensorIterator.cpp`.

A launch has G threads in blocks of 256. Thread t makes U values a call (four; two of 64 bits) and writes
them G elements apart: element j is wave j div G of thread j mod G, and wave w is lane w mod U of call
w div U. Nothing else about a device matters, and below one wave (n <= G) not even G does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.catalogue import BLOCK
from birthmark.errors import UnknownName, UsageError
from birthmark.numerics.dtypes import itemsize

#: The largest byte offset, and the largest element count, that a kernel with 32-bit indices can address.
INDEX_LIMIT = 2**31 - 1

#: How the offset advances: PyTorch from 2.5 on, and 1.7 to 2.4; they differ in double precision only.
OFFSET_RULES: Final = ("2.5+", "2.4-")


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a device: `threads` is G of a launch that fills it, a multiple of 256."""

    threads: int

    def __post_init__(self) -> None:
        if self.threads < BLOCK or self.threads % BLOCK:
            raise UsageError(f"a layout of {self.threads} threads: expected a positive multiple of {BLOCK}.")

    def launch_threads(self, n: int) -> int:
        """G of the launch that fills `n` elements: no more blocks than the elements need; 0 for none."""
        return min(-(-n // BLOCK) * BLOCK, self.threads)

    def locate(
        self, n: int, indices: NDArray[np.int64], unroll: int = 4
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint8], NDArray[np.uint64]]:
        """Where elements of one launch come from.

        Args:
            n: elements of the launch.
            indices: flat indices in storage order, each 0 <= index < n (not checked), any shape.
            unroll: values per call: 4, or 2 for double.

        Returns:
            (call, lane, thread) of each element: uint64, uint8, uint64, in the shape of `indices`.
        """
        if n < 1:
            nothing = np.zeros(np.shape(indices), dtype=np.uint64)
            return nothing, nothing.astype(np.uint8), nothing.copy()
        threads = self.launch_threads(n)
        wave = indices // threads
        thread = indices - wave * threads
        call = wave // unroll
        lane = wave - call * unroll
        return call.astype(np.uint64), lane.astype(np.uint8), thread.astype(np.uint64)

    def index(
        self,
        n: int,
        call: NDArray[np.uint64],
        lane: NDArray[np.uint8],
        thread: NDArray[np.uint64],
        unroll: int = 4,
    ) -> NDArray[np.int64]:
        """The inverse of `locate`: flat indices; those not below `n` are values that no element takes."""
        threads = self.launch_threads(n)
        wave = call.astype(np.int64) * unroll + lane.astype(np.int64)
        return wave * threads + thread.astype(np.int64)

    def advance(self, n: int, unroll: int = 4) -> int:
        """How far one launch over `n` elements moves the generator's offset: 4 a call of each thread.

        Up to PyTorch 2.4 double draws advanced as if `unroll` were 4; pass 4 for those.
        """
        if n < 1:
            return 0
        return ((n - 1) // (self.launch_threads(n) * unroll) + 1) * 4


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of elements that is drawn by one launch.

    Attributes:
        start: flat index of its first element.
        size: its elements.
        offset: the generator's offset when it is drawn, relative to the offset before the call.
    """

    start: int
    size: int
    offset: int


def unroll_of(dtype: str) -> int:
    """U: values that one call of a thread makes, 2 in double precision and 4 in every other dtype."""
    return 2 if dtype == "float64" else 4


def offset_unroll(unroll: int, rule: str = "2.5+") -> int:
    """The values a call that the offset's advance reckons with.

    Args:
        unroll: the values that a call really makes.
        rule: "2.5+", or "2.4-" for PyTorch 1.7 to 2.4: it reckoned with four everywhere, so that a draw
            of two values a call moved the offset by half of what it used, and the next draw met its words
            again.

    Raises:
        UnknownName: no such rule.
    """
    if rule not in OFFSET_RULES:
        raise UnknownName("offset rule", rule, OFFSET_RULES)
    return 4 if rule == "2.4-" else unroll


def pieces(
    n: int, dtype: str, layout: Layout, *, rule: str = "2.5+", limit: int = INDEX_LIMIT
) -> tuple[tuple[Piece, ...], int]:
    """The launches that one call over a contiguous tensor of floats becomes; see `launches`.

    Args:
        n: elements of the tensor.
        dtype: the dtype at draw time; its width decides where a tensor is split.
        layout: the device's layout; each piece is a fresh launch on it.
        rule: how the offset advances; see `offset_unroll`.
        limit: the largest index that fits; the real one unless a test says otherwise.

    Returns:
        The pieces in ascending order, and the offset after the call relative to the one before it.

    Raises:
        UnknownName: `dtype` is not a floating dtype that birthmark knows, or no such rule.
    """
    return launches(n, itemsize(dtype), layout, unroll=unroll_of(dtype), rule=rule, limit=limit)


def launches(
    n: int, width: int, layout: Layout, *, unroll: int, rule: str = "2.5+", limit: int = INDEX_LIMIT
) -> tuple[tuple[Piece, ...], int]:
    """The launches that one call over a contiguous tensor becomes, and how far it moves the offset.

    A tensor whose elements or bytes 32-bit indices cannot reach is halved until every part fits. Before
    that, the call has already reserved offsets for the whole tensor; a tensor that is split never uses them.

    Args:
        n: elements of the tensor.
        width: bytes of an element as stored.
        layout: the device's layout; each piece is a fresh launch on it.
        unroll: values that one call of a thread makes.
        rule: how the offset advances; see `offset_unroll`.
        limit: the largest index that fits; the real one unless a test says otherwise.

    Returns:
        The pieces in ascending order, and the offset after the call relative to the one before it.
    """
    reckoned = offset_unroll(unroll, rule)
    if n < 1:
        return (), 0
    sizes = _halves(n, width, limit)
    offset = layout.advance(n, reckoned) if len(sizes) > 1 else 0
    start = 0
    found = []
    for size in sizes:
        found.append(Piece(start, size, offset))
        offset += layout.advance(size, reckoned)
        start += size
    return tuple(found), offset


def locate(
    launched: tuple[Piece, ...], layout: Layout, indices: NDArray[np.int64], unroll: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint8], NDArray[np.uint64]]:
    """Where elements of a call come from, over all its launches.

    Args:
        launched: the launches of the call, as `launches` gives them.
        layout: the device's layout.
        indices: flat indices in storage order (not checked), any shape.
        unroll: values that one call of a thread makes.

    Returns:
        (counter, lane, thread) of each element: uint64, uint8, uint64, in the shape of `indices`. The counter
        is in calls from the generator's offset before the call.
    """
    if len(launched) < 2:
        size = launched[0].size if launched else 0
        return layout.locate(size, indices, unroll)
    counter, thread = np.empty(indices.shape, np.uint64), np.empty(indices.shape, np.uint64)
    lane = np.empty(indices.shape, np.uint8)
    which = np.searchsorted([piece.start for piece in launched], indices, side="right") - 1
    for number in np.flatnonzero(np.bincount(which.reshape(-1))):
        piece, here = launched[number], which == number
        call, lane[here], thread[here] = layout.locate(piece.size, indices[here] - piece.start, unroll)
        counter[here] = call + np.uint64(piece.offset // 4)
    return counter, lane, thread


def calls_of(launched: tuple[Piece, ...], layout: Layout, unroll: int) -> int:
    """A number above every counter that `locate` gives; at least 1.

    Up to PyTorch 2.4 it can lie beyond the end of the offset, in double precision.
    """
    most = (
        piece.offset // 4 + (piece.size - 1) // (unroll * layout.launch_threads(piece.size)) + 1
        for piece in launched
    )
    return max(most, default=1)


def _halves(n: int, width: int, limit: int) -> list[int]:
    """Sizes of the parts of a contiguous tensor that fit, in memory order; the smaller half comes first."""
    if n <= limit and 1 + (n - 1) * width <= limit:
        return [n]
    return _halves(n // 2, width, limit) + _halves(n - n // 2, width, limit)
