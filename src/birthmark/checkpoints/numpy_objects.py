"""numpy's arrays, and JAX's, as pickles describe them: shape, dtype and bytes."""

from __future__ import annotations

import math
from typing import Final

from birthmark.checkpoints.dtypes import BITS, NUMPY
from birthmark.checkpoints.machine import Builder, Machine
from birthmark.checkpoints.pickled import Buildable, Global, Instance, Span, text
from birthmark.checkpoints.strided import contiguous_strides
from birthmark.errors import MalformedFile, UnsupportedFormat

#: Byte orders that are read: little-endian, not applicable, and native (of a little-endian writer).
LITTLE: Final = ("<", "|", "=")


class NumpyDtype(Buildable):
    """A dtype: its code, such as "f4", and its byte order."""

    __slots__ = ("code", "order", "plain")

    def __init__(self, code: str) -> None:
        self.code = code
        self.order = "|"
        #: Whether it has neither fields nor a subarray.
        self.plain = True

    def build(self, state: object) -> None:
        """Take (version, byte order, subdtype, names, fields, size, alignment, flags, ...)."""
        if not isinstance(state, tuple) or len(state) < 5:
            raise MalformedFile("a numpy dtype in the pickle has a state of the wrong form.")
        self.order = text(state[1]) or "|"
        self.plain = state[2] is None and state[3] is None

    @property
    def name(self) -> str:
        """The name used here, or a description of a dtype that is not decoded."""
        name = NUMPY.get(self.code, self.code)
        if not self.plain:
            return "a structured dtype"
        if self.order not in LITTLE and BITS.get(name, 0) > 8:
            return f"{name} (big-endian)"
        return name


class ArrayRef(Buildable):
    """An array: its extents and where its bytes are.

    Attributes:
        shape: extents.
        strides: in elements.
        dtype: birthmark's name, or a description.
        data: the bytes, or a list of objects.
    """

    __slots__ = ("data", "dtype", "shape", "strides")

    def __init__(self) -> None:
        self.shape: tuple[int, ...] = (0,)
        self.strides: tuple[int, ...] = (1,)
        self.dtype = "uint8"
        self.data: bytes | Span | list[object] = b""

    def build(self, state: object) -> None:
        """Take (version, shape, dtype, whether Fortran-ordered, data), the version perhaps missing."""
        if not isinstance(state, tuple) or len(state) not in (4, 5):
            raise MalformedFile("a numpy array in the pickle has a state of the wrong form.")
        shape, dtype, fortran, data = state[-4:]
        if isinstance(data, str):
            # A byte string that Python 2 wrote as text.
            data = data.encode("latin-1", "replace")
        self.fill(shape, dtype, fortran=bool(fortran), data=data)

    def fill(self, shape: object, dtype: object, *, fortran: bool, data: object) -> None:
        """Set everything, checking that the bytes are as many as shape and dtype need."""
        if not isinstance(dtype, NumpyDtype) or not isinstance(data, (bytes, Span, list)):
            raise MalformedFile("a numpy array in the pickle has no dtype or no data.")
        self.shape = extents(shape)
        self.dtype = dtype.name
        self.strides = (
            contiguous_strides(self.shape[::-1])[::-1] if fortran else contiguous_strides(self.shape)
        )
        self.data = data
        bits = BITS.get(self.dtype)
        if isinstance(data, list):
            self.dtype = "object"
        if bits is None or isinstance(data, list):
            return
        needed = math.prod(self.shape) * bits // 8
        given = data.size if isinstance(data, Span) else len(data)
        if needed != given:
            raise MalformedFile(
                f"a numpy array of {' x '.join(map(str, self.shape))} {self.dtype} in the pickle "
                f"needs {needed:,} bytes and has {given:,}."
            )


def extents(shape: object) -> tuple[int, ...]:
    """A shape from a pickle: at most 64 natural numbers below 2^63."""
    if isinstance(shape, (tuple, list)) and len(shape) <= 64:
        checked = tuple(extent for extent in shape if type(extent) is int and 0 <= extent < 2**63)
        if len(checked) == len(shape):
            return checked
    if type(shape) is int and 0 <= shape < 2**63:
        return (shape,)
    raise MalformedFile("a shape in the pickle is not made of natural numbers.")


def _dtype(machine: Machine, arguments: tuple[object, ...]) -> object:
    """numpy.dtype("f4", align, copy), or of a scalar class such as ml_dtypes.bfloat16."""
    first = arguments[0] if arguments else None
    code = first.name if isinstance(first, Global) else text(first)
    if code is None or len(code) > 40 or not code.isprintable():
        machine.fail("makes a numpy dtype of something that is not a code")
    return NumpyDtype(code)


def _array(_machine: Machine, _arguments: tuple[object, ...]) -> object:
    """numpy.core.multiarray._reconstruct(class, shape, code): the state comes later."""
    return ArrayRef()


def _from_buffer(machine: Machine, arguments: tuple[object, ...]) -> object:
    """numpy.core.numeric._frombuffer(buffer, dtype, shape, order): protocol 5."""
    if len(arguments) < 4:
        machine.fail("makes a numpy array of too little")
    data, dtype, shape, order = arguments[:4]
    made = ArrayRef()
    made.fill(shape, dtype, fortran=text(order) == "F", data=data)
    return made


def _scalar(machine: Machine, arguments: tuple[object, ...]) -> object:
    """numpy.core.multiarray.scalar(dtype, bytes): of no interest here."""
    machine.charge(len(arguments))
    return Instance(Global("numpy", "scalar"))


def _jax_array(machine: Machine, arguments: tuple[object, ...]) -> object:
    """JAX: (function, arguments, state of the numpy array, state of the abstract value)."""
    if len(arguments) < 3:
        machine.fail("makes a JAX array of too little")
    made = machine.call(arguments[0], arguments[1])
    if not isinstance(made, ArrayRef):
        return machine.placeholder(Global("jax", "Array"), arguments)
    made.build(arguments[2])
    return made


def _joblib(machine: Machine, _arguments: tuple[object, ...]) -> object:
    """Refuse joblib, which puts an array's bytes between the instructions."""
    raise UnsupportedFormat(
        f"{machine.cursor.source.name} was written by joblib, which birthmark does not read."
    )


#: What each name makes.
ARRAYS: Final[dict[str, Builder]] = {
    "numpy.dtype": _dtype,
    "joblib.numpy_pickle.NumpyArrayWrapper": _joblib,
    **{
        f"numpy.{core}.{name}": builder
        for core in ("core", "_core")
        for name, builder in (
            ("multiarray._reconstruct", _array),
            ("multiarray.scalar", _scalar),
            ("numeric._frombuffer", _from_buffer),
        )
    },
    "jax._src.array._reconstruct_array": _jax_array,
    "jax._src.device_array.reconstruct_device_array": _jax_array,
    "jax.interpreters.xla.reconstruct_device_array": _jax_array,
}
