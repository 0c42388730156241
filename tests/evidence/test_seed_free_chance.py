"""How often chance looks like a lattice: each statistic on tensors that no paired generator of 24 bits drew.

Run with `pytest tests/evidence/test_seed_free_chance.py -m slow -s` for the table of docs/seed-free.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.devices.catalogue import exhaustive_threads
from birthmark.evidence.elements import Elements
from birthmark.evidence.lattice import power
from birthmark.evidence.seed_free import read_layout
from birthmark.evidence.seed_free_values import estimate
from birthmark.evidence.suppositions import LEAST_NUMBERS, Suppositions
from birthmark.hypothesis import Draw, Hypothesis

SHAPE = (400, 128)
KINDS = ("normal", "ziggurat", "heavy tails", "uniform", "shuffled rows", "shuffled values", "shared rows")
#: Chances at which the tail of a statistic is looked at.
LEVELS = (1e-1, 1e-2, 1e-3, 1e-4)


def null(kind: str, random: np.random.Generator) -> NDArray[np.float32]:
    """A tensor without a layout, and without a family."""
    values: NDArray[Any]
    if kind == "normal":
        values = np.random.RandomState(int(random.integers(2**31))).randn(*SHAPE) * 0.02
    elif kind == "ziggurat":
        values = random.standard_normal(SHAPE, np.float32) * np.float32(0.02)
    elif kind == "heavy tails":
        values = random.standard_t(4, SHAPE) * 0.02
    elif kind == "uniform":
        values = random.uniform(-0.05, 0.05, SHAPE)
    elif kind == "shared rows":
        values = random.standard_normal(SHAPE) * 0.018 + random.standard_normal(SHAPE[1]) * 0.009
    else:
        draw = Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), 20480)
        values = draw.tensor(int(random.integers(1 << 53)))
        if kind == "shuffled rows":
            values = values[random.permutation(SHAPE[0])]
        else:
            values = random.permutation(values.ravel()).reshape(SHAPE)
    return np.asarray(values, np.float32)


def elements_of(values: NDArray[np.float32]) -> Elements:
    """All values."""
    indices = np.arange(values.size)
    return Elements(indices, values.ravel().astype(np.float64), indices // SHAPE[1])


def statistics(values: NDArray[np.float32]) -> Iterator[tuple[str, float]]:
    """R^2 of every family, window and layout at the values' own scale, by the name of the statistic."""
    elements = elements_of(values)
    scale, spread, _ = estimate(elements.values)
    several = Suppositions(elements, SHAPE, scale, spread)
    layouts = [threads for threads in exhaustive_threads() if threads < values.size - 2000]
    for one in (
        *several.of_families(),
        *(each for threads in layouts for each in several.of_layout(threads)),
    ):
        if len(one.lattice) >= LEAST_NUMBERS:
            yield f"{one.family.name}, below {one.window:.4g}", power(one.lattice.at(0.0).turns)


@pytest.mark.slow
def test_no_statistic_is_rarer_than_it_says() -> None:
    """Over 300 null tensors the tails of all statistics are exp(-R^2) at most, and none is a find."""
    random = np.random.default_rng(20261130)
    tried: Counter[str] = Counter()
    above: Counter[tuple[str, float]] = Counter()
    claims, chances = 0, []
    for number in range(300):
        values = null(KINDS[number % len(KINDS)], random)
        for name, r2 in statistics(values):
            tried[name] += 1
            for level in LEVELS:
                above[name, level] += r2 > -math.log(level)
        found = read_layout(elements_of(values), SHAPE, "float32")
        claims += found.result in ("layout", "family")
        if found.selection is not None:
            chances.append(found.selection.log10_p_global)
    for name, count in tried.items():
        print(f"{name}: {count:,}", *(f"{above[name, level] / count:.2g}" for level in LEVELS))  # noqa: T201
        for level in LEVELS:
            assert above[name, level] <= count * level + 4.0 * math.sqrt(count * level) + 1.0
    print(f"readings: {len(chances)}, claims: {claims}, best after trials 10^{min(chances):.2f}")  # noqa: T201
    for level in LEVELS:
        rarer = int(np.count_nonzero(np.array(chances) < math.log10(level)))
        print(f"selection after all trials below {level:g}: {rarer}")  # noqa: T201
        assert rarer <= 300 * level + 4.0 * math.sqrt(300 * level) + 1.0
    assert claims == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_null_tensor_of_each_kind_has_no_layout_and_no_family(kind: str) -> None:
    """One tensor of each kind, under some layouts."""
    values = null(kind, np.random.default_rng(7))
    assert read_layout(elements_of(values), SHAPE, "float32", layouts=(20480, 40960)).result == "none"
