"""How an initial value follows from the draws: small expressions with random access.

A tensor of a model is seldom more than a draw, or a constant. The rest of what constructors do is written
here as nodes: arithmetic with numbers, a cast, another order of the elements, a part that was overwritten
later, a constant table, the orthogonal matrix of a drawn one. What is none of these is `Unknown`, with the
reason: nothing about it is predicted.

Every node stands for a flat run of elements, in the C order of whatever tensor had it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError

#: Arithmetic with numbers, and how many numbers each takes. "erfinv" is not known to the last bit.
OPERATIONS: Final = {"mul": 1, "div": 1, "add": 1, "clamp": 2, "cast": 0, "neg": 0, "erfinv": 0}

#: Dtypes of a value by torch's name, with the numpy dtype that carries it.
CARRIERS: Final = {
    "float64": "float64", "float32": "float32", "bfloat16": "float32", "float16": "float32", "int64": "int64",
    "int32": "int32", "int16": "int16", "int8": "int8", "uint8": "uint8", "bool": "bool",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Region:
    """Some elements of a flat run, in the order of a strided tensor that looks at it.

    Attributes:
        shape: the tensor's extents.
        strides: in elements.
        offset: where its first element lies.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    def __post_init__(self) -> None:
        if len(self.shape) != len(self.strides):
            raise UsageError(f"shape {self.shape} with strides {self.strides}: expected one of each.")
        if min((*self.shape, *self.strides, self.offset), default=0) < 0:
            raise UsageError("a region with a negative extent, stride or offset.")

    @property
    def size(self) -> int:
        """How many elements it holds."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def contiguous(self) -> bool:
        """Whether its elements follow each other without gaps, in its own order."""
        step = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != step:
                return self.size == 0
            step *= extent
        return True

    @property
    def reach(self) -> int:
        """One past the last place that it holds."""
        if self.size == 0:
            return self.offset
        return (
            self.offset
            + 1
            + sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True))
        )

    def places(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where in the flat run the region's elements lie."""
        if self.contiguous:
            return indices + self.offset
        rest = indices
        found = np.full(indices.shape, self.offset, np.int64)
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            rest, coordinate = np.divmod(rest, extent)
            found += coordinate * stride
        return found

    def indices(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which of the region's elements lies at each place; -1 where none does.

        The region must not hold a place twice.
        """
        rest = places - self.offset
        inside = rest >= 0
        found = np.zeros(places.shape, np.int64)
        step = 1
        steps = []
        for extent in reversed(self.shape):
            steps.append(step)
            step *= extent
        parts = zip(self.shape, self.strides, reversed(steps), strict=True)
        for extent, stride, own in sorted(parts, key=lambda part: -part[1]):
            if extent == 1:
                continue
            coordinate = np.minimum(rest // max(stride, 1), extent - 1)
            rest = rest - coordinate * stride
            found += coordinate * own
        return np.where(inside & (rest == 0) & (self.size > 0), found, -1)


@dataclass(frozen=True, slots=True)
class Drawn:
    """What the draw of that number stored, in the C order of the tensor that it filled."""

    draw: int


@dataclass(frozen=True, slots=True)
class Constant:
    """One number everywhere."""

    value: float | int | bool
    dtype: str


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers that do not depend on any draw, as little-endian bytes of the dtype's carrier."""

    dtype: str
    data: bytes = field(repr=False)

    @property
    def values(self) -> NDArray[np.generic]:
        """The numbers, one-dimensional."""
        return np.frombuffer(self.data, np.dtype(CARRIERS[self.dtype]).newbyteorder("<"))


@dataclass(frozen=True, slots=True)
class Applied:
    """Arithmetic with numbers, element by element, with the dtype that holds the result."""

    operation: str
    numbers: tuple[float, ...]
    of: Value
    dtype: str

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            raise UnknownName("operation", self.operation, OPERATIONS)
        if len(self.numbers) != OPERATIONS[self.operation]:
            raise UsageError(
                f"{self.operation} with {len(self.numbers)} numbers: expected {OPERATIONS[self.operation]}."
            )


@dataclass(frozen=True, slots=True)
class Viewed:
    """Elements of another value, in another order or only some of them."""

    region: Region
    of: Value


@dataclass(frozen=True, slots=True)
class Patched:
    """Another value of which parts were overwritten later, in this order."""

    of: Value
    patches: tuple[tuple[Region, Value], ...]


@dataclass(frozen=True, slots=True)
class Orthogonal:
    """The orthogonal factor of a drawn matrix (QR with a positive diagonal), as `orthogonal_` makes it.

    Attributes:
        shape: rows and columns of the matrix, rows >= columns.
        of: the matrix.
    """

    shape: tuple[int, int]
    of: Value


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is predicted, for the reason given."""

    reason: str


Value: TypeAlias = Drawn | Constant | Table | Applied | Viewed | Patched | Orthogonal | Unknown


def parts(value: Value) -> Iterator[Value]:
    """A value and all that it is made of, each as often as it occurs."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        yield current
        if isinstance(current, Applied | Viewed | Orthogonal):
            waiting.append(current.of)
        elif isinstance(current, Patched):
            waiting.append(current.of)
            waiting.extend(patch for _, patch in current.patches)


def draws_of(value: Value) -> tuple[int, ...]:
    """The numbers of the draws that a value is made of, ascending."""
    return tuple(sorted({part.draw for part in parts(value) if isinstance(part, Drawn)}))


def why_unknown(value: Value) -> str | None:
    """Why a value cannot be predicted; None where it can."""
    return next((part.reason for part in parts(value) if isinstance(part, Unknown)), None)


def sources(value: Value, indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which draw each element comes from, and which element of that draw it is.

    Arithmetic and casts are looked through. Elements that no single drawn element decides get draw -1.

    Returns:
        (draw, element), int64, in the shape of `indices`.
    """
    if isinstance(value, Drawn):
        return np.full(indices.shape, value.draw, np.int64), indices.astype(np.int64)
    if isinstance(value, Applied):
        return sources(value.of, indices)
    if isinstance(value, Viewed):
        return sources(value.of, value.region.places(indices))
    draw, element = np.full(indices.shape, -1, np.int64), np.full(indices.shape, -1, np.int64)
    if isinstance(value, Patched):
        draw, element = sources(value.of, indices)
        for region, patch in value.patches:
            within = region.indices(indices)
            here = within >= 0
            draw[here], element[here] = sources(patch, within[here])
    return draw, element
