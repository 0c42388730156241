"""PyTorch's storages and tensors as its pickles describe them.

A pickle of PyTorch names a storage by a persistent id and lays a tensor over it by offset, size and stride.
Nothing of PyTorch is needed to follow that.

Source: pytorch, `torch/_utils.py` (the `_rebuild` functions) and `torch/serialization.py` (persistent ids).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from birthmark.checkpoints.dtypes import BITS, TORCH_STORAGES
from birthmark.checkpoints.machine import Builder, Machine
from birthmark.checkpoints.numpy_objects import extents
from birthmark.checkpoints.pickled import Buildable, Flat, Global, Instance, text
from birthmark.errors import MalformedFile, UnsupportedFormat


@dataclass(frozen=True, slots=True, eq=False)
class Storage:
    """A run of numbers, kept apart from the pickle.

    Attributes:
        key: its name in the file.
        dtype: of its elements; "uint8" where it has none of its own.
        offset: elements of the named storage before this one (a view of a storage).
        size: in elements.
    """

    key: str
    dtype: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class TensorRef(Buildable):
    """A tensor laid over a storage.

    Attributes:
        storage: the numbers.
        dtype: of the tensor's elements.
        offset: elements of the storage before the first one, in units of `dtype`.
        shape: extents.
        strides: in elements, one for each extent.
        obstacle: why the stored numbers are not the tensor's values; None where they are.
    """

    storage: Storage
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    obstacle: str | None = None

    def build(self, state: object) -> None:
        """Ignore the flags that a Variable of PyTorch 0.x adds."""


class Storages:
    """The storages that a pickle names: makes each once."""

    def __init__(self) -> None:
        #: By persistent id.
        self.known: dict[tuple[str, str, int, int], Storage] = {}

    def __call__(self, pid: object) -> object:
        """The object of a persistent id.

        Args:
            pid: ("storage", class, key, location, elements); in files before PyTorch 1.6 with a view
                (key, offset, elements) or None behind, and there also ("module", class, file, source).
        """
        if not isinstance(pid, tuple) or not pid:
            raise MalformedFile("the pickle names a storage in a way that PyTorch does not.")
        kind = text(pid[0])
        if kind == "module" and len(pid) == 4:
            return pid[1]
        if kind != "storage" or len(pid) not in (5, 6):
            raise MalformedFile("the pickle names a storage in a way that PyTorch does not.")
        _, storage_type, key, _location, size = pid[:5]
        name = text(key) if not isinstance(key, int) else str(key) if abs(key) < 2**64 else None
        if name is None or type(size) is not int or not 0 <= size < 2**63:
            raise MalformedFile("the pickle names a storage without a key or a size.")
        offset = 0
        if len(pid) == 6 and pid[5] is not None:
            offset, size = _view(pid[5], size)
        dtype = storage_dtype(storage_type)
        identity = (name, dtype, offset, size)
        if identity not in self.known:
            self.known[identity] = Storage(name, dtype, offset, size)
        return self.known[identity]


def _view(view: object, size: int) -> tuple[int, int]:
    """(offset, elements) of a view of a storage, which must lie inside it."""
    if isinstance(view, tuple) and len(view) == 3:
        _, offset, count = view
        if type(offset) is int and type(count) is int and 0 <= offset <= offset + count <= size:
            return offset, count
    raise MalformedFile("the pickle names a view of a storage that does not lie inside it.")


def storage_dtype(storage_type: object) -> str:
    """The dtype of a storage class such as torch.FloatStorage or torch.cuda.HalfStorage."""
    if isinstance(storage_type, Global) and storage_type.module.split(".")[0] == "torch":
        if storage_type.name in ("UntypedStorage", "_UntypedStorage"):
            return "uint8"
        if storage_type.name in TORCH_STORAGES:
            return TORCH_STORAGES[storage_type.name]
    raise UnsupportedFormat("the pickle holds a storage of a kind that birthmark does not know.")


def _tensor(machine: Machine, arguments: tuple[object, ...]) -> object:
    """_rebuild_tensor(storage, offset, size, stride), and _v2 with flags behind: the last may be metadata."""
    return _laid_over(machine, arguments, None, arguments[6] if len(arguments) > 6 else None)


def _typed_tensor(machine: Machine, arguments: tuple[object, ...]) -> object:
    """_rebuild_tensor_v3(..., requires_grad, hooks, dtype, metadata): over a storage of bytes."""
    if len(arguments) < 7 or not isinstance(arguments[6], Global):
        machine.fail("rebuilds a tensor without a dtype")
    return _laid_over(machine, arguments, arguments[6].name, arguments[7] if len(arguments) > 7 else None)


def _laid_over(
    machine: Machine, arguments: tuple[object, ...], dtype: str | None, metadata: object
) -> TensorRef:
    if len(arguments) < 4 or not isinstance(arguments[0], Storage):
        machine.fail("rebuilds a tensor without a storage")
    storage, offset = arguments[0], arguments[1]
    shape, strides = extents(arguments[2]), extents(arguments[3])
    if type(offset) is not int or not 0 <= offset < 2**63 or len(shape) != len(strides):
        machine.fail("rebuilds a tensor whose size and stride do not fit")
    obstacle = None
    if metadata:
        flags = metadata.entries() if isinstance(metadata, Flat) else None
        if flags is None or any(flags.values()):
            obstacle = "it is a negated or conjugated view"
    if dtype is not None and dtype not in BITS:
        obstacle = f"its dtype {dtype[:40]} is not known"
    return TensorRef(storage, dtype or storage.dtype, offset, shape, strides, obstacle)


def _first(machine: Machine, arguments: tuple[object, ...]) -> object:
    """A parameter, a variable: the tensor it wraps. Without one, a placeholder."""
    if arguments and isinstance(arguments[0], TensorRef):
        return arguments[0]
    return machine.placeholder(Global("torch.nn.parameter", "Parameter"), arguments)


def _subclass(machine: Machine, arguments: tuple[object, ...]) -> object:
    """_rebuild_from_type_v2(function, class, arguments, state): a tensor of a subclass."""
    if len(arguments) < 3:
        machine.fail("rebuilds a tensor of too little")
    made = machine.call(arguments[0], arguments[2])
    return made if isinstance(made, (TensorRef, Instance)) else machine.placeholder(_SUBCLASS, (made,))


def _size(machine: Machine, arguments: tuple[object, ...]) -> object:
    """torch.Size."""
    if len(arguments) != 1 or not isinstance(arguments[0], (tuple, list)) or isinstance(arguments[0], Flat):
        machine.fail("makes a torch.Size of something else")
    machine.charge(len(arguments[0]))
    return tuple(arguments[0])


_SUBCLASS: Final = Global("torch", "Tensor")

#: What each name makes.
TENSORS: Final[dict[str, Builder]] = {
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _typed_tensor,
    "torch._utils._rebuild_parameter": _first,
    "torch._utils._rebuild_parameter_with_state": _first,
    "torch.nn.parameter.Parameter": _first,
    "torch.nn.parameter.Buffer": _first,
    "torch.autograd.variable.Variable": _first,
    "torch._tensor._rebuild_from_type": _subclass,
    "torch._tensor._rebuild_from_type_v2": _subclass,
    "torch.tensor._rebuild_from_type": _subclass,
    "torch._utils._rebuild_device_tensor_from_numpy": lambda _, arguments: arguments[0],
    "torch._utils._rebuild_xla_tensor": lambda _, arguments: arguments[0],
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": lambda _, arguments: arguments[0],
    "torch.Size": _size,
}
