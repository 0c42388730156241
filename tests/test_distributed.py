"""Distributed tensors through random access: each shard a tensor of its own at its own offset."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.distributed import Distributed
from birthmark.errors import UsageError
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.recipes.dtensor import Shard
from birthmark.recipes.sharding import Sharding

NORMAL = Draw("normal", (0.0, 0.02), (64, 48))


def test_a_tensor_is_its_shards() -> None:
    """Rows of eight processes are eight draws of one seed, each so many elements further on."""
    whole = Distributed(NORMAL, (8,), (Shard(0),), 512, offset=8)
    values = whole.tensor(3)
    local = Draw("normal", (0.0, 0.02), (8, 48))
    for rank in range(8):
        shard = Hypothesis(local, 512, offset=8 + rank * 8 * 48).tensor(3)
        assert np.array_equal(values[8 * rank : 8 * rank + 8], shard)
    assert whole.end_offset_of(3) == 8 + 64 * 48
    assert not np.array_equal(values, whole.tensor(4))
    assert not np.array_equal(values, Hypothesis(NORMAL, 512, offset=8).tensor(3))
    assert not np.array_equal(values, Distributed(NORMAL, (4,), (Shard(0),), 512, offset=8).tensor(3))


def test_columns_and_strided_rows() -> None:
    """Each process's elements, wherever they lie in the tensor, are its local draw in C order."""
    for mesh, placements in (
        ((4,), (Shard(1),)),
        ((2, 4), (Shard(0, split=4), Shard(0))),
        ((2, 2), (None, Shard(0))),
    ):
        whole = Distributed(NORMAL, mesh, placements, 512)
        values = whole.tensor(5)
        for rank in range(int(np.prod(mesh))):
            own = values[np.ix_(*whole.distribution.held(rank))]
            assert np.array_equal(own, whole.of(rank).tensor(5))


def test_random_access_goes_to_the_holders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any elements are a cut of the tensor, in any chunks; no other process is asked."""
    whole = Distributed(NORMAL, (2, 4), (Shard(0, split=4), Shard(0)), 512)
    values = whole.tensor(5).reshape(-1)
    chosen = np.random.default_rng(1).integers(0, 64 * 48, (20, 30))
    assert np.array_equal(whole.values(5, chosen), values[chosen])
    monkeypatch.setattr("birthmark.distributed.CHUNK", 100)
    assert np.array_equal(whole.values(5, chosen), values[chosen])
    huge = Distributed(Draw("normal", (0.0, 1.0), (131_072, 65_536)), (256,), (Shard(0),), 270_336)
    last = huge.values(1, np.array([131_072 * 65_536 - 1]))
    local = Hypothesis(Draw("normal", (0.0, 1.0), (512, 65_536)), 270_336, offset=255 * 512 * 65_536)
    assert last[0] == local.values(1, np.array([512 * 65_536 - 1]))[0]


def test_redraws_go_on_until_no_process_is_left() -> None:
    """From torch 2.12 on a truncated normal is drawn again everywhere, a tensor's elements further on."""
    draw = Draw("truncated-normal", (0.0, 1.0, -1.0, 1.0), (64, 48), version="2.12+")
    whole = Distributed(draw, (8,), (Shard(0),), 512)
    values = whole.tensor(9)
    assert np.abs(values).max() <= 1
    plain = Draw("normal", (0.0, 1.0), (8, 48))
    rounds = [
        np.concatenate([Hypothesis(plain, 512, offset=n * 3072 + rank * 384).tensor(9) for rank in range(8)])
        for n in range(20)
    ]
    expected = np.full((64, 48), np.nan, np.float32)
    for drawn in rounds[::-1]:
        inside = np.abs(drawn) <= 1
        expected[inside] = drawn[inside]
    assert np.array_equal(values, expected)
    needed = next(n for n in range(20) if (np.abs(rounds[: n + 1]) <= 1).any(axis=0).all()) + 1
    assert whole.end_offset_of(9) == 3072 * needed
    assert whole.of(0).end_offset_of(9) <= whole.end_offset_of(9)


def test_short_and_empty_shards() -> None:
    """Uneven rows, and processes that hold none, draw what they hold."""
    draw = Draw("uniform", (-1.0, 1.0), (5, 7))
    whole = Distributed(draw, (4,), (Shard(0),), 512)
    assert whole.tensor(1).shape == (5, 7)
    assert whole.of(3).tensor(1).shape == (0, 7)
    assert whole.end_offset_of(1) == 36
    truncated = Draw("truncated-normal", (0.0, 1.0, -1.0, 1.0), (5, 7), version="2.12+")
    assert np.abs(Distributed(truncated, (4,), (Shard(0),), 512).tensor(1)).max() <= 1


def test_what_cannot_be_is_refused() -> None:
    """A layout or offset that cannot be, and elements outside."""
    with pytest.raises(UsageError):
        Distributed(NORMAL, (2,), (Shard(0),), 500)
    with pytest.raises(UsageError, match="multiple of 4"):
        Distributed(NORMAL, (2,), (Shard(0),), 512, offset=2)
    with pytest.raises(UsageError, match="element indices"):
        Distributed(NORMAL, (2,), (Shard(0),), 512).values(1, np.array([64 * 48]))


@pytest.mark.parametrize(
    "draw",
    [
        NORMAL,
        Draw("truncated-normal", (0.0, 1.0, -2.0, 2.0), (64, 48), version="2.12+"),
        Draw("uniform", (-1.0, 1.0), (64, 6), "float64"),
    ],
)
@pytest.mark.parametrize("ways", [1, 8, 64])
def test_even_rows_are_a_sharding_too(draw: Draw, ways: int) -> None:
    """A search's hypothesis with equal shards of rows says what the general one says, element by element."""
    general = Distributed(draw, (ways,), (Shard(0),), 512, offset=8)
    plain = Hypothesis(draw, 512, offset=8, sharding=Sharding(ways, "dtensor"))
    values = general.tensor(3)
    chosen = np.random.default_rng(2).permutation(draw.size)[:500]
    assert np.array_equal(plain.tensor(3), values)
    assert np.array_equal(plain.values(3, chosen), values.reshape(-1)[chosen])
    assert plain.end_offset_of(3) == general.end_offset_of(3)
    assert not plain.locate(chosen).rank.any()
    if ways > 1:
        assert not np.array_equal(plain.tensor(3), Hypothesis(draw, 512, offset=8).tensor(3))
