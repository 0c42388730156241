"""Permutations of PyTorch's CPU generator: `randperm`, element by element.

Position i, from the first to the last but one, is swapped with position i + (word modulo what is left). So a
permutation of n takes n - 1 words, and none of its elements is known without all. From a twentieth of 2^32
elements on it is drawn another way, from two words an element. Source: pytorch
`aten/src/ATen/native/TensorFactories.cpp` (`randperm_cpu`), 1.13.1 to 2.14.1; the large case
is read, not run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.numerics.compiled import kernel
from birthmark.numerics.dtypes import FORMATS
from birthmark.samplers.cpu_call import CpuCall, Read, Values
from birthmark.samplers.cpu_double import whole

#: Sizes from here on are drawn from 64 bits each.
LARGE: Final = ((1 << 32) - 1) // 20


def permutation(words: NDArray[np.uint32], size: int) -> NDArray[np.int64]:
    """What `randperm(size)` makes of its words, int64[size].

    Raises:
        UsageError: too few words, or a size from `LARGE` on.
    """
    if size >= LARGE:
        raise UsageError(f"a permutation of {size}; expected fewer than {LARGE}.")
    if len(words) < size - 1:
        raise UsageError(f"{len(words)} words for a permutation of {size}; expected {size - 1}.")
    order = np.arange(size, dtype=np.int64)
    _swap_all(words, order)
    return order


@dataclass(frozen=True, slots=True)
class Permutation:
    """The sampler of permutations."""

    call: CpuCall

    def __post_init__(self) -> None:
        call = self.call
        most = 1 << FORMATS[call.dtype].precision if call.dtype in FORMATS else int(np.iinfo(call.dtype).max)
        if call.size > most:
            raise UsageError(f"a permutation of {call.size} in {call.dtype}; expected at most {most}.")

    @property
    def consumed(self) -> int:
        """Words that the draw takes."""
        return 2 * self.call.size if self.call.size >= LARGE else max(self.call.size - 1, 0)

    def values(self, read: Read, indices: NDArray[np.int64]) -> Values:
        """The values of elements; the whole permutation is made on the way."""
        words = read(np.arange(self.consumed, dtype=np.int64))
        return whole(permutation(words, self.call.size)[indices], self.call.dtype)


@kernel()
def _swap_all(words: NDArray[np.uint32], order: NDArray[np.int64]) -> None:
    for i in range(len(order) - 1):
        other = i + np.int64(words[i] % np.uint32(len(order) - i))
        order[i], order[other] = order[other], order[i]
