"""Traces of a CPU draw in trained values: found at any position, counted; nothing where there is none."""

from __future__ import annotations

from threading import Event
from typing import Any

import numpy as np
import pytest

from birthmark.errors import NothingToSearch, UsageError
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.search.cpu_positions import traces
from birthmark.search.cpu_positions.traces import Distribution, TraceOutcome, search_traces
from birthmark.survivors.split import Selection

SHAPE = (400, 40)
SEED, INDEX = 1337, 30_011


@pytest.fixture(autouse=True)
def short_transforms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transforms of 2^15 words, so that a few thousand positions take several of them."""
    monkeypatch.setattr(traces, "TRANSFORM", 1 << 15)
    monkeypatch.setattr(traces, "REACH", 1 << 13)


def trained(
    distribution: Distribution = "normal", kept: float = 0.2, rows: Any = range(5, 205), index: int = INDEX
) -> Selection:
    """Rows of a draw of which a share is left, the rest being noise."""
    indices = (np.array(rows)[:, None] * SHAPE[1] + np.arange(SHAPE[1])).ravel()
    parameters = (0.0, 1.0) if distribution == "normal" else (-(3.0**0.5), 3.0**0.5)
    drawn = np.asarray(CpuDraw(distribution, parameters, 16_000, index).values(SEED, indices), np.float64)
    noise = np.random.default_rng(5).normal(size=len(indices))
    values = 0.02 * (kept * drawn + np.sqrt(1.0 - kept**2) * noise)
    return Selection(
        "w",
        SHAPE,
        "float32",
        "row",
        distribution,
        0.02,
        0.01,
        indices,
        values,
        indices // SHAPE[1],
        np.ones(len(indices)),
    )


def searched(selection: Selection, seeds: tuple[int, ...] = (42, SEED), **more: Any) -> TraceOutcome:
    return search_traces(selection, seeds, positions=(0, 60_000), **more)


@pytest.mark.parametrize("distribution", ["normal", "uniform"])
def test_a_trace_is_found_at_its_position(distribution: Distribution) -> None:
    """Seed, position and draw come out together, with the score on all values."""
    selection = trained(distribution)
    outcome = searched(selection)
    best = outcome.candidates[0]
    assert (best.seed, best.index, best.distribution) == (SEED, INDEX, distribution)
    assert best.n == len(selection.values)
    assert best.r == pytest.approx(0.2, abs=0.05)
    assert outcome.trials == outcome.done == 2 * 2 * 60_000
    assert outcome.sigma > 10.0
    assert not outcome.stopped


@pytest.mark.parametrize("rows", [range(5, 205), range(3, 150, 2), [*range(7, 60), 399]])
@pytest.mark.parametrize("distribution", ["normal", "uniform"])
def test_scores_are_those_of_the_sampler(distribution: Distribution, rows: Any) -> None:
    """Every position's score is the correlation with what a draw there would give, whatever is missing."""
    selection = trained(distribution, kept=0.9, rows=rows)
    template = traces._template(selection, selection.values, distribution)
    stretch = traces._Stretch(SEED, distribution, INDEX - 7, INDEX + 9)
    found = traces._scored(template, stretch, -100.0, Event())
    assert found is not None
    near = selection.indices < template.first + (1 << 13)
    parameters = (0.0, 1.0) if distribution == "normal" else (-1.0, 1.0)
    for score, index in found.best:
        drawn = CpuDraw(distribution, parameters, 16_000, index).values(SEED, selection.indices[near])
        spread = 1.0 if distribution == "normal" else 3.0**-0.5
        values = selection.values[near]
        expected = np.einsum("i,i->", values, drawn) / np.linalg.norm(values) / spread
        assert score == pytest.approx(expected, abs=0.02)
    assert max(found.best)[1] == INDEX
    assert template.count == near.sum()


@pytest.mark.parametrize("change", ["seed", "range", "noise", "draw"])
def test_what_is_not_there_is_not_found(change: str) -> None:
    """Another seed, a range that ends before, nothing left, and the other kind of draw."""
    selection = trained(kept=0.0 if change == "noise" else 0.2)
    seeds = (SEED + 1, 42) if change == "seed" else (SEED,)
    outcome = search_traces(
        selection,
        seeds,
        positions=(0, INDEX if change == "range" else 60_000),
        distributions=("uniform",) if change == "draw" else ("normal",),
    )
    assert outcome.candidates == ()
    assert outcome.done == outcome.trials
    assert 3.0 < outcome.sigma < 7.0


def test_ctrl_c_ends_it_as_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was done so far is told."""
    found = traces._scored
    count = 0

    def pressed(*args: Any) -> Any:
        nonlocal count
        count += 1
        if count == 4:
            raise KeyboardInterrupt
        return found(*args)

    monkeypatch.setattr(traces, "_scored", pressed)
    outcome = searched(trained(), workers=1)
    assert outcome.stopped
    assert 0 < outcome.done < outcome.trials


def test_what_cannot_be_searched_is_refused() -> None:
    """Few values, constant ones, tiny normals and impossible ranges."""
    with pytest.raises(NothingToSearch, match="a trace takes 256"):
        searched(trained(rows=range(3)))
    constant = trained()
    constant.values[:] = 0.0
    with pytest.raises(NothingToSearch, match="that vary"):
        searched(constant)
    with pytest.raises(UsageError, match="positions 3 to 2"):
        search_traces(trained(), (1,), positions=(3, 2))
