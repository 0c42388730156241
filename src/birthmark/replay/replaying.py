"""A traced model's initial values for one seed and device: any elements of any tensor.

A trace says which calls were made and what the tensors are made of; a birth says with which seed and where.
Together they decide every position: truncated normals that draw again are gone through once, in pieces, to
learn how many rounds they took, when something behind them in their stream is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.catalogue import Arithmetic
from birthmark.devices.layout import Layout
from birthmark.devices.strides import Order
from birthmark.errors import UsageError
from birthmark.generators.mt19937 import words_at
from birthmark.hypothesis import Hypothesis
from birthmark.numerics.dtypes import round_to
from birthmark.recipes.trace import Trace, TracedDraw
from birthmark.recipes.trace_arithmetic import Device, evaluate, inexact
from birthmark.recipes.trace_costs import Position, cpu_after, cpu_draw, gpu_cost, gpu_sampler
from birthmark.recipes.trace_values import draws_of, why_unknown
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.cpu_truncated import Inverted, truncated_sampler
from birthmark.samplers.cuda_draw import CudaDraw
from birthmark.samplers.draw import Draw
from birthmark.samplers.permutation import Permutation

#: Elements that are worked on at a time; what bounds the memory of large requests.
CHUNK: Final = 1 << 20

Source = CpuDraw | Hypothesis | CudaDraw | Permutation


@dataclass(frozen=True, slots=True)
class Birth:
    """With which seed, and where.

    Attributes:
        seed: what the user's program was seeded with.
        threads: G of the GPU; None where everything was drawn on the CPU.
        arithmetic: how the GPU makes float32 normals.
        cpu_arithmetic: how the CPU build computes: see `birthmark.samplers.cpu_arithmetic`.
    """

    seed: int
    threads: int | None = None
    arithmetic: Arithmetic = "nvidia-volta+"
    cpu_arithmetic: str = "cpu-fused"

    def __post_init__(self) -> None:
        if self.threads is not None:
            Layout(self.threads)


class Replay:
    """The tensors of a traced model for one birth."""

    def __init__(self, trace: Trace, birth: Birth) -> None:
        """A replay; nothing is computed until it is asked for.

        Raises:
            UsageError: the model was built on a GPU, and the birth names none.
        """
        self.trace = trace
        self.birth = birth
        self._mixed = any(stream.device == "cuda" for stream in trace.streams)
        if self._mixed and birth.threads is None:
            raise UsageError(
                "the trace is of a model that draws on a GPU.", advice="Name the device, or its layout."
            )
        self._cpu_ends: dict[int, Position | None] = {}
        self._gpu_ends: dict[int, int | None] = {}

    def on_gpu(self, number: int) -> bool:
        """Whether a call draws on the GPU: as the trace says, or, if it was made for none, the birth."""
        if self._mixed:
            return self.trace.streams[self.trace.draws[number].stream].device == "cuda"
        return self.birth.threads is not None

    def source(self, number: int) -> Source:
        """A call at its place in its stream, with random access.

        Raises:
            UsageError: its place is not known, or no sampler makes such a call.
        """
        draw = self.trace.draws[number]
        at = self._gpu_start(number) if self.on_gpu(number) else self._cpu_start(number)
        if at is None:
            raise UsageError(f"draw {number} follows one that takes an unknown number of random words.")
        return self._gpu_source(draw, at) if isinstance(at, int) else self._cpu_source(draw, at)

    def seed_of(self, number: int) -> int:
        """The seed of a call's stream."""
        own = self.trace.streams[self.trace.draws[number].stream].seed
        return self.birth.seed if own is None else own

    def why_not(self, name: str) -> str | None:
        """Why a tensor cannot be predicted; None where it can."""
        value = self.trace.tensor(name).value
        reason = why_unknown(value)
        if reason is not None:
            return reason
        for number in draws_of(value):
            try:
                self.source(number)
            except UsageError as error:
                return str(error).rstrip(".")
        return None

    def inexact(self, name: str) -> str | None:
        """Why the last bits of a tensor are not known; None where they are."""
        value = self.trace.tensor(name).value
        reason = inexact(value)
        if reason is not None:
            return reason
        for number in draws_of(value):
            if not _exact(self.source(number)):
                return f"a {self.trace.draws[number].distribution} draw is not known to the last bit there"
        return None

    def values(self, name: str, indices: NDArray[np.int64]) -> NDArray[Any]:
        """The elements of a tensor at C-order flat indices, decoded, in the shape of `indices`.

        Raises:
            UsageError: the tensor cannot be predicted, or an index lies outside it.
        """
        tensor = self.trace.tensor(name)
        flat = np.asarray(indices, np.int64)
        if flat.size and not 0 <= int(flat.min()) <= int(flat.max()) < tensor.size:
            raise UsageError(f"element indices {flat.min()} to {flat.max()}: {name} has {tensor.size}.")
        used = draws_of(tensor.value)
        device: Device = "cuda" if used and self.on_gpu(used[0]) else "cpu"
        return evaluate(tensor.value, flat, self.drawn, device)

    def run(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """The elements start <= i < stop of a tensor, decoded."""
        return self.values(name, np.arange(start, stop, dtype=np.int64))

    def drawn(self, number: int, indices: NDArray[np.int64]) -> NDArray[Any]:
        """What a call stored at C-order flat indices of the tensor that it filled, decoded."""
        draw, source, seed = self.trace.draws[number], self.source(number), self.seed_of(number)
        places = indices
        if draw.strides is not None:
            places = Order(draw.shape, draw.strides).linear(indices)
        if isinstance(source, Hypothesis | CudaDraw) and _is_run(places):
            return source.run(seed, int(places[0]), int(places[-1]) + 1)
        values: NDArray[Any] = source.values(seed, places)
        return values

    def _cpu_source(self, draw: TracedDraw, at: Position) -> CpuDraw:
        return cpu_draw(draw.call, at, self.trace.torch, self.birth.cpu_arithmetic)

    def _gpu_source(self, draw: TracedDraw, offset: int) -> Hypothesis | CudaDraw | Permutation:
        threads, rules = self.birth.threads, self.trace.rules
        assert threads is not None
        if draw.distribution == "permutation":
            return Permutation(draw.size, threads, offset, rules.integers, rules.offsets)
        sampler = gpu_sampler(draw.call, rules)
        if sampler is None:
            raise UsageError(f"a {draw.name or draw.distribution} draw: no sampler makes it on a GPU.")
        if isinstance(sampler, Draw):
            return Hypothesis(sampler, threads, self.birth.arithmetic, offset, offsets=rules.offsets)
        return CudaDraw(sampler, draw.size, threads, self.birth.arithmetic, offset, rules.offsets)

    def _cpu_start(self, number: int) -> Position | None:
        after = self.trace.draws[number].after
        if after is None:
            return Position()
        for each in self._chain(after, self._cpu_ends):
            start = self._cpu_start(each)  # the one before is known by now
            rounds = 0
            if start is not None and self.trace.redraws(each):
                rounds = self._cpu_rounds(each, start)
            draw = self.trace.draws[each]
            self._cpu_ends[each] = (
                None if start is None else cpu_after(draw.call, start, self.trace.torch, rounds)
            )
        return self._cpu_ends[after]

    def _gpu_start(self, number: int) -> int | None:
        after = self.trace.draws[number].after
        if after is None:
            return 0
        for each in self._chain(after, self._gpu_ends):
            start = self._gpu_start(each)  # the one before is known by now
            draw = self.trace.draws[each]
            assert self.birth.threads is not None
            cost = gpu_cost(draw.call, self.birth.threads, self.trace.rules)
            if start is None or cost is None:
                self._gpu_ends[each] = None
            elif self.trace.redraws(each):
                self._gpu_ends[each] = self._gpu_end_of_redraws(each, start)
            else:
                self._gpu_ends[each] = start + cost
        return self._gpu_ends[after]

    def _chain(self, last: int, known: dict[int, Any]) -> list[int]:
        """The calls up to `last` whose ends are not known yet, in order."""
        found = []
        current: int | None = last
        while current is not None and current not in known:
            found.append(current)
            current = self.trace.draws[current].after
        return found[::-1]

    def _cpu_rounds(self, number: int, start: Position) -> int:
        """Rounds beyond the first that a truncated normal takes on the CPU."""
        draw, seed = self.trace.draws[number], self.seed_of(number)
        source = self._cpu_source(draw, start)
        kept = None if start.kept_at is None else start.kept_at - start.index
        sampler = truncated_sampler(source.call, kept)
        if isinstance(sampler, Inverted):
            return 0
        taken = 0
        for begin in range(0, draw.size, CHUNK):
            part = np.arange(begin, min(begin + CHUNK, draw.size), dtype=np.int64)
            taken = max(taken, sampler.run(lambda places: words_at(seed, places + start.index), part)[1])
        rounds = 0
        while (after := cpu_after(draw.call, start, self.trace.torch, rounds)) is not None and (
            after.index - start.index < taken
        ):
            rounds += 1
        return rounds

    def _gpu_end_of_redraws(self, number: int, start: int) -> int | None:
        try:
            source = self._gpu_source(self.trace.draws[number], start)
        except UsageError:  # a rejection, which no sampler makes on a GPU
            return None
        assert isinstance(source, Hypothesis)
        return source.end_offset_of(self.seed_of(number))


def stored(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Predicted values as a checkpoint of another float dtype stores them, decoded."""
    rounded: NDArray[Any] = round_to(values, dtype)
    return rounded


def _is_run(places: NDArray[np.int64]) -> bool:
    """Whether places follow each other without a gap."""
    if places.ndim != 1 or places.size == 0 or int(places[-1]) - int(places[0]) != places.size - 1:
        return False
    return bool(np.all(np.diff(places) == 1))


def _exact(source: Source) -> bool:
    """Whether every bit of a draw is known to be the device's."""
    if isinstance(source, CpuDraw):
        return source.exact
    if isinstance(source, Hypothesis):
        draw = source.draw
        if draw.distribution == "uniform":
            return True
        return draw.source == "normal" and source.arithmetic != "amd" and draw.dtype != "float64"
    return not isinstance(source, CudaDraw) or source.sampler.source == "words"
