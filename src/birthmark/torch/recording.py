"""A dispatch mode that records what a program draws, and what becomes of it, while no number is drawn.

The program runs on fake tensors that claim to lie on the CPU or on a GPU. Nothing is allocated, yet no code
of the program takes another branch, as some does on the meta device. Each random operator becomes a call of
the trace; what the program does with the values is followed as far as `birthmark.recipes.trace_values` has
words for it; everything that depends on no draw and is small is computed for real.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_map_only

from birthmark.errors import UsageError
from birthmark.recipes.trace import TracedDraw
from birthmark.recipes.trace_arithmetic import evaluate
from birthmark.recipes.trace_values import CARRIERS, Drawn, Unknown, Value, draws_of, why_unknown
from birthmark.torch.followed import FOLLOWED, Factor, Step
from birthmark.torch.memory import MOST_TABLE, NEVER_WRITTEN, Memory, name_of, table_of
from birthmark.torch.random_calls import Operator, Result, bound, described, is_random
from birthmark.torch.streams import Streams

#: Operators whose answer is a number, or a shape that numbers decide.
ASKING: Final = (torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape)

#: The largest float32.
_FARTHEST: Final = 3.4028234663852886e38


class Recorder(TorchDispatchMode):
    """Records the calls of everything that runs inside it; enter it after a mode of fake tensors."""

    def __init__(self, device: str = "cpu") -> None:
        """A recorder of a program whose own tensors lie on `device` ("cpu" or "cuda")."""
        super().__init__()
        self.streams = Streams(device)
        self.memory = Memory()
        self.draws: list[TracedDraw] = []
        self.filled: list[int] = []
        self.factors: dict[int, Factor] = {}
        #: Whether an operator is being recorded: what asks for devices then is not the program.
        self.busy = False
        self._placed: str | None = None

    def __torch_dispatch__(
        self,
        func: Operator,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Result:
        del types
        kwargs = dict(kwargs or {})
        placed, busy = self._placed, self.busy
        if isinstance(kwargs.get("device"), torch.device):
            self._placed = self._placed or kwargs["device"].type
            kwargs["device"] = torch.device("cpu")
        self.busy = True
        try:
            return self._dispatched(func, args, kwargs)
        finally:
            self._placed, self.busy = placed, busy

    def _dispatched(self, func: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Result:
        given = bound(func, args, kwargs)
        self.memory.device = self._device(_tensors((args, kwargs)))
        if is_random(func):
            return self._random(func, args, kwargs, given)
        name = func._schema.name.removeprefix("aten::")  # noqa: SLF001 - torch has no public way
        follow = FOLLOWED.get(name)
        if follow is not None:
            return follow(Step(self, func, args, kwargs, given))
        return self.computed(func, args, kwargs)

    @contextmanager
    def placing(self, device: str) -> Iterator[None]:
        """While this lasts, new tensors lie on that device, whatever they are made of."""
        before, self._placed = self._placed, device
        try:
            yield
        finally:
            self._placed = before

    def device_of(self, tensor: torch.Tensor) -> str:
        """The device that the program takes a tensor to lie on: "cpu" or "cuda"."""
        return self.memory.device_of(tensor)

    def truncated(
        self, tensor: torch.Tensor, parameters: tuple[float, ...], generator: torch.Generator | None
    ) -> None:
        """Note a whole `trunc_normal_`, however many draws it would take; infinite bounds are merely far."""
        finite = tuple(max(-_FARTHEST, min(_FARTHEST, each)) for each in parameters)
        self.drawn(tensor, "truncated-normal", finite, generator)

    def drawn(
        self,
        tensor: torch.Tensor,
        distribution: str,
        parameters: tuple[float, ...],
        generator: torch.Generator | None = None,
        name: str | None = None,
    ) -> int:
        """Note a call that fills a tensor; return its number."""
        number = len(self.draws)
        stream, after = self.streams.place(self.memory.device_of(tensor), generator, number)
        self.draws.append(
            TracedDraw(
                distribution,
                parameters,
                tuple(tensor.shape),
                name_of(tensor.dtype),
                stream,
                after,
                strides=None if tensor.is_contiguous() else tuple(tensor.stride()),
                name=name,
            )
        )
        self.filled.append(self.memory.key(tensor))
        self.memory.write(tensor, Drawn(number))
        return number

    def computed(self, func: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Result:
        """Run an operator that draws nothing: for real where it depends on no draw and is small."""
        if any(tag in func.tags for tag in ASKING):
            return self._answered(func, args, kwargs)
        inputs = _tensors((args, kwargs))
        known = {self.memory.key(each) for each in inputs}
        real = self._real_arguments(func, args, kwargs)
        out = func(*args, **kwargs)
        made = [self.memory.key(each) not in known for each in _tensors(out)]
        changed = _changed(func, args, kwargs)
        written = [each for each, new in zip(_tensors(out), made, strict=True) if new] + changed
        if not written:
            return out
        values: list[Value]
        if real is None or sum(each.numel() for each in written) > MOST_TABLE:
            values = [Unknown(self._why(func, inputs))] * len(written)
        else:
            with _disable_current_modes():
                found = _tensors(func(*real[0], **real[1]))
                values = [table_of(each) for each, new in zip(found, made, strict=True) if new]
                values += [table_of(each) for each in _changed(func, *real)]
        for each, value in zip(written, values, strict=True):
            self.memory.write(each, value)
        return out

    def number_of(self, tensor: torch.Tensor) -> float | None:
        """The one number that a tensor holds, where it depends on no draw."""
        if tensor.numel() != 1:
            return None
        real = self.real(tensor)
        if real is None or real.is_complex():
            return None
        with _disable_current_modes():
            return float(real)

    def real(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """A real tensor of the same numbers; None where they depend on a draw, or are too many."""
        value = self.memory.read(tensor)
        dtype = name_of(tensor.dtype)
        if tensor.numel() > MOST_TABLE or dtype not in CARRIERS or why_unknown(value) or draws_of(value):
            return None
        numbers = evaluate(value, np.arange(tensor.numel(), dtype=np.int64), _no_draws)
        with _disable_current_modes():
            flat = torch.from_numpy(np.array(numbers, CARRIERS[dtype])).to(tensor.dtype)
            return flat.reshape(tuple(tensor.shape))

    def _device(self, inputs: Sequence[torch.Tensor]) -> str:
        """Where the results of an operator lie: where it is told, or where its arguments do."""
        if self._placed is not None:
            return self._placed
        return "cuda" if any(self.memory.device_of(each) == "cuda" for each in inputs) else "cpu"

    def _random(
        self,
        func: Operator,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        given: dict[str, Any],
    ) -> Result:
        call = described(func, given)
        name = func._schema.name  # noqa: SLF001 - torch has no public way
        plain = call.distribution != "other"
        filled = given.get("self") if name.endswith("_") else given.get("out")
        out = filled if plain and filled is not None else None
        if out is None:
            out = _empty(name, given) if plain else None
        if out is None:
            out = func(*args, **kwargs)
        for tensor in _tensors(out):
            number = self.drawn(
                tensor, call.distribution, call.parameters, given.get("generator"), None if plain else name
            )
            if call.after:
                self.memory.write(tensor, Unknown(f"{name} of draw {number}"))
        return out

    def _answered(self, func: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Result:
        """An operator whose answer the program goes on with: it must be the true one."""
        real = self._real_arguments(func, args, kwargs)
        if real is None:
            raise UsageError(
                f"the program asks {func} of numbers that a trace does not have: "
                f"{self._why(func, _tensors((args, kwargs)))}.",
                advice="Trace the construction alone, without what depends on drawn numbers.",
            )
        with _disable_current_modes():
            answer = func(*real[0], **real[1])
        return tree_map_only(torch.Tensor, self._as_fake, answer)

    def _as_fake(self, real: torch.Tensor) -> torch.Tensor:
        with _disable_current_modes():
            value = table_of(real)
        fake: torch.Tensor = _new_empty(tuple(real.shape), dtype=real.dtype)
        self.memory.write(fake, value)
        return fake

    def _real_arguments(
        self, func: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """The arguments with real tensors, on the CPU; None where one cannot be had."""
        filled = {id(each) for each in _filled(func, kwargs)}
        found: dict[int, torch.Tensor] = {}
        for each in _tensors((args, kwargs)):
            real = _blank(each) if id(each) in filled else self.real(each)
            if real is None:
                return None
            found[id(each)] = real
        real_args, real_kwargs = tree_map_only(
            torch.Tensor, lambda each: found[id(each)], (args, dict(kwargs))
        )
        if real_kwargs.get("device") is not None:
            real_kwargs["device"] = torch.device("cpu")
        return real_args, {key: value for key, value in real_kwargs.items() if key != "pin_memory"}

    def _why(self, func: Operator, inputs: Sequence[torch.Tensor]) -> str:
        """Why the result of an operator is not followed."""
        values = [self.memory.read(each) for each in inputs]
        for value in values:
            reason = why_unknown(value)
            if reason is not None and value != NEVER_WRITTEN:
                return reason
        if any(draws_of(value) for value in values):
            return f"{func} of drawn numbers is not followed"
        return f"{func} makes too many numbers to compute while tracing"


def _no_draws(number: int, indices: NDArray[np.int64]) -> NDArray[Any]:
    raise AssertionError(number, indices)


def _tensors(tree: Result) -> list[torch.Tensor]:
    return [each for each in tree_flatten(tree)[0] if isinstance(each, torch.Tensor)]


def _changed(func: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[torch.Tensor]:
    """The tensors among the arguments that the operator writes to."""
    given = bound(func, args, kwargs)
    return [
        each
        for argument in func._schema.arguments  # noqa: SLF001 - torch has no public way
        if argument.alias_info is not None and argument.alias_info.is_write
        for each in _tensors(given[argument.name])
    ]


def _filled(func: Operator, kwargs: Mapping[str, Any]) -> list[torch.Tensor]:
    """The tensors (`out`) that an operator fills, whatever they held."""
    return [
        each
        for argument in func._schema.arguments  # noqa: SLF001 - torch has no public way
        if argument.kwarg_only and argument.alias_info is not None and argument.alias_info.is_write
        for each in _tensors(kwargs.get(argument.name))
    ]


def _blank(tensor: torch.Tensor) -> torch.Tensor | None:
    """A real tensor of the same shape; None where it is large."""
    if tensor.numel() > MOST_TABLE:
        return None
    with _disable_current_modes():
        return torch.zeros(tuple(tensor.shape), dtype=tensor.dtype)


def _new_empty(shape: tuple[int, ...], **options: Result) -> torch.Tensor:
    """`torch.empty` past the modes that would give it another device."""
    made: torch.Tensor = torch.ops.aten.empty.memory_format(
        shape, **{"device": torch.device("cpu"), **options}
    )
    return made


def _empty(name: str, given: Mapping[str, Any]) -> torch.Tensor | None:
    """The tensor that a functional random operator returns, not yet filled."""
    like = given.get("self", None)
    options = {key: given[key] for key in ("dtype", "device") if given.get(key) is not None}
    if isinstance(like, torch.Tensor):
        kept = given.get("memory_format") or torch.preserve_format
        return torch.ops.aten.empty_like.default(like, memory_format=kept, **options)
    if "size" in given:
        if name.endswith("randint") and "dtype" not in options:
            options["dtype"] = torch.int64
        return _new_empty(tuple(given["size"]), **options)
    if name.endswith("randperm"):
        return _new_empty((int(given["n"]),), **{"dtype": torch.int64, **options})
    for key in ("mean", "std"):
        if isinstance(given.get(key), torch.Tensor):
            return torch.ops.aten.empty_like.default(given[key])
    return None
