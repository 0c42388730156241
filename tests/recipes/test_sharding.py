"""Shards: where each element lies, whose seed drew it, and what does not divide."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from birthmark.errors import UsageError
from birthmark.recipes.sharding import Sharding


@given(
    ways=st.sampled_from([1, 2, 4, 8, 16]),
    rows=st.integers(min_value=1, max_value=6),
    rest=st.lists(st.integers(min_value=1, max_value=5), max_size=2),
)
def test_shards_are_the_split_of_a_numbered_tensor(ways: int, rows: int, rest: list[int]) -> None:
    """Splitting a tensor that holds its own indices gives each rank what `locate` says."""
    shape = (rows * ways, *rest)
    whole = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    rank, local, local_shape = Sharding(ways, "megatron").locate(shape, whole.ravel())
    for number, shard in enumerate(np.split(whole, ways)):
        assert local_shape == shard.shape
        assert np.array_equal(shard.ravel()[local[rank == number]], whole.ravel()[rank == number])
        assert int((rank == number).sum()) == shard.size


def test_worked_row_of_a_four_way_vocabulary() -> None:
    """Row 151,900 of 152,064 x 8,192 in four shards is local row 37,852 of rank 3, element 310,083,584."""
    index = np.array([151_900 * 8192], dtype=np.int64)
    rank, local, shape = Sharding(4, "megatron").locate((152_064, 8192), index)
    assert (int(rank[0]), int(local[0]), shape) == (3, 310_083_584, (38_016, 8192))
    assert Sharding(4, "megatron").seed_of(2760, 3) == 2763


def test_a_whole_tensor_is_one_shard() -> None:
    """Without sharding, rank and seed stay those of one process, of a scalar too."""
    rank, local, shape = Sharding().locate((5, 3), np.arange(15, dtype=np.int64))
    assert shape == (5, 3)
    assert not rank.any()
    assert np.array_equal(local, np.arange(15))
    assert Sharding().seed_of(7, 0) == 7
    assert Sharding().local_shape(()) == ()


def test_seeds_wrap_at_64_bits() -> None:
    """The last seed of the 64-bit space is followed by 0."""
    assert Sharding(2, "megatron").seed_of(2**64 - 1, 1) == 0


def test_rows_must_divide_evenly() -> None:
    """A cut that leaves a remainder is refused, and `fits` says so before."""
    sharding = Sharding(4, "megatron")
    assert not sharding.fits((50_257, 8))
    assert not sharding.fits(())
    with pytest.raises(UsageError, match="4 equal runs of rows"):
        sharding.local_shape((50_257, 8))


@pytest.mark.parametrize(("ways", "rule"), [(0, "megatron"), (-1, "single"), (2, "single"), (2, "paddle")])
def test_impossible_shardings_are_refused(ways: int, rule: str) -> None:
    """No shards, shards without a seed rule, and unknown rules are usage errors."""
    with pytest.raises(UsageError):
        Sharding(ways, rule)  # type: ignore[arg-type]


def test_shards_of_a_distributed_tensor_share_a_seed_and_follow_each_other() -> None:
    """One seed for all ranks; each starts behind the elements of those before, rounded up to 4."""
    sharding = Sharding(8, "dtensor")
    assert [sharding.seed_of(7, rank) for rank in (0, 7)] == [7, 7]
    assert [sharding.shift((24, 5), rank) for rank in range(3)] == [0, 16, 32]
    assert sharding.advance((24, 5)) == 120
    assert Sharding(8, "megatron").shift((24, 5), 3) == 0
    assert Sharding(8, "megatron").advance((24, 5)) is None


def test_steps_of_either_sign() -> None:
    """Ranks may descend, be far apart, or all have one seed; only that rule has a step."""
    assert [Sharding(3, "stepped", -1).seed_of(1, rank) for rank in range(3)] == [1, 0, 2**64 - 1]
    assert Sharding(3, "stepped", 1000).seed_of(7, 2) == 2007
    assert Sharding(3, "stepped", 0).seed_of(7, 2) == 7
    assert Sharding(3, "megatron").own_draws
    assert not Sharding(3, "dtensor").own_draws
    with pytest.raises(UsageError, match="only 'stepped' has one"):
        Sharding(3, "megatron", 2)


def test_a_padded_last_shard() -> None:
    """A vocabulary published without its padding keeps the shards that it was drawn in."""
    cut = Sharding(4, "megatron", rows=1024)
    rank, local, shape = cut.locate((4000, 2), np.array([2 * 3999, 2 * 1024 + 1], np.int64))
    assert (rank.tolist(), local.tolist(), shape) == ([3, 1], [2 * 927, 1], (1024, 2))
    assert not cut.fits((3072, 2))
    assert not cut.fits((4097, 2))
    with pytest.raises(UsageError, match="runs of 1024 rows"):
        cut.local_shape((5000, 2))
    with pytest.raises(UsageError, match="expected 0 there"):
        Sharding(4, "dtensor", rows=8)
