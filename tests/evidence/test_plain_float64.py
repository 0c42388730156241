"""Normals in plain float64 are a GPU's but for the last bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from birthmark.evidence.plain_float64 import plain_normals
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.recipes.sharding import Sharding

SHAPE = (64, 512)
PLAIN = Hypothesis(Draw("normal", (0.0, 1.0), SHAPE), 256, offset=8)
INDICES = np.arange(0, 64 * 512, 7, dtype=np.int64)


@pytest.mark.parametrize("hypothesis", [PLAIN, replace(PLAIN, sharding=Sharding(4, "megatron"))])
def test_they_agree_with_the_draw(hypothesis: Hypothesis) -> None:
    """Every lane, call and shard: the same words, with errors of a few millionths."""
    found = plain_normals(hypothesis, 42, INDICES)
    wrong = plain_normals(hypothesis, 43, INDICES)
    assert found is not None and wrong is not None  # noqa: PT018

    expected = hypothesis.standard(42, INDICES)
    assert np.abs(found - expected).max() < 1e-5
    assert (found.astype(np.float32) != expected).any()
    assert abs(np.corrcoef(wrong, expected)[0, 1]) < 0.1


@pytest.mark.parametrize(
    "draw", [Draw("uniform", (-1.0, 1.0), SHAPE), Draw("normal", (0.0, 1.0), SHAPE, "float64")]
)
def test_other_draws_have_none(draw: Draw) -> None:
    """Uniforms and double normals are not made of float32 normals."""
    assert plain_normals(replace(PLAIN, draw=draw), 42, INDICES) is None
