"""PaddlePaddle's GPU draws under the generator: cuRAND's Philox in PyTorch's layout.

Source: PaddlePaddle `paddle/phi/kernels/funcs/distribution_helper.h`, 2.3 to 3.3 (read, not run). Blocks,
grid, calls and lanes are PyTorch's. A uniform that is 1 becomes 0 before it is scaled, as in PyTorch up to
2.0. The offset advances as if every call gave four values, in double precision too. Tensors beyond 2 GiB were
one launch until August 2026; from pull requests 79665, 79667 and 79698 on they are split as PyTorch's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.layout import INDEX_LIMIT, Layout, Piece, launches, locate, unroll_of
from birthmark.errors import UsageError
from birthmark.generators.philox import key_of
from birthmark.numerics.dtypes import itemsize
from birthmark.samplers.draw import Draw
from birthmark.samplers.fill import standard_at

#: How the offset advances, by PyTorch's name for it.
_OFFSETS: Final = "2.4-"
#: Elements that no tensor reaches: nothing is split.
_NEVER: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class PaddleGpuDraw:
    """One call of `paddle.normal` or `uniform` on a GPU, without a seed of its own.

    Attributes:
        distribution: "normal" or "uniform".
        parameters: (mean, std) or (low, high).
        size: elements.
        threads: G of the device, a multiple of 256.
        dtype: "float32", "float16", "bfloat16" or "float64".
        offset: where the generator stands, a multiple of 4.
        split: whether tensors beyond 2 GiB are split.
        arithmetic: a name of `birthmark.samplers.arithmetic.ARITHMETICS`.
    """

    distribution: Literal["normal", "uniform"]
    parameters: tuple[float, float]
    size: int
    threads: int
    dtype: str = "float32"
    offset: int = 0
    split: bool = False
    arithmetic: str = "nvidia-volta+"

    def __post_init__(self) -> None:
        """Refuse what cannot be predicted.

        Raises:
            UnknownName: an unknown distribution or dtype.
            UsageError: a thread count, size or offset that cannot be, parameters out of order.
        """
        Layout(self.threads)
        if self.offset < 0 or self.offset % 4:
            raise UsageError(f"offset {self.offset}: expected a multiple of 4, from 0 on.")
        self._draw()

    def values(self, seed: int, indices: NDArray[np.int64]) -> NDArray[Any]:
        """The values of the given elements: float64 for "float64", else float32.

        Args:
            seed: any integer; taken modulo 2^64.
            indices: int64 flat indices, any shape and order.

        Raises:
            UsageError: an index outside the draw.
        """
        flat = np.asarray(indices, np.int64)
        if flat.size and (int(flat.min()) < 0 or int(flat.max()) >= self.size):
            raise UsageError(f"an index from {flat.min()} to {flat.max()} in a draw of {self.size} elements.")
        pieces, _ = self._launches()
        counter, lane, thread = locate(pieces, Layout(self.threads), flat, unroll_of(self.dtype))
        raw = standard_at(
            self.distribution,
            np.array([key_of(seed)]),
            (counter + np.uint64(self.offset // 4)).reshape(-1),
            thread.reshape(-1),
            lane.reshape(-1),
            self.arithmetic,
            self.dtype == "float64",
        )
        return self._draw().finish(raw).reshape(flat.shape)

    @property
    def end_offset(self) -> int:
        """Where the generator stands afterwards."""
        return self.offset + self._launches()[1]

    def _launches(self) -> tuple[tuple[Piece, ...], int]:
        limit = INDEX_LIMIT if self.split else _NEVER
        unroll = unroll_of(self.dtype)
        return launches(
            self.size, itemsize(self.dtype), Layout(self.threads), unroll=unroll, rule=_OFFSETS, limit=limit
        )

    def _draw(self) -> Draw:
        version = "2.0-" if self.distribution == "uniform" else "2.1+"
        return Draw(self.distribution, self.parameters, (self.size,), self.dtype, version)
