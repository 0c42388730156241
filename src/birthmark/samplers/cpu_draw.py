"""One draw of PyTorch's CPU generator with random access: any elements, from a seed and a stream position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.mt19937 import words, words_at
from birthmark.numerics.dtypes import round_to
from birthmark.samplers import cpu_normal, cpu_scalar
from birthmark.samplers.cpu_uniform import scaling_code, uniform, uniform64

#: Dtypes whose draws are known bit for bit, with the distributions.
KNOWN: Final = {
    "normal": ("float32", "bfloat16", "float16"),
    "uniform": ("float32", "bfloat16", "float16", "float64"),
}


@dataclass(frozen=True, slots=True)
class CpuDraw:
    """One call of `normal_` or `uniform_` on a contiguous tensor, and where in the stream it starts.

    Attributes:
        distribution: "normal" or "uniform".
        parameters: (mean, std) or (low, high), as the caller passed them.
        size: elements of the tensor.
        index: 32-bit words that the generator gave before the draw. A negative one stands for a tensor
            whose first elements came from elsewhere; those cannot be predicted.
        dtype: the tensor's dtype when drawn. 16-bit draws are those of PyTorch 2.13 and later (uniforms:
            2.12).
        arithmetic: "cpu-fused" or "cpu-unfused"; normals do not depend on it.
    """

    distribution: Literal["normal", "uniform"]
    parameters: tuple[float, float]
    size: int
    index: int = 0
    dtype: str = "float32"
    arithmetic: str = "cpu-fused"

    def __post_init__(self) -> None:
        """Refuse what cannot be predicted.

        Raises:
            UsageError: a distribution or dtype whose draws are not known, a negative size.
            UnknownName: an unknown arithmetic.
        """
        scaling_code(self.arithmetic)
        if self.dtype not in KNOWN.get(self.distribution, ()):
            raise UsageError(
                f"a CPU {self.distribution} draw in {self.dtype}; known are normals and uniforms in "
                f"{', '.join(KNOWN['normal'])}, and uniforms in float64."
            )
        if self.size < 0:
            raise UsageError(f"a draw of {self.size} elements; expected 0 or more.")

    @property
    def small(self) -> bool:
        """Whether the draw takes the scalar path (normals of fewer than 16 elements)."""
        return self.distribution == "normal" and self.size < cpu_normal.BLOCK

    @property
    def consumed(self) -> int:
        """Words that the draw takes; for a scalar one without a value kept from before."""
        if self.distribution == "uniform":
            return self.size * (2 if self.dtype == "float64" else 1)
        if self.small:
            return cpu_scalar.consumed(self.size, kept=False)[0]
        return cpu_normal.consumed(self.size, half=self._half)

    def values(self, seed: int, indices: NDArray[np.int64]) -> NDArray[np.float32] | NDArray[np.float64]:
        """The values of the given elements, in the draw's dtype, decoded.

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
        first, second = self.parameters
        if self.distribution == "uniform":
            return self._uniforms(seed, flat)
        if self.small:
            stream = words(seed, self.index, self.consumed)
            drawn = cpu_scalar.draw(stream, self.size, first, second).values[flat]
        else:
            radius, angle, sine = cpu_normal.places(self.size, flat, half=self._half)
            pair = words_at(seed, np.stack([radius, angle]) + self.index)
            drawn = cpu_normal.normal(pair[0], pair[1], sine, first, second)
        return round_to(drawn, self.dtype) if self._half else drawn

    @property
    def _half(self) -> bool:
        return self.dtype in ("bfloat16", "float16")

    def _uniforms(self, seed: int, flat: NDArray[np.int64]) -> NDArray[np.float32] | NDArray[np.float64]:
        low, high = self.parameters
        if self.dtype == "float64":
            at = self.index + 2 * flat[..., None] + np.arange(2)
            return uniform64(words_at(seed, at), low, high)
        drawn = uniform(words_at(seed, self.index + flat), low, high, self.arithmetic)
        if self._half:
            drawn = round_to(drawn, self.dtype).astype(np.float32)
            ends = round_to(np.array([low, high]), self.dtype).astype(np.float32)
            drawn[drawn == ends[1]] = ends[0]
        return drawn
