"""CUDA's erfinvf: its exact operations around the stand-ins, and how far it is from the true function."""

from __future__ import annotations

from fractions import Fraction

import numba
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.special import erfinv

from birthmark.numerics.dtypes import round_to, ulps
from birthmark.numerics.erfinv import FROM_CUDA_13, UP_TO_CUDA_12, erfinvf, log2, reciprocal_root

#: Bit patterns of the published coefficients, highest power first.
CENTRE = "AF8A6370 3221F645 B4016FDA 3468F846 370742AA B804DB4D BA4AFEA1 3BB5C027 3E24AE0F 3F62DFC4"
TAIL = "BF1704A1 BF29BAA5 3FCC6ADC BF2CDAED BDC30537 3F55D9B9"


@numba.njit  # type: ignore[untyped-decorator]
def inverses(a: NDArray[np.float32], tail: np.uint32) -> NDArray[np.float32]:
    out = np.empty_like(a)
    for i in range(a.size):
        out[i] = erfinvf(a[i], tail)
    return out


@numba.njit  # type: ignore[untyped-decorator]
def units(a: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    logs, roots = np.empty_like(a), np.empty_like(a)
    for i in range(a.size):
        logs[i], roots[i] = log2(a[i]), reciprocal_root(a[i])
    return logs, roots


@pytest.fixture(scope="module")
def occurring() -> NDArray[np.float32]:
    """Arguments as `uniform_(-1, 1)` makes them, without the ends."""
    words = np.random.default_rng(21).integers(0, 2**32, 300_000, dtype=np.uint32)
    a = (words.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33)) * np.float32(2) - np.float32(1)
    return np.asarray(a[np.abs(a) < 1], np.float32)


def nearest(exact: Fraction) -> Fraction:
    """The float32 nearest to a rational number, ties to even."""
    guess = np.float32(float(exact))
    around = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    return Fraction(
        float(min(around, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(np.uint32)) % 2)))
    )


def horner(coefficients: str, x: Fraction) -> Fraction:
    """A polynomial by fused steps."""
    first, *rest = (
        Fraction(float(np.uint32(int(bits, 16)).view(np.float32))) for bits in coefficients.split()
    )
    for k in rest:
        first = nearest(first * x + k)
    return first


def literal(a: np.float32, tail: np.uint32) -> np.float32:
    """The published operations in rational numbers; only the two stand-ins are floating."""
    exact = Fraction(float(a))
    inside = np.asarray([float(nearest(1 - exact * exact))], np.float32)
    w = -Fraction(float(units(inside)[0][0]))
    if float(w) <= float(np.uint32(0x41033333).view(np.float32)):
        return np.float32(float(nearest(exact * horner(CENTRE, w))))
    r = Fraction(float(units(np.asarray([float(w)], np.float32))[1][0]))
    root = nearest(w * r) if tail == FROM_CUDA_13 else nearest(1 / r)
    return np.float32(np.copysign(float(nearest(horner(TAIL, r) * root)), a))


@pytest.mark.parametrize("tail", [UP_TO_CUDA_12, FROM_CUDA_13])
def test_exact_operations(occurring: NDArray[np.float32], tail: np.uint32) -> None:
    """Every bit equals the published chain of operations, computed with rational numbers."""
    tails = occurring[np.abs(occurring) > 0.998][:100]
    some = np.concatenate([occurring[:300], tails, np.array([0.99999994, -0.99999994, 2**-24], np.float32)])
    assert inverses(some, tail).view(np.uint32).tolist() == [
        int(literal(a, tail).view(np.uint32)) for a in some
    ]


def test_distance_from_the_true_function(occurring: NDArray[np.float32]) -> None:
    """Within three units in the last place of erfinv; two thirds equal it rounded once."""
    found = inverses(occurring, UP_TO_CUDA_12)
    true = erfinv(occurring.astype(np.float64))
    unit = np.spacing(np.abs(true).astype(np.float32)).astype(np.float64)
    assert np.max(np.abs(found - true) / unit) < 3.0
    assert 0.66 < np.mean(found == true.astype(np.float32)) < 0.71
    assert np.mean(round_to(found, "bfloat16") != round_to(true, "bfloat16")) < 5e-5


def test_stock_torch_agrees_within_a_few_units(occurring: NDArray[np.float32]) -> None:
    """PyTorch's own CPU erfinv, another approximation, is never more than four units away."""
    stock = torch.erfinv(torch.from_numpy(occurring)).numpy()
    for tail in (UP_TO_CUDA_12, FROM_CUDA_13):
        assert ulps(inverses(occurring, tail), stock, "float32").max() <= 4


def test_the_two_tails_differ_in_the_tail_only(occurring: NDArray[np.float32]) -> None:
    """CUDA 13 changes some eight values in 10,000, all beyond 0.998, and none of them in bfloat16."""
    old, new = inverses(occurring, UP_TO_CUDA_12), inverses(occurring, FROM_CUDA_13)
    changed = old != new
    assert 4e-4 < changed.mean() < 1.2e-3
    assert np.abs(occurring[changed]).min() > 0.998
    assert np.array_equal(round_to(old, "bfloat16"), round_to(new, "bfloat16"))


def test_odd_and_rising(occurring: NDArray[np.float32]) -> None:
    """erfinv(-a) = -erfinv(a) bit for bit, and no larger argument gives a value two units smaller."""
    found = inverses(occurring, UP_TO_CUDA_12)
    assert np.array_equal(inverses(-occurring, UP_TO_CUDA_12), -found)
    in_order = found[np.argsort(occurring)]
    assert np.all(np.diff(in_order) >= -4 * np.spacing(np.abs(in_order[1:])))


def test_ends_and_zero() -> None:
    """The ends are infinite; zeros keep their sign."""
    found = inverses(np.array([-1.0, 1.0, 0.0, -0.0], np.float32), UP_TO_CUDA_12)
    assert found.tolist() == [-np.inf, np.inf, 0.0, 0.0]
    assert np.signbit(found).tolist() == [True, False, False, True]


def test_stand_ins_are_rounded_once() -> None:
    """The stand-ins for the table units are the true functions, rounded to nearest."""
    a = np.random.default_rng(3).random(2000, np.float32) + np.float32(2**-20)
    logs, roots = units(a)
    true = np.log2(a.astype(np.longdouble)), 1 / np.sqrt(a.astype(np.longdouble))
    assert np.array_equal(logs, true[0].astype(np.float32))
    assert np.array_equal(roots, true[1].astype(np.float32))
