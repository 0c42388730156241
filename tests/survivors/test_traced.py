"""Trained tensors for traces: which are chosen, and how their values are divided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from birthmark.checkpoints import open_checkpoint
from birthmark.survivors.split import MOST_ELEMENTS
from birthmark.survivors.traced import NARROW, RUN, split_traced, traceable


def saved(folder: Path, **tensors: Any) -> Path:
    """A checkpoint of these tensors."""
    path = folder / "model.safetensors"
    save_file({name: np.ascontiguousarray(values) for name, values in tensors.items()}, path)
    return path


def noise(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Trained-looking values."""
    return (np.random.default_rng(seed).standard_normal(shape) * 0.05).astype(np.float32)


def test_embeddings_come_first_then_the_largest(tmp_path: Path) -> None:
    """An embedding is drawn first in most models, so it goes before a larger tensor."""
    path = saved(
        tmp_path,
        **{
            "a.big": noise((400, 128), 1),
            "b.mid": noise((300, 128), 2),
            "embed_tokens.weight": noise((200, 128), 3),
            "z.small": noise((10, 128), 4),
        },
    )
    with open_checkpoint(path) as checkpoint:
        assert [one.tensor for one in traceable(checkpoint, most=3)] == [
            "embed_tokens.weight",
            "a.big",
            "b.mid",
        ]
        assert [one.tensor for one in traceable(checkpoint)] == ["embed_tokens.weight", "a.big"]
        assert [one.tensor for one in traceable(checkpoint, ["b.mid"])] == ["b.mid"]


def test_tied_constant_and_flat_tensors_are_left_out(tmp_path: Path) -> None:
    """A tensor stored twice counts once; constant ones, vectors and integers are not looked at."""
    same = noise((300, 128))
    path = saved(
        tmp_path,
        **{
            "embed.weight": same,
            "head.weight": same.copy(),
            "ones": np.ones((300, 128), np.float32),
            "missing": np.full((300, 128), np.nan, np.float32),
            "vector": noise((65536,)),
            "counts": np.zeros((300, 128), np.int64),
        },
    )
    with open_checkpoint(path) as checkpoint:
        assert [one.tensor for one in traceable(checkpoint, most=9)] == ["embed.weight"]


def test_the_shape_of_the_values_is_told(tmp_path: Path) -> None:
    """Flat distributions are uniform with their bound, others normal with their standard deviation."""
    flat = np.random.default_rng(1).uniform(-0.1, 0.1, (300, 128)).astype(np.float32)
    path = saved(tmp_path, **{"embed.a": flat, "embed.b": noise((250, 128))})
    with open_checkpoint(path) as checkpoint:
        first, second = traceable(checkpoint)
    assert first.distribution == "uniform"
    assert first.scale == pytest.approx(0.1, rel=0.02)
    assert second.distribution == "normal"
    assert second.scale == pytest.approx(0.05, rel=0.02)


def test_rows_are_dealt_whole_to_either_side(tmp_path: Path) -> None:
    """Selection and hold-out share no row, cover all, and only the selection's values are read."""
    path = saved(tmp_path, **{"embed.weight": noise((300, 128))})
    with open_checkpoint(path) as checkpoint:
        (traced,) = traceable(checkpoint)
        before = checkpoint.bytes_read
        selection, holdout = split_traced(checkpoint, traced)
        read = checkpoint.bytes_read - before
    assert not set(selection.unit) & set(holdout.unit)
    assert np.array_equal(np.sort(np.concatenate([selection.indices, holdout.indices])), np.arange(300 * 128))
    assert read <= 1.1 * selection.indices.size * 4
    assert 0.35 < selection.indices.size / (300 * 128) < 0.65


def test_wide_rows_are_dealt_in_runs(tmp_path: Path) -> None:
    """Where a few rows fill the first wave runs of values are dealt, so that both sides have some there."""
    columns = 2 * NARROW
    path = saved(tmp_path, **{"embed.weight": noise((24, columns))})
    with open_checkpoint(path) as checkpoint:
        (traced,) = traceable(checkpoint)
        selection, holdout = split_traced(checkpoint, traced)
    assert set(selection.unit) & set(holdout.unit)
    assert not set(selection.indices // RUN) & set(holdout.indices // RUN)
    for part in (selection.indices, holdout.indices):
        assert 0.3 < np.count_nonzero(part < 26624) / 26624 < 0.7


def test_large_tensors_are_read_from_their_first_rows(in_memory_rows: Any) -> None:
    """No more than twice the most elements take part, and they are the first ones."""
    checkpoint = in_memory_rows((40_000, 128))
    (traced,) = traceable(checkpoint)
    selection, holdout = split_traced(checkpoint, traced)
    total = selection.indices.size + holdout.indices.size
    assert total == 2 * MOST_ELEMENTS
    assert max(selection.indices[-1], holdout.indices[-1]) == total - 1


def test_values_that_are_not_finite_are_left_out(tmp_path: Path) -> None:
    """A selection holds no NaN."""
    values = noise((300, 128))
    values[::7, 3] = np.nan
    with open_checkpoint(saved(tmp_path, **{"embed.weight": values})) as checkpoint:
        (traced,) = traceable(checkpoint)
        selection, _ = split_traced(checkpoint, traced)
    assert np.isfinite(selection.values).all()


@pytest.fixture
def in_memory_rows(tmp_path: Path) -> Any:
    """A large tensor on disk, opened."""

    def opened(shape: tuple[int, int]) -> Any:
        return open_checkpoint(saved(tmp_path, **{"embed.weight": noise(shape)}))

    return opened
