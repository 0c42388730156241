"""What stock PyTorch drew on this machine is found: the outside witness of the whole search."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

from birthmark.search.cpu_positions.conditions import conditions_of
from birthmark.search.cpu_positions.near_search import search_near
from birthmark.search.cpu_positions.search import search_positions

torch = pytest.importorskip("torch")

SEED, BEFORE = 2_500_000_000, 1234


@pytest.mark.parametrize(
    ("kind", "stored", "kept"),
    [("normal", "bfloat16", 40), ("uniform", "float32", 12), ("small", "float32", 10)],
)
def test_a_tensor_of_stock_torch_is_found(kind: str, stored: str, kept: int) -> None:
    """A few values of a tensor that was drawn after others, at its position and near it."""
    torch.manual_seed(SEED)
    torch.rand(BEFORE)
    shape: tuple[int, ...] = (10,) if kind == "small" else (50, 96)
    tensor: Any = torch.empty(shape)
    tensor = tensor.uniform_(-0.02, 0.02) if kind == "uniform" else tensor.normal_(0.0, 0.02)
    values = tensor.to(getattr(torch, stored)).double().numpy().ravel()
    first = 0 if kind == "small" else 3 * 96
    indices = np.arange(first, first + kept)
    distribution: Literal["normal", "uniform"] = "uniform" if kind == "uniform" else "normal"
    conditions = conditions_of(values[indices], indices, shape, distribution, (0.0199, 0.0201), dtype=stored)
    around = (SEED - 2000, SEED + 2000)
    outcome = search_positions(conditions, (0, BEFORE), seeds=around, passes=1)
    assert [(each.seed, each.index) for each in outcome.candidates] == [(SEED, BEFORE)]
    assert outcome.candidates[0].equal == kept
    if kind != "small":
        near = search_near(conditions, (0, BEFORE + 100), seeds=around)
        assert [(each.seed, each.index) for each in near.candidates] == [(SEED, BEFORE)]
