"""What every storage of a program holds, as traced values, while the program runs.

PyTorch tensors are views of storages. A write through any view changes what all others see, so values are
kept for storages, as a base and the parts that were overwritten since, and a tensor's value is read off when
it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from birthmark.recipes.trace_values import CARRIERS, Constant, Patched, Region, Table, Unknown, Value, Viewed

#: Elements up to which a table that existed before is kept.
MOST_TABLE = 1 << 20
NEVER_WRITTEN = Unknown("memory that was never written")


@dataclass(slots=True)
class _Held:
    """One storage: kept alive so that no other takes its address."""

    storage: Any
    elements: int
    dtype: str
    base: Value
    device: str
    patches: list[tuple[Region, Value]] = field(default_factory=list)

    @property
    def value(self) -> Value:
        if not self.patches:
            return self.base
        base = self.base
        if base == NEVER_WRITTEN and self.dtype in CARRIERS and _covered(self.patches, self.elements):
            base = Constant(0, self.dtype)  # of which the parts leave nothing
        return Patched(base, tuple(self.patches))


class Memory:
    """The storages that a program has touched."""

    def __init__(self) -> None:
        self._held: dict[int, _Held] = {}
        #: The device of storages that are now seen for the first time.
        self.device = "cpu"

    def read(self, tensor: torch.Tensor) -> Value:
        """What a tensor's elements are made of, in C order."""
        held = self._of(tensor)
        if held.dtype != name_of(tensor.dtype):
            return Unknown(f"{held.dtype} memory that is read as {name_of(tensor.dtype)}")
        region = region_of(tensor)
        value = held.value
        if isinstance(value, Constant | Unknown):
            return value
        if region.contiguous and region.offset == 0 and region.size == held.elements:
            return value
        for other, patch in reversed(held.patches):
            if other == region:
                return patch
            if _overlap(other, region):
                break
        return Viewed(region, value)

    def write(self, tensor: torch.Tensor, value: Value) -> None:
        """Note that a tensor's elements were overwritten by a value, given in the tensor's C order."""
        held = self._of(tensor)
        if held.dtype != name_of(tensor.dtype):
            held.base, held.patches = Unknown("memory that was written as another dtype"), []
            return
        region = region_of(tensor)
        if region.size == 0:
            return
        if region.contiguous and region.offset == 0 and region.size == held.elements:
            held.base, held.patches = value, []
        elif region.size == held.elements and region.offset == 0 and region.reach == held.elements:
            held.base = value if isinstance(value, Constant | Unknown) else Viewed(_inverse(region), value)
            held.patches = []
        else:
            held.patches = [each for each in held.patches if each[0] != region]
            held.patches.append((region, value))

    def device_of(self, tensor: torch.Tensor) -> str:
        """The device that the program takes the tensor to lie on: "cpu" or "cuda"."""
        return self._of(tensor).device

    def key(self, tensor: torch.Tensor) -> int:
        """What tells a tensor's storage from all others."""
        self._of(tensor)
        return int(tensor.untyped_storage()._cdata)  # noqa: SLF001 - torch has no public name for it

    def _of(self, tensor: torch.Tensor) -> _Held:
        storage = tensor.untyped_storage()
        address = int(storage._cdata)  # noqa: SLF001 - torch has no public name for it
        held = self._held.get(address)
        if held is None:
            elements = storage.nbytes() // tensor.element_size()
            base = _existing(tensor, elements)
            held = self._held[address] = _Held(storage, elements, name_of(tensor.dtype), base, self.device)
        return held


def name_of(dtype: torch.dtype) -> str:
    """A dtype by its torch name without the module's."""
    return str(dtype).removeprefix("torch.")


def region_of(tensor: torch.Tensor) -> Region:
    """Where a tensor's elements lie in its storage."""
    return Region(tuple(tensor.shape), tuple(tensor.stride()), int(tensor.storage_offset()))


def table_of(tensor: torch.Tensor) -> Value:
    """The value of a real tensor that does not depend on any draw."""
    dtype = name_of(tensor.dtype)
    if dtype not in CARRIERS or tensor.layout != torch.strided:
        return Unknown(f"a {dtype} tensor of layout {tensor.layout}")
    if tensor.numel() > MOST_TABLE:
        return Unknown(f"{tensor.numel():,} computed numbers, too many to write down")
    plain = tensor.detach().cpu().contiguous()
    wide = plain.float() if dtype in ("bfloat16", "float16") else plain
    array = wide.reshape(-1).numpy()
    negative_zero = array.dtype.kind == "f" and array.size and array[0] == 0 and bool(np.signbit(array).any())
    if array.size and np.all(array == array[0]) and not negative_zero:
        return Constant(array[0].item(), dtype)
    return Table(dtype, array.astype(np.dtype(CARRIERS[dtype]).newbyteorder("<")).tobytes())


def _existing(tensor: torch.Tensor, elements: int) -> Value:
    """What a storage holds that the program did not make."""
    from torch._subclasses.fake_tensor import FakeTensor

    if isinstance(tensor, FakeTensor) or tensor.device.type == "meta":
        return Unknown("memory that the recording did not see filled")
    if elements > MOST_TABLE:
        return Unknown("a large tensor that was there before")
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        return table_of(torch.as_strided(tensor.detach(), (elements,), (1,), 0))


def _inverse(region: Region) -> Region:
    """Of a tensor that fills its storage in another order: the storage as a view of the tensor's C order."""
    steps, step = [], 1
    for extent in reversed(region.shape):
        steps.append(step)
        step *= extent
    dims = zip(region.shape, region.strides, reversed(steps), strict=True)
    ordered = sorted(dims, key=lambda dim: (-dim[1], dim[0] == 1))
    return Region(tuple(dim[0] for dim in ordered), tuple(dim[2] for dim in ordered))


def _covered(patches: list[tuple[Region, Value]], elements: int) -> bool:
    """Whether parts fill a storage: where each is a run, by their ends; small storages in any case."""
    if sum(region.size for region, _ in patches) < elements:
        return False
    if all(region.contiguous for region, _ in patches):
        reached = 0
        for region in sorted((region for region, _ in patches), key=lambda each: each.offset):
            if region.offset > reached:
                return False
            reached = max(reached, region.offset + region.size)
        return reached >= elements
    if elements > MOST_TABLE:
        return False
    seen = np.zeros(elements, np.bool_)
    for region, _ in patches:
        seen[region.places(np.arange(region.size))] = True
    return bool(seen.all())


def _overlap(first: Region, second: Region) -> bool:
    """Whether two regions can share an element, by their extents alone."""
    return first.offset < second.reach and second.offset < first.reach
