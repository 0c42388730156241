"""Tensors that say nothing, and those that might be taken for such."""

from __future__ import annotations

import numpy as np
import pytest
from tests.lineage.zoo import InMemory

from birthmark.lineage.telling import untelling

_STEPS = np.arange(200)[:, None]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    "values",
    [
        np.sin(_STEPS * 10000.0 ** (-np.arange(24) / 24)),
        np.linspace(-1.0, 1.0, 500),
        np.tril(np.ones((30, 30))),
        np.full(300, 0.25),
        np.hanning(400),
    ],
    ids=["sines", "ramp", "mask", "constant", "window"],
)
def test_formulas_say_nothing(values: np.ndarray, dtype: str) -> None:
    """Tables of sines, ramps, masks, constants and windows are set aside."""
    assert untelling(InMemory({"t": values}, dtype), "t") is not None


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("kind", ["draw", "low rank", "smooth", "norm", "sparse"])
def test_weights_may_say_something(kind: str, dtype: str) -> None:
    """Draws, low rank, smooth position embeddings with noise, trained norms and sparse matrices are kept."""
    random = np.random.default_rng(1)
    noise = random.standard_normal((200, 24))
    values = {
        "draw": noise,
        "low rank": random.standard_normal((200, 1)) @ random.standard_normal((1, 24)),
        "smooth": np.sin(_STEPS * np.linspace(0.01, 0.1, 24)) + 0.1 * noise,
        "norm": 1.0 + 0.2 * random.standard_normal(400),
        "sparse": noise * (random.random((200, 24)) < 0.1),
    }[kind]

    assert untelling(InMemory({"t": values}, dtype), "t") is None
