"""A GPU generator's running state as stock PyTorch keeps it: a seed, and an offset that every draw moves.

Each method does what the PyTorch method of its name does to a contiguous tensor of n elements on the GPU: it
returns the values and moves the offset, both as that release would. Values come in the iterator's order, the
order of memory; `birthmark.devices.strides` says where that is in a tensor with gaps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.layout import Layout
from birthmark.errors import UsageError
from birthmark.samplers.arithmetic import code_of
from birthmark.samplers.bernoulli import Bernoulli
from birthmark.samplers.cuda_draw import CudaDraw, Sampler
from birthmark.samplers.draw import Draw, Values
from birthmark.samplers.exponential import Exponential
from birthmark.samplers.integers import Integers
from birthmark.samplers.torch_rules import rules


class CudaStream:
    """A generator on a GPU.

    Attributes:
        seed: the seed, any integer; taken modulo 2^64.
        offset: where it stands, a multiple of 4.
        threads: G of the device.
        arithmetic: a name of `birthmark.samplers.arithmetic.ARITHMETICS`.
        rules: the version rules of the PyTorch release.
    """

    def __init__(
        self,
        seed: int,
        *,
        threads: int,
        arithmetic: str = "nvidia-volta+",
        version: str = "2.13",
        cuda: str | None = None,
        offset: int = 0,
    ) -> None:
        """A generator that was just seeded, or stands at an offset.

        Args:
            seed: the seed.
            threads: threads of a full launch of the device, a multiple of 256.
            arithmetic: how words become floats there.
            version: a PyTorch release, such as "2.13" or "2.11.0+cu128".
            cuda: the CUDA version of that build, where `version` does not name it.
            offset: where the generator stands, a multiple of 4.

        Raises:
            UsageError: a thread count, version or offset that cannot be.
            UnknownName: no such arithmetic.
        """
        Layout(threads)
        code_of(arithmetic)
        if offset < 0 or offset % 4:
            raise UsageError(f"offset {offset}: expected a multiple of 4, from 0 on.")
        self.seed = seed
        self.offset = offset
        self.threads = threads
        self.arithmetic = arithmetic
        self.rules = rules(version, cuda)

    def normal(self, n: int, mean: float = 0.0, std: float = 1.0, dtype: str = "float32") -> Values:
        """`normal_(mean, std)`: float64 for "float64", else float32."""
        return self._drawn(Draw("normal", (mean, std), (n,), dtype), n)

    def uniform(self, n: int, low: float = 0.0, high: float = 1.0, dtype: str = "float32") -> Values:
        """`uniform_(low, high)`: float64 for "float64", else float32."""
        return self._drawn(Draw("uniform", (low, high), (n,), dtype, self.rules.uniform), n)

    def exponential(self, n: int, rate: float = 1.0, dtype: str = "float32") -> Values:
        """`exponential_(rate)`: float64 for "float64", else float32."""
        return self._drawn(Exponential(rate, dtype, self.rules.exponential), n)

    def random(
        self, n: int, low: int | None = None, high: int | None = None, dtype: str = "int64"
    ) -> NDArray[Any]:
        """`random_(low, high)`, and `randint` with both bounds: int64, bool, or the floats of a float dtype.

        Args:
            n: elements.
            low: the least value; None for `random_()`, whose range is the dtype's.
            high: the one after the greatest; None for `random_(low, None)`.
            dtype: of the tensor.
        """
        return self._drawn(Integers(low, high, dtype, self.rules.integers), n)

    def bernoulli(self, n: int, p: float = 0.5, dtype: str = "float32") -> NDArray[np.bool_]:
        """`bernoulli_(p)`: truth values, whatever the tensor's dtype."""
        return self._drawn(Bernoulli(p, dtype), n)

    def _drawn(self, sampler: Sampler, n: int) -> NDArray[Any]:
        draw = CudaDraw(sampler, n, self.threads, self.arithmetic, self.offset, self.rules.offsets)
        values = draw.run(self.seed)
        self.offset = draw.end_offset
        return values
