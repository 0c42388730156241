"""Normals as a program would compute them that imitates a GPU's generator in plain float64.

The words are those of the draw, the uniforms have the offset constants of NVIDIA, and logarithm, sine and
cosine are the machine's own. Rounded to the stored dtype such values equal a GPU's mostly, not always: where
they differ, the stored value tells whether a GPU made it or an imitation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from birthmark.hypothesis import Hypothesis
from birthmark.samplers.loops import word_pairs

_WORD = 2.0**-32


def plain_normals(
    hypothesis: Hypothesis, seed: int, indices: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Standard normals in float64 at `indices`; None where the draw is not made of float32 normals.

    Args:
        hypothesis: a candidate's.
        seed: the seed of rank 0.
        indices: C-order flat indices into the tensor.
    """
    draw = hypothesis.draw
    if draw.source != "normal" or draw.dtype == "float64" or draw.redraws:
        return None
    place = hypothesis.locate(indices)
    keys = np.array(
        [hypothesis.sharding.seed_of(seed, int(rank)) for rank in range(hypothesis.sharding.ways)]
    )
    packed = np.empty(indices.size, np.uint64)
    word_pairs(keys.astype(np.uint64)[place.rank], place.counter, place.thread, place.lane, packed)
    x, y = (packed & np.uint64(0xFFFFFFFF)), packed >> np.uint64(32)
    radius = np.sqrt(-2.0 * np.log((x.astype(np.float64) + 0.5) * _WORD))
    angle = 2.0 * np.pi * ((y.astype(np.float64) + 0.5) * _WORD)
    odd = (place.lane & np.uint8(1)).astype(np.bool_)
    normals: NDArray[np.float64] = radius * np.where(odd, np.cos(angle), np.sin(angle))
    return normals
