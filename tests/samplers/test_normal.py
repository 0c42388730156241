"""Box and Muller as the GPUs compute it: worked steps, exact arithmetic, and twins that must differ."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.numerics.compiled import fma
from birthmark.numerics.logarithm import logf
from birthmark.numerics.sine import cosine, sine
from birthmark.samplers.arithmetic import AMD, PASCAL, VOLTA
from birthmark.samplers.normal import angle, pair, pair64, radius, standard, steps

W0, W1, W2, W3 = (np.uint32(word) for word in (0x9CEAF053, 0x77F5493B, 0x12BF50AD, 0x5742B3D7))
INVERSE_TURN = np.uint32(0x3E22F983).view(np.float32)

Pairs = Callable[
    [NDArray[np.uint32], NDArray[np.uint32], np.uint32], tuple[NDArray[np.float32], NDArray[np.float32]]
]


@numba.njit  # type: ignore[untyped-decorator]
def pairs(
    x: NDArray[np.uint32], y: NDArray[np.uint32], code: np.uint32
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    s = np.empty(x.size, np.float32)
    c = np.empty(x.size, np.float32)
    for i in range(x.size):
        s[i], c[i] = pair(x[i], y[i], code)
    return s, c


@numba.njit  # type: ignore[untyped-decorator]
def angles(y: NDArray[np.uint32], code: np.uint32) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    v = np.empty(y.size, np.float32)
    k = np.empty(y.size, np.uint32)
    for i in range(y.size):
        v[i] = angle(y[i], code)
        k[i] = steps(v[i], code)
    return v, k


@numba.njit  # type: ignore[untyped-decorator]
def sines_of(k: NDArray[np.uint32], x: NDArray[np.uint32]) -> NDArray[np.float32]:
    out = np.empty(x.size, np.float32)
    for i in range(x.size):
        out[i] = np.float32(sine(k[i]) * radius(x[i], np.uint32(0)))
    return out


@numba.njit  # type: ignore[untyped-decorator]
def fma_of(a: Any, b: Any, c: Any) -> Any:
    return fma(a, b, c)


@pytest.fixture(scope="module")
def xy() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    rng = np.random.default_rng(7)
    return rng.integers(0, 2**32, 200_000, dtype=np.uint32), rng.integers(0, 2**32, 200_000, dtype=np.uint32)


def hexes(*values: Any) -> list[str]:
    return [f"{int(bits):08x}" for bits in np.array(values, np.float32).view(np.uint32)]


def test_every_step_of_the_worked_example() -> None:
    """Seed 42, thread 0: uniform, angle, logarithm, radius, turn, sine and cosine as published."""
    x, y = W0, W1
    u = fma_of(np.float32(x), np.float32(2**-32), np.float32(2**-33))
    assert hexes(u) == ["3f1ceaf0"]
    assert hexes(angle(y, VOLTA)) == ["403c6e09"]
    assert hexes(logf(np.float32(u))) == ["befa99f4"]
    assert hexes(radius(x, VOLTA)) == ["3f7d494b"]
    k = np.uint32(steps(np.float32(angle(y, VOLTA)), VOLTA))
    assert k == 0x0EFEA92
    assert hexes(sine(k), cosine(k)) == ["3e48cdc9", "bf7b0793"]


def test_lanes_of_a_block() -> None:
    """The first pair of words makes lanes 0 and 1, the second 2 and 3, sine first."""
    lanes = [standard(W0, W1, W2, W3, np.uint32(lane), VOLTA) for lane in range(4)]
    assert hexes(*lanes) == ["3e46acdd", "bf785e5b", "3ff64339", "bf9e28d4"]
    assert hexes(*pair(W0, W1, VOLTA), *pair(W2, W3, VOLTA)) == hexes(*lanes)


@pytest.mark.parametrize("code", [VOLTA, PASCAL])
def test_turn_fraction_is_exact(code: np.uint32, xy: tuple[NDArray[np.uint32], NDArray[np.uint32]]) -> None:
    """The sine unit's argument equals the rational product, truncated as each architecture does it."""
    v, k = angles(xy[1][:3000], code)
    for value, found in zip(v, k, strict=True):
        product = Fraction(float(value)) * Fraction(float(INVERSE_TURN))
        if code == VOLTA:  # 24 significant bits, toward zero
            unit = Fraction(1, 2**24)
            while product < unit * 2**23:
                unit /= 2
            product = product // unit * unit
        assert int(found) == product * 2**25 // 1


def test_last_bit_is_lost_in_the_upper_half_turn_only_from_volta_on(
    xy: tuple[NDArray[np.uint32], NDArray[np.uint32]],
) -> None:
    """Volta's arguments beyond half a turn are even; Pascal's are not, and below they are the same."""
    _, volta = angles(xy[1], VOLTA)
    _, pascal = angles(xy[1], PASCAL)
    upper = volta >= 1 << 24
    assert not np.any(volta[upper] & 1)
    assert 0.45 < np.mean(pascal[upper] & 1) < 0.55
    assert np.array_equal(volta[~upper], pascal[~upper])


def test_angles_stay_below_a_whole_turn() -> None:
    """The largest word's angle is still less than one turn, and so is its argument."""
    _, k = angles(np.array([2**32 - 1, 2**32 - 128, 0], np.uint32), PASCAL)
    assert k.tolist()[0] < 1 << 25
    assert k.tolist()[2] == 0


def test_extreme_radius_words() -> None:
    """The 128 largest radius words give zeros, never NaN; word 0 gives the largest normal there is."""
    s, c = pairs(np.array([2**32 - 1, 0], np.uint32), np.array([2**29, 2**30], np.uint32), VOLTA)
    assert hexes(s[0], c[0]) == ["80000000", "80000000"]
    assert s[1] == pytest.approx(6.7637, abs=5e-5)
    assert pairs(np.array([0], np.uint32), np.array([2**30], np.uint32), AMD)[0][0] == pytest.approx(
        6.6604, abs=5e-5
    )


def test_pascal_differs_in_a_fifth_of_the_values(xy: tuple[NDArray[np.uint32], NDArray[np.uint32]]) -> None:
    """Same words, other range reduction: about 20 % of float32 values have other last bits, none is far."""
    volta, pascal = pairs(*xy, VOLTA), pairs(*xy, PASCAL)
    assert 0.17 < np.mean(volta[0] != pascal[0]) < 0.23
    assert np.abs(volta[0] - pascal[0]).max() < 2e-6


def test_float64_sine_is_wrong_in_three_quarters(xy: tuple[NDArray[np.uint32], NDArray[np.uint32]]) -> None:
    """A perfect sine in place of the unit's mismatches about 75 % of float32 values."""
    _, k = angles(xy[1], VOLTA)
    perfect = np.sin(k * (2 * np.pi / 2**25)).astype(np.float32)
    radii = np.array([radius(x, VOLTA) for x in xy[0][:20_000]], np.float32)
    assert 0.71 < np.mean(perfect[:20_000] * radii != pairs(*xy, VOLTA)[0][:20_000]) < 0.79


def test_rounding_the_turn_is_not_truncating_it(xy: tuple[NDArray[np.uint32], NDArray[np.uint32]]) -> None:
    """With the turn fraction rounded to nearest about 35 % of values change."""
    v, _ = angles(xy[1], VOLTA)
    rounded = ((v * INVERSE_TURN).astype(np.float64) * 2**25).astype(np.uint32)
    assert 0.25 < np.mean(sines_of(rounded, xy[0]) != pairs(*xy, VOLTA)[0]) < 0.42


def test_sine_and_cosine_belong_to_one_radius(xy: tuple[NDArray[np.uint32], NDArray[np.uint32]]) -> None:
    """The two values of a pair lie on the circle of their radius; swapped words do not give them."""
    s, c = pairs(*xy, VOLTA)
    radii = np.hypot(s.astype(np.float64), c)
    assert np.allclose(radii[:2000], [radius(x, VOLTA) for x in xy[0][:2000]], rtol=1e-5)
    assert np.mean(pairs(xy[1], xy[0], VOLTA)[0] == s) < 1e-3


def test_amd_reproduces_what_an_rx_9070_xt_printed() -> None:
    """Seed 42, elements 0 to 2: the first two units off, the next two equal, as published."""
    words = [(0x9CEAF053, 0x77F5493B), (0x02933769, 0x2051E913), (0x65FE70A6, 0x852E5866)]
    model = [pair(np.uint32(x), np.uint32(y), AMD)[0] for x, y in words]
    assert hexes(*model) == ["3e46acee", "400a53f3", "be302e0c"]
    printed = np.array([0.19401902, 2.16137385, -0.172050655], np.float32)
    assert (np.array(model, np.float32).view(np.int32) - printed.view(np.int32)).tolist() == [2, 0, 0]


def test_amd_stand_ins_are_close_to_nvidia(xy: tuple[NDArray[np.uint32], NDArray[np.uint32]]) -> None:
    """The vendors agree to some 2e-6 except for the smallest uniforms, and in about a quarter of all bits."""
    nvidia, amd = pairs(*xy, VOLTA), pairs(*xy, AMD)
    ordinary = xy[0] > 2**25
    assert np.abs(nvidia[0] - amd[0])[ordinary].max() < 3e-6
    assert 0.15 < np.mean(nvidia[0] == amd[0]) < 0.35
    assert hexes(pair(np.uint32(0), np.uint32(2**30), AMD)[0]) != hexes(
        pair(np.uint32(0), np.uint32(2**30), VOLTA)[0]
    )


def test_amd_quarter_turns_are_exact() -> None:
    """The stand-in's folding keeps every quadrant's signs and magnitudes."""
    y = np.array([2**29, 2**30 + 2**29, 2**31 + 2**29, 2**31 + 2**30 + 2**29], np.uint32)
    x = np.full(4, 2**28, np.uint32)
    s, c = pairs(x, y, AMD)
    assert np.sign(s).tolist() == [1, 1, -1, -1]
    assert np.sign(c).tolist() == [1, -1, -1, 1]
    assert np.allclose(np.abs(s), np.abs(c), atol=1e-6)


def test_doubles_follow_the_derived_values() -> None:
    """Seed 42, threads 0 and 1: the sine value of a double draw to its last digit but one."""
    first = pair64(W0, W1, W2, W3, VOLTA)
    w0, w1, w2, w3 = (np.uint32(word) for word in (0x02933769, 0x2051E913, 0x3B68B038, 0xB62C409C))
    second = pair64(w0, w1, w2, w3, VOLTA)
    assert first[0] == pytest.approx(1.0360235505368471, abs=4e-16)
    assert second[0] == pytest.approx(-1.9755592233655759, abs=8e-16)
    assert np.hypot(*first) == pytest.approx(np.sqrt(-2 * np.log(0.46858679418029187)), rel=1e-14)
    assert pair64(W0, W1, W2, W3, AMD)[0] == pytest.approx(first[0], abs=1e-12)
