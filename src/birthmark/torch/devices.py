"""What the function mode does with calls about devices: where a tensor lies, moving it, making it from data.

PyTorch sees nothing but tensors of the CPU here; every answer that names a GPU is given by these handlers.
Each takes the mode, PyTorch's function, and its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch.utils import _device as default_device

from birthmark.torch.machine import Machine
from birthmark.torch.modes import FunctionMode
from birthmark.torch.printing import with_device
from birthmark.torch.storage import first_index, index_of, place, shared

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def _device(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> torch.device:  # noqa: ANN401
    index = index_of(args[0], mode.machine)
    found: torch.device = func(*args, **kwargs) if index is None else torch.device("cuda", index)
    return found


def _is_cuda(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> bool:  # noqa: ANN401
    return index_of(args[0], mode.machine) is not None or bool(func(*args, **kwargs))


def _is_cpu(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> bool:  # noqa: ANN401
    return index_of(args[0], mode.machine) is None and bool(func(*args, **kwargs))


def _get_device(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> int:  # noqa: ANN401
    index = index_of(args[0], mode.machine)
    return int(func(*args, **kwargs)) if index is None else index


def _repr(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> str:  # noqa: ANN401
    index, text = index_of(args[0], mode.machine), str(func(*args, **kwargs))
    return text if index is None else with_device(text, f"cuda:{index}")


def _format(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> str:  # noqa: ANN401
    if index_of(args[0], mode.machine) is None or args[0].dim() == 0:
        return str(func(*args, **kwargs))
    return _repr(mode, torch.Tensor.__repr__, args[:1], {}).__format__(args[1])


def _to(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> torch.Tensor:  # noqa: ANN401
    """`Tensor.to` in all its forms."""
    tensor, rest, named = args[0], list(args[1:]), dict(kwargs)
    other = named.pop("other", None)
    if rest and isinstance(rest[0], torch.Tensor):
        other = rest.pop(0)
    if isinstance(other, torch.Tensor):
        device = _device(mode, torch.Tensor.device.__get__, (other,), {})
        named["dtype"] = other.dtype
    elif rest and isinstance(rest[0], (str, int, torch.device)) and not isinstance(rest[0], bool):
        device = rest.pop(0)
    else:
        device = named.pop("device", None)
    if device is None:
        made: torch.Tensor = func(tensor, *rest, **named)
        return made
    return _moved(mode.machine, tensor, device, lambda real: func(tensor, real, *rest, **named))


def _cuda(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> torch.Tensor:  # noqa: ANN401, ARG001
    named = dict(kwargs)
    device = args[1] if len(args) > 1 else named.pop("device", None)
    index = mode.machine.selected(device)
    named.pop("non_blocking", None)
    return _moved(mode.machine, args[0], index, lambda real: torch.Tensor.to(args[0], real, **named))


def _cpu(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> torch.Tensor:  # noqa: ANN401
    return _moved(mode.machine, args[0], "cpu", lambda _: func(*args, **kwargs))


def _type(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:  # noqa: ANN401
    """`Tensor.type`: the name of a type, or a tensor of another type."""
    tensor = args[0]
    wanted = args[1] if len(args) > 1 else kwargs.get("dtype")
    if wanted is None:
        name = str(func(*args, **kwargs))
        return (
            name.replace("torch.", "torch.cuda.", 1) if index_of(tensor, mode.machine) is not None else name
        )
    if isinstance(wanted, torch.dtype):
        return func(*args, **kwargs)
    if isinstance(wanted, str):
        found: Any = torch
        for part in wanted.split(".")[1:]:
            found = getattr(found, part)
        wanted = found
    device = mode.machine.selected() if wanted.is_cuda else "cpu"
    return _moved(mode.machine, tensor, device, lambda real: tensor.to(real, wanted.dtype))


def _moved(
    machine: Machine,
    tensor: torch.Tensor,
    device: Any,  # noqa: ANN401 - whatever torch takes as a device
    convert: Callable[[torch.device], torch.Tensor],
) -> torch.Tensor:
    """A tensor on another device: `convert` gives it there as far as PyTorch knows."""
    index = machine.index_of(device)
    real = torch.device("cpu") if index is not None else torch.device(device)
    made = convert(real)
    if real.type != "cpu":
        return made
    if shared(made, tensor):
        if index == index_of(tensor, machine):
            return made
        made = made.clone(memory_format=torch.preserve_format)
    return place(made, machine, index)


def _from_data(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> torch.Tensor:  # noqa: ANN401
    """`torch.tensor` and its like: made on the CPU, then put on the GPU, with memory of its own."""
    machine, named = mode.machine, dict(kwargs)
    source = args[0] if args else named.get("data", named.get("obj"))
    given = named.get("device")
    if given is None and len(args) > 2 and func is torch.as_tensor:
        given, args = args[2], args[:2]
    known = source if isinstance(source, torch.Tensor) else None
    if given is not None:
        index = machine.index_of(given)
    elif known is not None:
        index = index_of(known, machine)
    else:
        default = default_device.CURRENT_DEVICE
        index = None if default is None else machine.index_of(default)
        given = default
    if index is None and (known is None or index_of(known, machine) is None):
        made: torch.Tensor = func(*args, **kwargs)
        return made
    named["device"] = "cpu" if index is not None or given is None else given
    made = func(*args, **named)
    if known is None:
        # What a GPU holds shares no memory with the data.
        made = made if func is torch.tensor else made.detach().clone().requires_grad_(made.requires_grad)
    elif shared(made, known):
        if index == index_of(known, machine):
            return made
        made = made.clone()
    return place(made, machine, index)


def _sparse(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> torch.Tensor:  # noqa: ANN401
    """The makers of sparse tensors."""
    given = [args, list(kwargs.values())]
    device = kwargs.get("device")
    index = first_index(given, mode.machine) if device is None else mode.machine.index_of(device)
    if index is None:
        made: torch.Tensor = func(*args, **kwargs)
        return made
    return place(func(*args, **{**kwargs, "device": "cpu"}), mode.machine, index)


def _type_as(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> torch.Tensor:  # noqa: ANN401, ARG001
    """`Tensor.type_as`: the other's dtype and device."""
    other = args[1] if len(args) > 1 else kwargs["other"]
    return _to(mode, torch.Tensor.to, (args[0], other), {})


def _new_tensor(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> torch.Tensor:  # noqa: ANN401
    """`Tensor.new_tensor`: on the device of the tensor, unless another is given."""
    named = dict(kwargs)
    device = named.pop("device", None)
    index = index_of(args[0], mode.machine) if device is None else mode.machine.index_of(device)
    if index is None:
        made: torch.Tensor = func(*args, **(kwargs if device is not None else named))
        return made
    return place(func(*args, **named, device="cpu"), mode.machine, index)


def _copied(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> torch.Tensor:  # noqa: ANN401
    """`copy.deepcopy`, which copies storages without an operation that the dispatch mode would see."""
    return place(func(*args, **kwargs), mode.machine, index_of(args[0], mode.machine))


def _pinned(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> torch.Tensor:  # noqa: ANN401, ARG001
    """Page-locked memory matters to a real GPU only."""
    pinned: torch.Tensor = args[0].clone()
    return pinned


def _dropout(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> torch.Tensor:  # noqa: ANN401
    """`torch.dropout` and `torch.nn.functional.dropout`: on a GPU they have a kernel of their own."""
    bound = dict(zip(("input", "p", "training", "inplace"), args, strict=False)) | kwargs
    tensor, p = bound["input"], float(bound.get("p", 0.5))
    training = bound.get("training", bound.get("train", True))
    fused = training and not bound.get("inplace", False) and 0 < p < 1 and tensor.numel() > 0
    if fused and index_of(tensor, mode.machine) is not None:
        kept: torch.Tensor = torch.native_dropout(tensor, p, True)[0]
        return kept
    made: torch.Tensor = func(*args, **kwargs)
    return made


#: What the function mode does instead of PyTorch's own function.
HANDLERS: Final[dict[Any, Callable[..., Any]]] = {
    torch.Tensor.device.__get__: _device,
    torch.Tensor.is_cuda.__get__: _is_cuda,
    torch.Tensor.is_cpu.__get__: _is_cpu,
    torch.Tensor.get_device: _get_device,
    torch.get_device: _get_device,
    torch.Tensor.__repr__: _repr,
    torch.Tensor.__format__: _format,
    torch.Tensor.to: _to,
    torch.Tensor.cuda: _cuda,
    torch.Tensor.cpu: _cpu,
    torch.Tensor.type: _type,
    torch.tensor: _from_data,
    torch.as_tensor: _from_data,
    torch.asarray: _from_data,
    torch.Tensor.new_tensor: _new_tensor,
    torch.Tensor.type_as: _type_as,
    torch.sparse_coo_tensor: _sparse,
    torch.sparse_csr_tensor: _sparse,
    torch.sparse_csc_tensor: _sparse,
    torch.Tensor.__deepcopy__: _copied,
    torch.Tensor.pin_memory: _pinned,
    torch.dropout: _dropout,
    torch.nn.functional.dropout: _dropout,
}
