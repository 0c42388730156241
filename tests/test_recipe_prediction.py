"""Recipes made into values: against a checkpoint whose tensors were all drawn on Megatron's ranks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from birthmark.checkpoints.interface import Checkpoint
from birthmark.checkpoints.opening import open_checkpoint
from birthmark.errors import UnknownName, UsageError
from birthmark.recipe_prediction import Birth, birth, predict
from birthmark.recipes.config import Config, Mamba, Model, Parallel
from birthmark.recipes.config_file import model_from
from birthmark.recipes.megatron_core import MegatronCore
from birthmark.recipes.megatron_legacy import MegatronLegacy
from birthmark.samplers.cpu_draw import CpuDraw

TINY = Config(Model(vocabulary=200, hidden=32, layers=1, heads=4, ffn=48, positions=6))


@pytest.fixture(scope="module")
def trained(cases: Path) -> Checkpoint:
    """A trained model whose two tensor-parallel ranks drew under 3952 and 3953 on an A100."""
    return open_checkpoint(cases / "megatron-tp2-a100")


@pytest.fixture(scope="module")
def built(cases: Path) -> Config:
    """What its config.json declares, on two ranks."""
    declared = json.loads((cases / "megatron-tp2-a100" / "config.json").read_text())
    return Config(model_from(declared), Parallel(tp=2))


def correlations(made: Birth, trained: Checkpoint) -> dict[str, float]:
    """Each tensor's correlation with its prediction, over every fourth row."""
    found = {}
    for name in made.recipe.tensors(made.config):
        count, columns = trained.tensors[name].shape
        rows = np.arange(0, count, 4)
        indices = (rows[:, None] * columns + np.arange(columns)).ravel()
        stored = np.concatenate([trained.rows(name, row, row + 1).ravel() for row in rows.tolist()])
        found[name] = float(np.corrcoef(made.values(name, indices), stored)[0, 1])
    return found


def test_one_recipe_predicts_every_tensor(trained: Checkpoint, built: Config) -> None:
    """Embedding, head and all matrices of the layer keep a trace of what the recipe says they were."""
    found = correlations(birth(MegatronCore(), built, 1234, "A100"), trained)
    assert len(found) == 9
    assert min(found.values()) > 0.15


@pytest.mark.parametrize("twin", ["seed", "order", "ranks"])
def test_a_wrong_recipe_predicts_less(trained: Checkpoint, built: Config, twin: str) -> None:
    """Another base seed predicts nothing; another order or cut predicts what it shares and no more."""
    recipe, seed, config = MegatronCore(), 1234, built
    if twin == "seed":
        seed = 1235 - 2
    found = correlations(
        birth(
            MegatronLegacy() if twin == "order" else recipe,
            replace(config, parallel=Parallel()) if twin == "ranks" else config,
            seed,
            "A100",
        ),
        trained,
    )
    assert abs(found["model.layers.0.self_attn.q_proj.weight"]) < 0.05
    assert abs(found["model.layers.0.self_attn.o_proj.weight"]) < 0.05
    if twin == "order":
        assert found["model.layers.0.mlp.up_proj.weight"] > 0.15


def test_rows_that_survived_are_exact(trained: Checkpoint, built: Config) -> None:
    """Rows of the second rank that training never touched equal the prediction bit for bit."""
    rows = predict(MegatronCore(), built, "model.embed_tokens.weight", (4096, 8192), 1234, "A100")
    stored = trained.rows("model.embed_tokens.weight", 4096, 8192)
    assert int((rows == stored).all(axis=1).sum()) > 50


def test_draws_on_the_cpu_need_no_device() -> None:
    """Whole matrices of the CPU generator, one after the other, cast to the parameters' dtype."""
    recipe = MegatronCore(on_cpu=True)
    found = predict(recipe, TINY, "model.embed_tokens.weight", (3, 5), 42)
    draw = CpuDraw("normal", (0.0, 0.02), 256 * 32)
    exact = draw.values(42, np.arange(3 * 32, 5 * 32, dtype=np.int64))
    bits = np.abs(found.ravel() - exact) <= np.abs(exact) * 2.0**-8
    assert bits.all()
    assert not np.array_equal(found.ravel(), exact)


def test_random_access_is_the_whole_tensor() -> None:
    """Any elements in any order and shape equal those of the whole tensor."""
    made = birth(MegatronCore(), TINY, 7, threads=256)
    whole = made.rows("model.layers.0.mlp.up_proj.weight", 0, 48)
    indices = np.random.default_rng(1).integers(0, whole.size, (5, 9))
    assert np.array_equal(made.values("model.layers.0.mlp.up_proj.weight", indices), whole.ravel()[indices])
    assert made.rows("model.layers.0.mlp.up_proj.weight", 4, 4).shape == (0, 32)


def test_what_cannot_be_predicted_is_refused() -> None:
    """No device, two devices, unknown tensors and rows, and values that are changed after their draw."""
    recipe = MegatronCore()
    with pytest.raises(UsageError, match="give the threads"):
        birth(recipe, TINY, 1)
    with pytest.raises(UsageError, match="one of the two"):
        birth(recipe, TINY, 1, "A100", threads=256)
    with pytest.raises(UnknownName, match="A100"):
        birth(recipe, TINY, 1, "A1000 SXM")
    made = birth(recipe, TINY, 1, threads=256)
    with pytest.raises(UnknownName, match="lm_head"):
        made.rows("lm_head", 0, 1)
    with pytest.raises(UsageError, match="it has 256 rows"):
        made.rows("lm_head.weight", 0, 257)


def test_a_model_of_mamba_layers() -> None:
    """In and out projections and the convolution are predicted from one stream."""
    model = Model(vocabulary=128, hidden=16, layers=2, heads=2, ffn=16, pattern="M-", mamba=Mamba(4, 4, 4, 2))
    made = birth(MegatronCore(), Config(model, dtype="float32"), 5, threads=256)
    taps = made.rows("model.layers.0.mixer.conv1d.weight", 0, 32)
    assert taps.shape == (32, 4)
    assert float(np.abs(taps).max()) <= 0.5
    assert float(made.rows("model.layers.0.mixer.in_proj.weight", 0, 52).std()) == pytest.approx(
        0.02, rel=0.1
    )
