"""Arrays of a pack as bytes: indices as runs or as a list, values as the bits the checkpoint stores."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import PackError
from birthmark.numerics.dtypes import decode, encode, itemsize

Encoding = Literal["runs", "list"]

#: Elements on one side of the split that a pack can hold; a split makes no more than half of this.
MOST_ELEMENTS = 1 << 21


def pack_indices(indices: NDArray[np.int64]) -> tuple[Encoding, bytes]:
    """Ascending indices as (start, length) pairs or as a list, whichever is shorter; int64, little-endian."""
    breaks = np.flatnonzero(np.diff(indices) != 1) + 1
    starts = np.concatenate([[0], breaks]).astype(np.int64) if indices.size else np.zeros(0, np.int64)
    if 2 * starts.size < indices.size:
        lengths = np.diff(np.append(starts, indices.size))
        runs = np.stack([indices[starts], lengths], axis=1)
        return "runs", runs.astype("<i8").tobytes()
    return "list", indices.astype("<i8").tobytes()


def unpack_indices(data: bytes, encoding: Encoding, count: int, size: int) -> NDArray[np.int64]:
    """The indices again.

    Args:
        data: what `pack_indices` made.
        encoding: how.
        count: how many there are.
        size: elements of the tensor; every index is below.

    Raises:
        PackError: they are not `count` ascending indices into the tensor.
    """
    if not 0 <= count <= MOST_ELEMENTS or len(data) % (16 if encoding == "runs" else 8):
        raise PackError(
            f"the pack claims {count:,} elements in {len(data):,} bytes of indices; that cannot be."
        )
    raw = np.frombuffer(data, dtype="<i8").astype(np.int64)
    if encoding == "runs":
        starts, lengths = raw[0::2], raw[1::2]
        # Each bound first: a sum of hostile lengths could overflow.
        if (raw.size and not 1 <= lengths.min() <= lengths.max() <= count) or int(lengths.sum()) != count:
            raise PackError(f"the pack's runs of indices do not add up to {count:,} elements.")
        offsets = np.arange(count) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        indices = np.repeat(starts, lengths) + offsets
    else:
        indices = raw
    ascending = indices.size < 2 or bool(np.all(np.diff(indices) > 0))
    if indices.size != count or not ascending or (count and not 0 <= indices[0] <= indices[-1] < size):
        raise PackError(
            f"the pack's indices are not {count:,} ascending ones into a tensor of {size:,} elements."
        )
    return indices


def pack_values(values: NDArray[np.float64], dtype: str) -> bytes:
    """Values as the stored dtype's bits, little-endian."""
    bits = encode(values, dtype)
    return bits.astype(bits.dtype.newbyteorder("<")).tobytes()


def unpack_values(data: bytes, dtype: str, count: int) -> NDArray[np.float64]:
    """The values again.

    Raises:
        PackError: the bytes are not `count` finite values.
    """
    if len(data) != count * itemsize(dtype):
        raise PackError(
            f"the pack holds {len(data):,} bytes of {dtype} values; {count:,} elements need another number."
        )
    values = np.asarray(decode(np.frombuffer(data, dtype=np.uint8), dtype), np.float64)
    if not np.isfinite(values).all():
        raise PackError("the pack holds values that are not finite; birthmark never packs such.")
    return values
