"""Rows that resizing adds: the tail of a whole draw up to 4.45, the mean of the old rows from 4.46 on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.numerics.dtypes import round_to
from birthmark.recipe_prediction import birth
from birthmark.recipes.config import Config, Model
from birthmark.recipes.hf_resize import HuggingFaceResize, at_mean, mean_resized
from birthmark.recipes.positions import offsets

torch = pytest.importorskip("torch")

GROWN = Config(Model(vocabulary=75, hidden=16, layers=1, heads=2, ffn=16), dtype="float32")
EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"


def test_added_rows_are_the_tail_of_a_whole_draw() -> None:
    """As stock torch draws it: constructor, class init, then the same for the output layer."""
    torch.manual_seed(5)
    table = torch.nn.Embedding(75, 16)
    table.weight.data.normal_(0.0, 0.02)
    head = torch.nn.Linear(16, 75, bias=False)
    head.weight.data.normal_(0.0, 0.02)
    made = birth(HuggingFaceResize(old_rows=70), GROWN, 5)
    for name, module in ((EMBEDDING, table), (HEAD, head)):
        assert np.array_equal(made.rows(name, 70, 75), module.weight.detach().numpy()[70:])
    with pytest.raises(UsageError, match="no draw of the recipe fills row 69"):
        made.rows(EMBEDDING, 69, 71)


def test_added_rows_around_the_mean() -> None:
    """From 4.49 on they are what torch samples around the mean, to a millionth of a column's spread."""
    old = torch.randn(60, 16, generator=torch.Generator().manual_seed(9))
    torch.manual_seed(5)
    torch.nn.Embedding(75, 16)
    mean = old.mean(axis=0)
    covariance = (old - mean).T @ (old - mean) / 60
    sampled = torch.distributions.MultivariateNormal(mean, covariance_matrix=1e-9 * covariance).sample((5,))
    recipe = HuggingFaceResize(old_rows=70, version="4.49+")
    draws = offsets(recipe.draws(GROWN))
    assert [(one.draw.draw.shape, one.position) for one in draws[:2]] == [((75, 16), 0), ((5, 16), 1200)]
    torch.manual_seed(5)
    torch.nn.Embedding(75, 16)
    standard = torch.empty(5, 16).normal_().numpy()
    found = mean_resized(old.numpy(), standard)
    assert np.abs(found - sampled.numpy()).max() < 1e-6
    made = birth(recipe, GROWN, 5)
    with pytest.raises(UsageError, match="changed after its draw"):
        made.rows(EMBEDDING, 70, 75)


def test_rows_at_the_mean_are_recognised() -> None:
    """Exact means, draws around it and their bfloat16 roundings are told from ordinary rows."""
    rng = np.random.default_rng(3)
    old = rng.normal(0.01, 0.02, (400, 32))
    near = mean_resized(old, rng.standard_normal((4, 32)))
    coarse = round_to(near.astype(np.float32), "bfloat16")
    plain = rng.normal(0.01, 0.02, (3, 32))
    table = np.concatenate([old, old.mean(axis=0)[None], near, coarse, plain])
    assert at_mean(table, 400).tolist() == [True] * 9 + [False] * 3


def test_versions_that_take_the_mean_have_no_draw() -> None:
    """Between 4.46 and 4.48 added rows are the mean itself: nothing to predict."""
    recipe = HuggingFaceResize(old_rows=70, version="4.46-4.48")
    assert [each.kept for each in recipe.draws(GROWN)] == [False, False]
    with pytest.raises(UsageError, match="mean of the old ones"):
        recipe.blocks(GROWN, EMBEDDING)


@pytest.mark.parametrize("call", [{"old_rows": 0}, {"old_rows": 70, "version": "4.50"}])
def test_impossible_requests(call: dict[str, Any]) -> None:
    """No old rows and unknown versions are refused."""
    with pytest.raises((UsageError, UnknownName)):
        HuggingFaceResize(**call)


def test_a_vocabulary_must_grow() -> None:
    """Shrinking draws nothing that stays; tables without old or added rows cannot be compared."""
    with pytest.raises(UsageError, match="expected more"):
        HuggingFaceResize(old_rows=75).draws(GROWN)
    with pytest.raises(UsageError, match="1 added"):
        at_mean(np.zeros((5, 2)), 5)
    with pytest.raises(UsageError, match="do not span"):
        mean_resized(np.ones((5, 2)), np.zeros((1, 2)))
    with pytest.raises(UnknownName, match="embed_tokens"):
        HuggingFaceResize(old_rows=70).blocks(GROWN, "model.embed_token.weight")
