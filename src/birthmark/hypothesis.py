"""A hypothesis: everything but the seed, and random access to the values that it predicts.

An element of a tensor leads to a place in a generator's stream in three steps: the shard that holds it, the
launch that draws that part of the shard (a huge tensor takes several), and the call, lane and thread of that
launch. From the place and a seed follow its words, and from the words its value. No step needs the elements
before it, so a few rows of a tensor of 10^10 elements cost what a few rows cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.catalogue import Arithmetic as Arithmetic
from birthmark.devices.layout import Layout, Piece, calls_of, locate, offset_unroll, pieces
from birthmark.errors import UnknownName, UsageError
from birthmark.recipes.sharding import WHOLE, Sharding
from birthmark.samplers.arithmetic import code_of
from birthmark.samplers.draw import Distribution as Distribution
from birthmark.samplers.draw import Draw as Draw
from birthmark.samplers.draw import Values as Values
from birthmark.samplers.fill import standard_at, stored_range

#: Elements that are worked on at a time; what bounds the memory of large requests.
CHUNK = 1 << 19
#: PyTorch keeps a generator's offset as a signed 64-bit number.
OFFSET_LIMIT = 1 << 63


@dataclass(frozen=True, slots=True, eq=False)
class Location:
    """Where elements come from, one entry an element.

    Attributes:
        rank: int64, the process whose seed draws it; 0 for all where the processes share one.
        counter: uint64, position in the thread's stream in calls: offset / 4 and all earlier calls.
        thread: uint64, index of the thread in its launch.
        lane: uint8, which of the call's values it takes.
    """

    rank: NDArray[np.int64]
    counter: NDArray[np.uint64]
    thread: NDArray[np.uint64]
    lane: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Everything that decides a tensor's initial values, except the seed.

    The seed of a method is that of rank 0 as its generator saw it, any integer modulo 2^64; other ranks
    follow by the sharding's rule. Element indices are C-order flat indices into the whole tensor.

    Attributes:
        draw: the call that fills the tensor.
        threads: G, the threads of a full launch of the device, a multiple of 256.
        arithmetic: how words become float32 normals on the device.
        offset: the generator's offset when the draw starts, a multiple of 4.
        sharding: how the tensor is cut among processes.
        generator: the bit source; "philox" is the only one that has layouts.
        offsets: how far double draws move the offset: "2.5+", or "2.4-" for PyTorch up to 2.4.
        redraw_step: how far each draw again of a truncated normal of torch 2.12 lies behind the one before;
            None for what the call itself moves the offset by. A distributed tensor has a step of its own.
    """

    draw: Draw
    threads: int
    arithmetic: Arithmetic = "nvidia-volta+"
    offset: int = 0
    sharding: Sharding = WHOLE
    generator: str = "philox"
    offsets: str = "2.5+"
    redraw_step: int | None = None

    def __post_init__(self) -> None:
        Layout(self.threads)
        code_of(self.arithmetic)
        offset_unroll(self.draw.unroll, self.offsets)
        if self.generator != "philox":
            raise UnknownName("generator", self.generator, ("philox",))
        if not 0 <= self.offset < OFFSET_LIMIT or self.offset % 4:
            raise UsageError(f"offset {self.offset}: expected a multiple of 4, from 0 to 2^63 - 4.")
        if self.redraw_step is not None and (self.redraw_step < 0 or self.redraw_step % 4):
            raise UsageError(f"redraws {self.redraw_step} apart: expected a multiple of 4, from 0 on.")
        self.sharding.local_shape(self.draw.shape)

    @property
    def end_offset(self) -> int:
        """The generator's offset after the draw, the same on every rank.

        Raises:
            UsageError: it depends on the seed; ask `end_offset_of`.
        """
        if self.draw.redraws:
            raise UsageError("the offset after a truncated normal draw of torch 2.12 depends on the seed.")
        return self.offset + self._step

    def end_offset_of(self, seed: int, rank: int = 0) -> int:
        """The generator's offset after the draw on one rank; goes through its elements where it must.

        The ranks of a distributed tensor draw again together, so there all elements count.
        """
        if not self.draw.redraws:
            return self.offset + self._step
        size = self._local_size()
        first, stop = (
            (0, self.draw.size) if self.sharding.rule == "dtensor" else (rank * size, (rank + 1) * size)
        )
        again = 0
        for begin in range(first, stop, CHUNK):
            indices = np.arange(begin, min(begin + CHUNK, stop))
            again = max(again, self._redrawn(seed, self._locate(indices))[1])
        return self.offset + self._redraw_step * (1 + again)

    def locate(self, indices: NDArray[np.int64]) -> Location:
        """Where the elements at `indices` come from, in the shape of `indices`.

        Raises:
            UsageError: an index is not an integer or lies outside the tensor.
        """
        return self._locate(self._checked(indices))

    def raw(self, seed: int, indices: NDArray[np.int64]) -> Values:
        """What the draw is made from at `indices`: standard normals, or uniforms in (0, 1] (`Draw.source`).

        Returns:
            float32, or float64 for a float64 draw, in the shape of `indices`.

        Raises:
            UsageError: an index is not an integer or lies outside the tensor.
        """
        return self._computed(seed, indices, self.raw_of)

    def standard(self, seed: int, indices: NDArray[np.int64]) -> Values:
        """Standard normals, uniforms in (0, 1] or standard truncated normals behind `indices`.

        Returns:
            float32, or float64 for a float64 draw, in the shape of `indices`; finite. Those of a truncated
            normal have the nominal std 1, so that theirs is smaller.

        Raises:
            UsageError: an index is not an integer or lies outside the tensor.
        """
        return self._computed(seed, indices, self.standard_of)

    def values(self, seed: int, indices: NDArray[np.int64]) -> Values:
        """The initial values of the elements at `indices`, as the draw stored them, decoded.

        Returns:
            float32, or float64 for a float64 draw, in the shape of `indices`.

        Raises:
            UsageError: an index is not an integer or lies outside the tensor.
        """
        return self._computed(seed, indices, lambda seed, place: self.draw.finish(self.raw_of(seed, place)))

    def standard_of(self, seed: int, place: Location) -> Values:
        """`standard` of elements located before: spares that step where many seeds are tried on them."""
        return self.draw.standard(self.raw_of(seed, place))

    def raw_of(self, seed: int, place: Location) -> Values:
        """`raw` of elements located before."""
        return self._redrawn(seed, place)[0] if self.draw.redraws else self._raw_of(seed, place)

    def blocks(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """One number for each element; equal where elements share seed and Philox block, so their words."""
        place = self.locate(indices)
        calls = calls_of(self._launches()[0], Layout(self.threads), self.draw.unroll)
        counter = (place.counter - np.uint64(self.offset // 4)).astype(np.int64)
        rank = place.rank if self.sharding.seed_step else np.zeros_like(place.rank)
        blocks: NDArray[np.int64] = (rank * calls + counter) * self.threads + place.thread.astype(np.int64)
        return blocks

    def run(self, seed: int, start: int, stop: int) -> Values:
        """The initial values of the elements start <= i < stop, decoded: the fast way to many neighbours.

        Raises:
            UsageError: the range is empty the wrong way round or leaves the tensor.
        """
        if not 0 <= start <= stop <= self.draw.size:
            raise UsageError(
                f"elements {start} to {stop} of a tensor of {self.draw.size}: expected a range in it."
            )
        out = self._empty(stop - start)
        for rank, piece, first, last in self._runs(start, stop):
            whole = rank * self._local_size() + piece.start
            out[whole + first - start : whole + last - start] = stored_range(
                self.draw.distribution,
                self.draw.parameters,
                self.draw.dtype,
                self.sharding.seed_of(seed, rank),
                Layout(self.threads).launch_threads(piece.size),
                first,
                last,
                self.arithmetic,
                offset=self.offset + piece.offset + self.sharding.shift(self.draw.shape, rank),
                version=self.draw.version,
            )
        if self.draw.redraws:
            self._redraw(seed, start, out)
        return out

    def tensor(self, seed: int) -> Values:
        """The whole tensor, in its shape."""
        return self.run(seed, 0, self.draw.size).reshape(self.draw.shape)

    def _local_size(self) -> int:
        return math.prod(self.sharding.local_shape(self.draw.shape))

    @property
    def _step(self) -> int:
        """How far one draw moves the offset."""
        whole = self.sharding.advance(self.draw.shape)
        return self._launches()[1] if whole is None else whole

    @property
    def _redraw_step(self) -> int:
        return self._step if self.redraw_step is None else self.redraw_step

    def _launches(self) -> tuple[tuple[Piece, ...], int]:
        """The launches of every rank, and how far they move its offset."""
        return pieces(self._local_size(), self.draw.dtype, Layout(self.threads), rule=self.offsets)

    def _runs(self, start: int, stop: int) -> Iterator[tuple[int, Piece, int, int]]:
        """The parts of a range that single launches draw: rank, launch, and the range within the launch."""
        size = self._local_size()
        if start == stop:
            return
        for rank in range(start // size, (stop - 1) // size + 1):
            for piece in self._launches()[0]:
                begin = rank * size + piece.start
                first, last = max(start - begin, 0), min(stop - begin, piece.size)
                if first < last:
                    yield rank, piece, first, last

    def _locate(self, indices: NDArray[np.int64]) -> Location:
        rank, local, _ = self.sharding.locate(self.draw.shape, indices)
        launched, _ = self._launches()
        counter, lane, thread = locate(launched, Layout(self.threads), local, self.draw.unroll)
        counter = counter + np.uint64(self.offset // 4)
        if self.sharding.rule == "dtensor":
            shifts = [self.sharding.shift(self.draw.shape, each) // 4 for each in range(self.sharding.ways)]
            counter = counter + np.array(shifts, np.uint64)[rank]
            rank = np.zeros_like(rank)
        return Location(rank, counter, thread, lane)

    def _raw_of(self, seed: int, place: Location) -> Values:
        ranks = range(self.sharding.ways)
        seeds = np.array([self.sharding.seed_of(seed, rank) for rank in ranks], np.uint64)
        found: Values = standard_at(
            self.draw.source,
            seeds if len(seeds) == 1 else seeds[place.rank],
            place.counter,
            place.thread,
            place.lane,
            self.arithmetic,
            double=self.draw.dtype == "float64",
        )
        return found

    def _redrawn(self, seed: int, place: Location) -> tuple[Values, int]:
        """The first raw values within bounds, and how many draws again that took."""
        found = self._raw_of(seed, place)
        beyond = self.draw.outside(self.draw.finish(found))
        again = 0
        while beyond.any():
            again += 1
            later = place.counter[beyond] + np.uint64(self._redraw_step // 4 * again)
            fresh = self._raw_of(
                seed, Location(place.rank[beyond], later, place.thread[beyond], place.lane[beyond])
            )
            found[beyond] = fresh
            beyond[beyond] = self.draw.outside(self.draw.finish(fresh))
        return found, again

    def _redraw(self, seed: int, start: int, out: Values) -> None:
        """Replace what lies out of bounds in a run of first draws."""
        for begin in range(0, out.size, CHUNK):
            part = out[begin : begin + CHUNK]
            beyond = np.flatnonzero(self.draw.outside(part))
            place = self._locate(beyond + begin + start)
            part[beyond] = self.draw.finish(self.raw_of(seed, place))

    def _computed(
        self, seed: int, indices: NDArray[np.int64], compute: Callable[[int, Location], Values]
    ) -> Values:
        checked = self._checked(indices)
        flat = checked.reshape(-1)
        out = self._empty(flat.size)
        for begin in range(0, flat.size, CHUNK):
            part = slice(begin, begin + CHUNK)
            out[part] = compute(seed, self._locate(flat[part]))
        return out.reshape(checked.shape)

    def _empty(self, size: int) -> NDArray[Any]:
        return np.empty(size, np.float64 if self.draw.dtype == "float64" else np.float32)

    def _checked(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        given = np.asarray(indices)
        if given.dtype.kind not in "iu" and given.size:
            raise UsageError(f"element indices of type {given.dtype}: expected integers.")
        if given.size and not 0 <= int(given.min()) <= int(given.max()) < self.draw.size:
            raise UsageError(
                f"element indices {given.min()} to {given.max()}: the tensor has {self.draw.size} elements."
            )
        return given.astype(np.int64, copy=False)
