"""Lineages of made checkpoints, of which the truth is known, and of published ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from birthmark.calibration.made import NAME, SCALE, SHAPE, Made, MadeCheckpoint, some_rows, trained
from birthmark.calibration.nulls import drawn
from birthmark.checkpoints import open_checkpoint
from birthmark.errors import UsageError
from birthmark.lineage.compare import Lineage, lineage
from birthmark.numerics.dtypes import round_to

Values = np.ndarray


@pytest.fixture(scope="module")
def birth() -> Values:
    """One initial table."""
    return drawn(77, 270_336)


def compared(*made: Made, seeds: bool = False) -> Lineage:
    """The lineage of made tables, without scans unless they are wanted."""
    return lineage([MadeCheckpoint(each) for each in made], seeds=seeds)


def model(birth: Values, random: int, kept: int = 200, dtype: str = "bfloat16") -> Made:
    """A table trained from a birth, with its own data."""
    source = np.random.default_rng(random)
    return trained(source, birth, some_rows(source, kept), dtype)


def test_two_trainings_of_one_birth(birth: Values) -> None:
    """Separately trained tables of one birth: one birth, proved by the rows that either left alone."""
    relation = compared(model(birth, 1), model(birth, 2)).related[0].relation

    assert relation.kind == "same-birth"
    assert relation.log10_p is not None
    assert relation.log10_p < -100


def test_a_published_copy_that_was_trained_on(birth: Values) -> None:
    """A table trained further on some rows shares the bits of the others: one birth and shared training."""
    parent = model(birth, 1, kept=800)
    child = parent.values.copy()
    child[::3] += (SCALE * np.random.default_rng(3).standard_normal(child[::3].shape)).astype(np.float32)
    kept = parent.kept[parent.kept % 3 != 0]

    found = compared(parent, Made(round_to(child, "bfloat16").astype(np.float32), "bfloat16", kept))
    relation = found.related[0].relation

    assert relation.kind == "descendant"
    assert relation.later == 2
    assert found.found


def test_unrelated_tables(birth: Values) -> None:
    """Another seed and other data: nothing in common."""
    other = drawn(78, 270_336)

    found = compared(model(birth, 1), model(other, 2))

    assert found.related[0].relation.kind == "unrelated"
    assert not found.found


@pytest.mark.parametrize("change", ["rows", "columns", "signs"])
def test_shuffled_births_are_no_birth(birth: Values, change: str) -> None:
    """The same numbers in other places, or with other signs, are no shared birth; other columns are told."""
    random = np.random.default_rng(5)
    changes: dict[str, Callable[[], Values]] = {
        "rows": lambda: birth[random.permutation(SHAPE[0])],
        "columns": lambda: birth[:, random.permutation(SHAPE[1])],
        "signs": lambda: birth * random.choice(np.array([-1.0, 1.0], np.float32), SHAPE),
    }

    relation = compared(model(birth, 1), model(changes[change](), 2)).related[0].relation

    assert relation.kind == ("related" if change == "columns" else "unrelated")
    assert any("another order" in reason for reason in relation.reasons) == (change == "columns")


def test_shared_structure_is_no_birth() -> None:
    """Two tables whose trained rows have the same low-rank part but different births are not of one birth."""
    shared = np.random.default_rng(1)
    structure = shared.standard_normal((SHAPE[0], 4)) @ shared.standard_normal((4, SHAPE[1]))
    tables = []
    for seed in (11, 12):
        kept = some_rows(np.random.default_rng(9), 200)
        values = drawn(seed, 270_336).astype(np.float64)
        touched = np.setdiff1d(np.arange(SHAPE[0]), kept)
        values[touched] += SCALE * structure[touched]
        tables.append(Made(round_to(values, "bfloat16").astype(np.float32), "bfloat16", kept))

    relation = compared(*tables).related[0].relation

    assert relation.kind == "related"


def test_one_seed_on_two_layouts() -> None:
    """Tables that agree up to the smaller layout and not beyond are told apart from copies."""
    kept = some_rows(np.random.default_rng(1), 2000)
    first, second = (
        trained(np.random.default_rng(threads), drawn(5, threads), kept, "bfloat16")
        for threads in (221_184, 270_336)
    )

    relation = compared(first, second).related[0].relation

    assert relation.kind == "same-birth"
    assert any("two launch layouts" in reason for reason in relation.reasons)


def test_one_table_twice(birth: Values) -> None:
    """A copy is identical, and nothing more is claimed."""
    assert compared(model(birth, 1), model(birth, 1)).related[0].relation.kind == "identical"


def test_one_checkpoint_is_not_enough(birth: Values) -> None:
    """A lineage of one is a wrong call."""
    with pytest.raises(UsageError, match="two or more"):
        compared(model(birth, 1))


def test_a_seed_in_both_readings(birth: Values) -> None:
    """With scans, the seed of either is named, and that it is one."""
    found = compared(model(birth, 1), model(birth, 2), seeds=True)

    assert [[each.seed for each in origins] for origins in found.seeds] == [[77], [77]]
    assert any("philox seed 77" in reason for reason in found.related[0].relation.reasons)
    json.dumps(found.as_dict(), allow_nan=False)


def test_published_nets_of_one_seed(cases: Path) -> None:
    """Two published untrained nets drawn with seed 42 on different cards agree up to the smaller layout."""
    names = ("sparsenns_fc1_mnist_initial_lt.pth.tar", "sparsenns_fc1_mnist_initial_magnitude.pth.tar")
    with open_checkpoint(cases / "real" / names[0]) as one, open_checkpoint(cases / "real" / names[1]) as two:
        relation = lineage([one, two], seeds=False).related[0].relation
    first = next(each for each in relation.pairings if each.tensor.endswith("classifier.0.weight"))

    assert relation.kind == "same-birth"
    assert first.fresh is not None
    assert first.fresh.same == 61_440 // 784
    assert first.fresh.prefix


def test_a_published_net_and_its_beginning(cases: Path) -> None:
    """The final weights of a published net share 37 input columns, never used, with its initial ones."""
    names = ("catniplab_music_50_initial_state_dict.pt", "catniplab_music_50_final_state_dict.pt")
    with open_checkpoint(cases / "real" / names[0]) as one, open_checkpoint(cases / "real" / names[1]) as two:
        relation = lineage([one, two], seeds=False).related[0].relation
    fresh = relation.pairings[0].fresh

    assert relation.kind == "same-birth"
    assert relation.later == 2
    assert fresh is not None
    assert (fresh.axis, fresh.same) == ("column", 37)


def test_names_that_do_not_meet(birth: Values, cases: Path) -> None:
    """Checkpoints without a common tensor are not compared, and nothing is claimed."""
    with open_checkpoint(cases / "hopper-42") as other:
        found = lineage([MadeCheckpoint(model(birth, 1)), other], seeds=False)

    assert found.related[0].relation.kind in ("not-compared", "unrelated")
    assert NAME in MadeCheckpoint(model(birth, 1)).tensors
    assert not found.found
