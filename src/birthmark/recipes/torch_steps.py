"""The construction of a PyTorch module as steps: random calls and fills, in the order in which they happen.

A layer is a list of steps and the names of its tensors in the order of its state dict; the two orders differ,
and a later step may overwrite an earlier one, whose draw has moved the generator all the same. Steps know
nothing of generators: `replay` takes any stream that draws as PyTorch does, on the CPU or on a GPU. For
single elements on the CPU, `cpu_places` gives the draw behind each tensor with its place in the stream.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.numerics.dtypes import is_float, round_to
from birthmark.recipes.orthogonal import orthogonal
from birthmark.samplers.cpu_call import CpuCall
from birthmark.samplers.cpu_draw import CpuDraw, chain
from birthmark.samplers.cpu_versions import NEWEST
from birthmark.samplers.draw import Draw


class Stream(Protocol):
    """What draws as PyTorch does: `birthmark.samplers.cpu_stream.CpuStream`, `cuda_stream.CudaStream`."""

    def normal(self, n: int, mean: float = 0.0, std: float = 1.0, dtype: str = "float32") -> NDArray[Any]:
        """`normal_`."""

    def uniform(self, n: int, low: float = 0.0, high: float = 1.0, dtype: str = "float32") -> NDArray[Any]:
        """`uniform_`."""

    def truncated_normal(
        self, n: int, mean: float, std: float, low: float, high: float, dtype: str = "float32"
    ) -> NDArray[Any]:
        """`trunc_normal_`."""

    def permutation(self, n: int) -> NDArray[Any]:
        """`randperm`."""


@dataclass(frozen=True, slots=True)
class ZeroRow:
    """A row is set to zero after the draw: the padding of an embedding."""

    row: int


@dataclass(frozen=True, slots=True)
class Orthogonalised:
    """The draw is decomposed: `orthogonal_`, whose tensor has `shape`."""

    shape: tuple[int, ...]
    gain: float = 1.0


@dataclass(frozen=True, slots=True)
class Sparsened:
    """The first rows of a permutation are set to zero in each column: `sparse_`.

    The permutations are drawn on the CPU wherever the tensor lies, from the default generator.

    Attributes:
        share: of the rows.
    """

    share: float

    def zeros(self, rows: int) -> int:
        """Rows that become zero in each column."""
        return math.ceil(self.share * rows)


@dataclass(frozen=True, slots=True)
class Scaled:
    """The tensor is multiplied by a number after the draw."""

    factor: float


After: TypeAlias = ZeroRow | Orthogonalised | Sparsened | Scaled


@dataclass(frozen=True, slots=True)
class Random:
    """A random call.

    Attributes:
        name: the tensor that it fills; empty for one that no tensor keeps.
        draw: distribution, numbers, shape, dtype. The stream decides on the version.
        then: what is done to it next, in order.
    """

    name: str
    draw: Draw
    then: tuple[After, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor."""
        shapes = [after.shape for after in self.then if isinstance(after, Orthogonalised)]
        return shapes[-1] if shapes else self.draw.shape


@dataclass(frozen=True, slots=True)
class Filled:
    """A tensor of one number, or of a diagonal of ones; nothing is drawn.

    Attributes:
        name: the tensor.
        shape: its extents.
        value: the number everywhere.
        dtype: torch's name of it.
    """

    name: str
    shape: tuple[int, ...]
    value: float = 0.0
    dtype: str = "float32"


@dataclass(frozen=True, slots=True)
class Copied:
    """A tensor that takes the present value of another: a clone, or a tied one."""

    name: str
    of: str


Step: TypeAlias = Random | Filled | Copied


@dataclass(frozen=True, slots=True)
class Layer:
    """A module under construction.

    Attributes:
        steps: what happens, in order.
        names: its tensors in the order of the state dict.
    """

    steps: tuple[Step, ...]
    names: tuple[str, ...]

    def under(self, prefix: str) -> Layer:
        """The same as a part of a larger module: every name behind `prefix` and a point."""

        def renamed(step: Step) -> Step:
            name = f"{prefix}.{step.name}" if step.name else ""
            if isinstance(step, Copied):
                return Copied(name, f"{prefix}.{step.of}")
            return replace(step, name=name)

        return Layer(tuple(map(renamed, self.steps)), tuple(f"{prefix}.{name}" for name in self.names))

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each tensor, in state order."""
        found: dict[str, tuple[int, ...]] = {}
        for step in self.steps:
            found[step.name] = found[step.of] if isinstance(step, Copied) else step.shape
        return {name: found[name] for name in self.names}


def module(parts: Mapping[str, Layer]) -> Layer:
    """A module whose parts are built one after the other, by attribute name (or number, in a Sequential)."""
    layers = [layer.under(name) for name, layer in parts.items()]
    return Layer(
        tuple(step for layer in layers for step in layer.steps),
        tuple(name for layer in layers for name in layer.names),
    )


def clones(layer: Layer, count: int) -> Layer:
    """A list of deep copies of a layer, built once: the layers of `TransformerEncoder`.

    Raises:
        UsageError: no copies.
    """
    if count < 1:
        raise UsageError(f"{count} copies of a layer: expected 1 or more.")
    parts = [layer.under("0")]
    for number in range(1, count):
        copies = tuple(Copied(name, f"0.{name.split('.', 1)[1]}") for name in layer.under(str(number)).names)
        parts.append(Layer(copies, layer.under(str(number)).names))
    return Layer(
        tuple(step for part in parts for step in part.steps),
        tuple(name for part in parts for name in part.names),
    )


def replay(
    steps: Iterable[Step] | Layer, stream: Stream, host: Stream | None = None
) -> dict[str, NDArray[Any]]:
    """The tensors that steps leave, decoded, in the shapes of the module; of a layer in state order.

    Args:
        steps: the steps, or a layer.
        stream: what the tensors' device draws from; it moves on.
        host: the CPU's stream, where `stream` is a GPU's.

    Raises:
        UsageError: a copy of a tensor that is not there yet.
    """
    made: dict[str, NDArray[Any]] = {}
    for step in steps.steps if isinstance(steps, Layer) else steps:
        if isinstance(step, Copied):
            if step.of not in made:
                raise UsageError(f"{step.name} is copied from {step.of!r}, which was not made before.")
            made[step.name] = made[step.of].copy()
        elif isinstance(step, Filled):
            made[step.name] = np.full(step.shape, step.value, _carrier(step.dtype))
        else:
            values = _drawn(step.draw, stream)
            for after in step.then:
                values = _apply(after, values, step.draw.dtype, host or stream)
            made[step.name] = values
    made.pop("", None)
    return {name: made[name] for name in steps.names} if isinstance(steps, Layer) else made


def cpu_places(
    steps: Iterable[Step] | Layer,
    *,
    index: int = 0,
    kept_at: int | None = None,
    version: str = NEWEST,
    arithmetic: str = "cpu-fused",
) -> list[tuple[str, CpuDraw]]:
    """Every draw of the steps in order, with the tensor that it fills and its place in a CPU stream.

    Draws that are overwritten, and the permutations of `sparse_` (name ""), are among them.

    Args:
        steps: the steps, or a layer.
        index: words that the generator gave before.
        kept_at: see `CpuDraw`.
        version: PyTorch's.
        arithmetic: a CPU arithmetic.

    Raises:
        UsageError: the place of one depends on the seed; `replay` follows those.
    """
    names: list[str] = []
    calls: list[CpuCall] = []
    for step in steps.steps if isinstance(steps, Layer) else steps:
        if not isinstance(step, Random):
            continue
        draw = step.draw
        names.append(step.name)
        calls.append(CpuCall(draw.distribution, draw.parameters, draw.size, draw.dtype, version, arithmetic))
        if any(isinstance(after, Sparsened) for after in step.then):
            rows, columns = draw.shape
            names += [""] * columns
            calls += [CpuCall("permutation", (), rows, "int64", version, arithmetic)] * columns
    return list(zip(names, chain(calls, index, kept_at), strict=True))


def _drawn(draw: Draw, stream: Stream) -> NDArray[Any]:
    numbers = draw.parameters
    if draw.distribution == "normal":
        values = stream.normal(draw.size, numbers[0], numbers[1], draw.dtype)
    elif draw.distribution == "uniform":
        values = stream.uniform(draw.size, numbers[0], numbers[1], draw.dtype)
    else:
        mean, std, low, high = numbers
        values = stream.truncated_normal(draw.size, mean, std, low, high, draw.dtype)
    return values.reshape(draw.shape)


def _apply(after: After, values: NDArray[Any], dtype: str, host: Stream) -> NDArray[Any]:
    if isinstance(after, ZeroRow):
        values[after.row] = 0.0
    elif isinstance(after, Orthogonalised):
        return orthogonal(values, after.shape, after.gain)
    elif isinstance(after, Scaled):
        number = np.float64 if dtype == "float64" else np.float32
        return round_to(values * number(after.factor), dtype)
    else:
        rows, columns = values.shape
        for column in range(columns):
            values[host.permutation(rows)[: after.zeros(rows)], column] = 0.0
    return values


def _carrier(dtype: str) -> str:
    if not is_float(dtype):
        return dtype
    return "float64" if dtype == "float64" else "float32"
