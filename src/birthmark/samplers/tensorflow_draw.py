"""TensorFlow's random operators on the CPU: uniform, normal and truncated normal, any elements.

Sources: tensorflow `core/lib/random/philox_random.h`, `random_distributions.h`, `kernels/random_op_cpu.h`,
`stateless_random_ops_v2_util.h`; run on tensorflow 2.21.0. Philox4x32-10 under the 64-bit seed; the upper
half of the counter is the second seed. The four elements of a group share the block of the group's number. A
uniform is the low mantissa bits of its word (23, 10 or 7), put into [1, 2), less 1. A normal pair is
Box-Muller's: sine first, then cosine; 16-bit normals are float32 ones, rounded. A truncated normal takes
pairs until four values within two standard deviations are there; every group may use 256 blocks and starts
256 after the last.

The operators stand alone: scale and shift are two more operations, each rounded. Sine, cosine and logarithm
are the C library's float32 ones, so that other libraries than glibc can differ in the last bit; GPUs have the
same words in the same places, and their own functions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.philox import philox4x32
from birthmark.numerics.compiled import kernel
from birthmark.numerics.dtypes import round_to

Distribution = Literal["normal", "uniform", "truncated-normal"]
Floats = NDArray[np.float32]

#: Mantissa bits that a uniform takes.
_MANTISSA: Final = {"float32": 23, "float16": 10, "bfloat16": 7}
_DISTRIBUTIONS: Final = ("normal", "uniform", "truncated-normal")
#: Blocks that a group of truncated normals may use.
RESERVED: Final = 256

_LOW = (1 << 32) - 1
_LEAST = np.float32(1e-7)
_TURN = np.float64(2.0 * math.pi)
_BITS = np.uint32(0x007FFFFF)
_EXPONENT = np.uint32(0x3F800000)
_ONE = np.float32(1.0)
_CUT = np.float32(2.0)
#: Scrambles the seeds of stateless operators.
_SCRAMBLE = (0x3EC8F720, 0x02461E29)


@dataclass(frozen=True, slots=True)
class Stream:
    """A Philox stream as an operator has it.

    Attributes:
        key: 64 bits.
        high: the upper 64 bits of the counter.
        block: blocks that earlier calls of the same operator reserved; stateless ones have none.
    """

    key: int
    high: int
    block: int = 0


@dataclass(frozen=True, slots=True)
class TensorflowDraw:
    """One random operator, and the scaling that follows it.

    Attributes:
        distribution: "normal", "uniform" or "truncated-normal" (within two standard deviations).
        size: elements.
        parameters: (mean, std) or (low, high); with the standard ones nothing follows.
        dtype: "float32", "float16" or "bfloat16".
    """

    distribution: Distribution
    size: int
    parameters: tuple[float, float]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        """Refuse what cannot be predicted.

        Raises:
            UnknownName: an unknown distribution or dtype.
            UsageError: a negative size, parameters that are not finite.
        """
        for kind, name, known in (
            ("distribution", self.distribution, _DISTRIBUTIONS),
            ("TensorFlow dtype", self.dtype, _MANTISSA),
        ):
            if name not in known:
                raise UnknownName(kind, name, known)
        if self.size < 0:
            raise UsageError(f"a draw of {self.size} elements; expected 0 or more.")
        if not all(math.isfinite(one) for one in self.parameters):
            raise UsageError(f"the parameters {self.parameters}; expected finite ones.")

    def values(self, stream: Stream, indices: NDArray[np.int64]) -> Floats:
        """The values of the given elements, decoded to float32.

        Args:
            stream: see `seeded` and `stateless`.
            indices: int64 flat indices, any shape and order.

        Raises:
            UsageError: an index outside the draw.
        """
        flat = np.asarray(indices, np.int64)
        if flat.size and (int(flat.min()) < 0 or int(flat.max()) >= self.size):
            raise UsageError(f"an index from {flat.min()} to {flat.max()} in a draw of {self.size} elements.")
        out = np.empty(flat.size, np.float32)
        places = np.ascontiguousarray(flat).reshape(-1)
        key, high, block = np.uint64(stream.key), np.uint64(stream.high), np.uint64(stream.block)
        if self.distribution == "uniform":
            words = np.empty(flat.size, np.uint32)
            _words(key, high, block, places, words)
            bits = _MANTISSA[self.dtype]
            out[:] = (words & np.uint32((1 << bits) - 1)).astype(np.float32) * np.float32(2.0**-bits)
        elif self.distribution == "normal":
            _normals(key, high, block, places, out)
        else:
            _truncated(key, high, block, places, out)
        return self._scaled(self._round(out)).reshape(flat.shape)

    def _scaled(self, drawn: Floats) -> Floats:
        first, second = (float(self._round(np.array([one]))[0]) for one in self.parameters)
        factor = second
        if self.distribution == "uniform":
            factor = float(self._round(np.array([second - first]))[0])
        if (first, factor) == (0.0, 1.0):
            return drawn
        return self._round(self._round(drawn * np.float32(factor)) + np.float32(first))

    def _round(self, values: NDArray[np.floating]) -> Floats:
        return np.asarray(round_to(values, self.dtype), np.float32)


def seeded(seed: int, second: int = 0) -> Stream:
    """The stream of an operator with the attributes `seed` and `seed2`, at its first call.

    Raises:
        UsageError: both seeds 0, with which TensorFlow takes random ones.
    """
    if seed == 0 and second == 0:
        raise UsageError("both seeds 0, for which TensorFlow draws its own; expected one that is not.")
    return Stream(seed % (1 << 64), second % (1 << 64))


def stateless(first: int, second: int = 0) -> Stream:
    """The stream of a stateless operator with the seed (first, second), which Philox itself scrambles."""
    halves = [(one % (1 << 64)) >> shift & _LOW for one in (first, second) for shift in (0, 32)]
    mixed = [int(word) for word in philox4x32(*(np.uint32(one) for one in (*halves, *_SCRAMBLE)))]
    return Stream(mixed[0] | mixed[1] << 32, mixed[2] | mixed[3] << 32)


@kernel(inline=True)
def _block(
    key: np.uint64, high: np.uint64, number: np.uint64
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    return philox4x32(
        np.uint32(number & mask),
        np.uint32(number >> half),
        np.uint32(high & mask),
        np.uint32(high >> half),
        np.uint32(key & mask),
        np.uint32(key >> half),
    )


@kernel(inline=True)
def _unit(word: np.uint32) -> np.float32:
    return np.float32(np.uint32((word & _BITS) | _EXPONENT).view(np.float32) - _ONE)


@kernel(inline=True)
def _pair(first: np.uint32, second: np.uint32) -> tuple[np.float32, np.float32]:
    u = _unit(first)
    u = u if u >= _LEAST else _LEAST
    angle = np.float32(_TURN * np.float64(_unit(second)))
    radius = np.float32(np.sqrt(np.float32(np.float32(-2.0) * np.float32(np.log(u)))))
    return np.float32(np.float32(np.sin(angle)) * radius), np.float32(np.float32(np.cos(angle)) * radius)


@kernel()
def _words(
    key: np.uint64, high: np.uint64, block: np.uint64, places: NDArray[np.int64], out: NDArray[np.uint32]
) -> None:
    for i in range(len(places)):
        w0, w1, w2, w3 = _block(key, high, np.uint64(block + np.uint64(places[i] >> 2)))
        lane = places[i] & 3
        low = w0 if lane == 0 else w1
        out[i] = low if lane < 2 else (w2 if lane == 2 else w3)


@kernel()
def _normals(
    key: np.uint64, high: np.uint64, block: np.uint64, places: NDArray[np.int64], out: NDArray[np.float32]
) -> None:
    for i in range(len(places)):
        w0, w1, w2, w3 = _block(key, high, np.uint64(block + np.uint64(places[i] >> 2)))
        lane = places[i] & 3
        sine, cosine = _pair(w0, w1) if lane < 2 else _pair(w2, w3)
        out[i] = cosine if lane & 1 else sine


@kernel()
def _truncated(
    key: np.uint64, high: np.uint64, block: np.uint64, places: NDArray[np.int64], out: NDArray[np.float32]
) -> None:
    for i in range(len(places)):
        number = np.uint64(block + np.uint64(places[i] >> 2) * np.uint64(RESERVED))
        wanted = places[i] & 3
        found = -1
        value = np.float32(0.0)
        while found < wanted:
            w0, w1, w2, w3 = _block(key, high, number)
            number = np.uint64(number + np.uint64(1))
            for half in range(2):
                sine, cosine = _pair(w0, w1) if half == 0 else _pair(w2, w3)
                for side in range(2):
                    one = cosine if side else sine
                    if np.abs(one) < _CUT and found < wanted:
                        found += 1
                        value = one
        out[i] = value
