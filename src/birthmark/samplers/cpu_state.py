"""The state of PyTorch's CPU generator: 624 words, a place among them, a normal that is kept; and as bytes.

`torch.get_rng_state()` gives 5,056 bytes: the seed (64 bits), how many words are left before the next twist,
a flag, the place of the next word, the 624 words (64 bits each), and the normal that waits for the next
scalar draw. Sources: pytorch `aten/src/ATen/CPUGeneratorImpl.cpp` (`CPUGeneratorImplState`) and
`aten/src/ATen/core/MT19937RNGEngine.h`, 1.6.0 to 2.14.1.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.mt19937 import window_at
from birthmark.generators.mt19937_rewind import origin_of
from birthmark.generators.mt19937_words import SIZE, advance, continued, seeded, temper

#: Bytes of a state; older versions left out the last eight.
STATE_BYTES: Final = 5056
_OLDER_BYTES: Final = 5048
_HEAD: Final = struct.Struct("<QiiQ")
#: normal_x, normal_y, normal_rho, whether normal_y is kept, padding, and the same in float32, never in use.
_TAIL: Final = struct.Struct("<dddi4xf?3x")
#: How far back a restored state is followed to its seeding: some tenths of a second.
FOLLOWED: Final = 1 << 26


@dataclass(frozen=True, slots=True)
class CpuState:
    """Where a generator stands.

    Attributes:
        seed: as it was given, modulo 2^64.
        block: uint32[624], raw words: those among which the next one lies, or before the first twist the
            seeding.
        place: words of the block that were given; 624 where the next one needs a twist, and 0 before the
            first one too.
        kept: the standard normal that waits for the next scalar draw; None if none does.
        index: words given since seeding; None where that is not known.
    """

    seed: int
    block: NDArray[np.uint32] = field(repr=False)
    place: int
    kept: float | None
    index: int | None

    @classmethod
    def after(cls, seed: int, index: int) -> CpuState:
        """The state of a seed after `index` words.

        Raises:
            UsageError: a negative index.
        """
        if index < 0:
            raise UsageError(f"index {index} in a stream; expected 0 or more.")
        block = (index - 1) // SIZE
        words = seeded(np.uint32(seed & 0xFFFFFFFF)) if index == 0 else window_at(seed, SIZE * block)
        place = 0 if index == 0 else index - SIZE * block
        return cls(seed % (1 << 64), words, place, None, index)

    def take(self, count: int) -> tuple[NDArray[np.uint32], CpuState]:
        """(the next words, the state after them).

        Raises:
            UsageError: a negative count.
        """
        if count < 0:
            raise UsageError(f"{count} words of a stream; expected 0 or more.")
        if count == 0:
            return np.zeros(0, np.uint32), self
        block, place = self.block, self.place
        if place in (0, SIZE):
            block, place = block.copy(), 0
            advance(block)
        last = place + count - 1
        start = last // SIZE * SIZE
        raw = continued(block, start + SIZE)
        index = None if self.index is None else self.index + count
        after = CpuState(self.seed, raw[start:].copy(), last - start + 1, self.kept, index)
        return temper(raw[place : last + 1]), after

    def to_bytes(self) -> bytes:
        """The state as `torch.set_rng_state` takes it, 5,056 bytes."""
        left = 1 if self.place == 0 else SIZE + 1 - self.place
        head = _HEAD.pack(self.seed, left, 1, self.place)
        kept = 0.0 if self.kept is None else self.kept
        tail = _TAIL.pack(0.0, kept, 0.0, self.kept is not None, 0.0, False)
        return head + self.block.astype("<u8").tobytes() + tail

    @classmethod
    def from_bytes(cls, data: bytes) -> CpuState:
        """The state that `torch.get_rng_state` gave.

        The index is found by walking back to the seeding, up to 2^26 words; further away it stays unknown.

        Raises:
            UsageError: bytes that are no state.
        """
        if len(data) not in (STATE_BYTES, _OLDER_BYTES):
            raise UsageError(f"a CPU generator state of {len(data)} bytes; expected {STATE_BYTES}.")
        seed, left, is_seeded, place = _HEAD.unpack_from(data)
        words = np.frombuffer(data, "<u8", SIZE, _HEAD.size)
        _, kept, _, is_kept, _, _ = _TAIL.unpack(data[_HEAD.size + 8 * SIZE :].ljust(_TAIL.size, b"\0"))
        expected = 1 if place == 0 else SIZE + 1 - place
        if not is_seeded or place > SIZE or left != expected or int(words.max()) >> 32:
            raise UsageError(
                f"these {len(data)} bytes are no state of a CPU generator; expected those of "
                "torch.get_rng_state()."
            )
        block = words.astype(np.uint32)
        return cls(seed, block, place, kept if is_kept else None, _index_of(seed, block, place))


def _index_of(seed: int, block: NDArray[np.uint32], place: int) -> int | None:
    """Words that a seed gave before a state; None where that is too far, or the state is another seed's."""
    if place == 0:
        return 0 if np.array_equal(block, seeded(np.uint32(seed & 0xFFFFFFFF))) else None
    origin = origin_of(block, FOLLOWED)
    if origin is None or origin.seed != seed & 0xFFFFFFFF:
        return None
    return origin.position + place
