"""JAX keys found: a real flax agent, emulated tensors in every layout, and everything that has none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.checkpoints import open_checkpoint
from birthmark.generators.threefry import COUNTERS, Counters, key_of
from birthmark.numerics.dtypes import round_to
from birthmark.recipes.flax import linen_key
from birthmark.recipes.haiku import haiku_key
from birthmark.recipes.jax_initializers import initializer, truncated_normal
from birthmark.samplers.jax_draw import JaxDraw
from birthmark.search.neighbours import jax_keys
from birthmark.search.neighbours.jax_keys import search_jax
from birthmark.search.neighbours.jax_paths import short_paths
from birthmark.search.neighbours.observed import observed_of, whole
from birthmark.survivors.split import split
from birthmark.survivors.survey import survey

AGENT = Path("real") / "gymnax_blines_FourRooms-misc_ppo.pkl"


@pytest.fixture
def few_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep to the usual paths and few seeds: what is tested is the way, not the number of tries."""
    monkeypatch.setattr(jax_keys, "FLAT", 300)
    monkeypatch.setattr(jax_keys, "SMALL", 20)
    monkeypatch.setattr(jax_keys, "all_paths", short_paths)


def test_a_real_agent(cases: Path) -> None:
    """The FourRooms agent comes out of its survivors alone: seed 0, the second key of a split, old flax.

    Of 338 kernel rows 170 lie within a millionth, as the file's makers' key says.
    """
    name = "network.params.Dense_0.kernel"
    with open_checkpoint(cases / AGENT) as checkpoint:
        found = next(one.survivors for one in survey(checkpoint) if one.tensor == name)
        assert found is not None
        selection, holdout = split(checkpoint, found)
        stored = checkpoint.rows(name, 0, 338)
        later = checkpoint.elements(name, holdout.indices)
    outcome = search_jax(observed_of(selection))
    finding = outcome.finding
    assert finding is not None
    assert (finding.seed, finding.generator, finding.arithmetic) == (0, "threefry", "xla-cuda")
    assert finding.rule == (
        "PRNGKey(0), split(2)[1], flax up to 0.4.0: module Dense_0, parameter 1, counters original"
    )
    assert finding.sampler.startswith("lecun_normal")
    assert finding.equal > 0.7 * finding.n
    assert finding.log10_p < -500
    assert outcome.trials > 10**5
    near = np.abs(finding.predict(np.arange(stored.size)).reshape(stored.shape) - stored).max(axis=1) < 1e-6
    assert near.sum() == 170
    assert np.mean(finding.predict(holdout.indices) == later) > 0.7


@pytest.mark.usefixtures("few_keys")
@pytest.mark.parametrize("counters", COUNTERS)
def test_emulated_kernels(counters: Counters) -> None:
    """New flax and haiku kernels come out with their initialiser's name and every value bit for bit."""
    key = linen_key(key_of(7).split(2, counters)[0], ("Dense_1",), 1, "joined")
    values = initializer("he_uniform").draw((40, 24), counters=counters).values(key, np.arange(960))
    found = search_jax(whole("params.Dense_1.kernel", values.reshape(40, 24))).finding
    assert found is not None
    assert found.sampler == "he_uniform in float32"
    assert (found.seed, found.equal, found.arithmetic) == (7, found.n, "xla-cpu")
    assert f"flax from 0.4.1 on: module Dense_1, parameter 1, counters {counters}" in found.rule
    values = truncated_normal((40, 24), 0.1, counters=counters).values(
        haiku_key(key_of(42), 1, counters), np.arange(960)
    )
    found = search_jax(whole("linear.w", values.reshape(40, 24))).finding
    assert found is not None
    assert (found.seed, found.equal) == (42, found.n)
    assert found.sampler == "truncated-normal times 0.1 in float32"


@pytest.mark.usefixtures("few_keys")
def test_transposed_and_narrow() -> None:
    """A kernel that a converter transposed, stored in bfloat16, is found with its orientation."""
    drawn = JaxDraw("normal", 960, factor=0.02).values(key_of(13), np.arange(960)).reshape(24, 40)
    stored = round_to(drawn.T, "bfloat16")
    found = search_jax(whole("dense.weight", stored, "bfloat16")).finding
    assert found is not None
    assert (found.seed, found.equal) == (13, found.n)
    assert "the matrix transposed" in found.rule
    assert np.array_equal(round_to(found.predict(np.arange(50)), "bfloat16"), stored.ravel()[:50])


@pytest.mark.usefixtures("few_keys")
def test_a_trained_tensor_still_shows_its_key() -> None:
    """Where no value is left alone the correlation finds the key, and no value is claimed."""
    drawn = JaxDraw("normal", 2000).values(key_of(5), np.arange(2000))
    moved: NDArray[np.float64] = drawn + np.random.default_rng(1).normal(0.0, 0.7, 2000)
    found = search_jax(whole("w", moved.astype(np.float32).reshape(50, 40))).finding
    assert found is not None
    assert found.seed == 5
    assert found.equal < 3
    assert 0.6 < found.r < 0.95


@pytest.mark.usefixtures("few_keys")
def test_what_has_no_key() -> None:
    """Noise, shuffled values and too few of them come back empty, the trials counted."""
    generator = np.random.default_rng(5)
    drawn = JaxDraw("normal", 960).values(key_of(13), np.arange(960))
    for values in (generator.standard_normal(960), generator.permutation(drawn)):
        outcome = search_jax(whole("w", values.astype(np.float32).reshape(24, 40)))
        assert outcome.finding is None
        assert outcome.trials > 10**4
        assert outcome.reason
    assert search_jax(whole("w", drawn[:20])).trials == 0
