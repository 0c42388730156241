"""The arithmetics that a draw can have been made with, and their codes inside kernels."""

from __future__ import annotations

from typing import Final

import numpy as np

from birthmark.errors import UnknownName

VOLTA: Final = np.uint32(0)
PASCAL: Final = np.uint32(1)
AMD: Final = np.uint32(2)

#: Name of each arithmetic and its code in compiled code. "amd" has rocRAND's constants and roundings, with
#: correctly rounded logarithm, sine and cosine standing in for hardware tables that are not public: expect
#: about 0.03 % of bfloat16 values and many float32 values off by a unit or two in the last place.
ARITHMETICS: Final[dict[str, np.uint32]] = {"nvidia-volta+": VOLTA, "nvidia-pascal-": PASCAL, "amd": AMD}


def code_of(arithmetic: str) -> np.uint32:
    """The code of an arithmetic.

    Raises:
        UnknownName: no arithmetic has that name.
    """
    try:
        return ARITHMETICS[arithmetic]
    except KeyError:
        raise UnknownName("arithmetic", arithmetic, ARITHMETICS) from None
