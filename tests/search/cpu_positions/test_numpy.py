"""NumPy's and Python's draws: conditions that hold for the libraries' own numbers; seeds found by them."""

from __future__ import annotations

import random
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.errors import NothingToSearch, UsageError
from birthmark.search.cpu_positions.judge import agreement, judge
from birthmark.search.cpu_positions.numpy_conditions import first_positions, numpy_conditions_of
from birthmark.search.cpu_positions.search import search_positions
from birthmark.search.cpu_positions.streams import plan_probes

SHAPE = (20, 30)


def rejections(seed: int) -> int:
    """Points that NumPy rejects before the first normal."""
    state = np.random.RandomState(seed)
    count = 0
    while np.sum((2.0 * state.random_sample(2) - 1.0) ** 2) >= 1.0:
        count += 1
    return count


#: A seed whose first point is rejected, and one whose first is accepted.
REJECTED = next(seed for seed in range(100) if rejections(seed))
ACCEPTED = next(seed for seed in range(100) if not rejections(seed))


def drawn(seed: int, library: str, distribution: str, before: int = 0) -> NDArray[np.float64]:
    """What the library itself draws, flat."""
    if library == "python":
        source = random.Random(seed)  # noqa: S311 - it is what is looked for
        for _ in range(before):
            source.random()
        return np.array([source.uniform(-0.1, 0.1) for _ in range(600)])
    state = np.random.RandomState(seed)
    state.random_sample(before)
    if distribution == "uniform":
        return state.uniform(-0.1, 0.1, 600)
    return 0.1 * state.standard_normal(600)


@pytest.mark.parametrize("library", ["numpy", "python"])
@pytest.mark.parametrize(("stored", "least"), [("float64", 12 * 45), ("float32", 12 * 20), ("bfloat16", 90)])
def test_uniforms_fix_bits_of_two_words(library: Literal["numpy", "python"], stored: str, least: int) -> None:
    """All hold for the library's own numbers, after others were drawn; half of them for the next seed."""
    indices = np.arange(0, 600, 50)
    values = drawn(77, library, "uniform", before=31)[indices]
    if stored != "float64":
        values = values.astype(np.float32).astype(np.float64)
    if stored == "bfloat16":
        bits = values.astype(np.float32).view(np.uint32)
        values = ((bits + np.uint32(0x8000)) & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)
    conditions = numpy_conditions_of(
        values, indices, SHAPE, "uniform", (0.1, 0.1), library=library, dtype=stored
    )
    assert len(conditions) >= least
    assert agreement(conditions, 77, 62) == len(conditions)
    assert 0.3 < agreement(conditions, 78, 62) / len(conditions) < 0.7
    assert 0.3 < agreement(conditions, 77, 64) / len(conditions) < 0.7


@pytest.mark.parametrize("stored", ["float64", "float32"])
def test_the_first_normals_fix_words_if_nothing_was_rejected(stored: str) -> None:
    """The first pair holds at the position behind its rejections, the further ones as long as luck does."""
    values = drawn(ACCEPTED, "numpy", "normal")[:6]
    values = values.astype(stored).astype(np.float64)
    conditions = numpy_conditions_of(values, np.arange(6), SHAPE, "normal", (0.1, 0.1), dtype=stored)
    first = conditions.position < 4
    assert agreement(conditions, ACCEPTED, 0) >= first.sum()
    assert np.allclose(np.unique(conditions.trust), (np.pi / 4) ** np.arange(3)[::-1])
    count = rejections(REJECTED)
    other = drawn(REJECTED, "numpy", "normal")[:2].astype(stored).astype(np.float64)
    moved = numpy_conditions_of(other, np.arange(2), SHAPE, "normal", (0.1, 0.1), dtype=stored)
    assert agreement(moved, REJECTED, 4 * count) == len(moved)
    assert agreement(moved, REJECTED, 0) < len(moved)


@pytest.mark.parametrize(
    ("library", "distribution", "seed"),
    [("numpy", "uniform", 123_456), ("python", "uniform", 4_000_000_000), ("numpy", "normal", 123_459)],
)
def test_the_seed_is_found(library: Any, distribution: Any, seed: int) -> None:
    """By float32 values alone, with every value bit for bit; not in a range beside it."""
    indices = np.arange(100)
    values = drawn(seed, library, distribution)[indices].astype(np.float32).astype(np.float64)
    conditions = numpy_conditions_of(
        values, indices, SHAPE, distribution, (0.1, 0.1), library=library, dtype="float32"
    )
    positions = first_positions() if distribution == "normal" else (0,)
    outcome = search_positions(conditions, positions, seeds=(seed - 3000, seed + 3000), passes=1)
    best = outcome.candidates[0]
    assert (best.seed, best.arithmetic) == (seed, library)
    assert best.index == (4 * rejections(seed) if distribution == "normal" else 0)
    assert best.equal == best.values == 100
    beside = search_positions(conditions, positions, seeds=(seed + 1, seed + 6000), passes=1)
    assert beside.candidates == ()
    assert beside.searched.complete


def test_an_open_scale_is_fitted() -> None:
    """A usual scale near the best fit is taken; else the fit itself."""
    indices = np.arange(200)
    values = drawn(9, "numpy", "uniform")[indices].astype(np.float32).astype(np.float64)
    conditions = numpy_conditions_of(values, indices, SHAPE, "uniform", (0.0999, 0.1001))
    named = judge(conditions, 9, 0, 1000, nominals=(0.1,))
    fitted = judge(conditions, 9, 0, 1000, nominals=())
    assert named is not None
    assert (named.scale, named.written, named.equal) == (0.1, True, 200)
    assert fitted is not None
    assert not fitted.written
    assert fitted.scale == pytest.approx(0.1, rel=1e-6)


def test_what_cannot_be_searched_is_refused() -> None:
    """Python's normals, and streams of other libraries."""
    indices = np.arange(30)
    values = drawn(1, "numpy", "uniform")[indices]
    with pytest.raises(UsageError, match="normals of Python"):
        numpy_conditions_of(values, indices, SHAPE, "normal", (0.1, 0.1), library="python")
    conditions = numpy_conditions_of(values, indices, SHAPE, "uniform", (0.1, 0.1), dtype="float64")
    with pytest.raises(NothingToSearch, match="torch only"):
        plan_probes(conditions)
