"""One random call on a GPU as a chain of launches, with random access to what it stores.

`birthmark.hypothesis.Hypothesis` predicts weights: float draws, perhaps cut into shards. This is its plainer
relative for everything that PyTorch draws with the same kernel loop, integers and truth values as well: one
process, one seed, any sampler that says how many words a value takes and what becomes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.layout import Layout, Piece, launches, locate
from birthmark.errors import UsageError
from birthmark.generators.philox import key_of
from birthmark.samplers.arithmetic import code_of
from birthmark.samplers.draw import Draw
from birthmark.samplers.fill import standard_at, standard_range, stored_range
from birthmark.samplers.words import words_at, words_range

#: Elements that are worked on at a time; what bounds the memory of large requests.
CHUNK = 1 << 19


class Sampler(Protocol):
    """What a draw makes of a launch's raw values; every implementation is frozen."""

    @property
    def source(self) -> Literal["normal", "uniform", "words"]:
        """Raw values: standard normals, uniforms in (0, 1], or the words themselves."""

    @property
    def unroll(self) -> int:
        """Raw values that one call makes: 4 of 32 bits or 2 of 64."""

    @property
    def width(self) -> int:
        """Bytes of a stored element; they decide where a huge tensor is split."""

    def finish(self, raw: NDArray[Any]) -> NDArray[Any]:
        """What the draw stores for raw values of any shape, decoded."""


@dataclass(frozen=True, slots=True)
class CudaDraw:
    """One call over a contiguous tensor, but for the seed.

    Attributes:
        sampler: what is drawn.
        size: elements of the tensor.
        threads: G, the threads of a full launch of the device, a multiple of 256.
        arithmetic: how words become floats on the device.
        offset: the generator's offset when the call starts, a multiple of 4.
        offsets: how far the call moves it: "2.5+" or "2.4-" (see `birthmark.devices.layout.offset_unroll`).
    """

    sampler: Sampler
    size: int
    threads: int
    arithmetic: str = "nvidia-volta+"
    offset: int = 0
    offsets: str = "2.5+"

    def __post_init__(self) -> None:
        Layout(self.threads)
        code_of(self.arithmetic)
        if self.size < 0:
            raise UsageError(f"a draw of {self.size} elements: expected 0 or more.")
        if self.offset < 0 or self.offset % 4:
            raise UsageError(f"offset {self.offset}: expected a multiple of 4, from 0 on.")
        self._launches()

    @property
    def end_offset(self) -> int:
        """The generator's offset after the call."""
        return self.offset + self._launches()[1]

    def values(self, seed: int, indices: NDArray[np.int64]) -> NDArray[Any]:
        """What the call stores at `indices`, positions in the iterator's order.

        Returns:
            In the shape of `indices`; float32 or float64, int64, or bool, as the sampler decodes.

        Raises:
            UsageError: an index is not an integer or lies outside the tensor.
        """
        given = np.asarray(indices)
        if given.size and given.dtype.kind not in "iu":
            raise UsageError(f"element indices of type {given.dtype}: expected integers.")
        if given.size and not 0 <= int(given.min()) <= int(given.max()) < self.size:
            raise UsageError(
                f"element indices {given.min()} to {given.max()}: the tensor has {self.size} elements."
            )
        flat = given.astype(np.int64, copy=False).reshape(-1)
        parts = [
            self.sampler.finish(self._raw_at(seed, flat[begin : begin + CHUNK]))
            for begin in range(0, max(flat.size, 1), CHUNK)
        ]
        found: NDArray[Any] = np.concatenate(parts).reshape(given.shape)
        return found

    def run(
        self, seed: int, start: int = 0, stop: int | None = None, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """What the call stores from element start up to stop (default: all), each block computed once.

        Args:
            seed: any integer; taken modulo 2^64.
            start: the first element.
            stop: the one after the last.
            out: where to write, one-dimensional and contiguous, of the result's size and type; by default a
                fresh array.

        Raises:
            UsageError: the range is empty the wrong way round or leaves the tensor.
        """
        stop = self.size if stop is None else stop
        if not 0 <= start <= stop <= self.size:
            raise UsageError(
                f"elements {start} to {stop} of a tensor of {self.size}: expected a range in it."
            )
        if out is not None:
            for piece, first, last in self._runs(start, stop):
                begin = piece.start + first - start
                self._run(seed, piece, first, last, out[begin : begin + last - first])
            return out
        parts = [self._run(seed, piece, first, last) for piece, first, last in self._runs(start, stop)]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else self.values(seed, np.empty(0, np.int64))

    def _launches(self) -> tuple[tuple[Piece, ...], int]:
        sampler = self.sampler
        return launches(
            self.size, sampler.width, Layout(self.threads), unroll=sampler.unroll, rule=self.offsets
        )

    def _runs(self, start: int, stop: int) -> Iterator[tuple[Piece, int, int]]:
        """The launches that draw parts of a range, each with its part, counted within the launch."""
        for piece in self._launches()[0]:
            first, last = max(start - piece.start, 0), min(stop - piece.start, piece.size)
            if first < last:
                yield piece, first, last

    def _run(
        self, seed: int, piece: Piece, first: int, last: int, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        sampler, offset = self.sampler, self.offset + piece.offset
        threads = Layout(self.threads).launch_threads(piece.size)
        if isinstance(sampler, Draw):
            return stored_range(
                sampler.distribution,
                sampler.parameters,
                sampler.dtype,
                seed,
                threads,
                first,
                last,
                self.arithmetic,
                offset=offset,
                version=sampler.version,
                out=out,
            )
        double = sampler.unroll == 2
        if sampler.source == "words":
            made = sampler.finish(words_range(seed, threads, first, last, offset=offset, joined=double))
        else:
            made = sampler.finish(
                standard_range(
                    sampler.source, seed, threads, first, last, self.arithmetic, offset=offset, double=double
                )
            )
        if out is None:
            return made
        out[:] = made
        return out

    def _raw_at(self, seed: int, flat: NDArray[np.int64]) -> NDArray[Any]:
        """Raw values of elements that are known to exist."""
        sampler = self.sampler
        call, lane, thread = locate(self._launches()[0], Layout(self.threads), flat, sampler.unroll)
        counter = call + np.uint64(self.offset // 4)
        if sampler.source == "words":
            return words_at(seed, counter, thread, lane, joined=sampler.unroll == 2)
        return standard_at(
            sampler.source,
            np.asarray([key_of(seed)]),
            counter,
            thread,
            lane,
            self.arithmetic,
            double=sampler.unroll == 2,
        )
