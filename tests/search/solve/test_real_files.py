"""Published weights whose seeds are known: each is solved from its untouched columns or rows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.checkpoints import open_checkpoint
from birthmark.search.solve.inversion import exact_uniforms
from birthmark.search.solve.solve import Solved, Unsolved, solve


def untouched(weight: NDArray[Any], arithmetic: str) -> NDArray[np.int64]:
    """Columns of a default layer all of whose values lie on the lattice of its bound."""
    flat = weight.ravel().astype(np.float64)
    found = exact_uniforms(flat, np.arange(flat.size), 1.0 / math.sqrt(weight.shape[1]), arithmetic)
    on = np.zeros(flat.size, np.bool_)
    on[found.source] = True
    return np.flatnonzero(on.reshape(weight.shape).all(axis=0))


@pytest.mark.parametrize(
    ("file", "tensor", "count", "seed"),
    [
        ("shagunuppal_mnist_vae.pth", "fc1.weight", 67, 3126338948),
        ("catniplab_music_50_final_state_dict.pt", "weights.weight", 37, 168449886),
    ],
)
def test_untouched_columns_give_the_seed(cases: Path, file: str, tensor: str, count: int, seed: int) -> None:
    """Pixels that are always black and keys that never sound keep enough; the builds did not fuse."""
    with open_checkpoint(cases / "real" / file) as checkpoint:
        height, width = checkpoint.tensors[tensor].shape
        weight = checkpoint.rows(tensor, 0, height)
    ids = untouched(weight, "cpu-unfused")
    where = (np.arange(height)[:, None] * width + ids).ravel()
    values = weight.ravel()[where]
    largest = float(np.abs(values).max())

    found = solve(values, where, (height, width), "uniform", (largest, largest * 1.005), unit=where % width)

    assert len(ids) == count
    assert isinstance(found, Solved), found
    assert (found.seed, found.index, found.arithmetic) == (seed, 0, "cpu-unfused")
    assert found.equal.all()
    assert found.holdout.agreeing == found.holdout.of >= 64


def test_four_columns_of_cgcnn_are_too_few(cases: Path) -> None:
    """256 words cannot determine 19,937 bits, and the answer says so."""
    with open_checkpoint(cases / "real" / "cgcnn_band-gap.pth.tar") as checkpoint:
        weight = checkpoint.rows("state_dict.embedding.weight", 0, 64)
    ids = untouched(weight, "cpu-unfused")
    where = (np.arange(64)[:, None] * 92 + ids).ravel()

    found = solve(weight.ravel()[where], where, (64, 92), "uniform", (0.1042, 0.1044))

    assert ids.tolist() == [66, 69, 71, 76]
    assert isinstance(found, Unsolved)
    assert found.reason == "too-few"


def test_rows_of_a_trained_language_model(cases: Path, answers: dict[str, Any]) -> None:
    """Forty untouched bfloat16 rows of an embedding give the seed at a scale known to 3 %."""
    truth = answers["cpu-1337"]
    with open_checkpoint(cases / truth["path"]) as checkpoint:
        info = checkpoint.tensors[truth["tensor"]]
        ids = np.array(truth["survivors"]["rows"])
        values = checkpoint.take(truth["tensor"], ids)
    width = info.shape[1]
    where = (ids[:, None] * width + np.arange(width)).ravel()

    found = solve(
        values.ravel(), where, info.shape, "normal", (0.0194, 0.0206), dtype=info.dtype, unit=where // width
    )

    assert isinstance(found, Solved), found
    assert (found.seed, found.index, found.scale) == (truth["seed_low32"], truth["word_position"], 0.02)
    assert found.equal.all()
