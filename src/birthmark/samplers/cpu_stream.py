"""PyTorch's CPU generator as a running stream: draw after draw, as a program makes them.

The stream keeps what the generator keeps: how many words it gave, and the normal that waits for the next
scalar draw. Its state goes to torch and comes from torch as bytes, so that a program can be continued on
either side. Where only some elements are wanted, `birthmark.samplers.cpu_draw.CpuDraw` reaches them without
the others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.samplers.cpu_arithmetic import arithmetic_of
from birthmark.samplers.cpu_block import BlockNormal
from birthmark.samplers.cpu_block import whole as whole_blocks
from birthmark.samplers.cpu_call import CpuCall, Values
from birthmark.samplers.cpu_double import whole
from birthmark.samplers.cpu_samplers import sampler_of
from birthmark.samplers.cpu_scalar import ScalarNormal, consumed, finish, following
from birthmark.samplers.cpu_state import CpuState
from birthmark.samplers.cpu_truncated import MOST_ROUNDS, Redrawn, Rejected, normal_sampler
from birthmark.samplers.cpu_uniform import uniform, units64
from birthmark.samplers.cpu_versions import NEWEST, version_of


class CpuStream:
    """A CPU generator, as it runs.

    All draws return their values as one array of n: floats decoded (float32, or float64 for float64),
    integers in their dtype. Shapes are the caller's: elements come in the order of a contiguous tensor.
    """

    def __init__(
        self,
        seed: int,
        *,
        version: str = NEWEST,
        index: int = 0,
        arithmetic: str = "cpu-fused",
        mkl: bool = False,
    ) -> None:
        """A generator after `manual_seed(seed)` and `index` words.

        Args:
            seed: any integer; its low 32 bits count.
            version: PyTorch's version.
            index: 32-bit words that were given already.
            arithmetic: one of `birthmark.samplers.cpu_arithmetic.ARITHMETICS`.
            mkl: whether the build leaves what it can to Intel's library (x86 up to 2.6 on Intel).

        Raises:
            UsageError: no such version, or a negative index.
            UnknownName: no such arithmetic.
        """
        self._state = CpuState.after(seed, index)
        self._version, self._arithmetic, self._mkl = version, arithmetic, mkl
        version_of(version)
        arithmetic_of(arithmetic)

    @classmethod
    def from_state_bytes(
        cls, data: bytes, *, version: str = NEWEST, arithmetic: str = "cpu-fused", mkl: bool = False
    ) -> CpuStream:
        """A generator in the state that `torch.get_rng_state().numpy().tobytes()` gave.

        Raises:
            UsageError: bytes that are no state.
        """
        stream = cls(0, version=version, arithmetic=arithmetic, mkl=mkl)
        stream._state = CpuState.from_bytes(data)
        return stream

    def state_bytes(self) -> bytes:
        """The state as `torch.set_rng_state` takes it, once it is a tensor of bytes (uint8)."""
        return self._state.to_bytes()

    @property
    def seed(self) -> int:
        """The seed, modulo 2^64."""
        return self._state.seed

    @property
    def index(self) -> int | None:
        """32-bit words given since seeding; None after a restored state whose seeding is too far back."""
        return self._state.index

    @property
    def kept(self) -> float | None:
        """The standard normal that waits for the next scalar draw; None if none does."""
        return self._state.kept

    def words(self, n: int) -> NDArray[np.uint32]:
        """The next n words, uint32[n].

        Raises:
            UsageError: a negative n.
        """
        given, self._state = self._state.take(n)
        return given

    def run(self, call: CpuCall) -> Values:
        """The values of a call; its own version and arithmetic count, not the stream's.

        Raises:
            UsageError: parameters that torch refuses.
        """
        sampler = sampler_of(call)
        if isinstance(sampler, ScalarNormal):
            return self._scalar(call)
        if isinstance(sampler, Redrawn) and isinstance(normal_sampler(call, None), ScalarNormal):
            return self._redrawn(call)
        if isinstance(sampler, BlockNormal):
            return whole_blocks(sampler, self.words(sampler.consumed))
        ahead = _Ahead(self)
        indices = np.arange(call.size, dtype=np.int64)
        if isinstance(sampler, Redrawn | Rejected):
            values, taken, _ = sampler.run(ahead, indices)
        else:
            values, taken = sampler.values(ahead, indices), sampler.consumed or 0
        ahead.reach(taken)
        return values

    def normal(
        self,
        n: int,
        mean: float = 0.0,
        std: float = 1.0,
        dtype: str = "float32",
        *,
        contiguous: bool = True,
    ) -> Values:
        """`normal_(mean, std)`; on a tensor that is not contiguous elements come in storage order."""
        return self.run(self._call("normal", (mean, std), n, dtype, contiguous))

    def uniform(self, n: int, low: float = 0.0, high: float = 1.0, dtype: str = "float32") -> Values:
        """`uniform_(low, high)`."""
        return self.run(self._call("uniform", (low, high), n, dtype))

    def truncated_normal(
        self,
        n: int,
        mean: float = 0.0,
        std: float = 1.0,
        low: float = -2.0,
        high: float = 2.0,
        dtype: str = "float32",
    ) -> Values:
        """`torch.nn.init.trunc_normal_(tensor, mean, std, low, high)`."""
        return self.run(self._call("truncated-normal", (mean, std, low, high), n, dtype))

    def exponential(self, n: int, rate: float = 1.0, dtype: str = "float32") -> Values:
        """`exponential_(rate)`."""
        return self.run(self._call("exponential", (rate,), n, dtype))

    def cauchy(self, n: int, median: float = 0.0, sigma: float = 1.0, dtype: str = "float32") -> Values:
        """`cauchy_(median, sigma)`."""
        return self.run(self._call("cauchy", (median, sigma), n, dtype))

    def log_normal(self, n: int, mean: float = 1.0, std: float = 2.0, dtype: str = "float32") -> Values:
        """`log_normal_(mean, std)`."""
        return self.run(self._call("log-normal", (mean, std), n, dtype))

    def geometric(self, n: int, p: float, dtype: str = "float32") -> Values:
        """`geometric_(p)`."""
        return self.run(self._call("geometric", (p,), n, dtype))

    def random(self, n: int, low: int | None = None, high: int | None = None, dtype: str = "int64") -> Values:
        """`random_(low, high)` or `randint(low, high)`; `random_(high)` is `random(n, 0, high)`.

        Without bounds the range is the dtype's own.

        Raises:
            UsageError: one bound without the other.
        """
        if (low is None) != (high is None):
            raise UsageError("integers with one bound; expected both or none.")
        bounds = () if low is None or high is None else (low, high)
        return self.run(self._call("integers", bounds, n, dtype))

    def bernoulli(self, n: int, p: float | NDArray[Any] = 0.5, dtype: str = "float32") -> Values:
        """`bernoulli_(p)` with one probability, or with a tensor of n of them (float32 or float64).

        Raises:
            UsageError: not n probabilities, or one beyond 0 to 1.
        """
        if isinstance(p, int | float):
            return self.run(self._call("bernoulli", (p,), n, dtype))
        if p.shape != (n,) or not bool(np.all((p >= 0) & (p <= 1))):
            raise UsageError(f"probabilities of shape {p.shape}; expected {n} from 0 to 1.")
        if p.dtype == np.float64:
            return whole(units64(self.words(2 * n).reshape(n, 2)) < p, dtype)
        return whole(uniform(self.words(n), 0.0, 1.0, open_end=False) < p.astype(np.float32), dtype)

    def permutation(self, n: int, dtype: str = "int64") -> Values:
        """`torch.randperm(n)`."""
        return self.run(self._call("permutation", (), n, dtype))

    def _call(
        self, distribution: str, parameters: tuple[float, ...], n: int, dtype: str, contiguous: bool = True
    ) -> CpuCall:
        return CpuCall(
            distribution, parameters, n, dtype, self._version, self._arithmetic, contiguous, self._mkl
        )

    def _scalar(self, call: CpuCall) -> Values:
        needed, _ = consumed(call.size, kept=self.kept is not None)
        standard, left = following(self.words(needed), call.size, self.kept, one_minus=call.rules.one_minus)
        self._state = replace(self._state, kept=left)
        return finish(standard, call)

    def _redrawn(self, call: CpuCall) -> Values:
        """A truncated normal of scalar draws: the normal that is kept passes from round to round."""
        normal = replace(call, distribution="normal", parameters=call.parameters[:2])
        values = self._scalar(normal)
        for _ in range(MOST_ROUNDS):
            outside = Redrawn(call).outside(values)
            if not outside.any():
                return values
            values = np.where(outside, self._scalar(normal), values)
        raise UsageError(
            f"bounds {call.parameters[2:]} took in no value of {call.dtype} within {MOST_ROUNDS} draws."
        )


class _Ahead:
    """The words of a stream from where it stands, drawn as far as somebody asks."""

    def __init__(self, stream: CpuStream) -> None:
        self._stream = stream
        self._words = np.zeros(0, np.uint32)

    def __call__(self, places: NDArray[np.int64]) -> NDArray[np.uint32]:
        self.reach(int(places.max(initial=-1)) + 1)
        return self._words[places]

    def reach(self, count: int) -> None:
        """Draw until `count` words have been drawn in all."""
        more = self._stream.words(max(count - len(self._words), 0))
        self._words = more if not len(self._words) else np.concatenate([self._words, more])
