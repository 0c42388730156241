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
from birthmark.samplers.bernoulli import Bernoulli, BernoulliEach
from birthmark.samplers.cuda_draw import CudaDraw, Sampler
from birthmark.samplers.derived import Cauchy, Geometric, LogNormal
from birthmark.samplers.draw import Draw, Values
from birthmark.samplers.dropout import Dropout, vector_of
from birthmark.samplers.exponential import Exponential
from birthmark.samplers.integers import Integers
from birthmark.samplers.permutation import Permutation
from birthmark.samplers.storing import TRUNCATED
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

    def log_normal(self, n: int, mean: float = 1.0, std: float = 2.0, dtype: str = "float32") -> Values:
        """`log_normal_(mean, std)`: float64 for "float64", else float32."""
        return self._drawn(LogNormal(mean, std, dtype), n)

    def cauchy(self, n: int, median: float = 0.0, sigma: float = 1.0, dtype: str = "float32") -> Values:
        """`cauchy_(median, sigma)` of PyTorch 2.0 and later: float64 for "float64", else float32."""
        self._since("cauchy_", (2, 0))
        return self._drawn(Cauchy(median, sigma, dtype), n)

    def geometric(self, n: int, p: float, dtype: str = "float32") -> NDArray[Any]:
        """`geometric_(p)`: int64 for integer dtypes, else the floats of the dtype."""
        return self._drawn(Geometric(p, dtype), n)

    def truncated_normal(
        self, n: int, mean: float, std: float, low: float, high: float, dtype: str = "float32"
    ) -> Values:
        """`torch.nn.init.trunc_normal_(mean, std, low, high)`, with as many redraws as the values ask for."""
        draw = Draw(TRUNCATED, (mean, std, low, high), (n,), dtype, self.rules.truncated)
        if not draw.redraws:
            return self._drawn(draw, n)
        values = self.normal(n, mean, std, dtype)
        while (beyond := draw.outside(values)).any():
            values[beyond] = self.normal(n, mean, std, dtype)[beyond]
        return values

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

    def bernoulli(
        self, n: int, p: float | NDArray[np.floating[Any]] = 0.5, dtype: str = "float32"
    ) -> NDArray[np.bool_]:
        """`bernoulli_(p)`: truth values, whatever the tensor's dtype.

        Args:
            n: elements.
            p: one probability, or one for each element in the order of memory (`torch.bernoulli(p)`).
            dtype: of the tensor that is filled.
        """
        if not isinstance(p, np.ndarray):
            return self._drawn(Bernoulli(float(p), dtype), n)
        self._since("bernoulli_ with a tensor", (1, 8))
        if p.shape != (n,):
            raise UsageError(f"probabilities of shape {p.shape} for {n} elements: expected one for each.")
        each = BernoulliEach(p, dtype, self.offset, self.arithmetic)
        values = each.run(self.seed)
        if n == 0 and self.rules.release >= (2, 1):
            return values
        self.offset = each.end_offset
        return values

    def permutation(self, n: int) -> NDArray[np.int64]:
        """`torch.randperm(n)` of PyTorch 1.10 and later; the result's dtype changes nothing.

        On AMD nothing else is different, since words decide alone.
        """
        self._since("randperm", (1, 10))
        drawn = Permutation(n, self.threads, self.offset, self.rules.integers, self.rules.offsets)
        values = drawn.run(self.seed)
        if n:
            self.offset = drawn.end_offset
        return values

    def dropout(
        self, n: int, p: float = 0.5, dtype: str = "float32", *, vector: int | None = None
    ) -> NDArray[np.bool_]:
        """The mask of `torch.native_dropout(input, p, train=True)`, true where an element is kept.

        `birthmark.samplers.dropout.Dropout.applied` makes the output from it. `torch.nn.functional.dropout`
        comes here on a GPU for p between 0 and 1 and does not draw for others.

        Args:
            n: elements.
            p: the probability of dropping one; 1 drops all without a draw.
            dtype: of the input.
            vector: neighbours that a thread takes at a time, where the build's number is not known.
        """
        if p == 1 or n == 0:
            return np.zeros(n, np.bool_)
        rule = self.rules
        taken = vector_of(dtype, rule.release, rule.cuda, self.arithmetic) if vector is None else vector
        drawn = Dropout(n, self.threads, 1.0 - p, dtype, taken, self.offset, self.arithmetic)
        values = drawn.run(self.seed)
        self.offset = drawn.end_offset
        return values

    def _since(self, what: str, release: tuple[int, int]) -> None:
        """Refuse what older releases did otherwise."""
        if self.rules.release < release:
            raise UsageError(
                f"{what} on a GPU is predicted from torch {release[0]}.{release[1]} on; "
                f"{self.rules.release[0]}.{self.rules.release[1]} did it in another way."
            )

    def _drawn(self, sampler: Sampler, n: int) -> NDArray[Any]:
        draw = CudaDraw(sampler, n, self.threads, self.arithmetic, self.offset, self.rules.offsets)
        values = draw.run(self.seed)
        self.offset = draw.end_offset
        return values
