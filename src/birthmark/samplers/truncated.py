"""Truncated normals as PyTorch drew them on CUDA up to 2.11, and what its later versions changed.

Up to 2.11 `torch.nn.init.trunc_normal_(mean, std, a, b)` takes five steps in place, and each rounds to the
tensor's dtype: `uniform_(2 l - 1, 2 u - 1)` with l and u the normal distribution function at both bounds in
doubles, `erfinv_`, `mul_(std sqrt 2)`, `add_(mean)`, `clamp_(a, b)`. Numbers from Python are float32 in the
steps on 16-bit tensors too. Where the uniform rounds to 1 or -1, erfinv is infinite and the clamp makes the
bound of it: of a bfloat16 draw with far bounds that is one value in 500.

From 2.12 on it is `normal_`, with full-size draws again for values out of [a, b] (see `Draw.redraws` in
`birthmark.hypothesis`).

Sources: pytorch `torch/nn/init.py` and `aten/src/ATen/native/cuda/` (2.1.2 to 2.15.0). That `add_` takes the
mean as float32 on 16-bit CUDA tensors is read from source and has no outside witness; it matters where the
mean is not 0. On AMD the uniforms are AMD's and erfinv is NVIDIA's, as a stand-in.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName
from birthmark.numerics import rounding
from birthmark.numerics.compiled import kernel
from birthmark.numerics.erfinv import FROM_CUDA_13, UP_TO_CUDA_12, erfinvf
from birthmark.samplers.scaling import Scaling, scale_64, scaled, scaling

#: Versions that differ: torch 2.1 to 2.11 with CUDA up to 12, the same with CUDA 13, torch up to 2.0, and
#: torch from 2.12 on, which draws normals.
VERSIONS: Final = ("2.1+", "2.1+cuda13", "2.0-", "2.12+")
REDRAWING: Final = "2.12+"
#: Of the mass of the normal, the share that the bounds must hold for torch 2.12 to draw normals.
LEAST_MASS: Final = 0.3

#: Bounds beyond so many sigmas cut nothing off: the distribution function there is 0 or 1 to a double.
FAR: Final = 8.3
#: The bounds of `trunc_normal_` where none are given: absolute, not sigmas.
DEFAULT_BOUND: Final = 2.0

_SQRT_2 = math.sqrt(2.0)


class Truncation(NamedTuple):
    """The constants of a draw up to 2.11, as compiled loops take them.

    `uniform` makes the first step and says how to round. `factor` is std sqrt 2, `shift` the mean, `low` and
    `high` the bounds, all float32; `tail` is the version of erfinv.
    """

    uniform: Scaling
    factor: np.float32
    shift: np.float32
    low: np.float32
    high: np.float32
    tail: np.uint32


def inverting_versions(dtype: str) -> tuple[str, ...]:
    """The versions that make a draw of this dtype from uniforms: bfloat16 has an erfinv since 2.2 only."""
    return tuple(
        version for version in VERSIONS if version != REDRAWING and (version, dtype) != ("2.0-", "bfloat16")
    )


def masses(parameters: tuple[float, ...]) -> tuple[float, float]:
    """The normal distribution function at both bounds, in doubles as Python computes it.

    Args:
        parameters: mean, std, a, b.
    """
    mean, std, low, high = parameters
    first, last = ((1.0 + math.erf((bound - mean) / std / _SQRT_2)) / 2.0 for bound in (low, high))
    return first, last


def truncation(parameters: tuple[float, ...], dtype: str, version: str) -> Truncation:
    """The constants of a float32, float16 or bfloat16 draw up to 2.11.

    Args:
        parameters: mean, std, a, b, as the caller passed them.
        dtype: the dtype at draw time.
        version: one of `VERSIONS` but the last.

    Raises:
        UnknownName: no such version, or one that draws normals.
    """
    mean, std, low, high = parameters
    return Truncation(
        scaling("uniform", *_uniform(parameters, dtype, version)),
        np.float32(std * _SQRT_2),
        np.float32(mean),
        np.float32(low),
        np.float32(high),
        FROM_CUDA_13 if version == "2.1+cuda13" else UP_TO_CUDA_12,
    )


def _uniform(parameters: tuple[float, ...], dtype: str, version: str) -> tuple[tuple[float, float], str, str]:
    """Bounds, dtype and version rule of the first step."""
    known = VERSIONS[:-1]
    if version not in known:
        raise UnknownName("torch version rule", version, known)
    first, last = masses(parameters)
    return (2 * first - 1, 2 * last - 1), dtype, "2.0-" if version == "2.0-" else "2.1+"


@kernel(inline=True)
def _rounded(x: np.float32, how: Scaling) -> np.float32:
    return rounding.rounded(x, how.floor, how.lift, how.greatest) if how.narrow else x


@kernel(inline=True)
def inverted(u: np.float32, constants: Truncation) -> np.float32:
    """The first two steps: a uniform in (0, 1] becomes what `erfinv_` leaves, perhaps infinite."""
    return _rounded(erfinvf(scaled(u, constants.uniform), constants.tail), constants.uniform)


@kernel(inline=True)
def truncated(u: np.float32, constants: Truncation) -> np.float32:
    """What a draw stores for one uniform in (0, 1]."""
    x = _rounded(np.float32(inverted(u, constants) * constants.factor), constants.uniform)
    x = _rounded(np.float32(x + constants.shift), constants.uniform)
    return _rounded(min(max(x, constants.low), constants.high), constants.uniform)


@kernel()
def truncate(units: NDArray[np.float32], constants: Truncation, out: NDArray[np.float32]) -> None:
    """`truncated` of every element of a one-dimensional array; `out` may be the array itself."""
    for i in range(out.size):
        out[i] = truncated(units[i], constants)


@kernel()
def _invert(units: NDArray[np.float32], constants: Truncation, out: NDArray[np.float32]) -> None:
    for i in range(out.size):
        out[i] = inverted(units[i], constants)


def truncate_64(
    parameters: tuple[float, ...], units: NDArray[np.float64], version: str
) -> NDArray[np.float64]:
    """What a float64 draw up to 2.11 stores; erfinv is SciPy's, and a unit in the last place may differ."""
    mean, std, low, high = parameters
    # A product, a sum and a clamp: plain float64 steps, each rounded once.
    inverse = inverses(parameters, units, "float64", version)
    found: NDArray[np.float64] = np.clip(inverse * (std * _SQRT_2) + mean, low, high)
    return found


def inverses(
    parameters: tuple[float, ...], units: NDArray[Any], dtype: str, version: str
) -> NDArray[np.float64]:
    """What `erfinv_` leaves of one-dimensional uniforms in (0, 1], as float64; perhaps infinite.

    Times std sqrt 2, plus the mean, it is the draw but for two roundings and the clamp.
    """
    if dtype == "float64":
        from scipy.special import erfinv  # slow to import, and only double draws need it

        bounds, _, rule = _uniform(parameters, dtype, version)
        wide: NDArray[np.float64] = erfinv(scale_64("uniform", bounds, np.asarray(units, np.float64), rule))
        return wide
    out = np.empty(units.size, np.float32)
    _invert(np.asarray(units, np.float32), truncation(parameters, dtype, version), out)
    return out.astype(np.float64)


def standardised(
    parameters: tuple[float, ...], units: NDArray[Any], dtype: str, version: str
) -> NDArray[np.float32] | NDArray[np.float64]:
    """Truncated normals of mean 0 and nominal std 1 for uniforms in (0, 1], one-dimensional.

    They carry the draw's roundings up to `erfinv_`, not those of its scaling, and end at the bounds.

    Returns:
        float32, or float64 for a float64 draw; finite.
    """
    mean, std, low, high = parameters
    inverse = inverses(parameters, units, dtype, version) * _SQRT_2
    found: NDArray[np.float64] = np.clip(inverse, (low - mean) / std, (high - mean) / std)
    return found if dtype == "float64" else found.astype(np.float32)


def symmetric(std: float, sigmas: float) -> tuple[float, float, float, float]:
    """The parameters of a draw of mean 0 that is cut off at so many sigmas.

    Args:
        std: nominal standard deviation.
        sigmas: infinite for bounds that cut nothing off: torch's default of 2, where that is far enough.
    """
    bound = sigmas * std
    if math.isinf(sigmas):
        bound = DEFAULT_BOUND if FAR * std <= DEFAULT_BOUND else FAR * std
    bound = float(f"{bound:.15g}")  # 3 * 0.1 is 0.3 to whoever writes it down
    return 0.0, std, -bound, bound


def sigmas_of(parameters: tuple[float, ...]) -> float:
    """Where a draw's upper bound lies, in sigmas; infinite where it cuts nothing off."""
    mean, std, _, high = parameters
    sigmas = (high - mean) / std
    return math.inf if sigmas >= FAR else sigmas


def spread(sigmas: float) -> float:
    """The standard deviation of a normal that is cut off at so many sigmas, in nominal ones."""
    if math.isinf(sigmas):
        return 1.0
    density = math.exp(-0.5 * sigmas * sigmas) / math.sqrt(2.0 * math.pi)
    return math.sqrt(1.0 - 2.0 * sigmas * density / math.erf(sigmas / _SQRT_2))
