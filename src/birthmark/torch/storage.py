"""Which tensors lie on a virtual GPU, and in which order a kernel goes through their memory.

A tensor on a virtual GPU is a tensor of the CPU whose storage carries a tag. Views share their storage and
with it the tag. The tag names the machine by a token of its own, so that one that is gone leaves nothing
behind that still means something.

PyTorch's kernels go through a tensor in the order of its memory: dimensions sorted by stride, smallest
fastest (`aten/src/ATen/TensorIterator.cpp`, `reorder_dimensions`). Where 32-bit indices cannot reach every
byte, the dimension with the greatest extent is cut in two until they can (`get_dim_to_split`, `split`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from birthmark.devices.layout import INDEX_LIMIT
from birthmark.errors import UsageError
from birthmark.torch.machine import Machine

_TAG = "_birthmark_virtual_gpu"


def index_of(tensor: torch.Tensor, machine: Machine) -> int | None:
    """The GPU of the machine that a tensor lies on; None for all others."""
    if tensor.layout is not torch.strided:
        return None
    tag = getattr(tensor.untyped_storage(), _TAG, None)
    return tag[1] if tag is not None and tag[0] is machine.token else None


def place(tensor: torch.Tensor, machine: Machine, index: int | None) -> torch.Tensor:
    """Put a tensor's storage on a GPU of the machine, or with None back on the CPU; the same tensor."""
    if tensor.layout is torch.strided and tensor.device.type == "cpu":
        setattr(tensor.untyped_storage(), _TAG, None if index is None else (machine.token, index))
    return tensor


def shared(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether two tensors lie in one storage."""
    if first.layout is not torch.strided or second.layout is not torch.strided:
        return first is second
    return bool(first.untyped_storage()._cdata == second.untyped_storage()._cdata)  # noqa: SLF001 - its address


def tensors_in(values: Any) -> Iterator[torch.Tensor]:  # noqa: ANN401 - arguments or results of any operation
    """The tensors among an operation's arguments or results, those in lists too."""
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from tensors_in(value)


def in_order(tensor: torch.Tensor) -> torch.Tensor:
    """A view of a tensor whose elements, read row by row, come in the order of a kernel's linear index.

    A tensor without gaps becomes one line of memory. Of any other, the dimensions are sorted and fused.

    Raises:
        UsageError: several elements share one place in memory, which no draw can fill.
    """
    sizes, strides = list(tensor.shape), list(tensor.stride())
    if any(size > 1 and stride == 0 for size, stride in zip(sizes, strides, strict=True)):
        raise UsageError(
            f"a draw into a tensor of shape {tuple(sizes)} and strides {tuple(strides)}: its elements share "
            "memory, expected a place for each; use .clone() first."
        )
    fused: list[tuple[int, int]] = []  # the slowest first; neighbours that make one run of memory are one
    for dimension in _by_stride(sizes, strides):
        size, stride = sizes[dimension], strides[dimension]
        if fused and fused[-1][1] == size * stride:
            fused[-1] = fused[-1][0] * size, stride
        elif size != 1:
            fused.append((size, stride))
    sizes, strides = ([each[k] for each in fused or [(1, 1)]] for k in (0, 1))
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


def _by_stride(sizes: list[int], strides: list[int]) -> list[int]:
    """The dimensions, that of the largest stride first; PyTorch's insertion sort, ties included."""
    order = list(range(len(sizes) - 1, -1, -1))  # fastest first, until the end
    for upper in range(1, len(order)):
        place_of = upper
        for lower in range(upper - 1, -1, -1):
            turn = _wrong_order(sizes, strides, order[lower], order[place_of])
            if turn > 0:
                order[lower], order[place_of] = order[place_of], order[lower]
                place_of = lower
            elif turn < 0:
                break
    return order[::-1]


def _wrong_order(sizes: list[int], strides: list[int], first: int, second: int) -> int:
    """1 where the second dimension is the faster one, -1 where the first is, 0 where nothing decides."""
    if strides[first] == 0 or strides[second] == 0:
        return 0
    if strides[first] != strides[second]:
        return 1 if strides[first] > strides[second] else -1
    return 1 if sizes[first] > sizes[second] else 0
