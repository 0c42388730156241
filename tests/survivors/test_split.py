"""Selection and hold-out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.errors import NothingToSearch, UsageError
from birthmark.survivors import split as split_module
from birthmark.survivors.split import Holdout, held_out, split
from birthmark.survivors.survivor import Axis, Survivors

Make = Callable[..., Checkpoint]
VALUES = np.random.default_rng(0).standard_normal((40, 30)).astype(np.float32)


def survivors(
    ids: NDArray[np.int64],
    axis: Axis = "row",
    probability: NDArray[np.float64] | None = None,
    shape: tuple[int, ...] = (40, 30),
) -> Survivors:
    """Survivors of the tensor w."""
    sure = np.full(len(ids), 0.9) if probability is None else probability
    return Survivors("w", shape, "float32", axis, ids, sure, "normal", 1.0, 0.01)


@pytest.mark.parametrize("axis", ["row", "column", "tensor"])
def test_units_stay_together_and_apart(in_memory: Make, axis: Axis) -> None:
    """Every element of a row or column lies on one side; both sides together are all of them."""
    ids = np.arange(0, 30, 2)
    selection, holdout = split(in_memory({"w": VALUES}), survivors(ids, axis))

    assert not set(selection.unit) & set(holdout.unit)
    assert set(selection.unit) | set(holdout.unit) == set(ids)
    assert not set(selection.indices) & set(holdout.indices)
    columns = axis == "column"
    expected = {(r * 30 + c) for r in range(40) for c in range(30) if (c if columns else r) in set(ids)}
    assert set(selection.indices) | set(holdout.indices) == expected
    np.testing.assert_array_equal(selection.values, VALUES.reshape(-1)[selection.indices])
    np.testing.assert_array_equal(np.sort(selection.indices), selection.indices)
    assert (selection.probability == 0.9).all()


def test_the_holdout_holds_no_values(in_memory: Make) -> None:
    """By its construction: names and numbers, no values, no way to read any."""
    _, holdout = split(in_memory({"w": VALUES}), survivors(np.arange(40)))

    assert {field.name for field in dataclasses.fields(Holdout)} == {"tensor", "axis", "indices", "unit"}
    assert holdout.indices.dtype == np.int64
    assert holdout.unit.dtype == np.int64


def test_the_holdout_is_not_even_read(in_memory: Make) -> None:
    """Only the selection's bytes are asked for."""
    checkpoint = in_memory({"w": VALUES})
    selection, holdout = split(checkpoint, survivors(np.arange(40)))

    assert len(holdout.indices) > 100
    assert checkpoint.bytes_read == 4 * len(selection.indices)


def test_the_hash_decides_and_nothing_else(in_memory: Make) -> None:
    """Order, probabilities and values do not move a unit to the other side; its tensor's name does."""
    ids = np.arange(40)
    random = np.random.default_rng(1)
    order = random.permutation(40)
    probability = random.uniform(0.6, 1.0, 40)
    one, _ = split(in_memory({"w": VALUES}), survivors(ids))
    two, _ = split(in_memory({"w": -VALUES}), survivors(ids[order], probability=probability[order]))

    np.testing.assert_array_equal(one.indices, two.indices)
    np.testing.assert_array_equal(two.probability, probability[two.unit])
    assert not np.array_equal(held_out("w", ids), held_out("v", ids))


def test_the_hash_is_the_documented_one() -> None:
    """The split of a published pack must never change: half of the ids, by blake2b."""
    assert held_out("model.embed_tokens.weight", np.arange(16)).astype(int).tolist() == EXPECTED
    assert 0.45 < held_out("w", np.arange(4000)).mean() < 0.55


EXPECTED = [1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1]


def test_few_units_are_divided_by_element(in_memory: Make) -> None:
    """With fewer than eight rows each row gives elements to both sides."""
    selection, holdout = split(in_memory({"w": VALUES}), survivors(np.arange(5)))

    assert set(selection.unit) == set(holdout.unit) == set(range(5))
    assert not set(selection.indices) & set(holdout.indices)
    assert len(selection.indices) + len(holdout.indices) == 150


def test_a_vector_is_divided_by_element(in_memory: Make) -> None:
    """A bias is one row, so its elements are divided."""
    vector = np.random.default_rng(2).standard_normal(300).astype(np.float32)
    found = survivors(np.array([0]), "tensor", shape=(300,))

    selection, holdout = split(in_memory({"w": vector}), found)

    assert len(selection.indices) + len(holdout.indices) == 300
    assert 100 < len(holdout.indices) < 200


def test_only_likely_units_take_part(in_memory: Make) -> None:
    """The threshold is a choice; with none above it there is nothing to search."""
    probability = np.linspace(0.0, 0.975, 40)
    found = survivors(np.arange(40), probability=probability)

    selection, holdout = split(in_memory({"w": VALUES}), found, at_least=0.8)

    assert min(*selection.unit, *holdout.unit) >= 32
    with pytest.raises(NothingToSearch, match=r"probability 0\.99"):
        split(in_memory({"w": VALUES}), found, at_least=0.99)
    with pytest.raises(UsageError, match="between 0 and 1"):
        split(in_memory({"w": VALUES}), found, at_least=1.5)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 60),
    columns=st.integers(1, 40),
    axis=st.sampled_from(["row", "column", "tensor"]),
    most=st.integers(1, 400),
    data=st.data(),
)
def test_caps_hold_and_nothing_is_on_both_sides(
    rows: int, columns: int, axis: Axis, most: int, data: st.DataObject
) -> None:
    """Whatever the shape and the cap: no element twice, none outside the survivors, none beyond the cap."""
    from unittest.mock import patch

    count = columns if axis == "column" else rows
    chosen = data.draw(st.sets(st.integers(0, count - 1), min_size=1))
    ids = np.array(sorted(chosen), dtype=np.int64)
    found = survivors(ids, axis, shape=(rows, columns))

    class Flat:
        """Just enough of a checkpoint."""

        def elements(self, _name: str, indices: NDArray[np.int64]) -> NDArray[np.float32]:
            return indices.astype(np.float32)

    with patch.object(split_module, "MOST_ELEMENTS", most):
        selection, holdout = split(Flat(), found)  # type: ignore[arg-type]

    both = np.concatenate([selection.indices, holdout.indices])
    assert len(np.unique(both)) == len(both)
    assert len(selection.indices) <= most
    assert len(holdout.indices) <= most
    assert both.min(initial=0) >= 0
    assert both.max(initial=0) < rows * columns
    unit = both % columns if axis == "column" else both // columns
    assert np.isin(unit, ids).all()
    np.testing.assert_array_equal(np.concatenate([selection.unit, holdout.unit]), unit)
