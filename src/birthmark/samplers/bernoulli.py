"""Truth values: `bernoulli_` with one probability, or with a tensor of them; two kernels, two rules.

With one probability p it is the usual loop, and true where a uniform in (0, 1] lies below p. The uniforms are
float32 for every dtype of the tensor but float64, and so is p, rounded; the dtype also decides where a huge
tensor is split. With a tensor of probabilities see `BernoulliEach`. Source: pytorch
`aten/src/ATen/native/cuda/DistributionTemplates.h`, `ATen/core/TransformationHelper.h` and
`ATen/cuda/CUDAApplyUtils.cuh` (1.8 to 2.15.0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.philox import key_of
from birthmark.numerics.dtypes import FORMATS
from birthmark.samplers.arithmetic import code_of
from birthmark.samplers.fill import standard_at
from birthmark.samplers.integers import BOUNDED, RANGES
from birthmark.samplers.per_call import OneEach

#: Elements that are worked on at a time.
CHUNK: Final = 1 << 19
#: How far `bernoulli_` with a tensor of probabilities moves the offset, whatever its size: 10, rounded up.
EACH_ADVANCE: Final = 12
_EACH_LANES: Final = 4


@dataclass(frozen=True, slots=True)
class Bernoulli(OneEach):
    """A draw of truth values.

    Attributes:
        p: the probability of true, 0 to 1.
        dtype: of the tensor: "bool", an integer or a float dtype.
    """

    p: float = 0.5
    dtype: str = "float32"

    def __post_init__(self) -> None:
        known = [name for name in (*RANGES, *FORMATS) if name not in BOUNDED]
        if self.dtype not in known:
            raise UnknownName("dtype of a bernoulli draw", self.dtype, known)
        if not 0 <= self.p <= 1:
            raise UsageError(f"a bernoulli draw of probability {self.p}: expected 0 to 1.")

    @property
    def source(self) -> Literal["uniform"]:
        """Truth values are made from uniforms in (0, 1]."""
        return "uniform"

    def finish(self, raw: NDArray[Any]) -> NDArray[np.bool_]:
        """The truth values of uniforms of any shape."""
        below: NDArray[np.bool_] = raw < raw.dtype.type(self.p)
        return below


@dataclass(frozen=True, slots=True, eq=False)
class BernoulliEach:
    """One call of `bernoulli_` with a tensor of probabilities, `torch.bernoulli`'s way, but for the seed.

    It has a kernel of its own: thread t makes the elements 4 t to 4 t + 3 from the four words of one block,
    and there are as many threads as that takes, so that no device leaves a trace in it. Uniforms are float32
    for every dtype, and true where they are at most p.

    Attributes:
        probabilities: one for each element, in the order of memory, 0 to 1.
        dtype: of the tensor that is filled; decides how precisely a probability is compared.
        offset: the generator's offset when the call starts, a multiple of 4.
        arithmetic: how words become floats on the device.
    """

    probabilities: NDArray[np.floating[Any]]
    dtype: str = "float32"
    offset: int = 0
    arithmetic: str = "nvidia-volta+"

    def __post_init__(self) -> None:
        Bernoulli(0.5, self.dtype)
        code_of(self.arithmetic)
        given = self.probabilities
        if given.dtype.kind != "f" or given.ndim != 1:
            raise UsageError(
                f"probabilities of type {given.dtype} in {given.ndim} dimensions: expected a line of floats."
            )
        if given.size and not bool(((given >= 0) & (given <= 1)).all()):
            raise UsageError("probabilities below 0, above 1 or NaN: expected 0 to 1.")

    @property
    def end_offset(self) -> int:
        """The generator's offset after the call; up to torch 2.0 an empty tensor moved it too."""
        return self.offset + EACH_ADVANCE

    def values(self, seed: int, indices: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The truth values at `indices`, in their shape.

        Raises:
            UsageError: an index lies outside the tensor.
        """
        given = np.asarray(indices)
        if given.size and not 0 <= int(given.min()) <= int(given.max()) < self.probabilities.size:
            raise UsageError(
                f"indices {given.min()} to {given.max()}: there are {self.probabilities.size} probabilities."
            )
        flat = given.astype(np.int64, copy=False).reshape(-1)
        thread, lane = np.divmod(flat, _EACH_LANES)
        counter = np.full(flat.shape, self.offset // 4, np.uint64)
        units = standard_at(
            "uniform",
            np.asarray([key_of(seed)]),
            counter,
            thread.astype(np.uint64),
            lane.astype(np.uint8),
            self.arithmetic,
        )
        carrier = np.float64 if self.dtype == "float64" else np.float32
        below: NDArray[np.bool_] = units <= self.probabilities[flat].astype(carrier)
        return below.reshape(given.shape)

    def run(self, seed: int) -> NDArray[np.bool_]:
        """All truth values, in the order of memory."""
        size = self.probabilities.size
        parts = [
            self.values(seed, np.arange(begin, min(begin + CHUNK, size))) for begin in range(0, size, CHUNK)
        ]
        return np.concatenate(parts) if parts else np.empty(0, np.bool_)
