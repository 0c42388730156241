"""The generator's state as torch's bytes, both ways."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import UsageError
from birthmark.generators.mt19937 import words
from birthmark.samplers.cpu_state import CpuState


def torch_bytes() -> bytes:
    return bytes(torch.get_rng_state().numpy().tobytes())


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(-(2**63), 2**64 - 1), index=st.integers(0, 2_000))
def test_any_place_has_torch_s_bytes(seed: int, index: int) -> None:
    """After any number of words the bytes are torch's, and read back they are the same state."""
    torch.manual_seed(seed)
    torch.rand(index)

    state = CpuState.after(seed, index)

    assert state.to_bytes() == torch_bytes()
    assert CpuState.from_bytes(torch_bytes()).index == index


@settings(deadline=None, max_examples=40)
@given(counts=st.lists(st.integers(0, 1_400), max_size=6), start=st.integers(0, 1_300))
def test_words_come_in_order_whatever_the_pieces(counts: list[int], start: int) -> None:
    """Taken in pieces, the words are those of the stream."""
    state = CpuState.after(5, start)
    pieces = []
    for count in counts:
        taken, state = state.take(count)
        pieces.append(taken)

    total = sum(counts)
    assert np.array_equal(np.concatenate([*pieces, np.zeros(0, np.uint32)]), words(5, start, total))
    assert state.to_bytes() == CpuState.after(5, start + total).to_bytes()


def test_the_normal_that_is_kept_travels() -> None:
    """It is in the bytes, and torch goes on with it."""
    torch.manual_seed(3)
    torch.empty(5).normal_()
    state = CpuState.from_bytes(torch_bytes())
    expected = torch.empty(1, dtype=torch.float64).normal_().item()

    assert state.kept == expected
    torch.set_rng_state(torch.frombuffer(bytearray(state.to_bytes()), dtype=torch.uint8))
    assert torch.empty(1, dtype=torch.float64).normal_().item() == expected


def test_a_state_of_no_seed_has_no_index() -> None:
    """Words that no seeding gave, and another seed's, leave the index unknown; everything else works."""
    torch.manual_seed(3)
    torch.rand(700)
    plain = bytearray(torch_bytes())
    other = bytes([4]) + bytes(plain[1:])
    changed = plain[:]
    changed[24 + 8 * 100] ^= 1

    assert CpuState.from_bytes(other).index is None
    assert CpuState.from_bytes(bytes(changed)).index is None
    taken, after = CpuState.from_bytes(bytes(other)).take(10)
    assert np.array_equal(taken, words(3, 700, 10))
    assert after.index is None


def test_what_is_no_state_is_refused() -> None:
    """A wrong length, a wrong count and words beyond 32 bits are named."""
    good = CpuState.after(1, 10).to_bytes()

    assert CpuState.from_bytes(good[:5048]).index == 10
    with pytest.raises(UsageError, match="expected 5056"):
        CpuState.from_bytes(good[:-1])
    for place, byte in ((8, 99), (16, 200), (24 + 7, 1)):
        bad = bytearray(good)
        bad[place] = byte
        with pytest.raises(UsageError, match="no state"):
            CpuState.from_bytes(bytes(bad))
    with pytest.raises(UsageError, match="-1"):
        CpuState.after(1, -1)
    with pytest.raises(UsageError, match="-2 words"):
        CpuState.after(1, 0).take(-2)
