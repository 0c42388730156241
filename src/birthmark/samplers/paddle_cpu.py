"""PaddlePaddle's draws on the CPU: the C++ library's generator and distributions.

Sources: PaddlePaddle `paddle/phi/core/generator.cc`, `kernels/cpu/gaussian_kernel.cc`, `uniform_kernel.cc`,
`kernels/funcs/uniform_real_distribution.h` (2023 to 2026), run on paddlepaddle 3.3.1; GCC's libstdc++ 13
`bits/random.tcc`. `paddle.seed(s)` seeds through a `std::seed_seq`, which keeps 32 bits of s; a call with a
seed of its own starts an engine on it directly. A uniform is one 64-bit word as float32. Normals come from
the polar method in float32, with a partner that is thrown away where a call ends; rejected pairs make the
words of an element depend on all before it, so a normal draw is run through from its start.

From pull request 79544 (July 2026) on, uniforms are those of PyTorch's CPU generator: each call starts an
MT19937 on the generator's seed, and the output behind its values becomes the next seed. Read, not run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.mt19937_64 import SIZE, advance, seeded, seeded_by_sequence, tempered, words_at
from birthmark.numerics.compiled import kernel
from birthmark.samplers.cpu_draw import CpuDraw

#: "library": the C++ library's; "torch": uniforms after July 2026.
ERAS: Final = ("library", "torch")

_STEP = np.float32(2.0**-64)
_BELOW_1 = np.float32(1.0 - 2.0**-24)
_ONE = np.float32(1.0)
_TWO = np.float32(2.0)


@dataclass(frozen=True, slots=True)
class PaddleCpuDraw:
    """One call of `paddle.uniform` or `normal` in float32 on the CPU.

    Attributes:
        distribution: "normal" or "uniform".
        parameters: (mean, std) or (low, high).
        size: elements.
        skip: 64-bit words that the generator gave before.
        own_seed: whether the seed is the call's own, not `paddle.seed`'s.
        era: one of `ERAS`; with "torch" `skip` must be 0, since every call starts afresh.
    """

    distribution: Literal["normal", "uniform"]
    parameters: tuple[float, float]
    size: int
    skip: int = 0
    own_seed: bool = False
    era: str = "library"

    def __post_init__(self) -> None:
        """Refuse what cannot be predicted.

        Raises:
            UnknownName: an unknown distribution or era.
            UsageError: a negative size or skip, parameters that are not finite, a skip in the later era.
        """
        for kind, name, known in (
            ("distribution", self.distribution, ("normal", "uniform")),
            ("era of Paddle's CPU draws", self.era, ERAS),
        ):
            if name not in known:
                raise UnknownName(kind, name, known)
        if self.size < 0 or self.skip < 0 or (self._torch and self.skip):
            raise UsageError(f"{self.size} elements after {self.skip} words; expected 0 or more of each.")
        if not all(math.isfinite(one) for one in self.parameters):
            raise UsageError(f"the parameters {self.parameters}; expected finite ones.")

    def values(self, seed: int, indices: NDArray[np.int64]) -> NDArray[np.float32]:
        """The values of the given elements.

        Args:
            seed: any integer; its low 32 bits count, all 64 of a call's own.
            indices: int64 flat indices, any shape and order.

        Raises:
            UsageError: an index outside the draw.
        """
        flat = np.asarray(indices, np.int64)
        if self._torch:
            return CpuDraw("uniform", self.parameters, self.size).values(seed, flat).astype(np.float32)
        if flat.size and (int(flat.min()) < 0 or int(flat.max()) >= self.size):
            raise UsageError(f"an index from {flat.min()} to {flat.max()} in a draw of {self.size} elements.")
        if self.own_seed:
            state = seeded(np.uint64(seed % (1 << 64)))
        else:
            state = seeded_by_sequence(np.uint32(seed & 0xFFFFFFFF))
        first, second = (np.float32(one) for one in self.parameters)
        if self.distribution == "uniform":
            unit = canonical(words_at(state, flat + self.skip))
            return unit * np.float32(second - first) + first
        every = np.unique(flat)
        drawn = np.empty(len(every), np.float32)
        _polar(state, self.skip, every, drawn)
        scaled = drawn[np.searchsorted(every, flat.reshape(-1))].reshape(flat.shape) * second
        return scaled + first

    @property
    def _torch(self) -> bool:
        return self.era == "torch" and self.distribution == "uniform"


def canonical(words: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Words as float32 in [0, 1), as `std::generate_canonical` makes them."""
    unit: NDArray[np.float32] = np.minimum(words.astype(np.float32) * _STEP, _BELOW_1)
    return unit


@kernel(inline=True)
def _symmetric(word: np.uint64) -> np.float32:
    unit = np.float32(np.float32(word) * _STEP)
    return np.float32(np.float32(_TWO * (unit if unit < _ONE else _BELOW_1)) - _ONE)


@kernel()
def _polar(state: NDArray[np.uint64], skip: int, wanted: NDArray[np.int64], out: NDArray[np.float32]) -> None:
    at = SIZE
    for _ in range(skip // SIZE):
        advance(state)
    if skip % SIZE:
        advance(state)
        at = skip % SIZE
    number = -1
    value = np.float32(0.0)
    kept = np.float32(0.0)
    for i in range(len(wanted)):
        while number < wanted[i]:
            number += 1
            if number % 2:
                value = kept
                continue
            while True:
                if at == SIZE:
                    advance(state)
                    at = 0
                x = _symmetric(tempered(state[at]))
                at += 1
                if at == SIZE:
                    advance(state)
                    at = 0
                y = _symmetric(tempered(state[at]))
                at += 1
                square = np.float32(np.float32(x * x) + np.float32(y * y))
                if square <= _ONE and square != np.float32(0.0):
                    break
            logarithm = np.float32(np.log(square))  # the C library's logf, as Paddle's
            factor = np.float32(np.sqrt(np.float32(np.float32(-_TWO * logarithm) / square)))
            kept, value = np.float32(x * factor), np.float32(y * factor)
        out[i] = value
