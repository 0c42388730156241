"""A GPU that is only claimed: tensors "on cuda" lie on the CPU, and their storages are marked.

While a program is recorded nothing needs a GPU, nor a build of PyTorch that could use one. Where a program
names a device, the CPU is put in its place, and what comes of the call is marked as the GPU's: by its
storage, so that every view and every later result of it is known to be the GPU's as well. Asked for its
device, a marked tensor says "cuda:0". The way to numpy is here too, because fake tensors do not have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import _disable_current_modes

from birthmark.errors import UsageError
from birthmark.torch.random_calls import Result

if TYPE_CHECKING:
    from birthmark.torch.recording import Recorder

CPU: Final = torch.device("cpu")
GPU: Final = torch.device("cuda", 0)


class GpuStandIn(TorchFunctionMode):
    """Puts the CPU in the place of a GPU in every call that names one."""

    def __init__(self, recorder: Recorder) -> None:
        """A stand-in whose marks are the recorder's."""
        super().__init__()
        self._recorder = recorder
        self.default: torch.device | None = None

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Result,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Result:
        """One call of the program."""
        given = dict(kwargs or {})
        answer = _ANSWERS.get(func)
        if answer is not None:
            return answer(self._recorder, *args)
        if func in (torch.Tensor.to, torch.Tensor.cuda, torch.Tensor.cpu):
            return self._moved(func, args, given)
        if self.default is not None and func in _device_constructors() and given.get("device") is None:
            given["device"] = self.default
        device = _device(given.get("device"))
        if device is None:
            return func(*args, **given)
        given["device"] = CPU
        with self._recorder.placing(device.type):
            return func(*args, **given)

    def _moved(self, func: Callable[..., Any], args: tuple[Any, ...], given: dict[str, Any]) -> Result:
        """`to`, `cuda` and `cpu`: a copy where the device changes."""
        tensor, rest = args[0], list(args[1:])
        there: torch.device | None = None
        if func is not torch.Tensor.to:
            there, rest = (CPU if func is torch.Tensor.cpu else GPU), []
            given.pop("device", None)
        elif rest and isinstance(rest[0], torch.Tensor):
            there = torch.device(self._recorder.device_of(rest[0]))
            rest[0] = rest[0].dtype
        elif rest and (rest[0] is None or _device(rest[0]) is not None):
            there = _device(rest.pop(0))
        elif "device" in given:
            there = _device(given.pop("device"))
        here = self._recorder.device_of(tensor)
        if there is not None and there.type != here:
            given["copy"] = True
            del rest[2:]  # the place of `copy`
        with self._recorder.placing(here if there is None else there.type):
            return tensor.to(CPU, *rest, **given)


def _device(given: Result) -> torch.device | None:
    """A device, where one is named."""
    if isinstance(given, bool) or given is None or isinstance(given, torch.dtype):
        return None
    if isinstance(given, int):
        return torch.device("cuda", given)
    return torch.device(given) if isinstance(given, str | torch.device) else None


def _numpy(recorder: Recorder, tensor: torch.Tensor, *_: object) -> Result:
    real = recorder.real(tensor)
    if real is None:
        raise UsageError("the program turns drawn numbers into a numpy array; a trace has none of them.")
    with _disable_current_modes():
        return real.numpy()


def _shown(recorder: Recorder, tensor: torch.Tensor, real: torch.device) -> torch.device:
    return GPU if recorder.device_of(tensor) == "cuda" else real


#: What is answered without asking torch.
_ANSWERS: Final[dict[Any, Callable[..., Result]]] = {
    torch.Tensor.numpy: _numpy,
    torch.Tensor.is_cuda.__get__: lambda recorder, tensor, *_: recorder.device_of(tensor) == "cuda",
    torch.Tensor.is_cpu.__get__: lambda recorder, tensor, *_: recorder.device_of(tensor) == "cpu",
    torch.Tensor.get_device: lambda recorder, tensor: 0 if recorder.device_of(tensor) == "cuda" else -1,
}


@contextmanager
def gpu_stand_in(recorder: Recorder, *, there: bool) -> Iterator[GpuStandIn]:
    """The mode, and the functions of `torch.cuda` that would look for a GPU.

    Args:
        recorder: who records the program.
        there: whether the program is told that there is a GPU.
    """
    mode = GpuStandIn(recorder)
    plain = FakeTensor.device

    def device_of(tensor: FakeTensor) -> torch.device:
        real: torch.device = plain.__get__(tensor)
        return real if recorder.busy else _shown(recorder, tensor, real)

    def default(device: Result) -> None:
        mode.default = _device(device)

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(FakeTensor, "device", property(device_of)))
        stack.enter_context(mock.patch.object(torch, "set_default_device", default))
        stack.enter_context(
            mock.patch.multiple(
                torch.cuda,
                is_available=lambda: there,
                device_count=lambda: int(there),
                current_device=lambda: 0,
                synchronize=lambda *_: None,
                empty_cache=lambda: None,
            )
        )
        stack.enter_context(mode)
        yield mode
