"""What no mode ever sees, replaced while a virtual device is entered: generators, CUDA's state, threads.

PyTorch's own code does the rest. `torch.manual_seed`, `torch.cuda.get_rng_state`, `torch.random.fork_rng` and
their like are its own functions; they find the generators, the number of devices and "CUDA is ready" that
are put here.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import _get_current_function_mode_stack

from birthmark.torch.devices import HANDLERS
from birthmark.torch.generators import generator_class
from birthmark.torch.initialisers import truncated_normal
from birthmark.torch.machine import Machine, Properties
from birthmark.torch.modes import DispatchMode, FunctionMode
from birthmark.torch.storage import index_of, place, shared

#: The tensor types of `torch.cuda`, and what PyTorch calls their dtypes.
TENSOR_TYPES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "LongTensor": torch.int64,
    "IntTensor": torch.int32,
    "ShortTensor": torch.int16,
    "CharTensor": torch.int8,
    "ByteTensor": torch.uint8,
    "BoolTensor": torch.bool,
}


_BACKWARD, _SAVING = "_engine_run_backward", "_push_saved_tensors_default_hooks"


@dataclass(frozen=True, slots=True)
class Patch:
    """One name of PyTorch with another meaning.

    Attributes:
        owner: the module.
        name: the name in it; where this PyTorch does not have it, nothing is done.
        value: what it means while the virtual device is entered.
    """

    owner: Any
    name: str
    value: Any

    @property
    def label(self) -> str:
        """The name as one writes it."""
        return f"{self.owner.__name__}.{self.name}"


def patches(machine: Machine) -> list[Patch]:
    """All of them, for one machine."""
    named: list[Patch] = [
        Patch(torch, "Generator", generator_class(machine)),
        Patch(
            torch.nn.init,
            "_no_grad_trunc_normal_",
            truncated_normal(machine, torch.nn.init._no_grad_trunc_normal_),
        ),
        Patch(torch.cuda, "default_generators", machine.generators),
        Patch(torch.Tensor, "new", _new(machine, torch.Tensor.new)),
        Patch(threading.Thread, "start", _starting(machine, threading.Thread.start)),
    ]
    # A backward pass, and the hooks on what it saves, can call the program again, as checkpointing does.
    hooks: Any = torch._C._autograd  # noqa: SLF001 - there is no public name
    backward, saving = getattr(torch.autograd, _BACKWARD), getattr(hooks, _SAVING)
    named += [
        Patch(torch.autograd, _BACKWARD, _seeing(machine, backward)),
        Patch(hooks, _SAVING, lambda pack, unpack: saving(_seeing(machine, pack), _seeing(machine, unpack))),
    ]
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "_initialized": True,
        "device_count": lambda: len(machine.gpus),
        "current_device": lambda: machine.current,
        "_lazy_init": lambda: None,
    }
    for module in (torch.cuda, torch.cuda.random):
        named += [Patch(module, name, answer) for name, answer in answers.items()]
    named += [
        Patch(torch.cuda.memory, "is_initialized", lambda: False),  # it holds none
        Patch(torch.cuda, "set_device", lambda device: _select(machine, device)),
        Patch(torch.cuda, "_exchange_device", lambda index: _exchange(machine, index)),
        Patch(torch.cuda, "_maybe_exchange_device", lambda index: _exchange(machine, index)),
        Patch(torch.cuda, "get_device_properties", lambda device=None: _properties(machine, device)),
        Patch(torch.cuda, "synchronize", lambda device=None: None),  # noqa: ARG005 - PyTorch's own signature
        Patch(torch.cuda, "current_stream", lambda device=None: Stream()),  # noqa: ARG005
        Patch(torch.cuda, "default_stream", lambda device=None: Stream()),  # noqa: ARG005
        Patch(torch.cuda, "is_current_stream_capturing", lambda: False),
    ]
    named += [
        Patch(torch.cuda, name, tensor_type(machine, name, dtype)) for name, dtype in TENSOR_TYPES.items()
    ]
    if hasattr(torch, "accelerator"):
        named += _accelerator(machine)
    return [patch for patch in named if hasattr(patch.owner, patch.name)]


@contextlib.contextmanager
def patched(machine: Machine) -> Iterator[None]:
    """Put all patches in place, and everything back afterwards, whatever happens in between."""
    with contextlib.ExitStack() as stack:
        for patch in patches(machine):
            if patch.name in vars(patch.owner):
                stack.callback(setattr, patch.owner, patch.name, vars(patch.owner)[patch.name])
            else:  # inherited
                stack.callback(delattr, patch.owner, patch.name)
            setattr(patch.owner, patch.name, patch.value)
        yield


@contextlib.contextmanager
def modes(machine: Machine) -> Iterator[None]:
    """Both modes over a machine, in the thread that calls this."""
    with DispatchMode(machine), FunctionMode(machine, HANDLERS):
        yield


def _seeing(machine: Machine, plain: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, under the function mode where PyTorch has switched it off."""

    def run(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever the function takes
        on = any(isinstance(mode, FunctionMode) for mode in _get_current_function_mode_stack())
        with contextlib.nullcontext() if on else FunctionMode(machine, HANDLERS):
            return plain(*args, **kwargs)

    return run


def _starting(machine: Machine, plain: Callable[..., None]) -> Callable[[threading.Thread], None]:
    """What stands for `threading.Thread.start`: modes belong to a thread, so a new one gets its own."""

    def start(thread: threading.Thread) -> None:
        run = thread.run

        def run_inside() -> None:
            with modes(machine) if machine.active else contextlib.nullcontext():
                run()

        thread.run = run_inside  # type: ignore[method-assign]
        plain(thread)

    return start


def tensor_type(machine: Machine, name: str, dtype: torch.dtype) -> type:
    """What stands for a tensor type such as `torch.cuda.FloatTensor`."""
    return TensorType(
        name, (), {"machine": machine, "dtype": dtype, "is_cuda": True, "__module__": "torch.cuda"}
    )


class TensorType(type):
    """The class of `tensor_type`'s classes."""

    machine: Machine
    dtype: torch.dtype

    def __call__(cls, *args: Any) -> torch.Tensor:  # noqa: ANN401 - sizes or data, as PyTorch takes them
        """A tensor of the type on the current GPU."""
        made: torch.Tensor = getattr(torch, cls.__name__)(*args)
        return place(made, cls.machine, cls.machine.current)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch.Tensor) and instance.is_cuda and instance.dtype == cls.dtype


def _new(machine: Machine, plain: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """What stands for `Tensor.new`, a maker of old that no mode sees: on the device of the tensor."""

    def new(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:  # noqa: ANN401 - as PyTorch's own
        device = kwargs.pop("device", None)
        index = index_of(tensor, machine) if device is None else machine.index_of(device)
        if index is None:
            return plain(tensor, *args, **kwargs, **({} if device is None else {"device": device}))
        made = plain(tensor, *args, **kwargs)
        return made if shared(made, tensor) else place(made, machine, index)

    return new


class Stream:
    """What stands for a stream of a GPU: everything put into it is done at once."""

    def is_capturing(self) -> bool:
        """No graph is being captured."""
        return False

    def query(self) -> bool:
        """Everything is done."""
        return True

    def synchronize(self) -> None:
        """There is nothing to wait for."""

    def wait_stream(self, stream: object) -> None:
        """There is nothing to wait for."""


def _accelerator(machine: Machine) -> list[Patch]:
    answers: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "device_count": lambda: len(machine.gpus),
        "current_accelerator": lambda check_available=False: torch.device("cuda"),  # noqa: ARG005
        "current_device_index": lambda: machine.current,
        "set_device_index": lambda device: _select(machine, device),
        "synchronize": lambda device=None: None,  # noqa: ARG005
        "current_stream": lambda device=None: Stream(),  # noqa: ARG005
    }
    return [Patch(torch.accelerator, name, answer) for name, answer in answers.items()]


def _select(machine: Machine, device: Any) -> None:  # noqa: ANN401 - whatever torch takes as a device
    machine.current = machine.selected(device)


def _exchange(machine: Machine, index: int) -> int:
    """Make another GPU the current one; the one that was. Below 0 nothing changes."""
    before = machine.current
    if index >= 0:
        _select(machine, index)
    return before


def _properties(machine: Machine, device: Any) -> Properties:  # noqa: ANN401 - whatever torch takes as a device
    return machine.gpus[machine.selected(device)].properties
