"""The two modes of a virtual device: one sees what a program calls, the other what PyTorch computes.

The function mode answers where a tensor lies, moves tensors, and makes them from data. It is off while
PyTorch handles a call of its own Python functions, so that draws inside `torch.nn.init` escape it. The
dispatch mode, below, sees every operation. It makes tensors "on cuda", hands on the tag of a GPU from
arguments to results, and draws. Everything else PyTorch computes on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from birthmark.errors import NotPredicted, UsageError
from birthmark.torch.draws import DRAWS
from birthmark.torch.inverse_error import INVERSES, NARROW
from birthmark.torch.machine import Machine
from birthmark.torch.storage import first_index, index_of, place_fresh

_CPU: Final = torch.device("cpu")
_COMPOSITE: Final = (
    torch._C.DispatchKey.CompositeExplicitAutograd,  # noqa: SLF001 - the only way to name it
    torch._C.DispatchKey.CompositeExplicitAutogradNonFunctional,  # noqa: SLF001
)

#: Operations with random numbers that draw none by themselves.
_IDLE: Final = frozenset({"aten::_fused_sdp_choice"})
#: Arguments that switch an operation's random numbers off, and the values that do.
_OFF: Final[dict[str, tuple[object, ...]]] = {
    "dropout_p": (0.0,),
    "train": (False,),
    "training": (False,),
}
#: Functions inside which a coin flip is the same call on a GPU. Elsewhere it may be a dropout in disguise:
#: PyTorch composes that of coin flips on the CPU, and has a kernel of its own for it on a GPU.
_FLIPS: Final = frozenset(
    {
        torch.Tensor.bernoulli_,
        torch.Tensor.bernoulli,
        torch.bernoulli,
        torch.dropout_,
        torch.feature_dropout,
        torch.feature_dropout_,
        torch.alpha_dropout,
        torch.alpha_dropout_,
        torch.feature_alpha_dropout,
        torch.feature_alpha_dropout_,
        torch.nn.functional.dropout,
        torch.nn.functional.dropout1d,
        torch.nn.functional.dropout2d,
        torch.nn.functional.dropout3d,
        torch.nn.functional.alpha_dropout,
        torch.nn.functional.feature_alpha_dropout,
    }
)


#: Functions that make tensors of the CPU from those of a GPU.
_ON_CPU: Final = frozenset({torch._VF._pack_padded_sequence})  # noqa: SLF001 - called by torch.nn.utils.rnn


class FunctionMode(TorchFunctionMode):
    """Sees the PyTorch functions that a program calls."""

    def __init__(self, machine: Machine, handlers: dict[Any, Callable[..., Any]]) -> None:
        """A mode over a machine.

        Args:
            machine: the computer.
            handlers: by PyTorch function, what is done instead; called with mode, function, args, kwargs.
        """
        super().__init__()
        self.machine = machine
        self._handlers = handlers

    def __torch_function__(
        self,
        func: Any,  # noqa: ANN401
        types: Any,  # noqa: ANN401
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - PyTorch's own signature
        named = kwargs or {}
        handler = self._handlers.get(func)
        given = [args, list(named.values())]
        index = first_index(given, self.machine) if named.get("device") is None else None
        with self.machine.called(func, on_gpu=index is not None):
            if handler is not None:
                return handler(self, func, args, named)
            made = func(*args, **named)
        if index is not None and func not in _ON_CPU:
            # PyTorch's own compositions name the device of what they make, and they know the CPU only.
            place_fresh(made, given, self.machine, index)
        return made


class DispatchMode(TorchDispatchMode):
    """Sees the operations that PyTorch computes."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """PyTorch would import its compiler, which takes seconds, to keep it away from this mode."""
        return False

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401
        types: Any,  # noqa: ANN401
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - PyTorch's own signature
        given = dict(kwargs or {})
        if not isinstance(func, torch._ops.OpOverload):  # noqa: SLF001 - no operation, but a function of some
            return func(*args, **given)
        if func.name() not in DRAWS and _has_kernel(func, "CompositeImplicitAutograd"):
            # PyTorch has taken such operations apart before, but for inference mode.
            with self:
                return func.decompose(*args, **given)
        index = self._target(func, args, given)
        if torch.Tag.nondeterministic_seeded in func.tags and not _is_off(func, args, given):
            return self._drawn(func, args, given, index)
        local = dict(given)
        if local.get("device") is not None and self.machine.index_of(local["device"]) is not None:
            local["device"] = _CPU
        if local.get("pin_memory"):
            local["pin_memory"] = False
        inverse = INVERSES.get(func.name()) if index is not None else None
        if inverse is not None and args[0].dtype in NARROW:
            made = inverse(self.machine, *args, **local)
        else:
            made = func(*args, **local)
        if index is not None:
            place_fresh(made, [args, list(given.values())], self.machine, index)
        return made

    def _target(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:  # noqa: ANN401
        """The GPU that an operation works on; None for the CPU."""
        if kwargs.get("device") is not None:
            return self.machine.index_of(kwargs["device"])
        filled = kwargs.get("out")
        if filled is None and func._schema.is_mutable and args:  # noqa: SLF001 - what the operation changes
            filled = args[0]
        if isinstance(filled, torch.Tensor):
            return index_of(filled, self.machine)
        return first_index([args, list(kwargs.values())], self.machine)

    def _drawn(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], index: int | None) -> Any:  # noqa: ANN401
        generator = kwargs.get("generator")
        if index is None:
            virtual = self.machine.virtual(generator)
            if virtual is not None:
                raise UsageError(
                    f"a draw on the CPU with a generator of {virtual.device}: expected one of the CPU, or "
                    f"device='{virtual.device}'."
                )
            if self.machine.on_gpu:
                raise NotPredicted(
                    f"random numbers of the CPU inside {_named(self.machine.handling)} of a tensor on a GPU, "
                    "which would draw them itself; birthmark does not predict how."
                )
            return func(*args, **kwargs)
        name = func.name()
        handler = DRAWS.get(name)
        if handler is not None:
            if name == "aten::bernoulli_.float" and self.machine.handling not in _FLIPS:
                raise NotPredicted(
                    f"random numbers inside {_named(self.machine.handling)}: a GPU draws them in a kernel of "
                    "its own, which birthmark does not predict; switch its dropout off."
                )
            with torch.no_grad():
                made = handler(self.machine, *args, **kwargs)
            place_fresh(made, [args, list(kwargs.values())], self.machine, index)
            return made
        composed = _COMPOSED.get(name)
        key = _composition(func)
        if composed is not None or key is not None:
            with self:
                if composed is not None:
                    return composed(*args, **kwargs)
                return func._op_dk(key, *args, **kwargs)  # noqa: SLF001 - PyTorch's own composition
        raise NotPredicted(
            f"{name.removeprefix('aten::')} on cuda:{index}: birthmark does not predict what a GPU draws "
            "there; draw it on the CPU and move it, if any numbers will do."
        )


def _normal_of(
    mean: torch.Tensor | float,
    std: torch.Tensor | float = 1.0,
    *,
    generator: Any = None,  # noqa: ANN401
) -> torch.Tensor:
    """`torch.normal` of tensors (aten `templates::normal_out_impl`): normals, scaled and moved."""
    if isinstance(mean, torch.Tensor) and isinstance(std, torch.Tensor):
        drawn = mean.new_empty(torch.broadcast_tensors(mean, std)[0].shape)
        return drawn.normal_(0, 1, generator=generator).mul_(std).add_(mean)
    if isinstance(mean, torch.Tensor):
        return torch.empty_like(mean).normal_(0, std, generator=generator).add_(mean)
    return torch.empty_like(std).normal_(0, 1, generator=generator).mul_(std).add_(mean)


def _multinomial(
    weights: torch.Tensor,
    count: int,
    replacement: bool = False,
    *,
    generator: Any = None,  # noqa: ANN401
) -> torch.Tensor:
    """`torch.multinomial` (aten `Distributions.cpp`): the largest ratios of weights to exponentials."""
    if replacement and count > 1:
        raise NotPredicted("multinomial with replacement is not predicted for more than one sample.")
    if not bool(torch.isfinite(weights).all()) or bool((weights < 0).any()):
        raise UsageError("multinomial with weights below 0, infinite or NaN: expected finite ones from 0 on.")
    ratios = weights / torch.empty_like(weights).exponential_(1, generator=generator)
    return ratios.argmax(-1, keepdim=True) if count == 1 else ratios.topk(count).indices


#: Operations that PyTorch composes of draws in the kernels of each device; here as those do.
_COMPOSED: Final[dict[str, Callable[..., Any]]] = {
    "aten::normal.Tensor_Tensor": _normal_of,
    "aten::normal.Tensor_float": _normal_of,
    "aten::normal.float_Tensor": _normal_of,
    "aten::multinomial": _multinomial,
}


def _is_off(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:  # noqa: ANN401
    """Whether an operation with random numbers draws none in this call."""
    if func.name() in _IDLE:
        return True
    for position, argument in enumerate(func._schema.arguments):  # noqa: SLF001 - the names of its arguments
        values = _OFF.get(argument.name)
        if values is not None:
            given = (
                args[position] if position < len(args) else kwargs.get(argument.name, argument.default_value)
            )
            if given in values:
                return True
    return False


def _composition(func: Any) -> Any:  # noqa: ANN401
    """The key of the kernel that composes an operation of others on all devices; None where there is none."""
    return next((key for key in _COMPOSITE if _has_kernel(func, key.name)), None)


def _has_kernel(func: Any, key: str) -> bool:  # noqa: ANN401
    """Whether an operation has a kernel of its own under a dispatch key."""
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key))  # noqa: SLF001


def _named(function: Any) -> str:  # noqa: ANN401
    return getattr(function, "__name__", None) or "a call that torch's function modes do not see"
