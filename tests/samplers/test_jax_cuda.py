"""XLA's inverse error function on an NVIDIA GPU: a real flax agent as the only witness, and mathematics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import log1p

from birthmark.checkpoints import open_checkpoint
from birthmark.generators.threefry import key_of
from birthmark.numerics.compiled import kernel
from birthmark.numerics.dtypes import ulps
from birthmark.recipes.flax import linen_key
from birthmark.recipes.jax_initializers import initializer
from birthmark.samplers.jax_cuda import log1pf

AGENT = Path("real") / "gymnax_blines_FourRooms-misc_ppo.pkl"


@kernel()
def _all(a: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(a)):
        out[i] = log1pf(a[i])


def test_log1pf_is_log1p() -> None:
    """CUDA's log1pf lies within two units in the last place, at the octaves' edges too."""
    edges = np.array([-0.25, -0.625, -0.8125, -0.90625], np.float32)
    near = (edges.view(np.int32)[:, None] + np.arange(-40, 41, dtype=np.int32)).view(np.float32)
    a = np.concatenate([-np.logspace(-12, -1e-7, 5000).astype(np.float32), near.ravel()])
    out = np.empty_like(a)
    _all(a, out)
    assert ulps(out, log1p(a.astype(np.float64)).astype(np.float32), "float32").max() <= 2


@pytest.mark.parametrize("module", ["Dense_1", "critic_fc_2", "critic_fc_v"])
def test_a_real_agent(cases: Path, module: str) -> None:
    """Of the kernel values that training left alone, 96 % are the GPU's bits and fewer than half the CPU's.

    The truth of the file: PRNGKey(0), split, second key, fold of the module's name, fold of 1, lecun_normal.
    """
    with open_checkpoint(cases / AGENT) as checkpoint:
        stored = checkpoint.rows(f"network.params.{module}.kernel", 0, 64)
    key = linen_key(key_of(0).split(2, "original")[1], (module,), 1, "levels")
    indices = np.arange(stored.size).reshape(stored.shape)
    gpu, cpu = (
        initializer("lecun_normal").draw(stored.shape, counters="original", arithmetic=arithmetic)
        for arithmetic in ("xla-cuda", "xla-cpu")
    )
    alone = np.abs(gpu.values(key, indices) - stored) < 1e-6
    assert alone.sum() >= 10
    assert np.mean(gpu.values(key, indices)[alone] == stored[alone]) > 0.96
    assert np.mean(cpu.values(key, indices)[alone] == stored[alone]) < 0.61
    other = linen_key(key_of(0).split(2, "original")[1], (module,), 1, "joined")
    assert np.sum(gpu.values(other, indices) == stored) == 0
