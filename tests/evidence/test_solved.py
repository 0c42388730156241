"""CPU draws: stock PyTorch tensors are solved or found, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.checkpoints import open_checkpoint
from birthmark.checkpoints.interface import Checkpoint
from birthmark.evidence.solved import SOLVE_TRIALS, SolvedReading, solve_survivors
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.search.solve.recover import Agreement, Tally
from birthmark.search.solve.solve import Solved
from birthmark.survivors.split import split
from birthmark.survivors.survey import best_targets, survey
from birthmark.survivors.survivor import Survivors

SMALL = 1 << 23


def survivors_of(
    values: NDArray[Any], dtype: str, distribution: Literal["normal", "uniform"], scale: float
) -> Survivors:
    """Every row as a likely survivor."""
    rows = values.shape[0]
    return Survivors(
        "w", values.shape, dtype, "row", np.arange(rows), np.full(rows, 0.95), distribution, scale, 0.004
    )


def looked_at(
    in_memory: Any,
    values: NDArray[Any],
    dtype: str = "float32",
    distribution: Literal["normal", "uniform"] = "normal",
    scale: float = 0.02,
) -> SolvedReading:
    """A whole tensor, split and looked at, with few of the usual seeds."""
    checkpoint: Checkpoint = in_memory("w", values, dtype)
    survivors = survivors_of(values, dtype, distribution, scale)
    return solve_survivors(checkpoint, survivors, *split(checkpoint, survivors), budget=SMALL)


def test_a_stock_normal_with_altered_rows_is_solved(in_memory: Any) -> None:
    """A seed beyond 32 bits shows its low half, with the words drawn before; altered rows are told apart."""
    torch = pytest.importorskip("torch")
    generator = torch.Generator().manual_seed(987654321987)
    torch.empty(1001).uniform_(generator=generator)
    values = torch.empty(120, 64).normal_(0.0, 0.02, generator=generator).numpy()
    values[[5, 77]] += np.float32(0.001)
    values[9, 4] = 0.5
    found = looked_at(in_memory, values)
    assert (found.result, found.method, found.unsolved) == ("match", "solve", None)
    assert found.origin is not None
    assert found.origin.seed == 987654321987 % 2**32
    assert found.origin.index == 1001
    assert (found.origin.scale, found.exact) == (0.02, True)
    assert found.tally.rank == 19937
    assert found.tally.satisfied > 200
    assert found.trials == SOLVE_TRIALS
    assert found.units is not None
    assert sorted(set(range(120)) - set(found.units.ids[found.units.predicted].tolist())) == [5, 77]
    assert found.units.ids[found.units.altered].tolist() == [9]
    assert found.units.altered_elements == 1
    assert found.exactness is not None
    assert found.exactness.of - found.exactness.equal in range(129, 131)
    for false in (found.seed_plus_one, found.index_plus_one):
        assert false is not None
        assert false.sigma is not None
        assert abs(false.sigma) < 5.0
    assert found.decoys is not None
    assert found.decoys.max_sigma is not None
    assert found.decoys.count >= 1000
    assert sum(found.decoys.counts) == found.decoys.count
    assert found.decoys.max_sigma < 5.0
    assert found.decoys.mean == pytest.approx(0.0, abs=0.15)
    assert found.decoys.std == pytest.approx(1.0, abs=0.1)


def test_a_stock_uniform_is_solved(in_memory: Any) -> None:
    """Bound, arithmetic, seed and position of uniform values."""
    torch = pytest.importorskip("torch")
    values = torch.empty(80, 60).uniform_(-0.125, 0.125, generator=torch.Generator().manual_seed(2**31 + 5))
    found = looked_at(in_memory, values.numpy(), distribution="uniform", scale=0.1249)
    assert found.result == "match"
    assert found.origin is not None
    assert (found.origin.seed, found.origin.index, found.origin.scale) == (2**31 + 5, 0, 0.125)
    assert found.exactness is not None
    assert found.exactness.equal == found.exactness.of == 4800


@pytest.mark.parametrize("before", [False, True])
def test_too_few_values_for_a_solution_show_a_usual_seed(in_memory: Any, before: bool) -> None:
    """A few hundred bfloat16 values say that they are too few, and still show seed 3407 where it is tried."""
    torch = pytest.importorskip("torch")
    generator = torch.Generator().manual_seed(3407)
    tensor = torch.empty(20, 48)
    if before:
        tensor.normal_(generator=generator)
    found = looked_at(in_memory, tensor.normal_(0.0, 0.02, generator=generator).numpy(), "bfloat16")
    assert (found.result, found.method) == ("match", "search")
    assert found.unsolved is not None
    assert "19937 unknowns" in found.unsolved
    assert found.origin is not None
    assert (found.origin.seed, found.origin.index) == (3407, 960 if before else 0)
    assert (found.origin.scale, found.origin.dtype) == (0.02, "bfloat16")
    assert found.search is not None
    assert found.trials == found.search.trials > 100
    assert found.exactness is not None
    assert found.exactness.equal == found.exactness.of


def test_few_elements_are_split_within_rows(in_memory: Any) -> None:
    """Held-out values that share words with the selection are not counted as news."""
    torch = pytest.importorskip("torch")
    values = torch.empty(4, 400).normal_(0.0, 0.02, generator=torch.Generator().manual_seed(42)).numpy()
    found = looked_at(in_memory, values, "bfloat16")
    assert found.result == "match"
    assert found.dropped > 200
    assert found.holdout is not None
    assert 200 < found.holdout.n < 600


def philox() -> NDArray[Any]:
    """A GPU's draw with a usual seed."""
    drawn: NDArray[Any] = Hypothesis(Draw("normal", (0.0, 0.02), (40, 64)), 40960).tensor(1337)
    return drawn


def numpy_mt19937() -> NDArray[Any]:
    """The same generator under NumPy's own sampler."""
    return np.random.RandomState(1337).normal(0.0, 0.02, (20, 48)).astype(np.float32)


def noise() -> NDArray[Any]:
    """Values of no seed."""
    return np.random.default_rng(5).normal(0.0, 0.02, (20, 48)).astype(np.float32)


@pytest.mark.parametrize("make", [philox, numpy_mt19937, noise])
def test_other_values_are_not_found(in_memory: Any, make: Any) -> None:
    """Another generator, another sampler and noise end without a seed, and say what was tried."""
    found = looked_at(in_memory, make())
    assert (found.result, found.method, found.origin) == ("none", None, None)
    assert found.unsolved
    assert found.search is not None
    assert found.search.trials > 100
    assert "sigma" in found.reason


def test_shuffled_rows_are_not_found(in_memory: Any) -> None:
    """A usual seed's own rows in another order are no draw."""
    torch = pytest.importorskip("torch")
    values = torch.empty(20, 48).normal_(0.0, 0.02, generator=torch.Generator().manual_seed(42)).numpy()
    assert looked_at(in_memory, values[::-1].copy(), "bfloat16").result == "none"


def test_tiny_normals_are_refused(in_memory: Any) -> None:
    """Fewer than 16 normals are drawn one by one; they are not looked at, and the reading says so."""
    found = looked_at(in_memory, np.full((1, 12), 0.01, np.float32))
    assert found.result == "none"
    assert "fewer than 16" in found.reason


def test_a_solution_that_does_not_hold_is_not_believed(
    in_memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A false solution fails on the hold-out; seeds are then tried, and the hold-out counts two trials."""
    indices = np.arange(960)
    values = CpuDraw("normal", (0.0, 0.02), 960).values(1337, indices).reshape(20, 48)
    everything = np.ones(960, np.bool_)
    false = Solved(
        seed=7,
        index=3,
        arithmetic="cpu-fused",
        scale=0.02,
        scale_written=True,
        exact=True,
        dtype="float32",
        tally=Tally(rank=19937, satisfied=0),
        log10_p=0.0,
        holdout=Agreement(0, 0),
        attempts=1,
        moved=0,
        alone=0,
        indices=indices,
        equal=everything,
    )
    monkeypatch.setattr("birthmark.evidence.solved.solve", lambda *_, **__: false)
    found = looked_at(in_memory, values)
    assert (found.result, found.method, found.holdout_trials) == ("match", "search", 2)
    assert found.origin is not None
    assert (found.origin.seed, found.origin.index) == (1337, 0)
    assert found.unsolved is not None
    assert "does not hold" in found.unsolved
    found = looked_at(in_memory, noise())
    assert (found.result, found.origin) == ("none", None)


def _case(cases: Path, budget: int) -> SolvedReading:
    with open_checkpoint(cases / "cpu-1337") as checkpoint:
        survivors = best_targets(survey(checkpoint))[0]
        return solve_survivors(checkpoint, survivors, *split(checkpoint, survivors), budget=budget)


def test_the_case_of_a_trained_cpu_draw(cases: Path, answers: dict[str, Any]) -> None:
    """Seed 1337 at index 0, std 0.02, and exactly the 40 rows that never had a gradient."""
    found = _case(cases, 1 << 25)
    assert found.result == "match"
    assert found.origin is not None
    assert (found.origin.seed, found.origin.index, found.origin.scale) == (1337, 0, 0.02)
    assert found.units is not None
    truth = answers["cpu-1337"]["survivors"]["rows"]
    assert found.units.ids[found.units.predicted].tolist() == truth
    assert found.units.altered_elements == 0


@pytest.mark.slow
def test_the_case_stands_out_of_the_whole_dictionary(cases: Path) -> None:
    """Among all usual seeds nothing else comes near 1337."""
    found = _case(cases, 1 << 35)
    assert found.search is not None
    assert found.search.trials > 300_000
    assert found.origin is not None
    assert found.origin.seed == 1337
