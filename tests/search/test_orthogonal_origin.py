"""Orthogonal tensors of CPU draws: their candidates, their leading lines, and what is none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from birthmark.errors import NothingToSearch
from birthmark.search.orthogonal_origin import OrthogonalOrigin, replayable
from birthmark.survivors.leading import LEAST_LEADING, orthogonal_gain, split_leading
from birthmark.survivors.survivor import Axis, Survivors


def made(seed: int, before: int, shape: tuple[int, int], gain: float) -> np.ndarray[Any, Any]:
    """What stock torch makes."""
    torch.manual_seed(seed)
    torch.rand(before)
    tensor = torch.empty(shape)
    torch.nn.init.orthogonal_(tensor, gain)
    values: np.ndarray[Any, Any] = tensor.numpy()
    return values


@pytest.mark.parametrize("shape", [(48, 80), (80, 48)])
def test_stock_orthogonal_tensors_are_predicted(shape: tuple[int, int]) -> None:
    """Seed, position and gain give every value to within the origin's tolerance; other seeds do not."""
    values = made(77, 1_000, shape, math.sqrt(2.0)).astype(np.float64).ravel()
    origin = OrthogonalOrigin(shape, math.sqrt(2.0), 77, 1_000, "float32")
    everywhere = np.arange(values.size)

    assert np.abs(origin.stored(everywhere) - values).max() <= origin.close
    assert np.abs(origin.standard(everywhere) * math.sqrt(2.0) - values).max() <= origin.close
    for false in (origin.next_seed(), origin.next_place()):
        assert abs(np.corrcoef(false.stored(everywhere), values)[0, 1]) < 0.1
    decoys = origin.decoys(np.array([1, 78, 77], np.uint64), everywhere[:200])
    assert np.allclose(decoys[2] * math.sqrt(2.0), values[:200], atol=origin.close)
    assert origin.affordable(everywhere)[0] >= 16
    assert math.isclose(origin.scale, float(values.std()), rel_tol=1e-3)


def test_only_what_can_be_replayed_is() -> None:
    """A matrix that takes minutes to decompose is left alone."""
    assert replayable((64, 112))
    assert not replayable((8_192, 8_192))


def survivors_of(shape: tuple[int, ...], axis: Axis, ids: list[int], scale: float) -> Survivors:
    """Likely survivors of a normal shape."""
    sure = np.full(len(ids), 0.9)
    return Survivors("w", shape, "float32", axis, np.array(ids), sure, "normal", scale, 0.005)


def test_the_gain_is_read_off_the_scale() -> None:
    """sqrt(2) over the root of the larger extent; another scale, shape or distribution is none."""
    near = math.sqrt(2.0 / 112)
    assert orthogonal_gain(survivors_of((64, 112), "column", [1, 2], near * 1.01)) == math.sqrt(2.0)
    assert orthogonal_gain(survivors_of((112, 64), "row", [1, 2], near)) == math.sqrt(2.0)
    assert orthogonal_gain(survivors_of((64, 112), "column", [1, 2], 0.02)) is None
    assert orthogonal_gain(survivors_of((112,), "row", [0], near)) is None


class Memory:
    """A checkpoint whose every value is its index."""

    def elements(self, _: str, indices: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The indices themselves."""
        return indices.astype(np.float64)


def test_a_search_sees_the_leading_line_alone() -> None:
    """The first row's survivors are the selection; all others are held out, without values."""
    memory: Any = Memory()
    ids = list(range(20, 60))
    selection, holdout = split_leading(memory, survivors_of((30, 80), "column", ids, 0.1))

    assert selection.indices.tolist() == ids
    assert selection.values.tolist() == ids
    assert len(holdout.indices) == 29 * len(ids)
    assert not set(selection.indices) & set(holdout.indices)


def test_too_short_a_line_is_refused() -> None:
    """Fewer survivors on the line than a search needs."""
    memory: Any = Memory()
    with pytest.raises(NothingToSearch, match=str(LEAST_LEADING)):
        split_leading(memory, survivors_of((30, 80), "column", list(range(LEAST_LEADING - 1)), 0.1))
    with pytest.raises(NothingToSearch):
        split_leading(memory, survivors_of((30, 80), "row", [5, 6], 0.1))
