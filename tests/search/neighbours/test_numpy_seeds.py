"""NumPy's seeds found: a case with known answers, every kind of call, and everything that has none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from birthmark.checkpoints import open_checkpoint
from birthmark.errors import UsageError
from birthmark.search.neighbours.numpy_every_seed import search_every_seed
from birthmark.search.neighbours.numpy_seeds import search_numpy
from birthmark.search.neighbours.observed import observed_of, whole
from birthmark.survivors.split import split
from birthmark.survivors.survey import best_targets, survey

SHAPE = (64, 40)
SEEDS = np.arange(30, dtype=np.uint64)


def test_a_case_with_known_answers(cases: Path, answers: dict[str, Any]) -> None:
    """The checkpoint whose rows NumPy drew names the generator and its seed, 42."""
    rows = answers["numpy-pcg64"]["survivors"]["rows"]
    with open_checkpoint(cases / "numpy-pcg64") as checkpoint:
        selection, holdout = split(checkpoint, best_targets(survey(checkpoint))[0])
        later = checkpoint.elements(selection.tensor, holdout.indices)
    outcome = search_numpy(observed_of(selection))
    found = outcome.finding
    assert found is not None
    assert (found.seed, found.generator, found.parameters) == (42, "pcg64", (0.0, 0.02))
    assert found.rule == "default_rng(42)"
    assert found.equal > 0.8 * found.n
    assert outcome.trials < 1000
    true = np.isin(holdout.unit, rows)
    stored = later[true].astype(np.float64)
    assert np.allclose(found.predict(holdout.indices[true]), stored, rtol=2.0**-8)


CALLS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "randn": (lambda: np.random.RandomState(7).randn(*SHAPE) * 0.1, "RandomState(7)", "normal(0, 0.1)"),
    "uniform": (
        lambda: np.random.RandomState(7).uniform(-0.05, 0.05, SHAPE),
        "RandomState(7)",
        "uniform(-0.05, 0.05)",
    ),
    "rng": (lambda: np.random.default_rng(7).normal(0.0, 0.02, SHAPE), "default_rng(7)", "normal(0, 0.02)"),
    "rng32": (
        lambda: np.random.default_rng(7).standard_normal(SHAPE, dtype=np.float32) * np.float32(0.1),
        "default_rng(7)",
        "normal(0, 0.1)",
    ),
    "random": (lambda: np.random.default_rng(7).random(SHAPE), "default_rng(7)", "uniform(0, 1)"),
    "random32": (
        lambda: np.random.default_rng(7).random(SHAPE, dtype=np.float32),
        "default_rng(7)",
        "uniform(0, 1)",
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_call(call: str) -> None:
    """Each kind of call comes out with its seed, its scale by its number, and every value bit for bit."""
    make, rule, sampler = CALLS[call]
    found = search_numpy(whole("w", make().astype(np.float32)), seeds=SEEDS).finding
    assert found is not None
    assert found.rule == rule
    assert found.sampler.startswith(sampler)
    assert found.equal == found.n


def test_values_before_the_tensor() -> None:
    """A tensor that was not the stream's first is found where its place is given."""
    drawn = np.random.RandomState(7).randn(1000 + 2560)[1000:].reshape(SHAPE).astype(np.float32)
    assert search_numpy(whole("w", drawn), seeds=SEEDS).finding is None
    found = search_numpy(whole("w", drawn), seeds=SEEDS, skips=(0, 1000)).finding
    assert found is not None
    assert found.rule == "RandomState(7), after 1000 values of the same kind"


def test_what_has_no_seed() -> None:
    """A seed that is not listed, shuffled values and too few come back empty, the trials counted."""
    drawn = np.random.RandomState(7).randn(*SHAPE).astype(np.float32)
    for values in (np.random.RandomState(77).randn(*SHAPE), np.random.default_rng(1).permutation(drawn)):
        outcome = search_numpy(whole("w", values.astype(np.float32)), seeds=SEEDS)
        assert outcome.finding is None
        assert outcome.trials == 6 * len(SEEDS)
        assert outcome.reason
    assert search_numpy(whole("w", drawn[:1, :9])).trials == 0
    assert search_numpy(whole("w", np.ones(SHAPE))).trials == 0


def test_every_seed_of_a_range() -> None:
    """All seeds of a range are tried on a tensor's first values; the one is found, and nothing in noise."""
    drawn = np.random.default_rng(10_007).standard_normal(SHAPE).astype(np.float32)
    outcome = search_every_seed(whole("w", drawn), kinds=("default_rng normal",), low=10_000, high=10_100)
    assert outcome.finding is not None
    assert (outcome.finding.seed, outcome.trials) == (10_007, 100)
    empty = search_every_seed(whole("w", drawn[::-1].copy()), low=10_000, high=10_100)
    assert empty.finding is None
    assert empty.trials == 400
    with pytest.raises(UsageError, match="2\\^32"):
        search_every_seed(whole("w", drawn), high=2**33)
