"""Initial weights that three real GPUs drew, read through the checkpoint reader, value by value.

A 784-300-100-10 net each: weights by xavier_normal_, biases by normal_(0, 1), in module order. The files
belong to their authors and stay outside the repository; without them these tests are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.checkpoints import open_checkpoint
from birthmark.hypothesis import Arithmetic, Draw, Hypothesis

LAYERS = ((300, 784), (300,), (100, 300), (100,), (10, 100), (10,))


@dataclass(frozen=True)
class Net:
    """A published net: the start of its initial tensors' names, and how they were drawn."""

    file: str
    prefix: str
    seed: int
    threads: int
    arithmetic: Arithmetic
    offsets: tuple[int, ...]


T4 = Net(
    "ggl_lottery_fc1_pp0x1_seed3_co2False_T4.pt",
    "initial_state_dict.",
    3,
    40_960,
    "nvidia-volta+",
    (0, 8, 12, 16, 20, 24),
)
V100 = Net("sparsenns_fc1_mnist_initial_lt.pth.tar", "", 42, 163_840, "nvidia-volta+", (0, 4, 8, 12, 16, 20))
PASCAL = Net(
    "sparsenns_fc1_mnist_initial_magnitude.pth.tar", "", 42, 61_440, "nvidia-pascal-", (0, 4, 8, 12, 16, 20)
)
NETS = {"T4": T4, "V100 class": V100, "Pascal": PASCAL}


def stored(cases: Path, net: Net) -> list[NDArray[Any]]:
    """The initial tensors in module order."""
    with open_checkpoint(cases / "real" / net.file) as checkpoint:
        found = [info for name, info in checkpoint.tensors.items() if name.startswith(net.prefix)]
        assert [info.shape for info in found] == list(LAYERS)
        return [checkpoint.rows(info.name, 0, info.matrix_shape[0]).reshape(info.shape) for info in found]


def predicted(
    seed: int, threads: int, arithmetic: Arithmetic
) -> tuple[tuple[int, ...], list[NDArray[Any]], list[Hypothesis]]:
    """The draws of the net one after another: their offsets, values and hypotheses."""
    offset = 0
    offsets, values, hypotheses = [], [], []
    for shape in LAYERS:
        std = sqrt(2.0 / (shape[0] + shape[1])) if len(shape) == 2 else 1.0
        draw = Draw("normal", (0.0, std), shape)
        hypothesis = Hypothesis(draw, threads, arithmetic, offset)
        offsets.append(offset)
        values.append(hypothesis.tensor(seed))
        hypotheses.append(hypothesis)
        offset = hypothesis.end_offset
    return tuple(offsets), values, hypotheses


def equal_values(one: list[NDArray[Any]], other: list[NDArray[Any]]) -> int:
    """How many values agree bit for bit."""
    return sum(
        int(np.sum(np.asarray(a, np.float32).view(np.uint32) == np.asarray(b, np.float32).view(np.uint32)))
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("name", NETS)
def test_every_value_is_predicted(cases: Path, name: str) -> None:
    """All 266,610 float32 values of the net are those that its seed, layout and arithmetic predict."""
    net = NETS[name]
    offsets, values, hypotheses = predicted(net.seed, net.threads, net.arithmetic)
    weights = stored(cases, net)
    assert offsets == net.offsets
    assert equal_values(weights, values) == 266_610
    scattered = hypotheses[0].values(net.seed, np.arange(300 * 784)[::-1])
    assert np.array_equal(scattered[::-1].reshape(300, 784), weights[0])


@pytest.mark.parametrize("name", NETS)
def test_twins_predict_something_else(cases: Path, name: str) -> None:
    """The next seed matches nowhere; one SM more only below one wave; the other arithmetic only in part."""
    net = NETS[name]
    weights = stored(cases, net)
    assert equal_values(weights, predicted(net.seed + 1, net.threads, net.arithmetic)[1]) < 20
    wider = predicted(net.seed, net.threads + 1024, net.arithmetic)[1]
    assert equal_values(weights[:1], wider[:1]) < net.threads + 100
    other: Arithmetic = "nvidia-pascal-" if net.arithmetic == "nvidia-volta+" else "nvidia-volta+"
    share = equal_values(weights, predicted(net.seed, net.threads, other)[1]) / 266_610
    assert 0.75 < share < 0.9
