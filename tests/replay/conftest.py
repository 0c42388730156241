"""A small traced model, and checkpoints of it, untouched and trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from birthmark.recipes.trace import Trace, TracedDraw, TracedStream, TracedTensor
from birthmark.recipes.trace_values import Constant, Drawn, Patched, Region, Unknown
from birthmark.replay.replaying import Birth, Replay

G = 2048


def small_trace(device: str = "cuda") -> Trace:
    """Uniform and normal draws, a discarded one before them, a padding row, a constant, a tied head."""
    calls = [
        TracedDraw("uniform", (-0.1, 0.1), (1200, 32), overwritten="embed.weight"),
        TracedDraw("normal", (0.0, 0.02), (1200, 32), tensor="embed.weight"),
        TracedDraw("normal", (0.0, 0.05), (64, 128), tensor="layer.weight"),
        TracedDraw("uniform", (-0.1, 0.1), (64,), tensor="layer.bias"),
    ]
    draws = tuple(replace(call, after=number - 1 if number else None) for number, call in enumerate(calls))
    padding = ((Region((32,), (1,)), Constant(0.0, "float32")),)
    embedding = Patched(Drawn(1), padding)
    return Trace(
        draws,
        (
            TracedTensor("embed.weight", (1200, 32), "float32", embedding),
            TracedTensor("layer.weight", (64, 128), "float32", Drawn(2)),
            TracedTensor("layer.bias", (64,), "float32", Drawn(3)),
            TracedTensor("norm.weight", (32,), "float32", Constant(1.0, "float32")),
            TracedTensor("head.weight", (1200, 32), "float32", embedding, tied="embed.weight"),
            TracedTensor("lost", (4,), "float32", Unknown("a norm")),
        ),
        (TracedStream(device),),
    )


def state(trace: Trace, birth: Birth) -> dict[str, NDArray[Any]]:
    """The model as it was born; zeros where nothing is predicted."""
    replay = Replay(trace, birth)
    return {
        each.name: np.zeros(each.shape, np.float32)
        if replay.why_not(each.name)
        else replay.run(each.name, 0, each.size).reshape(each.shape)
        for each in trace.tensors
    }


def trained(born: Mapping[str, NDArray[Any]], amount: float = 3.0) -> dict[str, NDArray[Any]]:
    """The same after training: noise of so many times each tensor's own size, but on the last embeddings."""
    generator = np.random.default_rng(7)
    made = {}
    for name, values in born.items():
        noise = amount * values.std() * generator.normal(size=values.shape)
        made[name] = (values + noise + (name == "norm.weight") * 0.1).astype(np.float32)
    made["embed.weight"][200:] = born["embed.weight"][200:]
    made["head.weight"] = made["embed.weight"]
    return made


def saved(path: Path, tensors: Mapping[str, NDArray[Any]], prefix: str = "") -> Path:
    """A checkpoint of these tensors."""
    save_file({prefix + name: np.ascontiguousarray(values) for name, values in tensors.items()}, path)
    return path


@pytest.fixture
def trace() -> Trace:
    return small_trace()


@pytest.fixture
def birth() -> Birth:
    return Birth(11, G)
