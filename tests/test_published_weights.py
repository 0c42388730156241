"""Whole published initial weights, float32, come out bit for bit: the evidence under the sine table."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.hypothesis import Arithmetic, Draw, Hypothesis

#: A 784-300-100-10 network in module order: weights are xavier_normal_, biases normal_(0, 1).
SHAPES = [(300, 784), (300,), (100, 300), (100,), (10, 100), (10,)]

T4 = "ggl_lottery_fc1_pp0x1_seed3_co2False_T4.pt"
V100 = "sparsenns_fc1_mnist_initial_lt.pth.tar"
PASCAL = "sparsenns_fc1_mnist_initial_magnitude.pth.tar"


def stored(path: Path) -> list[NDArray[np.uint32]]:
    """The bits of the file's first six tensors, read from the archive's raw storages."""
    with zipfile.ZipFile(path) as archive:
        root = archive.namelist()[0].split("/")[0]
        return [np.frombuffer(archive.read(f"{root}/data/{index}"), "<u4") for index in range(len(SHAPES))]


def hypotheses(threads: int, arithmetic: Arithmetic = "nvidia-volta+") -> list[Hypothesis]:
    """The six draws, each starting where the one before it ended."""
    draws, offset = [], 0
    for shape in SHAPES:
        std = math.sqrt(2.0 / sum(shape)) if len(shape) == 2 else 1.0
        draws.append(Hypothesis(Draw("normal", (0.0, std), shape), threads, arithmetic, offset))
        offset = draws[-1].end_offset
    return draws


def equal(seed: int, hypothesis: Hypothesis, bits: NDArray[np.uint32]) -> int:
    """How many values of a tensor a hypothesis predicts to the last bit."""
    predicted = hypothesis.values(seed, np.arange(bits.size))
    return int(np.count_nonzero(predicted.view(np.uint32) == bits))


@pytest.mark.parametrize(
    ("name", "seed", "threads", "arithmetic"),
    [
        (T4, 3, 40_960, "nvidia-volta+"),
        (V100, 42, 163_840, "nvidia-volta+"),
        (PASCAL, 42, 61_440, "nvidia-pascal-"),
    ],
)
def test_all_values_of_a_published_network(
    cases: Path, name: str, seed: int, threads: int, arithmetic: Arithmetic
) -> None:
    """All 266,610 initial values that a T4, a V100-class and a Pascal card drew are predicted exactly."""
    tensors = stored(cases / "real" / name)

    found = [
        equal(seed, draw, bits) for draw, bits in zip(hypotheses(threads, arithmetic), tensors, strict=True)
    ]

    assert found == [bits.size for bits in tensors]
    assert sum(found) == 266_610


@pytest.mark.parametrize(
    ("name", "seed", "threads", "arithmetic", "least", "most"),
    [
        pytest.param(T4, 4, 40_960, "nvidia-volta+", 0.0, 0.001, id="next seed"),
        pytest.param(
            T4, 3, 41_984, "nvidia-volta+", 0.17, 0.18, id="neighbouring layout: its first wave only"
        ),
        pytest.param(V100, 42, 61_440, "nvidia-volta+", 0.25, 0.27, id="the other card's layout"),
        pytest.param(V100, 42, 163_840, "nvidia-pascal-", 0.79, 0.82, id="Pascal's reduction"),
        pytest.param(PASCAL, 42, 61_440, "nvidia-volta+", 0.80, 0.81, id="Volta's reduction"),
        pytest.param(V100, 42, 163_840, "amd", 0.23, 0.26, id="AMD's arithmetic"),
    ],
)
def test_twins_of_a_published_draw_differ(
    cases: Path, name: str, seed: int, threads: int, arithmetic: Arithmetic, least: float, most: float
) -> None:
    """A false seed, layout or arithmetic predicts only the share of the first tensor that it must."""
    bits = stored(cases / "real" / name)[0]

    share = equal(seed, hypotheses(threads, arithmetic)[0], bits) / bits.size

    assert least <= share <= most
