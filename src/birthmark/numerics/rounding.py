"""Rounding of a float32 to a narrower format inside compiled loops.

`birthmark.numerics.dtypes.round_to` does the same for arrays; the two answer to the same tests.
"""

from __future__ import annotations

import numpy as np

from birthmark.numerics.compiled import kernel
from birthmark.numerics.dtypes import format_of

_EXPONENT = np.uint64(0x7FF0000000000000)
_ONE_AND_A_HALF = np.uint64(0x0008000000000000)


def constants(dtype: str) -> tuple[np.uint64, np.uint64, np.float64]:
    """What `rounded` needs to know of a dtype.

    Returns:
        (floor, lift, greatest): the exponent field of the smallest normal number, the distance in exponent
        fields from a value to 2^52 of its quanta, and the largest finite value.
    """
    form = format_of(dtype)
    return (
        np.uint64((form.least + 1023) << 52),
        np.uint64((53 - form.precision) << 52),
        np.float64(form.greatest),
    )


@kernel(inline=True)
def rounded(x: np.float32, floor: np.uint64, lift: np.uint64, greatest: np.float64) -> np.float32:
    """A float32 rounded to the format of `constants`, ties to even, beyond the largest to infinity."""
    wide = np.float64(x)
    exponent = np.float64(wide).view(np.uint64) & _EXPONENT
    # Adding and taking away 1.5 * 2^52 quanta rounds to a whole number of quanta, ties to even.
    shift = np.uint64((max(exponent, floor) + lift) | _ONE_AND_A_HALF).view(np.float64)
    nearest = np.copysign((wide + shift) - shift, wide)
    return np.float32(np.copysign(np.inf, wide) if np.abs(nearest) > greatest else nearest)
