"""XLA's inverse error function on the CPU: against JAX on its own uniforms, and against mathematics."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import erfinv as exact

from birthmark.samplers.jax_erfinv import erfinvs


def grid(step: int) -> NDArray[np.float32]:
    """Uniforms on (-1, 1) as JAX draws them, every so many of all 2^23, the ends included."""
    mantissa = np.unique(np.r_[np.arange(0, 1 << 23, step), (1 << 23) - 1]).astype(np.uint32)
    unit = (mantissa | np.uint32(0x3F800000)).view(np.float32) - np.float32(1.0)
    low = np.nextafter(np.float32(-1.0), np.float32(0.0))
    u: NDArray[np.float32] = np.maximum(low, (unit * np.float32(2.0) + low).astype(np.float32))
    return u


def ours(u: NDArray[np.float32]) -> NDArray[np.float32]:
    out = np.empty_like(u)
    erfinvs(u, out)
    return out


@pytest.mark.parametrize("step", [97, pytest.param(1, marks=pytest.mark.slow)])
def test_equals_xla_bit_for_bit(step: int) -> None:
    """Every uniform that JAX can draw gives XLA's bits, on processors that fuse as most do."""
    jax = pytest.importorskip("jax", reason="jax is not installed")
    u = grid(step)
    assert np.array_equal(ours(u), np.asarray(jax.jit(jax.lax.erf_inv)(u)))


def test_is_the_inverse_error_function() -> None:
    """It lies within 2e-5 of the true function, where 1 - x^2 has lost bits, and is odd."""
    u = grid(101)
    assert np.allclose(ours(u), exact(u.astype(np.float64)), rtol=2e-5, atol=0.0)
    assert np.array_equal(ours(-u), -ours(u))
