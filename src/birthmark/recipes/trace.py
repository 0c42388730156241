"""A trace: every random call that a real constructor made, in order, and what each tensor is made of.

A stream is one generator from one seeding on. Where a call starts in its stream follows from the calls before
it: on the CPU as 32-bit words, on a GPU as an offset for any G. Truncated normals of torch 2.12 and later
repeat full-size draws until no value is out of bounds. How many rounds that takes is decided by the seed, so
positions behind such a call are given for a number of rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from birthmark.errors import UnknownName, UsageError
from birthmark.recipes.trace_costs import Call, Position, cpu_after, gpu_cost, round_of
from birthmark.recipes.trace_values import Value, draws_of
from birthmark.samplers.draw import Draw
from birthmark.samplers.torch_rules import TorchRules, rules
from birthmark.samplers.truncated import REDRAWING

#: Rounds beyond the first that a search takes for likely, per call whose number of rounds is open.
LIKELY_ROUNDS: Final = 8
NO_ROUNDS: Final[Mapping[int, int]] = {}


@dataclass(frozen=True, slots=True)
class TracedStream:
    """A generator from one seeding on.

    Attributes:
        device: "cpu" or "cuda": what drew from it when the trace was made.
        seed: the seed, where the program sets one itself; None where it is the user's.
    """

    device: str
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class TracedDraw:
    """One random call.

    Attributes:
        distribution: one of `birthmark.recipes.trace_costs.DISTRIBUTIONS`.
        parameters: (mean, std), (low, high), (mean, std, a, b) of a truncated normal, and so on:
            see `birthmark.samplers.cpu_call.CpuCall`.
        shape: extents of the tensor that it fills.
        dtype: of that tensor.
        stream: which stream it draws from.
        after: the call of that stream that it follows; None where it is the stream's first.
        tensor: the tensor of the model that keeps its values, or some of them; None where they are discarded.
        overwritten: of a discarded call, the tensor that held its values before something else was written.
        strides: in elements, where the tensor is not contiguous.
        name: of a call of distribution "other", what was called.
    """

    distribution: str
    parameters: tuple[float, ...]
    shape: tuple[int, ...]
    dtype: str = "float32"
    stream: int = 0
    after: int | None = None
    tensor: str | None = None
    overwritten: str | None = None
    strides: tuple[int, ...] | None = None
    name: str | None = None

    @property
    def size(self) -> int:
        """Elements that it fills."""
        return math.prod(self.shape)

    @property
    def call(self) -> Call:
        """It, as far as its cost goes."""
        return Call(self.distribution, self.parameters, self.size, self.dtype, self.strides is None)


@dataclass(frozen=True, slots=True)
class TracedTensor:
    """A tensor of the model as it was before training.

    Attributes:
        name: in the model's state dict.
        shape: extents.
        dtype: torch's name of it.
        value: what it is made of.
        tied: the earlier tensor whose memory it shares; None where it has its own.
        buffer: whether it is a buffer, not a parameter.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    value: Value
    tied: str | None = None
    buffer: bool = False

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The calls and tensors of one model.

    Attributes:
        draws: the calls, in the order in which they were made.
        tensors: the tensors of the model's state dict, in its order.
        streams: where the calls draw from.
        torch: the release that the trace was made with; version rules follow it.
        model: what was traced, in words.
        notes: facts about the tracing that a user should see.
    """

    draws: tuple[TracedDraw, ...]
    tensors: tuple[TracedTensor, ...]
    streams: tuple[TracedStream, ...] = (TracedStream("cpu"),)
    torch: str = "2.13"
    model: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a trace that contradicts itself.

        Raises:
            UsageError: a call that follows a later one, or one of another stream; a value made of a call that
                is not there; a name that occurs twice.
        """
        rules(self.torch)
        for number, draw in enumerate(self.draws):
            if not 0 <= draw.stream < len(self.streams):
                raise UsageError(f"draw {number} is of stream {draw.stream} of {len(self.streams)}.")
            if draw.after is not None and not (
                0 <= draw.after < number and self.draws[draw.after].stream == draw.stream
            ):
                raise UsageError(f"draw {number} follows draw {draw.after}: expected an earlier one.")
        names: set[str] = set()
        for tensor in self.tensors:
            if tensor.name in names:
                raise UsageError(f"the trace has the tensor {tensor.name!r} twice.")
            if tensor.tied is not None and tensor.tied not in names:
                raise UsageError(f"{tensor.name} is tied to {tensor.tied!r}: expected an earlier tensor.")
            names.add(tensor.name)
            if any(number >= len(self.draws) for number in draws_of(tensor.value)):
                raise UsageError(f"{tensor.name} is made of a draw that the trace does not have.")

    @property
    def rules(self) -> TorchRules:
        """The version rules of its release."""
        return rules(self.torch)

    def tensor(self, name: str) -> TracedTensor:
        """The tensor of that name.

        Raises:
            UnknownName: there is none.
        """
        for each in self.tensors:
            if each.name == name:
                return each
        raise UnknownName("traced tensor", name, (each.name for each in self.tensors))

    def redraws(self, number: int) -> bool:
        """Whether the seed decides how many rounds a call takes."""
        draw = self.draws[number]
        if draw.distribution != "truncated-normal" or self.rules.truncated != REDRAWING or not draw.size:
            return False
        if round_of(draw.parameters, self.rules) == "rejection":
            return True
        return Draw("truncated-normal", draw.parameters, draw.shape, draw.dtype, REDRAWING).redraws

    @property
    def opened(self) -> frozenset[int]:
        """The calls whose positions the seed decides, because one before them in their stream redraws."""
        found: set[int] = set()
        redrawing = {number for number in range(len(self.draws)) if self.redraws(number)}
        for number, draw in enumerate(self.draws):
            if draw.after is not None and (draw.after in redrawing or draw.after in found):
                found.add(number)
        return frozenset(found)

    def open_before(self, number: int) -> tuple[int, ...]:
        """The calls before one, in its stream, whose number of rounds the seed decides; ascending."""
        found = []
        current = self.draws[number].after
        while current is not None:
            if self.redraws(current):
                found.append(current)
            current = self.draws[current].after
        return tuple(reversed(found))

    def indices(self, rounds: Mapping[int, int] = NO_ROUNDS) -> tuple[Position | None, ...]:
        """Where each call starts on the CPU; None where that is not known.

        Args:
            rounds: how many rounds beyond the first a call takes, by its number; 0 where it is not named.
        """
        starts: list[Position | None] = []
        ends: list[Position | None] = []
        for number, draw in enumerate(self.draws):
            at = Position() if draw.after is None else ends[draw.after]
            starts.append(at)
            again = rounds.get(number, 0)
            ends.append(None if at is None else cpu_after(draw.call, at, self.torch, again))
        return tuple(starts)

    def offsets(self, threads: int, rounds: Mapping[int, int] = NO_ROUNDS) -> tuple[int | None, ...]:
        """The generator's offset at the start of each call on a GPU; None where that is not known.

        Args:
            threads: G of the device.
            rounds: how many rounds beyond the first a call takes, by its number; 0 where it is not named.
        """
        starts: list[int | None] = []
        ends: list[int | None] = []
        costs: dict[Call, int | None] = {}
        for number, draw in enumerate(self.draws):
            at = 0 if draw.after is None else ends[draw.after]
            starts.append(at)
            call = draw.call
            if call not in costs:
                costs[call] = gpu_cost(call, threads, self.rules)
            cost = costs[call]
            ends.append(None if at is None or cost is None else at + cost * (1 + rounds.get(number, 0)))
        return tuple(starts)

    def likely_rounds(self, number: int, most: int = LIKELY_ROUNDS) -> Iterator[dict[int, int]]:
        """Numbers of rounds of the calls before one, likely ones first.

        A position is decided by the sum of rounds over calls that cost the same, so each sum is tried once.

        Args:
            number: the call whose position is asked for.
            most: rounds beyond the expected number that are tried, both ways.
        """
        open_calls = self.open_before(number)
        expected = {each: self._expected_rounds(each) for each in open_calls}
        yield expected
        for each in dict.fromkeys((self.draws[one].call, one) for one in open_calls):
            for step in range(1, most + 1):
                for sign in (1, -1):
                    moved = expected[each[1]] + sign * step
                    if moved >= 0:
                        yield {**expected, each[1]: moved}

    def _expected_rounds(self, number: int) -> int:
        """Rounds beyond the first after which half a value is expected to be out of bounds."""
        draw = self.draws[number]
        mean, std, low, high = draw.parameters
        inside = (
            math.erf((high - mean) / std / math.sqrt(2)) - math.erf((low - mean) / std / math.sqrt(2))
        ) / 2
        left = float(draw.size)
        found = 0
        while left * (1 - inside) > 0.5 and found < 1000:
            left *= 1 - inside
            found += 1
        return found
