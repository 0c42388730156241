"""One pass over a tensor: the same sums however it is cut, everything read once, wrong pairings."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.replay.replaying import Birth
from birthmark.weak_map import levels, scanning
from birthmark.weak_map.bands import Bands, Heads, bands_of, matrix
from birthmark.weak_map.births import Aim, Predicted
from birthmark.weak_map.moments import levelled_r
from birthmark.weak_map.scanning import SHIFTS, Scanned, scan_tensor

from .conftest import SHAPES, G, Memory, born, predicted, traced


def scanned(checkpoint: Memory, name: str, pool: Executor, by: Predicted | None = None) -> Scanned:
    bands = bands_of(name, checkpoint.tensors[name].shape, Heads(4, 4, 16))
    return scan_tensor(checkpoint, by or predicted(checkpoint, traced()), Aim(name, name), bands, pool, 2)


@pytest.mark.parametrize("name", SHAPES)
def test_blocks_do_not_matter(
    model: Memory, pool: Executor, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Sums, bands, equal values and held rows of small blocks are those of one; only shifted pairs differ."""
    whole = scanned(model, name, pool)
    monkeypatch.setattr(scanning, "BLOCK", 1000)
    parts = scanned(model, name, pool)

    np.testing.assert_allclose(parts.moments.sums, whole.moments.sums, atol=1e-6)
    np.testing.assert_allclose(parts.moments.robust, whole.moments.robust, atol=1e-9)
    np.testing.assert_allclose(parts.bands, whole.bands, atol=1e-6)
    np.testing.assert_array_equal(parts.held, whole.held)
    assert parts.moments.equal == whole.moments.equal
    np.testing.assert_allclose(whole.bands.sum(axis=1), whole.moments.sums, atol=1e-6)


def test_a_tensor_is_read_once_beside_its_measure(
    model: Memory, pool: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stacks too: a matrix of a stack that spans several blocks is not read again for each."""
    monkeypatch.setattr(levels, "MOST", 4096)
    monkeypatch.setattr(scanning, "BLOCK", 1024)
    for name in ("embed.weight", "experts"):
        model.taken[name] = 0
        scanned(model, name, pool)
        rows, columns = model.tensors[name].matrix_shape
        inner = matrix(model.tensors[name].shape)[0] // rows
        measured = len(list(levels.sampled(rows * inner, columns // inner)))
        assert model.taken[name] <= rows + max(measured, 4096 * rows // model.tensors[name].size + 1)


def test_held_rows_and_equal_values(pool: Executor) -> None:
    """Rows up to a factor are held; equal are those that are not scaled."""
    values = born(traced(), Birth(42, G))
    noise = np.random.default_rng(1).normal(size=(900, 64))
    table = values["embed.weight"] + noise
    table[100:110] = 0.5 * values["embed.weight"][100:110]
    table[-1] = values["embed.weight"][-1]
    found = scanned(Memory({**values, "embed.weight": table}), "embed.weight", pool)

    assert found.held.tolist() == [*range(100, 110), 899]
    assert found.moments.equal == 64
    assert found.judged == 900


def test_wrong_pairings_score_nothing(model: Memory, pool: Executor) -> None:
    """Predictions of rows further on, on a tensor whose own correlate strongly; one for each shift."""
    found = scanned(model, "embed.weight", pool)
    n = found.moments.n

    assert float(levelled_r(found.moments.sums[:, None])[0]) * n**0.5 > 30
    assert len(found.moments.shifted_r) == len(SHIFTS)
    assert np.all(np.abs(found.moments.shifted_r) * n**0.5 < 4.5)


def test_repeated_predictions_show_in_the_control(pool: Executor) -> None:
    """Values that follow columns, under a prediction that repeats its rows: the control scores as high."""

    class Repeating(Predicted):
        """The same row again and again: no draw, but what the control is for."""

        aims, left_out, seed, threads, source = (), {}, 0, None, "repeats"

        def run(self, aim: Aim, start: int, stop: int) -> NDArray[Any]:  # noqa: ARG002
            return np.random.default_rng(1).normal(size=64)[np.arange(start, stop) % 64]

        def values(self, aim: Aim, indices: NDArray[np.int64]) -> NDArray[Any]:
            raise AssertionError(aim, indices)

        def of_seed(self, seed: int) -> Predicted:
            raise AssertionError(seed)

        def of_layout(self, threads: int) -> Predicted:
            raise AssertionError(threads)

    by = Repeating()
    row = by.run(Aim("", ""), 0, 64)
    turned = np.where(np.arange(900)[:, None] % 2 == 0, row, row + 1e-3)  # columns' means do not take it all
    signs = np.sign(np.random.default_rng(2).normal(size=(900, 1))) + 0.5
    checkpoint = Memory({"embed.weight": turned * signs})
    found = scanned(checkpoint, "embed.weight", pool, by)

    assert np.all(np.abs(found.moments.shifted_r - levelled_r(found.moments.sums[:, None])[0]) < 0.05)


def test_values_that_are_not_finite(pool: Executor) -> None:
    """They are counted out, and the rest scores as before."""
    values = born(traced(), Birth(42, G))
    table = values["embed.weight"].copy()
    table[5], table[6, 7] = np.nan, -np.inf
    found = scanned(Memory({**values, "embed.weight": table}), "embed.weight", pool)

    assert found.moments.n == 900 * 64 - 65
    assert 5 not in found.held
    assert float(levelled_r(found.moments.sums[:, None])[0]) > 0.97


def test_bands_by_columns(model: Memory, pool: Executor) -> None:
    """Heads of an output projection are runs of its columns."""
    name = "layers.0.self_attn.o_proj.weight"
    found = scanned(model, name, pool)
    born_ = born(traced(), Birth(42, G))[name].astype(np.float64)

    assert bands_of(name, (64, 64), Heads(4, 4, 16)) == Bands("columns", "heads", (0, 16, 32, 48, 64))
    np.testing.assert_allclose(
        found.bands[4], [(born_[:, a : a + 16] ** 2).sum() for a in (0, 16, 32, 48)], rtol=1e-9
    )
