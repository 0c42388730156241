"""What becomes of raw values: the last steps of every distribution, one way in for all of them.

Raw values are what a generator's words alone give: standard normals, or uniforms in (0, 1]. Truncated normals
are made from uniforms up to torch 2.11, and from normals since.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName
from birthmark.samplers import truncated
from birthmark.samplers.scaling import VERSIONS as UNIFORM_VERSIONS
from birthmark.samplers.scaling import scale, scale_64, scaling

NORMAL: Final = "normal"
UNIFORM: Final = "uniform"
TRUNCATED: Final = "truncated-normal"
DISTRIBUTIONS: Final = (NORMAL, UNIFORM, TRUNCATED)

#: Fills the second array with what a draw stores for the raw values in the first; both float32, of one size.
Store = Callable[[NDArray[np.float32], NDArray[np.float32]], None]


def versions(distribution: str) -> tuple[str, ...]:
    """The version rules of a distribution; those of a normal make no difference."""
    return truncated.VERSIONS if distribution == TRUNCATED else UNIFORM_VERSIONS


def source_of(distribution: str, version: str) -> Literal["normal", "uniform"]:
    """Which raw values a draw is made from.

    Raises:
        UnknownName: no such distribution.
    """
    if distribution not in DISTRIBUTIONS:
        raise UnknownName("distribution", distribution, DISTRIBUTIONS)
    if distribution == NORMAL or (distribution == TRUNCATED and version == truncated.REDRAWING):
        return NORMAL
    return UNIFORM


def store(distribution: str, parameters: tuple[float, ...], dtype: str, version: str) -> Store:
    """The last steps of a float32, float16 or bfloat16 draw.

    Raises:
        UnknownName: no such distribution, dtype or version rule.
    """
    if distribution == TRUNCATED and version != truncated.REDRAWING:
        limits = truncated.truncation(parameters, dtype, version)
        return lambda raw, out: truncated.truncate(raw, limits, out)
    constants = scaling(*_plain(distribution, parameters), dtype, *_rule(distribution, version))
    return lambda raw, out: scale(raw, constants, out)


def stored_64(
    distribution: str, parameters: tuple[float, ...], raw: NDArray[np.float64], version: str
) -> NDArray[np.float64]:
    """What a float64 draw stores for a one-dimensional array of raw values.

    Raises:
        UnknownName: no such distribution or version rule.
    """
    if distribution == TRUNCATED and version != truncated.REDRAWING:
        return truncated.truncate_64(parameters, raw, version)
    return scale_64(*_plain(distribution, parameters), raw, *_rule(distribution, version))


def standard(
    distribution: str, parameters: tuple[float, ...], raw: NDArray[Any], dtype: str, version: str
) -> NDArray[Any]:
    """Raw values as what the draw's own scale multiplies: of those of a truncated normal, normals.

    Args:
        distribution: of the draw; all but a truncated normal's raw values stay as they are.
        parameters: of the draw.
        raw: of any shape.
        dtype: the dtype at draw time.
        version: of the draw.

    Returns:
        Of the same shape and type.
    """
    if distribution != TRUNCATED or version == truncated.REDRAWING:
        return raw
    return truncated.standardised(parameters, raw.reshape(-1), dtype, version).reshape(raw.shape)


def _plain(distribution: str, parameters: tuple[float, ...]) -> tuple[str, tuple[float, float]]:
    """A draw that is one multiplication and one sum."""
    name = NORMAL if distribution == TRUNCATED else distribution
    return name, (parameters[0], parameters[1])


def _rule(distribution: str, version: str) -> tuple[str, ...]:
    return () if distribution == TRUNCATED else (version,)
