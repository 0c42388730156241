"""Candidates without a launch layout against values that they were not made from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.evidence.solved import SolvedReading, held_against
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.search.known_seed import among_usual_seeds, candidate_at
from birthmark.search.origin import Found
from birthmark.search.solve.selections import SOLVE_TRIALS, solve_selection
from birthmark.survivors.nearly_all import nearly_all
from birthmark.survivors.split import Holdout, Selection
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


class Look:
    """A tensor that is looked at: its checkpoint, survivors, selection and hold-out."""

    def __init__(
        self,
        in_memory: Any,
        values: NDArray[Any],
        dtype: str = "float32",
        distribution: Literal["normal", "uniform"] = "normal",
        scale: float = 0.02,
    ) -> None:
        """Split it."""
        self.checkpoint: Checkpoint = in_memory("w", values, dtype)
        self.survivors = survivors_of(values, dtype, distribution, scale)
        self.selection: Selection
        self.holdout: Holdout
        self.selection, self.holdout = nearly_all(self.checkpoint, self.survivors)

    def judge(self, found: Found) -> SolvedReading:
        """Hold a candidate against it."""
        return held_against(self.checkpoint, self.survivors, self.selection, self.holdout, found)

    def solved(self) -> SolvedReading:
        """The judgement of its solution."""
        found = solve_selection(self.selection)
        assert isinstance(found, Found), found
        return self.judge(found)


def test_a_stock_normal_with_altered_rows_is_solved(in_memory: Any) -> None:
    """A seed beyond 32 bits shows its low half, with the words drawn before; altered rows are told apart."""
    torch = pytest.importorskip("torch")
    generator = torch.Generator().manual_seed(987654321987)
    torch.empty(1001).uniform_(generator=generator)
    values = torch.empty(60, 64).normal_(0.0, 0.02, generator=generator).numpy()
    values[[5, 47]] += np.float32(0.001)
    values[9, 4] = 0.5
    one = Look(in_memory, values).solved()
    found, origin = one.judgement.case.found, one.judgement.origin
    assert one.matches
    assert (found.method, found.trials, found.exact) == ("solve", SOLVE_TRIALS, True)
    assert (origin.seed, origin.index, origin.scale) == (987654321987 % 2**32, 1001, 0.02)
    assert found.tally.rank == 19937
    assert found.tally.satisfied > 200
    assert one.units is not None
    assert sorted(set(range(60)) - set(one.units.ids[one.units.predicted].tolist())) == [5, 47]
    assert one.units.ids[one.units.altered].tolist() == [9]
    assert one.units.altered_elements == 1
    assert one.judgement.exact.of - one.judgement.exact.equal in range(129, 131)
    for false in (one.judgement.seed_plus_one, one.judgement.place_plus_one):
        assert false is not None
        assert false.sigma is not None
        assert abs(false.sigma) < 5.0
    decoys = one.judgement.decoys
    assert decoys.max_sigma is not None
    assert decoys.count >= 1000
    assert sum(decoys.counts) == decoys.count
    assert decoys.max_sigma < 5.0
    assert decoys.mean == pytest.approx(0.0, abs=0.15)
    assert decoys.std == pytest.approx(1.0, abs=0.1)


def test_the_arithmetic_is_named_only_where_values_decide(in_memory: Any) -> None:
    """A bound that is a power of two leaves both open; of another bound one predicts more values."""
    torch = pytest.importorskip("torch")
    for bound, names in ((0.125, {"cpu-fused", "cpu-unfused"}), (0.1, {"cpu-fused"})):
        generator = torch.Generator().manual_seed(2**31 + 5)
        values = torch.empty(20, 60).uniform_(-bound, bound, generator=generator).numpy()
        look = Look(in_memory, values, distribution="uniform", scale=bound)
        one = look.judge(candidate_at(look.selection, 2**31 + 5, 0, (bound,), how="given", trials=1))
        assert one.matches
        assert set(one.judgement.arithmetics) == names
        assert one.judgement.exact.equal == one.judgement.exact.of == 1200


@pytest.mark.parametrize("before", [False, True])
def test_a_usual_seed_is_found_where_values_are_few(in_memory: Any, before: bool) -> None:
    """A few hundred bfloat16 values show seed 3407 at either of two positions."""
    torch = pytest.importorskip("torch")
    generator = torch.Generator().manual_seed(3407)
    tensor = torch.empty(20, 48)
    if before:
        tensor.normal_(generator=generator)
    look = Look(in_memory, tensor.normal_(0.0, 0.02, generator=generator).numpy(), "bfloat16")
    tried, found = among_usual_seeds(look.selection, (0, 960), budget=SMALL)
    assert found is not None
    one = look.judge(found)
    assert one.matches
    assert (one.judgement.origin.seed, one.judgement.origin.index) == (3407, 960 if before else 0)
    assert (one.judgement.origin.scale, one.judgement.origin.dtype) == (0.02, "bfloat16")
    assert found.trials == tried.trials > 100
    assert one.judgement.exact.equal == one.judgement.exact.of


def test_held_out_values_that_share_words_are_left_out(in_memory: Any) -> None:
    """Of a pair of normals that share two words, the half that is held out is no news."""
    torch = pytest.importorskip("torch")
    values = torch.empty(40, 24).normal_(0.0, 0.02, generator=torch.Generator().manual_seed(42)).numpy()
    look = Look(in_memory, values)
    one = look.judge(candidate_at(look.selection, 42, 0, how="given", trials=1))
    # Rows of 24 cut every third block of 16 in two.
    assert one.matches
    assert one.dropped > 0
    assert one.dropped + one.judgement.holdout.n == len(look.holdout.indices)


def test_false_candidates_do_not_hold(in_memory: Any) -> None:
    """Another seed, another position, shuffled rows and noise are refused on the hold-out."""
    drawn = CpuDraw("normal", (0.0, 0.02), 960).values(1337, np.arange(960)).reshape(20, 48)
    noise = np.random.default_rng(5).normal(0.0, 0.02, (20, 48)).astype(np.float32)
    for values, seed, index in (
        (drawn, 1338, 0),
        (drawn, 1337, 1),
        (drawn[::-1].copy(), 1337, 0),
        (noise, 1337, 0),
    ):
        look = Look(in_memory, values)
        one = look.judge(candidate_at(look.selection, seed, index, how="given", trials=1))
        assert not one.matches
        assert one.units is None
        assert one.judgement.exact.equal < 10


def test_nothing_is_believed_without_a_holdout(in_memory: Any) -> None:
    """A candidate that has seen every word is no finding."""
    drawn = CpuDraw("normal", (0.0, 0.02), 960).values(1337, np.arange(960)).reshape(20, 48)
    look = Look(in_memory, drawn)
    nothing = np.zeros(0, np.int64)
    found = candidate_at(look.selection, 1337, 0, how="given", trials=1)
    one = held_against(
        look.checkpoint,
        look.survivors,
        look.selection,
        replace(look.holdout, indices=nothing, unit=nothing),
        found,
    )
    assert not one.matches
    assert "not seen" in one.judgement.reason
