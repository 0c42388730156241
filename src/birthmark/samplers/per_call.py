"""What draws that are made from one normal or one uniform an element have in common."""

from __future__ import annotations

from birthmark.numerics.dtypes import is_float, itemsize
from birthmark.samplers.integers import RANGES


class OneEach:
    """A draw whose elements take a standard value each, in double precision for float64 alone."""

    __slots__ = ()
    dtype: str

    @property
    def unroll(self) -> int:
        """Values a call."""
        return 2 if self.dtype == "float64" else 4

    @property
    def width(self) -> int:
        """Bytes of a stored element."""
        return itemsize(self.dtype) if is_float(self.dtype) else RANGES[self.dtype][0]
