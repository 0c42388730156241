"""Normal draws of PyTorch's CPU generator on 16 and more contiguous float32 values, bit for bit (AVX2).

The tensor is filled with one 24-bit uniform a value. Then each block of 16 is transformed in place: uniform
k and uniform k + 8 give value k (the cosine) and value k + 8 (the sine). Where the size is no multiple of
16, the last 16 values are drawn again from 16 fresh words. Tensors of 16-bit types hold the same values
rounded (from 2.13 on), but only full blocks are filled first, so the words of their last 16 values follow
at once (run on 2.13.0). Sources: pytorch `aten/src/ATen/native/cpu/DistributionTemplates.h`
(`normal_fill_AVX2`) and `avx_mathfun.h` (Cephes polynomials), 1.13.1 to 2.15.0; the compiler of the
official wheels fuses multiplications and additions as written here. Machines with AVX-512 run the same
kernel.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.numerics.compiled import fma, kernel
from birthmark.samplers.cpu_uniform import unit

#: Values that are transformed together, and the distance of the two of a pair.
BLOCK: Final = 16
PARTNER: Final = 8

_ZERO = np.float32(0.0)
_HALF = np.float32(0.5)
_ONE = np.float32(1.0)
_MINUS_TWO = np.float32(-2.0)
_TWO_PI = np.float32(2.0 * np.pi)
_FOUR_OVER_PI = np.float32(1.27323954473516)
_ROOT_HALF = np.float32(0.707106781186547524)

_LOG_POLYNOMIAL = tuple(
    np.float32(c)
    for c in (
        7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    )
)  # fmt: skip
_LOG_TWO_LOW = np.float32(-2.12194440e-4)
_LOG_TWO_HIGH = np.float32(0.693359375)
_QUARTER_PI_1 = np.float32(-0.78515625)
_QUARTER_PI_2 = np.float32(-2.4187564849853515625e-4)
_QUARTER_PI_3 = np.float32(-3.77489497744594108e-8)
_COS_1 = np.float32(2.443315711809948e-5)
_COS_2 = np.float32(-1.388731625493765e-3)
_COS_3 = np.float32(4.166664568298827e-2)
_SIN_1 = np.float32(-1.9515295891e-4)
_SIN_2 = np.float32(8.3321608736e-3)
_SIN_3 = np.float32(-1.6666654611e-1)

_STEP = np.float32(2.0**-24)
_FULL = np.uint32(1 << 24)
_MASK = np.uint32((1 << 24) - 1)


class Places(NamedTuple):
    """Where the values of a draw come from.

    Attributes:
        radius: int64, the word that gives the radius, counted from the draw's first word.
        angle: int64, the word that gives the angle.
        sine: bool, whether the value is the pair's second one.
    """

    radius: NDArray[np.int64]
    angle: NDArray[np.int64]
    sine: NDArray[np.bool_]


def consumed(size: int, *, half: bool = False) -> int:
    """Words that `normal_` takes for a contiguous tensor.

    Args:
        size: the number of elements, 16 or more.
        half: whether the tensor is of a 16-bit type when drawn, instead of float32.

    Raises:
        UsageError: a size below 16.
    """
    if size < BLOCK:
        raise UsageError(f"a draw of {size} elements; the vectorised normal starts at {BLOCK}.")
    if size % BLOCK == 0:
        return size
    return (size - size % BLOCK if half else size) + BLOCK


def places(size: int, indices: NDArray[np.int64], *, half: bool = False) -> Places:
    """The two words behind each element of a draw of `size` >= 16 elements.

    Args:
        size: the number of elements that the draw fills.
        indices: int64, flat indices, any shape and order.
        half: whether the tensor is of a 16-bit type when drawn.

    Raises:
        UsageError: a size below 16, or an index outside the tensor.
    """
    last = consumed(size, half=half) - BLOCK
    flat = np.asarray(indices, np.int64)
    if flat.size and (int(flat.min()) < 0 or int(flat.max()) >= size):
        raise UsageError(f"an index from {flat.min()} to {flat.max()} in a tensor of {size} elements.")
    tail = (flat >= size - BLOCK) & (size % BLOCK != 0)
    within = np.where(tail, flat - (size - BLOCK), flat % BLOCK)
    base = np.where(tail, last, flat - within)
    radius = base + within % PARTNER
    return Places(radius, radius + PARTNER, within >= PARTNER)


def normal(
    radius: NDArray[np.uint32], angle: NDArray[np.uint32], sine: NDArray[np.bool_], mean: float, std: float
) -> NDArray[np.float32]:
    """The values that words give under `normal_(mean, std)`.

    Args:
        radius: uint32, the word of each value's radius, any shape.
        angle: uint32, the word of its angle, same shape.
        sine: bool, same shape: the second value of the pair rather than the first.
        mean: as the caller passed it.
        std: as the caller passed it.
    """
    out = np.empty(radius.size, np.float32)
    _normal_all(radius.ravel(), angle.ravel(), sine.ravel(), np.float32(mean), np.float32(std), out)
    return out.reshape(radius.shape)


def fill(
    words: NDArray[np.uint32], size: int, mean: float, std: float, *, half: bool = False
) -> NDArray[np.float32]:
    """All values of a draw, from its `consumed(size)` words in order, before any rounding to a 16-bit type.

    Raises:
        UsageError: a size below 16, or too few words.
    """
    needed = consumed(size, half=half)
    if len(words) < needed:
        raise UsageError(f"{len(words)} words for a draw of {size} elements; expected {needed}.")
    out = np.empty(size, np.float32)
    full = size - size % BLOCK
    _blocks(words[:full], np.float32(mean), np.float32(std), out)
    if full < size:
        _blocks(words[needed - BLOCK : needed], np.float32(mean), np.float32(std), out[size - BLOCK :])
    return out


@kernel(inline=True)
def logarithm(u: np.float32) -> np.float32:
    """The natural logarithm of a normal float32 in (0, 1], as the AVX2 kernel computes it."""
    bits = np.float32(u).view(np.uint32)
    e = np.float32(np.int32(bits >> np.uint32(23)) - np.int32(126))
    m = np.uint32((bits & np.uint32(0x007FFFFF)) | np.uint32(0x3F000000)).view(np.float32)
    if m < _ROOT_HALF:
        e = np.float32(e - _ONE)
        x = np.float32(np.float32(m - _ONE) + m)
    else:
        x = np.float32(m - _ONE)
    z = np.float32(x * x)
    y = _LOG_POLYNOMIAL[0]
    for k in range(1, 9):
        y = fma(y, x, _LOG_POLYNOMIAL[k])
    y = np.float32(y * x)
    y = fma(y, z, np.float32(e * _LOG_TWO_LOW))
    y = fma(np.float32(-z), _HALF, y)
    return np.float32(fma(e, _LOG_TWO_HIGH, np.float32(x + y)))


@kernel(inline=True)
def circle(angle: np.float32) -> tuple[np.float32, np.float32]:
    """(cosine, sine) of an angle in [0, 2 pi], as the AVX2 kernel computes them."""
    octant = np.int32(np.int32(np.int32(np.float32(angle * _FOUR_OVER_PI)) + np.int32(1)) & np.int32(-2))
    j = np.float32(octant)
    x = fma(j, _QUARTER_PI_1, angle)
    x = fma(j, _QUARTER_PI_2, x)
    x = fma(j, _QUARTER_PI_3, x)
    z = np.float32(x * x)
    c = fma(fma(_COS_1, z, _COS_2), z, _COS_3)
    c = np.float32(c * z)
    c = fma(c, z, np.float32(-np.float32(_HALF * z)))
    c = np.float32(c + _ONE)
    s = fma(fma(_SIN_1, z, _SIN_2), z, _SIN_3)
    s = np.float32(s * z)
    s = fma(s, x, x)
    swapped = (octant & np.int32(2)) != 0
    cosine = s if swapped else c
    sine = c if swapped else s
    if (octant & np.int32(4)) != 0:
        sine = np.float32(-sine)
    if ((octant - np.int32(2)) & np.int32(4)) == 0:
        cosine = np.float32(-cosine)
    return cosine, sine


@kernel(inline=True)
def pair(
    radius: np.uint32, angle: np.uint32, mean: np.float32, std: np.float32
) -> tuple[np.float32, np.float32]:
    """The two values, k and k + 8 of a block, that two words give."""
    u = np.float32(np.float32(np.uint32(_FULL - np.uint32(radius & _MASK))) * _STEP)
    r = np.sqrt(np.float32(_MINUS_TWO * logarithm(u)))
    cosine, sine = circle(np.float32(_TWO_PI * unit(angle)))
    return fma(np.float32(r * cosine), std, mean), fma(np.float32(r * sine), std, mean)


@kernel()
def _blocks(words: NDArray[np.uint32], mean: np.float32, std: np.float32, out: NDArray[np.float32]) -> None:
    """Whole blocks in order; both values of a pair at once."""
    for block in range(0, len(words), 16):
        for k in range(block, block + 8):
            first, second = pair(words[k], words[k + 8], mean, std)
            out[k] = first
            out[k + 8] = second


@kernel()
def _normal_all(
    radius: NDArray[np.uint32],
    angle: NDArray[np.uint32],
    sine: NDArray[np.bool_],
    mean: np.float32,
    std: np.float32,
    out: NDArray[np.float32],
) -> None:
    for i in range(len(out)):
        first, second = pair(radius[i], angle[i], mean, std)
        out[i] = second if sine[i] else first
