"""What many seeds of the CPU generator predict at the same elements, free of the scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.mt19937 import STEPPED, window_at
from birthmark.generators.mt19937_words import SIZE, advance, seeded, temper
from birthmark.numerics.compiled import kernel
from birthmark.samplers.cpu_normal import normal, places
from birthmark.samplers.cpu_uniform import uniform


def standard_values(
    seeds: NDArray[np.uint32], distribution: str, size: int, indices: NDArray[np.int64], index: int
) -> NDArray[np.float64]:
    """Standard normals, or uniforms over (-1, 1), of many seeds at the same elements: float64[seeds, n].

    Args:
        seeds: their low 32 bits.
        distribution: "normal" or "uniform".
        size: elements of the tensor; 16 or more for a normal.
        indices: int64[n], flat indices.
        index: words before the draw; every element's words must lie at 0 or later.
    """
    if distribution == "uniform":
        positions, back = np.unique(indices + index, return_inverse=True)
        return uniform(_words(seeds, positions)[:, back], -1.0, 1.0).astype(np.float64)
    radius, angle, sine = places(size, indices)
    positions, back = np.unique(np.concatenate([radius, angle]) + index, return_inverse=True)
    words = _words(seeds, positions)[:, back]
    count = len(indices)
    drawn = normal(words[:, :count], words[:, count:], np.broadcast_to(sine, (len(seeds), count)), 0.0, 1.0)
    return drawn.astype(np.float64)


def _words(seeds: NDArray[np.uint32], positions: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The outputs at ascending positions of each seed's stream, uint32[seeds, positions]."""
    first = int(positions[0])
    windows = np.empty((len(seeds), SIZE), np.uint32)
    if first > STEPPED:
        for i, seed in enumerate(seeds):
            windows[i] = window_at(int(seed), first)
    else:
        first = 0
        _start(seeds, windows)
    raw = np.empty((len(seeds), len(positions)), np.uint32)
    _follow(windows, positions - first, raw)
    return temper(raw)


@kernel()
def _start(seeds: NDArray[np.uint32], windows: NDArray[np.uint32]) -> None:
    for i in range(len(seeds)):
        window = seeded(seeds[i])
        advance(window)
        windows[i] = window


@kernel()
def _follow(windows: NDArray[np.uint32], offsets: NDArray[np.int64], raw: NDArray[np.uint32]) -> None:
    """The raw words at ascending offsets from windows, which are used up."""
    for i in range(len(windows)):
        window = windows[i]
        base = 0
        for j in range(len(offsets)):
            while offsets[j] >= base + SIZE:
                advance(window)
                base += SIZE
            raw[i, j] = window[offsets[j] - base]
