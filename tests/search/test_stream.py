"""Tensors found in the stream of a known seed."""

from __future__ import annotations

from typing import Literal

import numpy as np

from birthmark.numerics.dtypes import round_to
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.search.solve.equations import Words
from birthmark.search.solve.readings import observation, readings
from birthmark.search.stream import locate

SHAPE = (3_000, 64)
SIZE = SHAPE[0] * SHAPE[1]


def words_of(
    seed: int, index: int, dtype: str = "float32", distribution: Literal["normal", "uniform"] = "normal"
) -> Words:
    """What some rows of a draw say about its words; a tenth of the rows are of another seed."""
    parameters = (0.0, 0.02) if distribution == "normal" else (-0.02, 0.02)
    draw = CpuDraw(distribution, parameters, SIZE, index)
    rows = np.sort(np.random.default_rng(index).permutation(SHAPE[0])[:30])
    indices = (rows[:, None] * SHAPE[1] + np.arange(SHAPE[1])).ravel()
    values = draw.values(seed, indices)
    wrong = np.isin(indices // SHAPE[1], rows[::10])
    values[wrong] = draw.values(seed + 1_000, indices)[wrong]
    stored = round_to(values, dtype).astype(np.float64)
    seen = observation(stored, indices, SHAPE, distribution, (0.0199, 0.0201), dtype, None, None)
    return next(iter(readings(seen))).inversion.words


def test_several_tensors_are_found_in_one_pass() -> None:
    """Normals, uniforms and rounded values come out at their places, one beyond the first chunk."""
    tensors = [
        words_of(77, 1_234),
        words_of(77, 1_500_000, "bfloat16"),
        words_of(77, 400_000, distribution="uniform"),
    ]

    assert locate(tensors, 77, 1 << 21) == [1_234, 1_500_000, 400_000]


def test_another_seed_and_a_short_reach_find_nothing() -> None:
    """The next seed's stream holds none of them; a place beyond the reach is not found."""
    tensors = [words_of(77, 1_234), words_of(77, 1_234, "bfloat16")]

    assert locate(tensors, 78, 1 << 21) == [None, None]
    assert locate([words_of(77, 3 << 20)], 77, 1 << 21) == [None]


def test_too_few_words_are_no_anchor() -> None:
    """Two words fit by chance somewhere in a long stream and are not looked for."""
    few = Words(np.arange(2), np.array([5, 6], np.uint32), np.array([5, 6], np.uint32))
    none = Words(np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.uint32))

    assert locate([few, none], 77, 1 << 20) == [None, None]
