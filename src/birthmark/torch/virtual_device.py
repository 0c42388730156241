"""Run any PyTorch program as if on another GPU: its random numbers are those that GPU would draw.

    with virtual_device("H100 SXM"):
        torch.manual_seed(1)
        noise = torch.randn(1, 9_483_264, device="cuda")

Tensors "on cuda" are tensors of the CPU with a tag; `docs/virtual-device.md` says what answers what.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from types import TracebackType

import torch
from torch.utils import _device as default_device

from birthmark.devices.catalogue import Arithmetic, Device
from birthmark.errors import UsageError
from birthmark.torch.generators import GeneratorClass, VirtualGenerator
from birthmark.torch.machine import Drawn, Machine, VirtualGpu, virtual_gpu
from birthmark.torch.patches import modes, patched


class VirtualDevice:
    """A computer with virtual GPUs, to be entered with `with`, for this thread and those it starts.

    It can be entered again after it was left: its generators stand where they stood, and its tensors are on
    its GPUs again. Two cannot be entered at once.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._entered: contextlib.ExitStack | None = None

    @property
    def gpus(self) -> tuple[VirtualGpu, ...]:
        """The GPUs: cuda:0, cuda:1, ..."""
        return self._machine.gpus

    @property
    def generators(self) -> tuple[VirtualGenerator, ...]:
        """The default generator of each GPU."""
        return self._machine.generators

    @property
    def stand_ins(self) -> Counter[str]:
        """How many draws had no proven last bit, by what they drew (see `docs/virtual-device.md`)."""
        return Counter(self._machine.stand_ins)

    def observe(self, observer: Callable[[Drawn], None]) -> None:
        """Call `observer` after every draw on one of the GPUs, in their order."""
        self._machine.observers.append(observer)

    def __enter__(self) -> VirtualDevice:
        if isinstance(torch.Generator, GeneratorClass):
            raise UsageError(
                "a virtual device is entered already: leave it first, or name several GPUs in one "
                "(virtual_device('A100', 'T4') has cuda:0 and cuda:1)."
            )
        with contextlib.ExitStack() as stack:
            stack.callback(_restore_default_device, default_device.CURRENT_DEVICE)
            stack.enter_context(patched(self._machine))
            stack.callback(setattr, self._machine, "active", False)
            stack.callback(self._machine.retire)
            self._machine.active = True
            stack.enter_context(modes(self._machine))
            self._entered = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._entered is not None
        self._entered.close()
        self._entered = None


def virtual_device(
    *devices: str | int | Device,
    version: str | None = None,
    cuda: str | None = None,
    arithmetic: Arithmetic | None = None,
) -> VirtualDevice:
    """A computer with these GPUs.

    Args:
        devices: names of the table of devices, or numbers of threads G; the first is "cuda:0".
        version: the PyTorch release whose draws are wanted, such as "2.4" or "2.11.0+cu128"; by default the
            one that is installed.
        cuda: the CUDA version of that build, where `version` does not name it; it matters for `erfinv` and
            for dropout of 16-bit tensors.
        arithmetic: overrides that of the devices.

    Raises:
        UnknownName: no such device or arithmetic; the message lists the nearest.
        UsageError: no device, a number of threads that cannot be, or a release that is not predicted.
    """
    if not devices:
        raise UsageError("a virtual device without a GPU: name one, such as virtual_device('H100 SXM').")
    gpus = tuple(virtual_gpu(device, arithmetic) for device in devices)
    return VirtualDevice(Machine(gpus, version or torch.__version__, cuda))


def _restore_default_device(before: torch.device | None) -> None:
    """Undo a `torch.set_default_device("cuda")` that was not undone: outside there is no such device."""
    if before != default_device.CURRENT_DEVICE:
        torch.set_default_device(before)
