"""From standard values to what a draw stores: one fused multiply-add, one rounding, one end-point rule.

PyTorch `aten/src/ATen/native/cuda/DistributionTemplates.h` and `ATen/core/TransformationHelper.h`: a normal
is fma(z, std, mean) with both numbers as float32, whatever the dtype. A uniform is fma(u, high - low, low)
with the bounds first rounded to the dtype and their difference rounded to it again. The result is rounded
once. A uniform u lies in (0, 1], the draw promises [low, high): from torch 2.1 on a stored value equal to
`high` becomes `low`; up to 2.0 u = 1 became 0 before scaling.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName
from birthmark.numerics import rounding
from birthmark.numerics.compiled import fma, kernel
from birthmark.numerics.dtypes import round_to

#: Torch versions that differ in the end points of `uniform_`.
VERSIONS: Final = ("2.1+", "2.0-")

_ONE = np.float32(1.0)
_ONE_64 = np.float64(1.0)


class Scaling(NamedTuple):
    """The constants of a draw, as compiled loops take them.

    `factor` and `shift` are (std, mean) or (high - low, low). `top` is the stored value that becomes
    `shift`, NaN where none does; `unity` says that u = 1 counts as 0. `narrow` says that a rounding to 16
    bits follows, with the constants `floor`, `lift` and `greatest` of `birthmark.numerics.rounding`.
    """

    factor: np.float32
    shift: np.float32
    top: np.float32
    unity: np.bool_
    narrow: np.bool_
    floor: np.uint64
    lift: np.uint64
    greatest: np.float64


def scaling(distribution: str, parameters: tuple[float, float], dtype: str, version: str = "2.1+") -> Scaling:
    """The constants of a float32, float16 or bfloat16 draw."""
    factor, shift, top = _constants(distribution, parameters, dtype, version)
    return Scaling(
        np.float32(factor),
        np.float32(shift),
        np.float32(top),
        np.bool_(distribution == "uniform" and version == "2.0-"),
        np.bool_(dtype != "float32"),
        *rounding.constants(dtype),
    )


@kernel(inline=True)
def scaled(standard: np.float32, constants: Scaling) -> np.float32:
    """What a draw stores for one standard value."""
    if constants.unity and standard == _ONE:
        standard = np.float32(0.0)
    value = fma(standard, constants.factor, constants.shift)
    if constants.narrow:
        value = rounding.rounded(value, constants.floor, constants.lift, constants.greatest)
    return constants.shift if value == constants.top else value


@kernel()
def scale(standard: NDArray[np.float32], constants: Scaling, out: NDArray[np.float32]) -> None:
    """`scaled` of every element of a one-dimensional array; `out` may be the array itself."""
    for i in range(out.size):
        out[i] = scaled(standard[i], constants)


@kernel()
def _scale_64(
    standard: NDArray[np.float64], factor: np.float64, shift: np.float64, out: NDArray[np.float64]
) -> None:
    for i in range(out.size):
        out[i] = fma(standard[i], factor, shift)


def scale_64(
    distribution: str, parameters: tuple[float, float], standard: NDArray[np.float64], version: str = "2.1+"
) -> NDArray[np.float64]:
    """What a float64 draw stores for a one-dimensional array of standard values."""
    factor, shift, top = _constants(distribution, parameters, "float64", version)
    if distribution == "uniform" and version == "2.0-":
        standard = np.where(standard == _ONE_64, np.float64(0.0), standard)
    out = np.empty(standard.size, np.float64)
    _scale_64(standard, np.float64(factor), np.float64(shift), out)
    out[out == top] = shift
    return out


def _constants(
    distribution: str, parameters: tuple[float, float], dtype: str, version: str
) -> tuple[np.floating[Any], np.floating[Any], np.floating[Any]]:
    """(factor, shift, top) of a draw, rounded as torch rounds them."""
    if version not in VERSIONS:
        raise UnknownName("torch version rule", version, VERSIONS)
    # Python numbers become float32 on their way to a 16-bit dtype, so that two roundings are right here.
    carried = np.asarray(parameters, np.float64 if dtype == "float64" else np.float32)
    if distribution == "normal":
        return carried[1], carried[0], np.float32(np.nan)
    if distribution == "uniform":
        low, high = round_to(carried, dtype)
        span = round_to(np.asarray([high - low]), dtype)[0]
        return span, low, high if version == "2.1+" else np.float32(np.nan)
    raise UnknownName("distribution", distribution, ("normal", "uniform"))
