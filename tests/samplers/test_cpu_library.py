"""The C library's float32 logarithm, sine and cosine, against the library of this machine and true values."""

from __future__ import annotations

import ctypes
import platform

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.numerics.compiled import kernel
from birthmark.samplers.cpu_library import circlef, logf

GNU = platform.libc_ver()[0] == "glibc"


@kernel()
def _everything(units: NDArray[np.float32], angles: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    for i in range(len(units)):
        out[0, i] = logf(units[i])
        out[1, i], out[2, i] = circlef(angles[i])


def computed(units: NDArray[np.float32], angles: NDArray[np.float32]) -> NDArray[np.float32]:
    out = np.empty((3, len(units)), np.float32)
    _everything(units, angles, out)
    return out


def arguments(step: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    words = np.arange(1, (1 << 24) + 1, step, dtype=np.int64)
    units = words.astype(np.float32) * np.float32(2.0**-24)
    return units, (2 * np.pi * units.astype(np.float64)).astype(np.float32)


@pytest.mark.skipif(not GNU, reason="this machine's C library is not the GNU one")
@pytest.mark.parametrize("name", ["logf", "cosf", "sinf"])
def test_values_equal_the_library(name: str) -> None:
    """Every 2,000th argument that a draw can have gives the library's own bits."""
    units, angles = arguments(2_003)
    function = getattr(ctypes.CDLL("libm.so.6"), name)
    function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float]
    row, values = {"logf": (0, units), "cosf": (1, angles), "sinf": (2, angles)}[name]

    truth = np.array([function(float(value)) for value in values], np.float32)

    assert np.array_equal(computed(units, angles)[row], truth)


def test_values_lie_within_a_unit_of_the_true_ones() -> None:
    """None is further than one unit in the last place from the correctly rounded value; a few differ."""
    units, angles = arguments(101)
    exact = np.stack(
        [np.log(units.astype(float)), np.cos(angles.astype(float)), np.sin(angles.astype(float))]
    )
    rounded = exact.astype(np.float32)

    off = np.abs(computed(units, angles).astype(float) - rounded) / np.spacing(
        np.abs(rounded) + np.float32(1e-30)
    )

    assert off.max() <= 1.0
    assert 0 < np.mean(off[0] > 0) < 0.02
