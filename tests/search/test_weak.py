"""Weak traces: planted ones are found, under the right layout, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.checkpoints import open_checkpoint
from birthmark.errors import NothingToSearch
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.recipes.sharding import Sharding
from birthmark.search.first_wave import LEAST_R, first_wave
from birthmark.search.options import Options
from birthmark.search.outcome import Outcome
from birthmark.search.progress import Status
from birthmark.search.weak import weak_candidates
from birthmark.survivors.levelling import levelled
from birthmark.survivors.split import Selection
from birthmark.survivors.traced import split_traced, traceable

SHAPE = (1024, 128)
LAYOUTS = (26624, 40960, 61440, 81920)
#: A short list of seeds, so that a test takes a moment.
FEW = Options(seeds=(0, 4096), dictionary=False, layouts=LAYOUTS, workers=2)


def trained(
    r: float, seed: int = 1234, threads: int = 40960, *, noise: int = 5, **draw: Any
) -> NDArray[np.float64]:
    """Values that correlate with a draw at about r, in a normal world."""
    made = Draw(draw.get("distribution", "normal"), draw.get("parameters", (0.0, 1.0)), SHAPE)
    hypothesis = Hypothesis(
        made, threads, offset=draw.get("offset", 0), sharding=draw.get("sharding", Sharding())
    )
    initial = hypothesis.tensor(seed).astype(np.float64)
    initial /= initial.std()
    other = np.random.default_rng(noise).standard_normal(SHAPE)
    values: NDArray[np.float64] = r * initial + np.sqrt(1.0 - r * r) * other
    return values


def selection_of(values: NDArray[np.float64], rows: NDArray[np.int64] | None = None) -> Selection:
    """Every second row, or the given ones, as a search sees them."""
    chosen = np.arange(0, SHAPE[0], 2) if rows is None else rows
    indices = (chosen[:, None] * SHAPE[1] + np.arange(SHAPE[1])).ravel()
    return Selection(
        tensor="embed",
        shape=SHAPE,
        dtype="float32",
        axis="row",
        distribution="normal",
        scale=1.0,
        scale_error=0.01,
        indices=indices,
        values=values.ravel()[indices].astype(np.float64),
        unit=indices // SHAPE[1],
        probability=np.ones(indices.size),
    )


def seeds_of(outcome: Outcome) -> list[int]:
    """The seeds of the candidates."""
    return [one.seed for one in outcome.candidates]


@pytest.mark.parametrize("r", [LEAST_R, 0.3])
def test_a_planted_trace_is_found_with_its_layout(r: float) -> None:
    """A seed that the values correlate with at 0.08 and above is the one candidate, under its own layout."""
    outcome = weak_candidates(selection_of(trained(r)), FEW)
    assert seeds_of(outcome) == [1234]
    (one,) = outcome.candidates
    assert one.hypothesis.threads == 40960
    assert one.not_excluded == (40960,)
    assert one.n == 65536
    assert one.r == pytest.approx(r, abs=0.02)
    assert one.log10_p < -30
    assert outcome.searched.complete
    assert not outcome.stopped


def test_every_trace_of_the_least_size_passes_the_first_wave() -> None:
    """Of many planted traces of r = 0.08 about all pass every stage, as the stated chance of a miss says."""
    rng = np.random.default_rng(17)
    indices = np.arange(13312)
    hypothesis = Hypothesis(Draw("normal", (0.0, 1.0), SHAPE), 40960)
    found, miss = 0, 0.0
    for seed in range(150):
        z = hypothesis.standard(seed, indices).astype(np.float64)
        values = LEAST_R * z + np.sqrt(1 - LEAST_R**2) * rng.standard_normal(indices.size)
        full = replace(selection_of(np.zeros(SHAPE)), indices=indices, values=values)
        wave = first_wave(full, 26624)
        miss = wave.miss_chance
        scored = [one for _, part in wave.score(np.array([seed], np.uint64), 0, 1) for one in part]
        found += bool(scored) and scored[0].distribution == "normal"
    assert miss < 0.01
    assert found >= 146


def test_uniform_draws_leave_traces_too() -> None:
    """A draw of the other shape is found as such."""
    values = trained(0.2, distribution="uniform", parameters=(-1.0, 1.0))
    (one,) = weak_candidates(selection_of(values), FEW).candidates
    assert (one.seed, one.hypothesis.draw.distribution) == (1234, "uniform")


def test_shards_and_offsets_are_found() -> None:
    """A vocabulary cut in two is found under that sharding, and another offset where it is asked for."""
    cut = Sharding(2, "megatron")
    outcome = weak_candidates(selection_of(trained(0.3, sharding=cut)), FEW)
    assert seeds_of(outcome) == [1234]
    assert outcome.candidates[0].hypothesis.sharding == cut
    moved = selection_of(trained(0.3, offset=8))
    assert seeds_of(weak_candidates(moved, FEW)) == []
    assert seeds_of(weak_candidates(moved, replace(FEW, offset=8))) == [1234]


def test_the_layout_stays_open_below_one_wave() -> None:
    """Values that all lie in the first wave name the seed and leave every layout possible."""
    values = trained(0.3)
    (one,) = weak_candidates(selection_of(values, np.arange(0, 208)), FEW).candidates
    assert one.seed == 1234
    assert one.not_excluded == LAYOUTS


def test_outliers_and_structure_do_not_drown_a_trace() -> None:
    """Columns with means and sizes of their own, and a few huge values, leave the trace in reach."""
    rng = np.random.default_rng(8)
    values = trained(0.15) * np.exp(rng.normal(0, 1, 128)) + rng.normal(0, 4, 128)
    values *= np.exp(rng.normal(0, 0.5, (1024, 1)))
    values[rng.integers(0, 1024, 20), rng.integers(0, 128, 20)] = 1e4
    assert seeds_of(weak_candidates(selection_of(values), FEW)) == [1234]


@pytest.mark.parametrize(
    "kind", ["noise", "shared rows", "low rank", "heavy tails", "wrong seed", "shuffled"]
)
def test_structured_weights_without_a_trace_give_nothing(kind: str) -> None:
    """No structure of the values makes a false seed stand out."""
    rng = np.random.default_rng(21)
    values = rng.standard_normal(SHAPE)
    if kind == "shared rows":
        values = np.repeat(values[:16], 64, axis=0) + 0.1 * values
    elif kind == "low rank":
        values = rng.standard_normal((1024, 3)) @ rng.standard_normal((3, 128)) + 0.05 * values
    elif kind == "heavy tails":
        values = rng.standard_cauchy(SHAPE)
    elif kind == "wrong seed":
        values = trained(0.5, seed=5000)
    elif kind == "shuffled":
        values = rng.permutation(trained(0.5).ravel()).reshape(SHAPE)
    outcome = weak_candidates(selection_of(values), FEW)
    assert outcome.candidates == ()
    assert outcome.searched.complete


def test_what_was_searched_is_told() -> None:
    """Trials are seeds times distinct predictions of both distributions; hypotheses name the trace."""
    outcome = weak_candidates(selection_of(trained(0.0)), replace(FEW, also=(2**63 + 1,)))
    searched = outcome.searched
    (stage,) = searched.stages
    assert stage.seeds == 4097
    assert searched.trials == stage.trials == 4097 * stage.predictions
    assert searched.seeds == (0, 4096)
    assert searched.layouts == LAYOUTS
    assert searched.miss_chance < 0.01
    assert all("trace" in text for text in searched.hypotheses)
    assert any("uniform" in text for text in searched.hypotheses)


def test_a_range_of_all_seeds_is_not_tried() -> None:
    """Two to the 32 seeds are left to other searches, and the account says that no range was covered."""
    outcome = weak_candidates(
        selection_of(trained(0.3)), Options(dictionary=False, also=(1234,), layouts=LAYOUTS)
    )
    assert outcome.searched.seeds == (0, 0)
    assert seeds_of(outcome) == [1234]
    with pytest.raises(NothingToSearch, match="no seed"):
        weak_candidates(selection_of(trained(0.3)), Options(dictionary=False, layouts=LAYOUTS))


def test_too_few_values_in_the_first_wave_are_refused() -> None:
    """Values that all lie beyond the first wave cannot be searched seed by seed."""
    with pytest.raises(NothingToSearch, match="first wave"):
        weak_candidates(selection_of(trained(0.3), np.arange(300, 1024)), FEW)


def test_an_interrupted_search_says_so() -> None:
    """Ctrl-C ends it between two units, and the account is that of a search that is not complete."""

    class Impatient:
        def update(self, status: Status) -> None:
            assert 0.0 < status.share <= 1.0
            raise KeyboardInterrupt

    outcome = weak_candidates(selection_of(trained(0.3)), FEW, progress=Impatient())
    assert outcome.stopped
    assert not outcome.searched.complete
    assert outcome.searched.layouts == ()


def test_a_published_case_is_found_among_few_seeds(cases: Path) -> None:
    """The case of a trained model with r = 0.112: seed 1234 and 132 SMs, without any unseen row."""
    with open_checkpoint(cases / "weak-r10") as checkpoint:
        traced = traceable(checkpoint)[0]
        assert traced.tensor == "model.embed_tokens.weight"
        selection, _ = split_traced(checkpoint, traced)
    outcome = weak_candidates(selection, Options(seeds=(1000, 1500), dictionary=False, ways=(1,)))
    (one,) = outcome.candidates
    assert (one.seed, one.hypothesis.threads, one.not_excluded) == (1234, 270336, (270336,))
    assert one.r == pytest.approx(0.112, abs=0.01)


@pytest.mark.slow
def test_the_whole_dictionary_finds_a_published_case_and_no_other(cases: Path) -> None:
    """Over all seeds that people use: one candidate in the weak case, none where NumPy drew the values."""
    for case, expected in (("weak-r10", [1234]), ("numpy-pcg64", [])):
        with open_checkpoint(cases / case) as checkpoint:
            selection, _ = split_traced(checkpoint, traceable(checkpoint)[0])
        assert seeds_of(weak_candidates(selection)) == expected


def test_levelling_is_what_the_search_scores() -> None:
    """The candidate's r is that of the levelled selection."""
    values = trained(0.3)
    selection = selection_of(values)
    (one,) = weak_candidates(selection, FEW).candidates
    level = levelled(selection.values, selection.indices, SHAPE[1])
    z = np.asarray(one.hypothesis.standard(1234, selection.indices), np.float64)
    assert one.r == pytest.approx(np.corrcoef(level, z)[0, 1], abs=1e-9)
