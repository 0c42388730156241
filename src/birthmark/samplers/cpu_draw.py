"""One draw of PyTorch's CPU generator with random access: any elements, from a seed and a stream position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.mt19937 import words_at
from birthmark.samplers.cpu_call import CpuCall, CpuSampler, Read, Values, is_half
from birthmark.samplers.cpu_samplers import sampler_of
from birthmark.samplers.cpu_scalar import ScalarNormal
from birthmark.samplers.cpu_truncated import Redrawn, Rejected
from birthmark.samplers.cpu_versions import NEWEST


@dataclass(frozen=True, slots=True)
class After:
    """Where a generator stands after a draw.

    Attributes:
        index: 32-bit words that it has given.
        kept_at: the stream position of the pair whose second normal it keeps; None if it keeps none.
    """

    index: int
    kept_at: int | None


@dataclass(frozen=True, slots=True)
class CpuDraw:
    """One random call on a tensor, and where in the stream it starts.

    Attributes:
        distribution: "normal", "uniform", "truncated-normal", "exponential", "cauchy", "log-normal",
            "geometric", "bernoulli", "integers" or "permutation".
        parameters: as the caller passed them, see `birthmark.samplers.cpu_call.CpuCall`.
        size: elements of the tensor.
        index: 32-bit words that the generator gave before the draw. A negative one stands for a tensor
            whose first elements came from elsewhere; those cannot be predicted.
        dtype: the tensor's dtype when drawn.
        arithmetic: one of `birthmark.samplers.cpu_arithmetic.ARITHMETICS`; those of official x86 builds
            differ in uniforms only.
        version: PyTorch's version.
        contiguous: whether the tensor is contiguous. If not, elements count in the order of storage.
        kept_at: the stream position of the first of the four words whose second normal the generator still
            keeps; None if it keeps none. Only normals that are made pair by pair care.
        mkl: whether the build leaves what it can to Intel's library (x86 builds up to 2.6 on Intel).
    """

    distribution: str
    parameters: tuple[float, ...]
    size: int
    index: int = 0
    dtype: str = "float32"
    arithmetic: str = "cpu-fused"
    version: str = NEWEST
    contiguous: bool = True
    kept_at: int | None = None
    mkl: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be predicted.

        Raises:
            UsageError: a dtype, size, version or parameters that cannot be.
            UnknownName: an unknown distribution or arithmetic.
        """
        self._sampler  # noqa: B018 - refuses what cannot be drawn
        if self.kept_at is not None and self.kept_at < 0:
            raise UsageError(f"a normal kept from position {self.kept_at}; expected 0 or more.")

    @classmethod
    def of(cls, call: CpuCall, index: int = 0, kept_at: int | None = None) -> CpuDraw:
        """A call at its place in the stream."""
        return cls(
            call.distribution,
            call.parameters,
            call.size,
            index,
            call.dtype,
            call.arithmetic,
            call.version,
            call.contiguous,
            kept_at,
            call.mkl,
        )

    @property
    def call(self) -> CpuCall:
        """The call without its place in the stream."""
        return CpuCall(
            self.distribution,
            self.parameters,
            self.size,
            self.dtype,
            self.version,
            self.arithmetic,
            self.contiguous,
            self.mkl,
        )

    @property
    def _sampler(self) -> CpuSampler:
        return sampler_of(self.call, None if self.kept_at is None else self.kept_at - self.index)

    @property
    def small(self) -> bool:
        """Whether the draw is made of normals pair by pair, and so minds the one that is kept."""
        return isinstance(self._sampler, ScalarNormal)

    @property
    def exact(self) -> bool:
        """Whether every bit is known to be torch's, on Linux.

        Truncated normals by inversion in 32 and 64 bits, and exponentials by Intel's library, go through
        another's function whose last bits are not known.
        """
        if self.distribution == "truncated-normal":
            return self.call.rules.redraws or is_half(self.dtype)
        return not (self.call.by_mkl and self.distribution == "exponential")

    @property
    def consumed(self) -> int:
        """Words that the draw takes.

        Raises:
            UsageError: it depends on the seed.
        """
        taken = self._sampler.consumed
        if taken is None:
            raise UsageError(
                f"how many words a {self.distribution} draw of PyTorch {self.version} takes depends on the "
                "seed: use consumed_of(seed)."
            )
        return taken

    def consumed_of(self, seed: int) -> int:
        """Words that the draw takes with a seed."""
        return self.after(seed).index - self.index

    def after(self, seed: int | None = None) -> After:
        """Where the generator stands after the draw.

        Args:
            seed: needed where it depends on the seed.

        Raises:
            UsageError: it is needed and not given.
        """
        sampler = self._sampler
        kept = None if self.kept_at is None else self.kept_at - self.index
        if isinstance(sampler, Redrawn | Rejected):
            if seed is None:
                return After(self.index + self.consumed, self.kept_at)
            _, taken, kept = sampler.run(self._reader(seed), np.arange(self.size, dtype=np.int64))
        else:
            taken = self.consumed
            if isinstance(sampler, ScalarNormal):
                kept = sampler.keeps_at
        return After(self.index + taken, None if kept is None else kept + self.index)

    def values(self, seed: int, indices: NDArray[np.int64]) -> Values:
        """The values of the given elements: floats decoded, integers in the draw's dtype.

        Args:
            seed: any integer; its low 32 bits count.
            indices: int64 flat indices, any shape and order.

        Raises:
            UsageError: an index outside the tensor, or an element whose words lie before the stream's first.
        """
        flat = np.asarray(indices, np.int64)
        if flat.size and (int(flat.min()) < 0 or int(flat.max()) >= self.size):
            raise UsageError(
                f"an index from {flat.min()} to {flat.max()} in a tensor of {self.size} elements."
            )
        return self._sampler.values(self._reader(seed), flat)

    def _reader(self, seed: int) -> Read:
        return lambda places: words_at(seed, places + self.index)


def chain(calls: list[CpuCall], index: int = 0, kept_at: int | None = None) -> list[CpuDraw]:
    """Draws one after the other, each with its place in the stream.

    Args:
        calls: the calls in their order.
        index: words that the generator gave before the first.
        kept_at: as for `CpuDraw`.

    Raises:
        UsageError: the place of one depends on the seed; `CpuStream` follows those.
    """
    draws: list[CpuDraw] = []
    place = After(index, kept_at)
    for call in calls:
        draw = CpuDraw.of(call, place.index, place.kept_at)
        draws.append(draw)
        if len(draws) < len(calls):
            place = draw.after()
    return draws
