"""The mask of a fused dropout on a GPU: `torch.nn.functional.dropout` in training, or `torch.native_dropout`.

The launch has as many threads as any draw of n elements. A thread takes V neighbouring elements at a time:
element j lies in group j div V, group g belongs to thread g mod T in that thread's round g div T. A round
uses a fresh block for each four elements; with V = 2 the second half of each block is lost. V = 1 is the
usual layout, lanes one wave apart. An element is kept where its uniform, float32 for every dtype, lies below
the probability of keeping.

V is the most neighbours that fit a load, halved until it divides n: four up to PyTorch 2.6. Since then 16-bit
tensors can have eight, which depends on the release and on the CUDA version it was built for; where that is
not known here, V must be given.

Source: pytorch `aten/src/ATen/native/cuda/Dropout.cu` and `MemoryAccess.cuh`. Dropout has no part in weights,
but it moves the offset of what is drawn after it. It is not split: its loop counts in 64 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.layout import Layout
from birthmark.errors import UsageError
from birthmark.generators.philox import key_of
from birthmark.numerics.dtypes import format_of, itemsize, round_to
from birthmark.samplers.arithmetic import code_of
from birthmark.samplers.fill import standard_at

#: What V can be.
VECTORS: Final = (1, 2, 4, 8)
#: Elements that are worked on at a time.
CHUNK: Final = 1 << 19
_LANES: Final = 4


@dataclass(frozen=True, slots=True)
class Dropout:
    """One call, but for the seed.

    Attributes:
        size: elements of the tensor, contiguous or at least dense.
        threads: G, the threads of a full launch of the device.
        keep: the probability of keeping an element: 1 minus the argument of dropout, in double precision.
        dtype: of the tensor; float64 compares in double precision.
        vector: V, one of `VECTORS`, before it is halved to divide the size.
        offset: the generator's offset when the call starts, a multiple of 4.
        arithmetic: how words become floats on the device.
    """

    size: int
    threads: int
    keep: float
    dtype: str = "float32"
    vector: int = 4
    offset: int = 0
    arithmetic: str = "nvidia-volta+"

    def __post_init__(self) -> None:
        Layout(self.threads)
        code_of(self.arithmetic)
        format_of(self.dtype)
        if self.size < 0 or not 0 <= self.keep <= 1:
            raise UsageError(
                f"dropout of {self.size} elements, keeping {self.keep}: expected 0 or more, and 0 to 1."
            )
        if self.vector not in VECTORS:
            raise UsageError(f"dropout by {self.vector} elements at a time: expected one of {VECTORS}.")
        if self.offset < 0 or self.offset % 4:
            raise UsageError(f"offset {self.offset}: expected a multiple of 4, from 0 on.")

    @property
    def taken(self) -> int:
        """V as the kernel takes it: a divisor of the size."""
        vector = self.vector
        while self.size % vector:
            vector //= 2
        return vector

    @property
    def end_offset(self) -> int:
        """The generator's offset after the call."""
        return self.offset + Layout(self.threads).advance(self.size)

    def values(self, seed: int, indices: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the elements at `indices` are kept, in their shape.

        Raises:
            UsageError: an index lies outside the tensor.
        """
        given = np.asarray(indices)
        if given.size and not 0 <= int(given.min()) <= int(given.max()) < self.size:
            raise UsageError(f"indices {given.min()} to {given.max()}: the tensor has {self.size} elements.")
        flat = given.astype(np.int64, copy=False).reshape(-1)
        layout, vector = Layout(self.threads), self.taken
        if vector == 1:
            call, lane, thread = layout.locate(self.size, flat)
        else:
            group, within = np.divmod(flat, vector)
            turn, where = np.divmod(group, max(layout.launch_threads(self.size), 1))
            call = (turn * -(-vector // _LANES) + within // _LANES).astype(np.uint64)
            lane, thread = (within % _LANES).astype(np.uint8), where.astype(np.uint64)
        units = standard_at(
            "uniform",
            np.asarray([key_of(seed)]),
            call + np.uint64(self.offset // 4),
            thread,
            lane,
            self.arithmetic,
        )
        kept: NDArray[np.bool_] = units < (self.keep if self.dtype == "float64" else np.float32(self.keep))
        return kept.reshape(given.shape)

    def run(self, seed: int) -> NDArray[np.bool_]:
        """The whole mask, true where an element is kept."""
        parts = [
            self.values(seed, np.arange(begin, min(begin + CHUNK, self.size)))
            for begin in range(0, self.size, CHUNK)
        ]
        return np.concatenate(parts) if parts else np.empty(0, np.bool_)

    def applied(self, values: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[Any]:
        """What the call returns: kept values times 1 / keep, the rest times 0, rounded once to the dtype.

        Args:
            values: the input, decoded, of any shape.
            mask: of the same shape.
        """
        carrier = np.float64 if self.dtype == "float64" else np.float32
        scale = carrier(1.0 / float(carrier(self.keep))) if self.keep else carrier(np.inf)
        with np.errstate(invalid="ignore", over="ignore"):
            return round_to(values.astype(carrier) * mask.astype(carrier) * scale, self.dtype)


def vector_of(dtype: str, release: tuple[int, int], cuda: tuple[int, int] | None, arithmetic: str) -> int:
    """V of a build of PyTorch.

    Args:
        dtype: of the tensor.
        release: (major, minor) of PyTorch.
        cuda: (major, minor) of the CUDA version it was built for; None where it is not known.
        arithmetic: "amd" for ROCm.

    Raises:
        UsageError: what this build does is not known.
    """
    width = itemsize(dtype)
    if (release <= (2, 6) and arithmetic != "amd") or release <= (2, 5) or dtype == "float32":
        return 4
    if arithmetic == "amd" and release >= (2, 8):
        return 8 if width == 2 else 4
    if width == 2 and release >= (2, 8) and cuda is not None:
        return 8 if cuda >= (12, 8) else 4
    raise UsageError(
        f"dropout of {dtype} in torch {release[0]}.{release[1]}: how many neighbours a thread takes depends "
        "on the build; name its CUDA version, or give the number (vector=4 or 8)."
    )
