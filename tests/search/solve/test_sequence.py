"""The positions of default draws, against a model that torch constructs."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.search.solve.sequence import starts


def test_a_default_model_draws_where_it_is_said() -> None:
    """Every drawn parameter of a small network is predicted from its start alone."""
    torch.manual_seed(31)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(20, 7), nn.LayerNorm(7), nn.Embedding(5, 16)
    )
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}

    found = starts((name, tensor.shape) for name, tensor in state.items())

    assert list(found) == ["0.weight", "0.bias", "2.weight", "2.bias", "4.weight"]
    for name, fan in (("0.weight", 27), ("0.bias", 27), ("2.weight", 20), ("2.bias", 20)):
        bound = 1.0 / fan**0.5
        draw = CpuDraw("uniform", (-bound, bound), state[name].size, found[name])
        predicted = draw.values(31, np.arange(draw.size)).reshape(state[name].shape)
        assert abs(predicted - state[name]).max() < 1e-7
    embedding = CpuDraw("normal", (0.0, 1.0), 80, found["4.weight"])
    assert np.array_equal(embedding.values(31, np.arange(80)).reshape(5, 16), state["4.weight"])


def test_old_batch_normalisation_draws_its_weight() -> None:
    """In PyTorch up to 1.1 the weight of a batch normalisation takes words, its bias none."""
    layers = [
        ("a.weight", (2, 3)),
        ("a.bias", (2,)),
        ("n.weight", (2,)),
        ("n.bias", (2,)),
        ("n.running_mean", (2,)),
        ("b.weight", (4, 2)),
    ]

    assert starts(layers) == {"a.weight": 0, "a.bias": 6, "b.weight": 8}
    assert starts(layers, norms_draw=True) == {"a.weight": 0, "a.bias": 6, "n.weight": 8, "b.weight": 10}
