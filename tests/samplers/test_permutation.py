"""Permutations: the sort and the shuffle of ties written out, offsets, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import birthmark.samplers.permutation as module
from birthmark.errors import UsageError
from birthmark.generators.philox import words
from birthmark.samplers.cuda_draw import CudaDraw
from birthmark.samplers.integers import Integers
from birthmark.samplers.permutation import Permutation


def shuffled(keys: NDArray[np.int64], bits: int, seed: int, offset: int) -> list[int]:
    """Randperm.cu's sort by the low bits, then Randperm.cuh's kernel, thread by thread."""
    low = [int(key) & ((1 << bits) - 1) for key in keys]
    order = sorted(range(len(low)), key=lambda place: low[place])
    found = list(order)
    ranked = [low[place] for place in order]
    for thread in range(len(low) - 1):
        if ranked[thread] != ranked[thread + 1] or (thread and ranked[thread] == ranked[thread - 1]):
            continue
        size = 1
        while thread + size < len(low) and ranked[thread + size] == ranked[thread]:
            size += 1
        calls = np.arange(offset // 4, offset // 4 + size, dtype=np.uint64)
        drawn = iter(words(seed, calls, np.array([thread], np.uint64)).reshape(-1).tolist())
        for last in range(size - 1, 0, -1):
            other = next(drawn) % (last + 1)
            found[thread + last], found[thread + other] = found[thread + other], found[thread + last]
    return found


@pytest.mark.parametrize(("size", "bits"), [(1, 3), (2, 5), (50, 14), (3000, 26)])
def test_permutations_follow_the_kernels(size: int, bits: int) -> None:
    """Every position, for a few seeds; each is a permutation, and no other seed's."""
    for seed in (0, 5):
        draw = Permutation(size, 1024, offset=8)
        assert draw.bits == bits
        keys = CudaDraw(Integers(-(2**31), 2**31 - 1, "int32"), size, 1024, offset=8)
        found = draw.run(seed)
        assert found.tolist() == shuffled(keys.run(seed), bits, seed, keys.end_offset)
        assert sorted(found.tolist()) == list(range(size))
        assert size < 3 or found.tolist() != draw.run(seed + 1).tolist()


def test_ties_are_shuffled_by_their_first_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few bits there are long islands, of more words than a block has."""
    monkeypatch.setattr(Permutation, "bits", 3)
    draw = Permutation(200, 1024)
    keys = CudaDraw(Integers(-(2**31), 2**31 - 1, "int32"), 200, 1024)
    found = draw.run(7)
    assert found.tolist() == shuffled(keys.run(7), 3, 7, keys.end_offset)
    untouched = np.argsort(keys.run(7) & 7, kind="stable")
    assert found.tolist() != untouched.tolist()


def test_keys_are_long_from_30084_on() -> None:
    """32 bits decide up to 30,083 positions; beyond, keys of 64 bits are sorted by 33 of them or more."""
    short, long = Permutation(30_083, 270_336), Permutation(30_084, 270_336)
    assert (short.bits, long.bits) == (32, 33)
    keys = CudaDraw(Integers(-(2**63), 2**63 - 1, "int64"), 30_084, 270_336)
    expected = np.argsort(keys.run(1) & ((1 << 33) - 1), kind="stable")
    assert np.mean(long.run(1) == expected) > 0.99
    signed = CudaDraw(Integers(-(2**31), 2**31 - 1, "int32"), 30_083, 270_336).run(1)
    assert np.mean(short.run(1) == np.argsort(signed, kind="stable")) > 0.99


def test_offsets_move_twice() -> None:
    """By the keys' launch, then by the number of positions, rounded up to 4."""
    assert Permutation(10, 256, 8).end_offset == 8 + 4 + 12
    assert Permutation(3000, 256, integers="2.7+").end_offset == 24 + 3000
    assert Permutation(3000, 256, integers="2.6-").end_offset == 12 + 3000
    assert Permutation(0, 256, 8).run(1).size == 0


def test_elements_come_from_the_whole() -> None:
    """Random access makes the permutation and cuts; what lies outside is refused."""
    draw = Permutation(100, 256)
    chosen = np.array([[3, 99], [0, 3]])
    assert np.array_equal(draw.values(1, chosen), draw.run(1)[chosen])
    with pytest.raises(UsageError, match="has 100 positions"):
        draw.values(1, np.array([100]))


def test_impossible_permutations_are_refused() -> None:
    """A negative size, or one at which PyTorch's own mask is undefined."""
    with pytest.raises(UsageError, match="expected 0 or more"):
        Permutation(-1, 256)
    with pytest.raises(UsageError, match="C\\+\\+ leaves open"):
        Permutation(1_500_000_000, 256)
    assert module.MOST_BITS == 63
