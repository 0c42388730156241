"""The floating dtypes of checkpoints and draws: bytes to values, one rounding, intervals and distances.

A dtype goes by torch's name and is described by three numbers, so that a new one is one more line. Values of
a dtype travel decoded: as float32, or as float64 for "float64". Everything here is plain numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import MalformedFile, UnknownName


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating format of IEEE 754's kind: subnormals, infinities, NaN.

    Attributes:
        bits: width in storage.
        precision: bits of the significand, the hidden one included.
        least: exponent of the smallest normal number.
    """

    bits: int
    precision: int
    least: int

    @property
    def greatest(self) -> float:
        """The largest finite value."""
        return (2.0 - 2.0 ** (1 - self.precision)) * 2.0 ** (1 - self.least)


FORMATS: Final[dict[str, Format]] = {
    "float16": Format(bits=16, precision=11, least=-14),
    "bfloat16": Format(bits=16, precision=8, least=-126),
    "float32": Format(bits=32, precision=24, least=-126),
    "float64": Format(bits=64, precision=53, least=-1022),
}

#: Overflow to infinity is the right answer, and NaN of any kind may pass.
_QUIET: Final[dict[str, Any]] = {"over": "ignore", "invalid": "ignore"}

#: What `ulps` says of a distance that has no number: one to or from NaN.
FAR: Final = np.iinfo(np.int64).max


def format_of(dtype: str) -> Format:
    """The format of a float dtype.

    Raises:
        UnknownName: the dtype is not a float dtype that birthmark reads.
    """
    try:
        return FORMATS[dtype]
    except KeyError:
        raise UnknownName("float dtype", dtype, FORMATS) from None


def is_float(dtype: str) -> bool:
    """Whether a dtype name is one of the float dtypes that birthmark reads."""
    return dtype in FORMATS


def itemsize(dtype: str) -> int:
    """Bytes of one stored value.

    Raises:
        UnknownName: not a float dtype.
    """
    return format_of(dtype).bits // 8


def decode(raw: NDArray[Any] | bytes | bytearray | memoryview, dtype: str) -> NDArray[Any]:
    """Stored little-endian bytes as values, exactly.

    Args:
        raw: the bytes, as a buffer or as an array of any type; an array of more axes keeps all but its last.
        dtype: the stored dtype.

    Returns:
        A fresh, writable, contiguous array: float64 for "float64", else float32.

    Raises:
        MalformedFile: the bytes are not a whole number of values.
        UnknownName: not a float dtype.
    """
    size = itemsize(dtype)
    data = np.ascontiguousarray(raw if isinstance(raw, np.ndarray) else np.frombuffer(raw, np.uint8))
    width = data.shape[-1] * data.itemsize
    if width % size:
        raise MalformedFile(f"{width} bytes are not a whole number of {dtype} values of {size} bytes.")
    stored: NDArray[np.uint8] = data.reshape(-1).view(np.uint8)
    shape = (*data.shape[:-1], width // size)
    if dtype == "bfloat16":
        wide = stored.view("<u2").astype(np.uint32) << np.uint32(16)
        return wide.view(np.float32).reshape(shape)
    if dtype == "float16":
        return stored.view("<f2").astype(np.float32).reshape(shape)
    return stored.view("<f8" if dtype == "float64" else "<f4").astype(_carrier(dtype)).reshape(shape)


def encode(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """The bit patterns of values rounded once to a dtype: uint16, uint32 or uint64 of the same shape."""
    rounded = np.ascontiguousarray(round_to(values, dtype))
    if dtype == "bfloat16":
        return (rounded.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    if dtype == "float16":
        return rounded.astype(np.float16).view(np.uint16)
    return rounded.view(np.uint64 if dtype == "float64" else np.uint32)


def round_to(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Values rounded once to the nearest of a dtype, ties to even, beyond the largest to infinity.

    Args:
        values: float32 or float64, any shape. float64 values are not rounded to float32 in between.
        dtype: the dtype to round to.

    Returns:
        A fresh array of the same shape, of values that `dtype` holds exactly: float64 for "float64", else
        float32.
    """
    form = format_of(dtype)
    with np.errstate(**_QUIET):
        if form.bits >= 32:
            return np.array(values, _carrier(dtype))
        # Adding and taking away 1.5 * 2^52 quanta rounds to a whole number of quanta, ties to even.
        wide = np.clip(np.asarray(values, np.float64), -4 * form.greatest, 4 * form.greatest)
        lifted = 1.5 * 2.0**52 * _quantum(wide, form)
        rounded = np.copysign((wide + lifted) - lifted, wide)
        return np.where(np.abs(rounded) > form.greatest, np.copysign(np.inf, wide), rounded).astype(
            np.float32
        )


def interval(values: NDArray[Any], dtype: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The reals that round to stored values of a dtype.

    Args:
        values: values that `dtype` holds exactly, any shape.
        dtype: the stored dtype.

    Returns:
        (lo, hi), float64: the midpoints to the neighbours, whether or not a tie there rounds to the value.
        For "float64" the midpoints have no float64, and the neighbours stand for them. NaN gives NaN.
    """
    form = format_of(dtype)
    with np.errstate(**_QUIET):
        exact = np.asarray(values, np.float64)
    if dtype == "float64":
        return np.nextafter(exact, -np.inf), np.nextafter(exact, np.inf)
    unbounded = np.isinf(exact)
    magnitude = np.where(unbounded, form.greatest, np.abs(exact))
    quantum = _quantum(magnitude, form)
    # Just above a power of two the values lie twice as far apart as just below it.
    power = (magnitude == quantum * 2.0 ** (form.precision - 1)) & (magnitude > 2.0**form.least)
    near, far = magnitude - quantum * np.where(power, 0.25, 0.5), magnitude + quantum * 0.5
    near, far = np.where(unbounded, far, near), np.where(unbounded, np.inf, far)
    negative = np.signbit(exact)
    return np.where(negative, -far, near), np.where(negative, -near, far)


def ulps(a: NDArray[Any], b: NDArray[Any], dtype: str) -> NDArray[np.int64]:
    """How many values of a dtype lie from a to b, counted upwards from 0 for equal ones.

    Args:
        a: values that `dtype` holds exactly.
        b: likewise, of a shape that broadcasts with a's.
        dtype: the dtype whose values are counted.

    Returns:
        int64, never negative; the zeros of both signs are equal, and a distance to NaN is `FAR`.
    """
    form = format_of(dtype)
    sign = np.uint64(1 << (form.bits - 1))
    bits_a, bits_b = (encode(np.asarray(x), dtype).astype(np.uint64) for x in (a, b))
    size_a, size_b = bits_a & ~sign, bits_b & ~sign
    apart = np.where(size_a > size_b, size_a - size_b, size_b - size_a)
    across = size_a + size_b  # below 2^64
    distance = np.minimum(np.where((bits_a ^ bits_b) & sign, across, apart), np.uint64(FAR))
    unknown = np.isnan(np.asarray(a)) | np.isnan(np.asarray(b))
    return np.where(unknown, np.int64(FAR), distance.astype(np.int64))


def _carrier(dtype: str) -> type[np.float32] | type[np.float64]:
    return np.float64 if dtype == "float64" else np.float32


def _quantum(values: NDArray[np.float64], form: Format) -> NDArray[np.float64]:
    """The distance to the next larger magnitude of a format, at each value; a power of two."""
    _, exponent = np.frexp(values)
    exponent = np.where(values == 0.0, form.least, np.maximum(exponent - 1, form.least))
    quantum: NDArray[np.float64] = np.ldexp(1.0, exponent + (1 - form.precision))
    return quantum
