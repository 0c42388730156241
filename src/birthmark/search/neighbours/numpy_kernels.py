"""Standard values of many NumPy seeds at the same places, for searches."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.mt19937_words import SIZE, advance, seeded, tempered
from birthmark.generators.pcg64 import output, started, step
from birthmark.numerics.compiled import kernel
from birthmark.samplers.numpy_polar import double_of, skip_polar
from birthmark.samplers.numpy_ziggurat import skip32, skip64, tables

Kind = Literal[
    "RandomState normal",
    "default_rng normal",
    "default_rng normal float32",
    "RandomState uniform",
    "default_rng uniform",
    "default_rng uniform float32",
]

#: The calls that are tried: generator, distribution and dtype.
KINDS: Final[dict[Kind, tuple[str, Literal["normal", "uniform"], str]]] = {
    "RandomState normal": ("RandomState", "normal", "float64"),
    "default_rng normal": ("default_rng", "normal", "float64"),
    "default_rng normal float32": ("default_rng", "normal", "float32"),
    "RandomState uniform": ("RandomState", "uniform", "float64"),
    "default_rng uniform": ("default_rng", "uniform", "float64"),
    "default_rng uniform float32": ("default_rng", "uniform", "float32"),
}


def standard(kind: Kind, seeds: NDArray[np.uint64], numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Standard normals, or uniforms in [0, 1), of every seed's stream: float64[seeds, n].

    Args:
        kind: the call.
        seeds: uint64, those of RandomState below 2^32.
        numbers: int64[n], ascending numbers of the values in the stream.
    """
    generator, distribution, dtype = KINDS[kind]
    out = np.empty((len(seeds), len(numbers)))
    if generator == "RandomState":
        _legacy(seeds.astype(np.uint32), numbers, distribution == "normal", out)
    elif distribution == "uniform":
        _pcg_uniforms(seeds, numbers, dtype == "float32", out)
    elif dtype == "float32":
        layers = tables(23)
        narrow = np.empty(out.shape, np.float32)
        _pcg_normals32(seeds, numbers, layers.inside, layers.width, layers.height, narrow)
        out[:] = narrow
    else:
        layers = tables(52)
        _pcg_normals(seeds, numbers, layers.inside, layers.width, layers.height, out)
    return out


@kernel()
def _legacy(
    seeds: NDArray[np.uint32], numbers: NDArray[np.int64], normal: bool, out: NDArray[np.float64]
) -> None:
    place = np.zeros(1, np.int64)
    kept = np.zeros(2, np.float64)
    for i in range(len(seeds)):
        window = seeded(seeds[i])
        advance(window)
        if normal:
            place[0] = 0
            kept[:] = 0.0
            skip_polar(window, place, kept, 0, numbers, out[i])
            continue
        base = 0
        for j in range(len(numbers)):
            # A double's two words lie in one window, since both start at even places.
            while 2 * numbers[j] >= base + SIZE:
                advance(window)
                base += SIZE
            at = 2 * numbers[j] - base
            out[i, j] = double_of(tempered(window[at]), tempered(window[at + 1]))


@kernel()
def _pcg_uniforms(
    seeds: NDArray[np.uint64], numbers: NDArray[np.int64], narrow: bool, out: NDArray[np.float64]
) -> None:
    for i in range(len(seeds)):
        high, low, c_high, c_low = started(seeds[i])
        at = -1
        word = np.uint64(0)
        for j in range(len(numbers)):
            wanted = numbers[j] >> 1 if narrow else numbers[j]
            while at < wanted:
                high, low = step(high, low, c_high, c_low)
                at += 1
                word = output(high, low)
            if narrow:
                half = (
                    np.uint64(word >> np.uint64(32))
                    if numbers[j] & 1
                    else np.uint64(word & np.uint64(0xFFFFFFFF))
                )
                out[i, j] = np.float64(half >> np.uint64(8)) * 2.0**-24
            else:
                out[i, j] = np.float64(word >> np.uint64(11)) * 2.0**-53


@kernel()
def _pcg_normals(
    seeds: NDArray[np.uint64],
    numbers: NDArray[np.int64],
    inside: NDArray[np.uint64],
    width: NDArray[np.float64],
    height: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    state = np.zeros(5, np.uint64)
    for i in range(len(seeds)):
        state[0], state[1], state[2], state[3] = started(seeds[i])
        skip64(state, 0, numbers, inside, width, height, out[i])


@kernel()
def _pcg_normals32(
    seeds: NDArray[np.uint64],
    numbers: NDArray[np.int64],
    inside: NDArray[np.uint64],
    width: NDArray[np.float32],
    height: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    state = np.zeros(5, np.uint64)
    for i in range(len(seeds)):
        state[0], state[1], state[2], state[3] = started(seeds[i])
        state[4] = np.uint64(0)
        skip32(state, 0, numbers, inside, width, height, out[i])
