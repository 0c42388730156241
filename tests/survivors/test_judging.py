"""Groups of units: which are survivors, and which only look alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from birthmark.checkpoints.interface import Checkpoint
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.survivors.judging import Judged, judge_units
from birthmark.survivors.statistics import measure
from birthmark.survivors.units import ColumnUnits, RowUnits, Units

Make = Callable[..., Checkpoint]


def judged(
    units: Units, shape: tuple[int, ...], *, exact: bool = False, companion: Any = None
) -> Judged | str:
    """All units of a tensor, judged."""
    seen = measure(units)
    return judge_units(units, seen.ids, seen.energy, shape, exact=exact, companion=companion)


def rows(checkpoint: Checkpoint, name: str = "w") -> RowUnits:
    """The rows of a tensor."""
    return RowUnits(checkpoint, checkpoint.tensors[name])


def test_rows_and_scale_are_found(in_memory: Make, trained: Callable[..., Any]) -> None:
    """Survivors come with their shape, their scale and an honest error of it."""
    made = trained()
    checkpoint = in_memory({"w": made.embedding, "h": made.head}, "bfloat16")

    found = judged(rows(checkpoint), (2000, 96), companion=rows(checkpoint, "h"))

    assert isinstance(found, Judged)
    assert found.distribution == "normal"
    assert abs(np.log(found.scale / 0.02)) < 4.0 * found.scale_error
    assert found.scale_error < 0.03
    top = found.ids[np.argsort(-found.probability)[:10]]
    assert np.isin(top, made.untouched).sum() >= 9


def test_uniform_rows_are_told_from_normal_ones(in_memory: Make, trained: Callable[..., Any]) -> None:
    """The scale of uniform survivors is their bound."""
    made = trained(uniform=True)
    checkpoint = in_memory({"w": made.embedding, "h": made.head}, "bfloat16")

    found = judged(rows(checkpoint), (2000, 96), companion=rows(checkpoint, "h"))

    assert isinstance(found, Judged)
    assert found.distribution == "uniform"
    assert found.scale == pytest.approx(0.02 * 3**0.5, rel=0.05)


def test_a_grid_decides_where_statistics_cannot(in_memory: Make) -> None:
    """Rows touched by less than a hundredth are refused in float32, where every value tells."""
    shape = (1000, 144)
    draw = Draw("normal", (0.0, 0.02), shape)
    values = Hypothesis(draw, threads=270_336).tensor(42).copy()
    random = np.random.default_rng(0)
    survivors = np.arange(0, 1000, 40)
    amount = random.uniform(0.005, 2.0, (1000, 1)) * 0.02
    amount[survivors] = 0.0
    basis = random.standard_normal((6, 144))
    values += (amount * (random.standard_normal((1000, 6)) @ basis) / 2.5).astype(np.float32)

    found = judged(rows(in_memory({"w": values})), shape, exact=True)

    assert isinstance(found, Judged)
    assert found.ids[found.probability >= 0.5].tolist() == survivors.tolist()
    assert found.scale == 0.02
    assert found.scale_error < 1e-6


def test_dead_input_columns_are_found_by_their_bound() -> None:
    """Columns that stayed within 1 / sqrt(fan in), on the grid of uniform_, are dead inputs."""
    torch = pytest.importorskip("torch")
    generator = torch.Generator().manual_seed(3)
    values = torch.empty(64, 92).uniform_(-(92**-0.5), 92**-0.5, generator=generator).numpy()
    dead = [5, 66, 69, 71]
    alive = np.setdiff1d(np.arange(92), dead)
    values[:, alive] += np.random.default_rng(1).standard_normal((64, 88)).astype(np.float32) * np.float32(
        0.05
    )

    found = judged(ColumnUnits(values), (64, 92), exact=True)

    assert isinstance(found, Judged)
    assert found.ids[found.probability >= 0.5].tolist() == dead
    assert found.distribution == "uniform"
    assert found.scale == pytest.approx(92**-0.5)


@pytest.mark.parametrize("kind", ["gains", "laplace", "trained", "scaled columns"])
def test_look_alikes_are_refused(in_memory: Make, kind: str) -> None:
    """Rows with gains of their own, heavy tails and trained matrices give a reason, not survivors."""
    random = np.random.default_rng(2)
    values = random.standard_normal((900, 120))
    if kind == "gains":
        values *= np.exp(0.4 * random.standard_normal((900, 1)))
    elif kind == "laplace":
        values = random.laplace(size=(900, 120))
    elif kind == "trained":
        values += (0.3 + random.gamma(2.0, 0.5, (900, 1))) * (
            random.standard_normal((900, 5)) @ random.standard_normal((5, 120))
        )
    else:
        values *= np.exp(0.4 * random.standard_normal((1, 120))) * np.exp(
            0.3 * random.standard_normal((900, 1))
        )

    found = judged(rows(in_memory({"w": values.astype(np.float32)}, "bfloat16")), (900, 120))

    assert isinstance(found, str)
    assert found


def test_few_or_narrow_units_are_named_too_few(in_memory: Make) -> None:
    """The reason says how many are needed."""
    values = np.random.default_rng(3).standard_normal((10, 64)).astype(np.float32)

    assert "24 of 16 are needed" in str(judged(rows(in_memory({"w": values})), (10, 64)))
