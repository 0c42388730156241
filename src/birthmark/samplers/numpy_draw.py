"""One draw of NumPy: uniforms and normals of `RandomState` and of `default_rng`, any elements.

Sources: numpy `numpy/random/mtrand.pyx`, `_generator.pyx`, `src/distributions/distributions.c`, 1.17 to 2.4,
on x86-64, where nothing is fused. Uniforms lie where their index says. Normals take as many words as chance
wants (see `numpy_polar`, `numpy_ziggurat`): reaching element n means running over all before it, some
10 nanoseconds each, from the start or from the nearest of the marks that an earlier run left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.mt19937 import following
from birthmark.generators.mt19937_words import start
from birthmark.generators.pcg64 import Pcg64, pcg64_of
from birthmark.numerics.compiled import kernel
from birthmark.samplers.numpy_polar import double_of, skip_polar
from birthmark.samplers.numpy_ziggurat import skip32, skip64, tables

Floats = NDArray[np.float32] | NDArray[np.float64]
Distribution = Literal["normal", "uniform"]

GENERATORS: Final = ("RandomState", "default_rng")
#: Values between two marks.
EVERY: Final = 1 << 20

_STEP = 2.0**-53
_STEP_32 = np.float32(2.0**-24)


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """A stream of normals just before the value of a number: what its kernel needs to go on."""

    number: int
    window: NDArray[np.uint32] = field(repr=False)
    place: NDArray[np.int64]
    kept: NDArray[np.float64]
    state: NDArray[np.uint64]

    def copy(self) -> Mark:
        """One whose arrays may be run on."""
        return Mark(self.number, self.window.copy(), self.place.copy(), self.kept.copy(), self.state.copy())


@dataclass(frozen=True, slots=True)
class NumpyDraw:
    """One random call of NumPy.

    Attributes:
        generator: "RandomState" (also the functions of `numpy.random`) or "default_rng".
        distribution: "normal" or "uniform".
        size: elements.
        parameters: (mean, std) or (low, high). With the standard ones nothing is added or multiplied.
        dtype: "float64", or "float32" where `default_rng` was asked for it (`random`, `standard_normal`);
            then a factor can only have come afterwards, as the parameters say.
        skip: values of the same distribution and dtype that the stream gave before.
    """

    generator: str
    distribution: Distribution
    size: int
    parameters: tuple[float, float]
    dtype: str = "float64"
    skip: int = 0

    def __post_init__(self) -> None:
        """Refuse what NumPy does not have.

        Raises:
            UnknownName: an unknown generator, distribution or dtype.
            UsageError: float32 of RandomState, a negative size or skip, parameters that are not finite.
        """
        for kind, name, known in (
            ("NumPy generator", self.generator, GENERATORS),
            ("distribution", self.distribution, ("normal", "uniform")),
            ("NumPy dtype", self.dtype, ("float64", "float32")),
        ):
            if name not in known:
                raise UnknownName(kind, name, known)
        if self.generator == "RandomState" and self.dtype == "float32":
            raise UsageError("a float32 draw of RandomState; it draws in float64 alone.")
        if self.size < 0 or self.skip < 0:
            raise UsageError(f"{self.size} elements after {self.skip}; expected neither to be negative.")
        if not all(math.isfinite(one) for one in self.parameters):
            raise UsageError(f"the parameters {self.parameters}; expected finite ones.")

    def values(
        self,
        stream: int | Pcg64 | NDArray[np.uint32],
        indices: NDArray[np.int64],
        marks: tuple[Mark, ...] = (),
    ) -> Floats:
        """The values of the given elements, in the draw's dtype.

        Args:
            stream: a seed; or the stream itself: a `Pcg64`, or MT19937's window at the start (see
                `generators.numpy_seeding` for those of other seedings).
            indices: int64 flat indices, any shape and order.
            marks: from `marks` on the same stream, to start from.

        Raises:
            UsageError: an index outside the draw, a stream of the other generator, a negative seed.
        """
        flat = np.asarray(indices, np.int64)
        if flat.size and (int(flat.min()) < 0 or int(flat.max()) >= self.size):
            raise UsageError(f"an index from {flat.min()} to {flat.max()} in a draw of {self.size} elements.")
        numbers = flat.reshape(-1) + self.skip
        if self.distribution == "uniform":
            drawn = self._uniforms(stream, numbers)
        else:
            order = np.argsort(numbers, kind="stable")
            drawn = np.empty(len(numbers), self.dtype)
            drawn[order] = self._normals(self._nearest(stream, numbers, marks), numbers[order])
        return self._scaled(drawn).reshape(flat.shape)

    def marks(self, stream: int | Pcg64 | NDArray[np.uint32], every: int = EVERY) -> tuple[Mark, ...]:
        """Marks at every so many values of a normal draw, by one run over it; none for uniforms.

        Raises:
            UsageError: fewer than one value between marks, or a stream of the other generator.
        """
        if every < 1:
            raise UsageError(f"{every} values between marks; expected 1 or more.")
        found: list[Mark] = []
        at = self._begin(stream)
        if self.distribution == "normal":
            for number in range(every, self.skip + self.size, every):
                self._normals(at, np.array([number - 1]))
                at = Mark(number, at.window, at.place, at.kept, at.state)
                found.append(at.copy())
        return tuple(found)

    def _nearest(
        self,
        stream: int | Pcg64 | NDArray[np.uint32],
        numbers: NDArray[np.int64],
        marks: tuple[Mark, ...],
    ) -> Mark:
        least = int(numbers.min()) if len(numbers) else 0
        before = [mark for mark in marks if mark.number <= least]
        return max(before, key=lambda mark: mark.number).copy() if before else self._begin(stream)

    def _begin(self, stream: int | Pcg64 | NDArray[np.uint32]) -> Mark:
        window, state = np.zeros(1, np.uint32), np.zeros(5, np.uint64)
        if self.generator == "RandomState":
            window = self._window(stream).copy()
        else:
            state[:4] = self._pcg64(stream).halves()
        return Mark(0, window, np.zeros(1, np.int64), np.zeros(2), state)

    def _normals(self, at: Mark, numbers: NDArray[np.int64]) -> Floats:
        """Standard normals of ascending numbers; the mark's arrays are run on."""
        if self.dtype == "float32":
            out = np.empty(len(numbers), np.float32)
            layers = tables(23)
            skip32(at.state, at.number, numbers, layers.inside, layers.width, layers.height, out)
            return out
        wide = np.empty(len(numbers), np.float64)
        if self.generator == "RandomState":
            skip_polar(at.window, at.place, at.kept, at.number, numbers, wide)
        else:
            layers = tables(52)
            skip64(at.state, at.number, numbers, layers.inside, layers.width, layers.height, wide)
        return wide

    def _uniforms(self, stream: int | Pcg64 | NDArray[np.uint32], numbers: NDArray[np.int64]) -> Floats:
        if self.generator == "RandomState":
            places, back = np.unique(numbers, return_inverse=True)
            words = following(self._window(stream), (2 * places[:, None] + np.arange(2)).reshape(-1))
            out = np.empty(len(places))
            _doubles(words, out)
            return out[back]
        source = self._pcg64(stream)
        if self.dtype == "float64":
            return (source.words_at(numbers) >> np.uint64(11)).astype(np.float64) * _STEP
        halves = source.words_at(numbers // 2) >> (np.uint64(32) * (numbers % 2).astype(np.uint64))
        return ((halves & np.uint64(0xFFFFFFFF)) >> np.uint64(8)).astype(np.float32) * _STEP_32

    def _scaled(self, drawn: Floats) -> Floats:
        first, second = self.parameters
        factor = second - first if self.distribution == "uniform" else second
        if (first, factor) == (0.0, 1.0):
            return drawn
        if self.dtype == "float32":
            scaled = drawn * np.float32(factor)
            return scaled + np.float32(first) if first else scaled
        return first + factor * drawn

    def _window(self, stream: int | Pcg64 | NDArray[np.uint32]) -> NDArray[np.uint32]:
        if isinstance(stream, Pcg64):
            raise UsageError("a PCG64 stream for RandomState; expected a seed or an MT19937 window.")
        if isinstance(stream, np.ndarray):
            return stream
        if not 0 <= stream < 1 << 32:
            raise UsageError(f"the seed {stream}; RandomState takes 0 to 2^32 - 1.")
        return start(stream)

    def _pcg64(self, stream: int | Pcg64 | NDArray[np.uint32]) -> Pcg64:
        if isinstance(stream, np.ndarray):
            raise UsageError("an MT19937 window for default_rng; expected a seed or a PCG64 stream.")
        return stream if isinstance(stream, Pcg64) else pcg64_of(stream)


@kernel()
def _doubles(words: NDArray[np.uint32], out: NDArray[np.float64]) -> None:
    for i in range(len(out)):
        out[i] = double_of(words[2 * i], words[2 * i + 1])
