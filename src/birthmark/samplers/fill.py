"""Draws of many elements: at any positions, or over a contiguous run of one launch.

Scattered elements compute a block each. A run takes each block once for all the lanes that it needs, in chunks
that stay in the nearest cache. Large requests are shared among a few threads; the kernels hold no lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.philox import block, key_of
from birthmark.numerics.compiled import fma, kernel
from birthmark.numerics.dtypes import round_to
from birthmark.samplers.arithmetic import AMD, code_of
from birthmark.samplers.normal import pair, pair64, standard
from birthmark.samplers.uniform import unit, unit64

Distribution = Literal["normal", "uniform"]

#: Elements below which one thread does all the work.
SMALL: Final = 1 << 16
THREADS: Final = os.cpu_count() or 1

_NORMAL = np.uint32(0)
_UNIFORM = np.uint32(1)
_DISTRIBUTIONS: Final[dict[str, np.uint32]] = {"normal": _NORMAL, "uniform": _UNIFORM}


@kernel()
def _standard_at(
    uniform: np.uint32,
    keys: NDArray[np.uint64],
    counter: NDArray[np.uint64],
    thread: NDArray[np.uint64],
    lane: NDArray[np.uint8],
    code: np.uint32,
    out: NDArray[np.float32],
) -> None:
    many = keys.size > 1
    for i in range(out.size):
        w0, w1, w2, w3 = block(keys[i] if many else keys[0], counter[i], thread[i])
        chosen = np.uint32(lane[i])
        if uniform:
            low = w1 if chosen & np.uint32(1) else w0
            high = w3 if chosen & np.uint32(1) else w2
            out[i] = unit(high if chosen & np.uint32(2) else low, code)
        else:
            out[i] = standard(w0, w1, w2, w3, chosen, code)


@kernel()
def _standard64_at(
    uniform: np.uint32,
    keys: NDArray[np.uint64],
    counter: NDArray[np.uint64],
    thread: NDArray[np.uint64],
    lane: NDArray[np.uint8],
    code: np.uint32,
    out: NDArray[np.float64],
) -> None:
    many = keys.size > 1
    for i in range(out.size):
        w0, w1, w2, w3 = block(keys[i] if many else keys[0], counter[i], thread[i])
        second = lane[i] != np.uint8(0)
        if uniform:
            out[i] = unit64(w2 if second else w0, w3 if second else w1, code)
        else:
            s, c = pair64(w0, w1, w2, w3, code)
            out[i] = c if second else s


def standard_at(
    distribution: str,
    seed_keys: NDArray[np.uint64],
    counter: NDArray[np.uint64],
    thread: NDArray[np.uint64],
    lane: NDArray[np.uint8],
    arithmetic: str,
    double: bool = False,
) -> NDArray[Any]:
    """Standard normals, or uniforms in (0, 1], at any positions."""
    n = counter.size
    out = np.empty(n, np.float64 if double else np.float32)
    run = _standard64_at if double else _standard_at
    run(
        _DISTRIBUTIONS[distribution],
        np.atleast_1d(np.asarray(seed_keys, np.uint64)),
        np.ascontiguousarray(counter, np.uint64),
        np.ascontiguousarray(thread, np.uint64),
        np.ascontiguousarray(lane, np.uint8),
        code_of(arithmetic),
        out,
    )
    return out


@kernel()
def _scaled(standard: NDArray[np.float32], factor: np.float32, shift: np.float32, out: NDArray[np.float32]) -> None:
    for i in range(out.size):
        out[i] = fma(standard[i], factor, shift)


@kernel()
def _scaled64(standard: NDArray[np.float64], factor: np.float64, shift: np.float64, out: NDArray[np.float64]) -> None:
    for i in range(out.size):
        out[i] = fma(standard[i], factor, shift)


def finish(
    distribution: str,
    standard: NDArray[Any],
    parameters: tuple[float, float],
    dtype: str,
    version: str = "2.1+",
) -> NDArray[Any]:
    """Standard values as the draw stores them."""
    double = dtype == "float64"
    real: Any = np.float64 if double else np.float32
    values = np.ascontiguousarray(standard, real).ravel()
    out = np.empty_like(values)
    run: Callable[..., None] = _scaled64 if double else _scaled
    if distribution == "normal":
        mean, std = (real(p) for p in parameters)
        run(values, std, mean, out)
        return round_to(out, dtype).reshape(standard.shape)
    low, high = (real(round_to(np.asarray([real(p)]), dtype)[0]) for p in parameters)
    span = real(round_to(np.asarray([high - low]), dtype)[0])
    if version == "2.0-":
        values = np.where(values == real(1.0), real(0.0), values)
    run(values, span, low, out)
    drawn = round_to(out, dtype)
    if version == "2.1+":
        drawn[drawn == high] = low
    return drawn.reshape(standard.shape)
