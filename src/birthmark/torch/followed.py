"""Operators that a recording follows without computing: fills, copies, arithmetic with numbers, joins, QR."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch

from birthmark.recipes.trace_values import (
    CARRIERS,
    Applied,
    Constant,
    Orthogonal,
    Region,
    Unknown,
    Value,
    Viewed,
    draws_of,
)
from birthmark.torch.memory import NEVER_WRITTEN, name_of, table_of
from birthmark.torch.random_calls import Operator, Result

if TYPE_CHECKING:
    from birthmark.torch.recording import Recorder


@dataclass(frozen=True, slots=True)
class Step:
    """One operator as it runs.

    Attributes:
        recorder: who records it.
        func: the operator.
        args, kwargs: as it was called.
        given: all of its arguments by name.
    """

    recorder: Recorder
    func: Operator
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    given: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its name without the overload."""
        return str(self.func._schema.name.removeprefix("aten::"))  # noqa: SLF001 - torch has no public way

    def run(self) -> Result:
        """The operator on the fake tensors."""
        return self.func(*self.args, **self.kwargs)

    def computed(self) -> Result:
        """The operator as one that is not followed."""
        return self.recorder.computed(self.func, self.args, self.kwargs)

    def write(self, tensor: torch.Tensor, value: Value) -> torch.Tensor:
        """Note what a tensor now holds."""
        self.recorder.memory.write(tensor, value)
        return tensor

    def read(self, tensor: torch.Tensor) -> Value:
        """What a tensor holds."""
        return self.recorder.memory.read(tensor)


Follow = Callable[[Step], Result]


def _never_written(step: Step) -> torch.Tensor:
    out: torch.Tensor = step.run()
    return step.write(out, NEVER_WRITTEN)


def _filled(number: float | None) -> Follow:
    """A factory or in-place fill with one number; None where an argument gives it."""

    def follow(step: Step) -> Result:
        given = step.given.get("fill_value", step.given.get("value")) if number is None else number
        if isinstance(given, torch.Tensor):
            given = step.recorder.number_of(given)
        out = step.given["self"] if step.name in ("fill_", "zero_") else step.run()
        dtype = name_of(out.dtype)
        if not isinstance(given, int | float) or dtype not in CARRIERS:
            return step.write(out, Unknown(f"{step.func} of a number that is not known"))
        return step.write(out, Constant(_typed(given, dtype), dtype))

    return follow


def _typed(number: float, dtype: str) -> float | int | bool:
    if dtype == "bool":
        return bool(number)
    return float(number) if dtype.startswith(("float", "bfloat")) else int(number)


def _copied(step: Step) -> Result:
    """`copy_`, `clone` and casts."""
    if step.name == "copy_":
        out, source = step.given["self"], step.given["src"]
    else:
        source = step.given["self"]
        out = step.run()
    value = _cast(_expanded(step, source, tuple(out.shape)), name_of(source.dtype), name_of(out.dtype))
    return step.write(out, value)


def _expanded(step: Step, source: torch.Tensor, shape: tuple[int, ...]) -> Value:
    """The source's value in a shape that it is broadcast to."""
    value = step.read(source)
    if tuple(source.shape) == shape or isinstance(value, Constant | Unknown):
        return value
    own = (1,) * (len(shape) - source.dim()) + tuple(source.shape)
    strides: list[int] = []
    for extent in reversed(own):
        strides.append(0 if extent == 1 else math.prod(own[len(own) - len(strides) :]))
    return Viewed(Region(shape, tuple(reversed(strides))), value)


def _cast(value: Value, before: str, after: str) -> Value:
    if before == after or isinstance(value, Unknown):
        return value
    if before not in CARRIERS or after not in CARRIERS:
        return Unknown(f"a cast from {before} to {after}")
    return Applied("cast", (), value, after)


def _lifted(step: Step) -> Result:
    """Numbers that come in from Python or numpy."""
    source = step.given["self"]
    out = step.run()
    real = step.recorder.real(source)
    return step.write(
        out, Unknown(f"{source.numel():,} numbers from outside") if real is None else _plain(real)
    )


def _plain(real: torch.Tensor) -> Value:
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        return table_of(real)


def _arithmetic(operation: str) -> Follow:
    """Arithmetic of a tensor with numbers, in place or not."""

    def follow(step: Step) -> Result:
        source = step.given["self"]
        if not isinstance(source, torch.Tensor) or not draws_of(step.read(source)):
            return _signed(step) if _multiplies(step) else step.computed()
        numbers = _numbers(step, operation)
        value = step.read(source)
        if numbers is None:
            return _signed(step) if _multiplies(step) else step.computed()
        out = source if step.name.endswith("_") else step.run()
        dtype = name_of(out.dtype)
        if dtype != name_of(source.dtype) or tuple(out.shape) != tuple(source.shape) or dtype not in CARRIERS:
            return step.write(out, Unknown(f"{step.func} that changes the dtype or the shape"))
        return step.write(out, Applied(operation, numbers, value, dtype))

    return follow


def _numbers(step: Step, operation: str) -> tuple[float, ...] | None:
    """The numbers of an operation; None where one is a tensor of several, or unknown."""
    given = step.given
    if operation in ("neg", "erfinv"):
        return ()
    if operation == "clamp":
        low, high = (given.get(key) for key in ("min", "max"))
        if isinstance(low, torch.Tensor) or isinstance(high, torch.Tensor):
            return None
        return (-math.inf if low is None else float(low), math.inf if high is None else float(high))
    other = given["other"]
    number = step.recorder.number_of(other) if isinstance(other, torch.Tensor) else float(other)
    if number is None or given.get("rounding_mode") is not None:
        return None
    if step.name in ("add", "add_", "sub", "sub_"):
        number = number * float(given.get("alpha", 1))
        return (-number,) if step.name.startswith("sub") else (number,)
    return (number,)


def _joined(step: Step) -> Result:
    """`cat` and `stack`: each part is a slice of the result."""
    tensors = [each for each in step.given["tensors"] if each.numel() or step.name == "stack"]
    if not any(draws_of(step.read(each)) for each in tensors):
        return step.computed()
    out = step.run()
    dim = step.given["dim"] % out.dim()
    dtype = name_of(out.dtype)
    if dtype not in CARRIERS:
        return step.write(out, Unknown(f"{step.func} of {dtype}"))
    step.write(out, Constant(_typed(0.0, dtype), dtype))  # of which the parts leave nothing
    at = 0
    for number, each in enumerate(tensors):
        value = _cast(step.read(each), name_of(each.dtype), dtype)
        if step.name == "stack":
            step.write(out.select(dim, number), value)
        else:
            step.write(out.narrow(dim, at, each.shape[dim]), value)
            at += each.shape[dim]
    return out


def _turned(step: Step) -> Result:
    """Views in place: they change how a tensor looks at its storage, and not the storage."""
    return step.run()


@dataclass(frozen=True, slots=True)
class Factor:
    """Part of a QR while the recording runs: "q", "r", or the "signs" of r's diagonal."""

    part: str
    shape: tuple[int, int]
    of: Value


def _factorised(step: Step) -> Result:
    """`linalg_qr` of a drawn matrix, the first step of `orthogonal_`."""
    matrix = step.given["A"]
    value = step.read(matrix)
    if matrix.dim() != 2 or step.given["mode"] != "reduced" or not draws_of(value):
        return step.computed()
    q, r = step.run()
    rows, columns = matrix.shape
    step.recorder.factors[step.recorder.memory.key(q)] = Factor("q", (rows, columns), value)
    step.recorder.factors[step.recorder.memory.key(r)] = Factor("r", (rows, columns), value)
    for each in (q, r):
        step.write(each, Unknown("a factor of a drawn matrix"))
    return q, r


def _signed(step: Step) -> Result:
    """`q *= sign(diag(r))`: the orthogonal matrix."""
    q, signs = step.given["self"], step.given["other"]
    factors, memory = step.recorder.factors, step.recorder.memory
    first, second = factors.get(memory.key(q)), factors.get(memory.key(signs))
    if (
        first is None
        or second is None
        or (first.part, second.part) != ("q", "signs")
        or first.of != second.of
        or step.name != "mul_"
    ):
        return step.computed()
    return step.write(q, Orthogonal(first.shape, first.of))


def _multiplies(step: Step) -> bool:
    """Whether this may be the last step of a QR."""
    return step.name == "mul_" and isinstance(step.given["other"], torch.Tensor)


def _sign(step: Step) -> Result:
    source = step.given["self"]
    factor = step.recorder.factors.get(step.recorder.memory.key(source))
    out = step.computed()
    if factor is not None and factor.part in ("r", "diagonal"):
        key = step.recorder.memory.key(out)
        step.recorder.factors[key] = Factor("signs", factor.shape, factor.of)
    return out


def _diagonal(step: Step) -> Result:
    """A copy of r's diagonal is still r's."""
    source = step.given["self"]
    factor = step.recorder.factors.get(step.recorder.memory.key(source))
    out = step.computed()
    if factor is not None and factor.part == "r" and out.dim() == 1:
        step.recorder.factors[step.recorder.memory.key(out)] = Factor("diagonal", factor.shape, factor.of)
    return out


FOLLOWED: Final[dict[str, Follow]] = {
    **dict.fromkeys(
        ("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"), _never_written
    ),
    **dict.fromkeys(("zeros", "zeros_like", "new_zeros", "zero_"), _filled(0.0)),
    **dict.fromkeys(("ones", "ones_like", "new_ones"), _filled(1.0)),
    **dict.fromkeys(("full", "full_like", "new_full", "fill_"), _filled(None)),
    **dict.fromkeys(("copy_", "clone", "_to_copy"), _copied),
    **dict.fromkeys(("lift_fresh", "lift_fresh_copy"), _lifted),
    **{
        f"{name}{place}": _arithmetic(name)
        for name in ("mul", "div", "neg", "clamp", "erfinv")
        for place in ("", "_")
    },
    **{f"{name}{place}": _arithmetic("add") for name in ("add", "sub") for place in ("", "_")},
    **dict.fromkeys(("clamp_min", "clamp_min_", "clamp_max", "clamp_max_"), _arithmetic("clamp")),
    **dict.fromkeys(("cat", "stack"), _joined),
    **dict.fromkeys(
        ("t_", "transpose_", "swapdims_", "swapaxes_", "squeeze_", "unsqueeze_", "as_strided_"), _turned
    ),
    "linalg_qr": _factorised,
    "sign": _sign,
    "diagonal_copy": _diagonal,
}
