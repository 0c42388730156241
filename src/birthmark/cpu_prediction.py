"""A CPU generator's numbers: whole tensors or rows of one, from a seed and the words drawn before.

`birthmark.prediction` does the same for GPUs; what the two give is written by `birthmark.prediction_file`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark import __version__
from birthmark.drawn import Parameters, named
from birthmark.errors import UsageError
from birthmark.numerics.dtypes import format_of, round_to
from birthmark.prediction import check_memory, checked_seed, matrix
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.cpu_versions import NEWEST, version_of


@dataclass(frozen=True, slots=True)
class CpuPrediction:
    """Rows of a tensor as PyTorch's CPU generator draws them.

    Attributes:
        draw: everything but the seed.
        parameters: the draw's numbers, by name, in order.
        shape: extents of the whole tensor.
        seed: as given; its low 32 bits count.
        rows: first row, and the one after the last; a tensor with one dimension is one row.
        cast: the dtype that the values were rounded to after the draw; None where they were not.
    """

    draw: CpuDraw
    parameters: Mapping[str, float | int | None]
    shape: tuple[int, ...]
    seed: int
    rows: tuple[int, int]
    cast: str | None = None

    @property
    def dtype(self) -> str:
        """The dtype at draw time."""
        return self.draw.dtype

    @property
    def exact(self) -> bool:
        """Whether every bit is known to be torch's; see `birthmark.samplers.cpu_draw.CpuDraw.exact`."""
        return self.draw.exact

    def values(self) -> NDArray[Any]:
        """The values, decoded: float32 or float64, or the integers of the draw's dtype.

        Returns:
            An array of shape (rows, *rest), or of the tensor's own shape where that has one dimension.

        Raises:
            UsageError: the values take more memory than this machine has.
        """
        _, columns = matrix(self.shape)
        first, last = self.rows[0] * columns, self.rows[1] * columns
        # Beside the values: the places of their words, the words, and what is made on the way.
        check_memory((last - first) * 48)
        found = self.draw.values(self.seed, np.arange(first, last, dtype=np.int64))
        if self.cast is not None:
            found = round_to(found, self.cast)
        return found.reshape(self.shape) if len(self.shape) < 2 else found.reshape(-1, *self.shape[1:])

    def metadata(self) -> dict[str, Any]:
        """How the values came about: JSON types only."""
        draw = self.draw
        after = draw.after(self.seed)
        return {
            "birthmark": __version__,
            "seed": self.seed,
            "device": "cpu",
            "arithmetic": draw.arithmetic,
            "mkl": draw.mkl,
            "exact": self.exact,
            "generator": "mt19937",
            "index": draw.index,
            "kept_at": draw.kept_at,
            "end_index": after.index,
            "end_kept_at": after.kept_at,
            "distribution": draw.distribution,
            "parameters": dict(self.parameters),
            "torch": draw.version,
            "dtype": draw.dtype,
            "contiguous": draw.contiguous,
            "cast": self.cast,
            "shape": list(self.shape),
            "rows": list(self.rows),
        }


def cpu_prediction(
    seed: int,
    shape: tuple[int, ...],
    *,
    index: int = 0,
    kept_at: int | None = None,
    dtype: str = "float32",
    distribution: str = "normal",
    parameters: Parameters = (),
    rows: tuple[int, int] | None = None,
    torch: str | None = None,
    arithmetic: str | None = None,
    contiguous: bool = True,
    mkl: bool = False,
    cast: str | None = None,
) -> CpuPrediction:
    """A checked request; `CpuPrediction.values` computes it, `birthmark.prediction_file.save` writes it.

    Args:
        seed: what the generator was seeded with, -2^63 to 2^64 - 1.
        shape: extents of the whole tensor.
        index: 32-bit words that the generator gave before the draw.
        kept_at: where a normal is kept from before, see `birthmark.samplers.cpu_draw.CpuDraw`.
        dtype: the dtype at draw time; that of a permutation changes nothing and is called int64.
        distribution: one of `birthmark.samplers.cpu_call.DTYPES`.
        parameters: its numbers, in order or by name; PyTorch's defaults stand for those left out.
        rows: first row, and the one after the last; None for all.
        torch: the release of PyTorch, such as "2.4.1"; None for the newest that was compared.
        arithmetic: one of `birthmark.samplers.cpu_arithmetic.ARITHMETICS`; None for that of the official x86
            wheels on a processor with AVX2.
        contiguous: whether the tensor was contiguous. If not, rows are those of its storage.
        mkl: whether the build left what it could to Intel's library (x86 up to 2.6 on Intel).
        cast: a float dtype that the values were rounded to after the draw.

    Raises:
        UsageError: something of it cannot be; the message says what.
        UnknownName: no such dtype, distribution or arithmetic.
    """
    checked_seed(seed)
    if index < 0:
        raise UsageError(f"index {index}: expected 0 or more words before the draw.")
    shape = tuple(shape)
    given = named(distribution, parameters)
    version = torch or NEWEST
    if distribution == "permutation":
        dtype = "int64"
        if len(shape) != 1:
            raise UsageError(f"a permutation of shape {shape}: expected one extent.")
    if cast is not None:
        format_of(cast)
        if dtype not in ("float32", "float64"):
            raise UsageError(
                f"a cast of {dtype} values to {cast}: expected values drawn in float32 or float64."
            )
    if not shape or min(shape) < 1:
        raise UsageError(f"shape {shape} has no elements: there is nothing to predict.")
    numbers = tuple(number for number in given.values() if number is not None)
    if len(numbers) == 1 and distribution == "integers" and given.get("high") is None:
        raise UsageError("integers with a lower bound alone: give an upper one too.")
    draw = CpuDraw(
        distribution,
        numbers,
        int(np.prod(shape, dtype=object)),
        index,
        dtype,
        arithmetic or version_of(version).wheels,
        version,
        contiguous,
        kept_at,
        mkl,
    )
    count, _ = matrix(shape)
    start, stop = rows if rows is not None else (0, count)
    if not 0 <= start < stop <= count:
        raise UsageError(f"rows {start}:{stop} of a tensor of shape {shape}: expected a range in 0:{count}.")
    return CpuPrediction(draw, given, shape, seed, (start, stop), cast)
