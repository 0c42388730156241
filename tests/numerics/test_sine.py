"""The sine and cosine unit against its literal description and its published errors."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.numerics.sine import cosine, sine, squared
from birthmark.numerics.sine_table import C0, C1, C2

TURN = 1 << 25


@numba.njit  # type: ignore[untyped-decorator]
def both(k: NDArray[np.uint32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    s = np.empty(k.size, np.float32)
    c = np.empty(k.size, np.float32)
    for i in range(k.size):
        s[i] = sine(k[i])
        c[i] = cosine(k[i])
    return s, c


@pytest.fixture(scope="module")
def angles() -> NDArray[np.uint32]:
    edges = [q * (TURN // 4) + d for q in range(4) for d in (0, 1, 2, (1 << 17) - 1, 1 << 17, (1 << 23) - 1)]
    some = np.random.default_rng(5).integers(0, TURN, 200_000, dtype=np.uint32)
    return np.concatenate([np.asarray(edges, np.uint32), some])


def literal_square(x: int) -> int:
    """Truncated partial products, one for each set bit."""
    return sum(x >> (18 - i) for i in range(17) if x >> i & 1) >> 1


def literal(k: int) -> float:
    """MUFU.SIN of k * 2^-25 turns in integers, as the data path is described."""
    quadrant, fraction = k >> 23 & 3, k & 0x7FFFFF
    if quadrant & 1:
        fraction = ~fraction & 0x7FFFFF
    row, x = fraction >> 17, fraction & 0x1FFFF
    value = (int(C0[row]) << 11) + int(C1[row]) * x - int(C2[row]) * literal_square(x)
    surplus = max(0, value.bit_length() - 24)
    return (-1 if quadrant & 2 else 1) * (value >> surplus << surplus) * 2.0**-37


def test_squarer_truncates_each_partial_product() -> None:
    """The square of 17 bits is the sum of truncated shifts, for every x tried."""
    tried = [0, 1, 2, 3, 0x1FFFF, 0x10000, *range(5, 1 << 17, 997)]
    assert [int(squared(np.uint32(x))) for x in tried] == [literal_square(x) for x in tried]


def test_data_path(angles: NDArray[np.uint32]) -> None:
    """Sine and cosine equal the integer description bit for bit, in all quadrants and at their edges."""
    some = angles[:3000]
    s, c = both(some)
    assert s.tolist() == [literal(int(k)) for k in some]
    assert c.tolist() == [literal((int(k) + TURN // 4) % TURN) for k in some]


def test_worked_value() -> None:
    """The published worked example: 0efea92 of 2^25 turns."""
    k = np.uint32(0x0EFEA92)
    assert hex(np.float32(sine(k)).view(np.uint32)) == "0x3e48cdc9"
    assert hex(np.float32(cosine(k)).view(np.uint32)) == "0xbf7b0793"


def test_exact_points() -> None:
    """sin 0 = 0, cos 0 = 1, sin of a quarter turn = 1, exactly."""
    found = [sine(np.uint32(0)), cosine(np.uint32(0)), sine(np.uint32(1 << 23))]
    assert [float(value) for value in found] == [0.0, 1.0, 1.0]


def test_error_is_the_units_own(angles: NDArray[np.uint32]) -> None:
    """In the first quadrant errors stay below 2^-22.4 and lean low; 28.5 % are correctly rounded."""
    first = angles[angles < 1 << 23]
    exact = np.sin(first * (2 * np.pi / TURN))
    error = both(first)[0] - exact
    assert 2**-22.7 < np.abs(error).max() < 2**-22.4
    assert -0.3 < error.mean() * 2**24 < -0.1
    assert 0.27 < np.mean(both(first)[0] == exact.astype(np.float32)) < 0.30


def test_odd_quadrants_fold_by_complement(angles: NDArray[np.uint32]) -> None:
    """Folding by negation, as a symmetric sine would, gives another value for most angles."""
    first = angles[(angles < 1 << 23) & (angles > 0)]
    mirrored = both(((1 << 24) - first).astype(np.uint32))[0]
    assert np.mean(mirrored != both(first)[0]) > 0.5
    assert np.array_equal(both(((1 << 24) - 1 - first).astype(np.uint32))[0], both(first)[0])
