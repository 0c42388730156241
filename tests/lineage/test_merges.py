"""Merges of whole nets, with strangers and siblings as negative twins."""

from __future__ import annotations

import numpy as np
import pytest
from tests.lineage.zoo import InMemory, Net, born, trained

from birthmark.lineage.merges import Merges, find_merges
from birthmark.lineage.merging import merge_of
from birthmark.numerics.dtypes import round_to

Wide = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def base() -> Net:
    """A trained net that others were tuned from."""
    return trained(born(1), 2)


@pytest.fixture(scope="module")
def tuned(base: Net) -> tuple[Net, Net, Net]:
    """Three light fine-tunes of it."""
    first, second, third = (trained(base, seed, 0.1, everywhere=True) for seed in (3, 4, 5))
    return first, second, third


def merges(*nets: Net | Wide, dtype: str = "float32") -> Merges:
    """All merges among nets."""
    return find_merges([InMemory(each, dtype) for each in nets])


def mixed(first: Net, second: Net, share: float, dtype: str = "float32") -> Wide:
    """A weighted sum of what is stored in a dtype."""
    return {
        name: share * round_to(first[name], dtype).astype(np.float64)
        + (1.0 - share) * round_to(second[name], dtype).astype(np.float64)
        for name in first
    }


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_one_weighted_sum(tuned: tuple[Net, Net, Net], dtype: str) -> None:
    """A sum with one weight is found with it, and only as a child of its own parents."""
    first, second, third = tuned
    child = mixed(first, second, 0.3, dtype)

    found = merges(first, second, child, dtype=dtype).found

    assert [(each.child, each.parents, each.way) for each in found] == [(2, (0, 1), "linear")]
    assert found[0].weights == pytest.approx((0.3, 0.7), abs=2e-3)
    assert found[0].log10_p < -100
    assert merges(first, third, child, dtype=dtype).found == ()


def test_siblings_in_a_narrow_dtype_are_no_merge(tuned: tuple[Net, Net, Net]) -> None:
    """Three light fine-tunes lie within rounding of many sums in bfloat16, and are none."""
    found = merges(*tuned, dtype="bfloat16")

    assert found.found == ()
    assert found.tried == 3


def test_weights_of_each_tensor() -> None:
    """Spherical interpolation is a sum in each tensor, whose weights differ and need not add up to 1."""

    def between(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        angle = np.arccos((x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()))
        return np.asarray((np.sin(0.4 * angle) * x + np.sin(0.6 * angle) * y) / np.sin(angle))

    first, second = trained(born(1), 3), trained(born(1), 4)
    child = {name: between(first[name].astype(np.float64), second[name]) for name in first}

    (found,) = merges(first, second, child).found

    assert found.way == "linear-by-tensor"
    assert sum(found.weights) > 1.02


def test_whole_tensors_and_rows(tuned: tuple[Net, Net, Net]) -> None:
    """Tensors from one parent or the other, and rows from either, are told with their shares."""
    first, second, third = tuned
    by_tensor = {name: (first if name in ("embed", "third") else second)[name] for name in first}
    by_row = {
        name: np.where((np.arange(len(first[name])) % 4 == 0)[:, None], second[name], first[name])
        for name in first
    }

    (passed,) = merges(first, second, by_tensor).found
    (rows,) = merges(first, second, by_row).found

    assert (passed.way, passed.weights) == ("tensors", (0.5, 0.5))
    assert (rows.way, rows.weights) == ("rows", (0.75, 0.25))
    assert merges(first, third, by_row).found == ()


@pytest.mark.slow
def test_task_arithmetic(base: Net, tuned: tuple[Net, Net, Net]) -> None:
    """A base with two task vectors is one relation of four, told once with the smallest weights."""
    first, second, third = tuned
    child = {
        name: base[name].astype(np.float64)
        + 0.6 * (first[name] - base[name].astype(np.float64))
        + 0.8 * (second[name] - base[name].astype(np.float64))
        for name in base
    }

    (found,) = merges(base, first, second, child).found

    assert (found.child, found.parents) == (3, (0, 1, 2))
    assert found.weights == pytest.approx((-0.4, 0.6, 0.8), abs=1e-3)
    assert merges(base, first, third, child).found == ()


def test_a_copy_is_no_merge(tuned: tuple[Net, Net, Net]) -> None:
    """A copy of one parent has nothing of the other."""
    assert merges(tuned[0], tuned[1], tuned[0]).found == ()


def test_layers_under_other_names(tuned: tuple[Net, Net, Net]) -> None:
    """A stack that repeats layers of one and adds some of another is found by values, also after a cast."""
    first, second, third = tuned
    child = {
        "embed": first["embed"],
        "first": first["first"],
        "second": first["second"],
        "third": first["second"],
        "fourth": second["second"],
        "fifth": second["third"],
    }

    (found,) = find_merges([InMemory(first), InMemory(second), InMemory(child, "bfloat16")]).stacks

    assert (found.child, found.parents, found.tensors) == (2, (0, 1), (4, 2))
    assert (found.renamed, found.repeated) == (3, 1)
    assert merges(first, third, child).stacks == ()


def test_parents_that_are_one_tell_nothing() -> None:
    """Where parents are equal, or not finite, no tensor tells."""
    values = np.random.default_rng(1).standard_normal((20, 20))

    assert merge_of("t", [values, values], values, "float32").way == "silent"
    assert merge_of("t", [values, values + 1.0], np.full_like(values, np.nan), "float32").way == "silent"
