"""Which tensors lie on a virtual GPU, and in which order a draw goes through their memory.

A tensor on a virtual GPU is a tensor of the CPU whose storage carries a tag. Views share their storage and
with it the tag. The tag names the machine by a token of its own, so that one that is gone leaves nothing
behind that still means something.

A draw goes through a tensor in the order of its memory, whatever its shape. Where 32-bit indices cannot reach
every byte, PyTorch cuts the dimension with the greatest extent in two until they can
(`aten/src/ATen/TensorIterator.cpp`, `get_dim_to_split` and `split`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from birthmark.devices.layout import INDEX_LIMIT
from birthmark.devices.strides import Order
from birthmark.torch.machine import Machine

_TAG = "_birthmark_virtual_gpu"


def index_of(tensor: torch.Tensor, machine: Machine) -> int | None:
    """The GPU of the machine that a tensor lies on; None for all others."""
    held = _held(tensor)
    tag = None if held is None else getattr(held.untyped_storage(), _TAG, None)
    return tag[1] if tag is not None and tag[0] is machine.token else None


def place(tensor: torch.Tensor, machine: Machine, index: int | None) -> torch.Tensor:
    """Put a tensor's storage on a GPU of the machine, or with None back on the CPU; the same tensor."""
    held = _held(tensor)
    if held is not None and held.device.type == "cpu":
        setattr(held.untyped_storage(), _TAG, None if index is None else (machine.token, index))
    return tensor


def first_index(values: Any, machine: Machine) -> int | None:  # noqa: ANN401 - arguments of any operation
    """The GPU of the first tensor among arguments that lies on one; None where none does."""
    for tensor in tensors_in(values):
        index = index_of(tensor, machine)
        if index is not None:
            return index
    return None


def place_fresh(made: Any, given: Any, machine: Machine, index: int) -> None:  # noqa: ANN401 - of any operation
    """Put results on a GPU, but for those in the memory of an argument."""
    known = {_address(tensor) for tensor in tensors_in(given)}
    for tensor in tensors_in(made):
        if _address(tensor) not in known:
            place(tensor, machine, index)


def shared(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether two tensors lie in one storage."""
    return _address(first) == _address(second)


def tensors_in(values: Any) -> Iterator[torch.Tensor]:  # noqa: ANN401 - arguments or results of any operation
    """The tensors among an operation's arguments or results, those in lists too."""
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from tensors_in(value)


def _held(tensor: torch.Tensor) -> torch.Tensor | None:
    """The tensor whose storage carries the tag: a sparse one's values; None where there is no storage."""
    if tensor.layout is torch.strided:
        return tensor
    if tensor.layout is torch.sparse_coo:
        return tensor._values()  # noqa: SLF001 - `values` wants a coalesced tensor
    return tensor.values() if hasattr(tensor, "crow_indices") or hasattr(tensor, "ccol_indices") else None


def _address(tensor: torch.Tensor) -> int:
    """By which storages, or tensors without one, are told apart."""
    held = _held(tensor)
    return id(tensor) if held is None else int(held.untyped_storage()._cdata)  # noqa: SLF001 - its address


def in_order(tensor: torch.Tensor) -> torch.Tensor:
    """A view of a tensor whose elements, read row by row, come in the order of a draw.

    A tensor without gaps becomes one line of memory. Of any other, the dimensions are sorted and fused
    (`birthmark.devices.strides`).

    Raises:
        UsageError: several elements share one place in memory, which no draw can fill.
    """
    loops = Order(tuple(tensor.shape), tuple(tensor.stride())).loops[::-1] or ((1, 1),)
    sizes, strides = ([loop[which] for loop in loops] for which in (0, 1))
    return tensor.detach().as_strided(sizes, strides, tensor.storage_offset())


def pieces(view: torch.Tensor, limit: int = INDEX_LIMIT) -> list[torch.Tensor]:
    """The parts of a view of `in_order` that single launches fill, in the order in which they are filled.

    Args:
        view: the view.
        limit: the largest index that fits; the real one unless a test says otherwise.
    """
    reach = 1 + sum(
        (size - 1) * stride * view.element_size()
        for size, stride in zip(view.shape, view.stride(), strict=True)
    )
    if view.numel() <= limit and reach <= limit:
        return [view]
    extents = [(size - 1) * stride for size, stride in zip(view.shape, view.stride(), strict=True)]
    widest = extents.index(max(extents))  # the first of equals, as PyTorch's dimensions run the other way
    half = view.shape[widest] // 2
    return [
        *pieces(view.narrow(widest, 0, half), limit),
        *pieces(view.narrow(widest, half, view.shape[widest] - half), limit),
    ]
