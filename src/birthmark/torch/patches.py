"""What no mode ever sees, replaced while a virtual device is entered: generators, and the state of CUDA.

PyTorch's own code does the rest. `torch.manual_seed`, `torch.cuda.get_rng_state`, `torch.random.fork_rng` and
their like are its own functions; they find the generators, the number of devices and "CUDA is ready" that
are put here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from birthmark.torch.generators import generator_class
from birthmark.torch.initialisers import truncated_normal
from birthmark.torch.machine import Machine, Properties
from birthmark.torch.storage import place

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
    ]
    answers: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: len(machine.gpus),
        "current_device": lambda: machine.current,
        "_lazy_init": lambda: None,
    }
    for module in (torch.cuda, torch.cuda.random):
        named += [Patch(module, name, answer) for name, answer in answers.items()]
    named += [
        Patch(torch.cuda, "set_device", lambda device: _select(machine, device)),
        Patch(torch.cuda, "_exchange_device", lambda index: _exchange(machine, index)),
        Patch(torch.cuda, "_maybe_exchange_device", lambda index: _exchange(machine, index)),
        Patch(torch.cuda, "get_device_properties", lambda device=None: _properties(machine, device)),
        Patch(torch.cuda, "synchronize", lambda device=None: None),  # noqa: ARG005 - PyTorch's own signature
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
            stack.callback(setattr, patch.owner, patch.name, getattr(patch.owner, patch.name))
            setattr(patch.owner, patch.name, patch.value)
        yield


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


def _accelerator(machine: Machine) -> list[Patch]:
    answers: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "device_count": lambda: len(machine.gpus),
        "current_accelerator": lambda check_available=False: torch.device("cuda"),  # noqa: ARG005
        "current_device_index": lambda: machine.current,
        "set_device_index": lambda device: _select(machine, device),
        "synchronize": lambda device=None: None,  # noqa: ARG005
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
