"""The numbers behind a traced value: any elements of it, from those of the draws that it is made of.

Arithmetic with Python numbers follows PyTorch's kernels: float32 and float64 round each step once, 16-bit
types compute in float32 and round once. A number is first rounded to float32; `add_` on the CPU rounds it to
the 16-bit type (run on torch 2.13.0), and `div_` on a GPU multiplies by the rounded reciprocal (pytorch
`aten/src/ATen/native/cuda/BinaryDivTrueKernel.cu`, 2.1 to 2.15; not checked on a GPU).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.numerics.dtypes import is_float, itemsize, round_to
from birthmark.recipes.trace_values import (
    CARRIERS,
    Applied,
    Constant,
    Drawn,
    Orthogonal,
    Patched,
    Region,
    Table,
    Unknown,
    Value,
    Viewed,
    parts,
)

Device = Literal["cpu", "cuda"]
#: (number of a draw, flat indices) -> the values that it stored there, decoded.
Draws = Callable[[int, NDArray[np.int64]], NDArray[Any]]

#: Steps of which the last bits are not known to be those of the machine that took them.
INEXACT: Final = ("erfinv",)


def evaluate(value: Value, indices: NDArray[np.int64], draws: Draws, device: Device = "cpu") -> NDArray[Any]:
    """The elements of a value.

    Args:
        value: what they are made of.
        indices: int64, flat, any shape and order.
        draws: gives the elements of draws.
        device: where the arithmetic was done.

    Returns:
        Decoded values in the shape of `indices`: float32 for 16-bit floats, else the dtype's own.

    Raises:
        UsageError: nothing is known about the value, or it has a matrix to factorise that is not whole.
    """
    match value:
        case Drawn(draw):
            return draws(draw, indices)
        case Constant(number, dtype):
            return np.full(indices.shape, _carried(number, dtype))
        case Table():
            return np.asarray(value.values)[indices]
        case Applied(_, _, of, _):
            return applied(value, evaluate(of, indices, draws, device), device)
        case Viewed(region, of):
            return evaluate(of, region.places(indices), draws, device)
        case Patched(of, patches):
            return _patched(of, patches, indices, draws, device)
        case Orthogonal(shape, of):
            whole = np.arange(shape[0] * shape[1], dtype=np.int64)
            factor = _factor(evaluate(of, whole, draws, device).astype(np.float32).tobytes(), shape)
            return factor[indices]
        case Unknown(reason):
            raise UsageError(f"nothing is predicted: {reason}.")


def inexact(value: Value) -> str | None:
    """Why the last bits of a value are not known; None where they are, up to its draws."""
    for part in parts(value):
        if isinstance(part, Applied) and part.operation in INEXACT:
            return f"{part.operation} is not known to the last bit"
        if isinstance(part, Orthogonal):
            return "QR is not known to the last bits"
    return None


def applied(step: Applied, values: NDArray[Any], device: Device = "cpu") -> NDArray[Any]:
    """The result of one step on the values before it, in the same shape."""
    dtype = step.dtype
    if step.operation == "cast":
        return _cast(values, dtype)
    if not is_float(dtype):
        return _whole(step, values)
    kind: Any = np.float64 if dtype == "float64" else np.float32
    wide: NDArray[Any] = values.astype(kind)
    numbers = [kind(each) for each in step.numbers]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if step.operation == "mul":
            wide = wide * numbers[0]
        elif step.operation == "div":
            wide = wide * (kind(1) / numbers[0]) if device == "cuda" else wide / numbers[0]
        elif step.operation == "add":
            added = numbers[0]
            if device == "cpu" and itemsize(dtype) == 2:
                added = kind(round_to(np.array([step.numbers[0]]), dtype)[0])
            wide = wide + added
        elif step.operation == "clamp":
            wide = np.minimum(np.maximum(wide, numbers[0]), numbers[1])
        elif step.operation == "neg":
            wide = -wide
        else:
            wide = _erfinv(wide)
    return wide if itemsize(dtype) > 2 else round_to(wide, dtype)


def _whole(step: Applied, values: NDArray[Any]) -> NDArray[Any]:
    """A step on integers."""
    numbers = [int(each) for each in step.numbers]
    if step.operation == "mul":
        return np.asarray(values * numbers[0])
    if step.operation == "add":
        return np.asarray(values + numbers[0])
    if step.operation == "neg":
        return np.asarray(-values)
    if step.operation == "clamp":
        return np.asarray(np.clip(values, numbers[0], numbers[1]))
    raise UsageError(f"nothing is predicted: {step.operation} of {step.dtype}.")


def _cast(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    if is_float(dtype):
        floats: NDArray[Any] = values if values.dtype.kind == "f" else values.astype(np.float64)
        rounded: NDArray[Any] = round_to(floats, dtype)
        return rounded
    whole: NDArray[Any] = values.astype(CARRIERS[dtype])
    return whole


def _carried(number: float | int | bool, dtype: str) -> Any:  # noqa: ANN401 - a numpy scalar of any kind
    if is_float(dtype):
        return round_to(np.array([number], np.float64), dtype)[0]
    return np.dtype(CARRIERS[dtype]).type(number)


def _patched(
    of: Value,
    patches: tuple[tuple[Region, Value], ...],
    indices: NDArray[np.int64],
    draws: Draws,
    device: Device,
) -> NDArray[Any]:
    """The value below, overwritten where a patch lies; what is overwritten is not computed."""
    owner = np.full(indices.shape, -1, np.int64)
    within = indices.astype(np.int64, copy=True)
    for number, (region, _) in enumerate(patches):
        inside = region.indices(indices)
        here = inside >= 0
        owner[here], within[here] = number, inside[here]
    found: NDArray[Any] | None = None
    for number in np.unique(owner).tolist() if owner.size else [-1]:
        here = owner == number
        part = evaluate(of if number < 0 else patches[number][1], within[here], draws, device)
        if found is None:
            found = np.zeros(indices.shape, part.dtype)
        found[here] = part
    assert found is not None
    return found


@lru_cache(maxsize=2)
def _factor(matrix: bytes, shape: tuple[int, int]) -> NDArray[np.float32]:
    """Q of a matrix's QR with the signs of R's diagonal, flat; the last two are kept for the next rows."""
    q, r = np.linalg.qr(np.frombuffer(matrix, np.float32).reshape(shape))
    flat: NDArray[np.float32] = (q * np.sign(np.diagonal(r))).astype(np.float32).reshape(-1)
    return flat


def _erfinv(values: NDArray[Any]) -> NDArray[Any]:
    from scipy.special import erfinv  # slow to import, and seldom needed

    return np.asarray(erfinv(values.astype(np.float64)), values.dtype)
