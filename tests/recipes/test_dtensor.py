"""Distributed tensors: shards and offsets of torch's own code, and the offsets that were verified with it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import UsageError
from birthmark.recipes.dtensor import Distribution, Placement, Shard


def torch_placements(placements: tuple[Placement, ...]) -> list[Any]:
    from torch.distributed.tensor.placement_types import Replicate, _StridedShard
    from torch.distributed.tensor.placement_types import Shard as TorchShard

    return [
        Replicate()
        if placement is None
        else TorchShard(placement.dimension)
        if placement.split == 1
        else _StridedShard(placement.dimension, split_factor=placement.split)
        for placement in placements
    ]


def by_torch(distribution: Distribution, rank: int) -> tuple[Any, int]:
    """The flat indices of a shard, and its shift, by torch 2.13's own functions."""
    from torch.distributed.tensor import _random

    placements = torch_placements(distribution.placements)
    coordinate = [int(x) for x in np.unravel_index(rank, distribution.mesh)]
    held = torch.arange(int(np.prod(distribution.shape))).reshape(distribution.shape)
    for placement, ways, which in zip(placements, distribution.mesh, coordinate, strict=True):
        if hasattr(placement, "dim"):
            held = placement._split_tensor(held, ways, with_padding=False)[0][which]
    spec = SimpleNamespace(
        shape=distribution.shape,
        ndim=len(distribution.shape),
        placements=placements,
        mesh=SimpleNamespace(shape=distribution.mesh, size=lambda axis: distribution.mesh[axis]),
    )
    index = _random._calc_shard_linear_idx(*_random._calc_shard_info(coordinate, spec))
    first = int(np.prod(_random._calc_first_shard_size(spec)))
    return held.numpy(), (index * first + 3) // 4 * 4


@st.composite
def distributions(draw: st.DrawFn) -> Distribution:
    shape = tuple(draw(st.lists(st.integers(min_value=1, max_value=13), min_size=1, max_size=3)))
    mesh = tuple(draw(st.lists(st.integers(min_value=1, max_value=4), min_size=1, max_size=3)))
    shards = st.builds(
        Shard, st.integers(min_value=0, max_value=len(shape) - 1), st.sampled_from([1, 1, 2, 3])
    )
    placements = tuple(draw(st.one_of(st.none(), shards)) for _ in mesh)
    return Distribution(shape, mesh, placements)


@settings(max_examples=40, deadline=None)
@given(distribution=distributions())
def test_shards_and_shifts_are_torchs(distribution: Distribution) -> None:
    """Every process's elements and offset, for uneven, nested and strided cuts; and each element's holder."""
    total = int(np.prod(distribution.shape))
    flat = np.arange(total).reshape(distribution.shape)
    ranks, local = distribution.locate(flat.reshape(-1))
    for rank in range(distribution.ranks):
        held, shift = by_torch(distribution, rank)
        assert np.array_equal(flat[np.ix_(*distribution.held(rank))], held)
        assert distribution.local_shape(rank) == held.shape
        assert distribution.shift(rank) == shift
        own = ranks == rank
        assert np.array_equal(held.reshape(-1)[local[own]], np.flatnonzero(own))
    assert distribution.advance == (total + 3) // 4 * 4


def shifts(shape: tuple[int, ...], mesh: tuple[int, ...], *placements: Placement) -> list[int]:
    distribution = Distribution(shape, mesh, placements)
    return [distribution.shift(rank) for rank in range(distribution.ranks)]


def test_verified_offsets() -> None:
    """Offsets by rank as torch 2.13 set them: uneven rows, replicas, FSDP 2 with TP 4, columns and rows."""
    assert shifts((30, 16), (8,), Shard(0)) == [64 * rank for rank in range(8)]
    assert shifts((8, 16), (2, 2, 2), Shard(1), None, Shard(0)) == [0, 64, 0, 64, 32, 96, 32, 96]
    assert shifts((64, 16), (2, 4), Shard(0, split=4), Shard(0)) == [256 * rank for rank in range(8)]
    assert shifts((64, 16), (2, 4), Shard(0), Shard(1)) == [128 * rank for rank in range(8)]
    strided = Distribution((64, 16), (2, 4), (Shard(0, split=4), Shard(0)))
    assert [int(strided.held(rank)[0][0]) for rank in range(8)] == [0, 16, 32, 48, 8, 24, 40, 56]
    assert strided.first_shard == (16, 16)
    assert strided.local_shape(0) == (8, 16)


def test_a_last_shard_can_be_short_or_empty() -> None:
    """The step stays that of the first shard."""
    uneven = Distribution((30, 16), (8,), (Shard(0),))
    assert [uneven.local_shape(rank)[0] for rank in range(8)] == [4, 4, 4, 4, 4, 4, 4, 2]
    sparse = Distribution((5,), (4,), (Shard(0),))
    assert [sparse.local_shape(rank)[0] for rank in range(4)] == [2, 2, 1, 0]
    assert [sparse.shift(rank) for rank in range(4)] == [0, 4, 4, 8]


def test_what_cannot_be_is_refused() -> None:
    """A mesh without processes, a dimension that is not there, a rank outside."""
    for shape, mesh, placements in (
        ((4,), (), ()),
        ((4,), (2,), ()),
        ((4,), (0,), (Shard(0),)),
        ((4,), (2,), (Shard(1),)),
        ((4,), (2,), (Shard(0, split=0),)),
    ):
        with pytest.raises(UsageError):
            Distribution(shape, mesh, placements)
    with pytest.raises(UsageError, match="has the ranks 0 to 1"):
        Distribution((4,), (2,), (Shard(0),)).shift(2)


def test_scalars_are_everywhere() -> None:
    """A tensor without dimensions lies whole on every process."""
    scalar = Distribution((), (2,), (None,))
    rank, local = scalar.locate(np.array([0]))
    assert (rank.tolist(), local.tolist(), scalar.advance, scalar.shift(1)) == ([0], [0], 4, 0)
