"""What recipes suppose about a table: distinct places, trials counted, and the values that follow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from birthmark.devices.catalogue import table_threads
from birthmark.distributed import Distributed
from birthmark.errors import UsageError
from birthmark.hypothesis import Hypothesis
from birthmark.recipe_prediction import birth, hypothesis_of
from birthmark.recipes.config import Config, Parallel
from birthmark.recipes.config_file import model_from
from birthmark.recipes.dtensor import Distribution, Shard
from birthmark.recipes.hypotheses import Supposition, redrawn, sharded, suppositions, trials
from birthmark.recipes.litgpt import LitGpt
from birthmark.recipes.megatron_core import MegatronCore
from birthmark.recipes.positions import offsets
from birthmark.recipes.torchtitan import Torchtitan

A100, H100 = 221_184, 270_336
LLAMA: dict[str, Any] = {
    "model_type": "llama", "vocab_size": 1024, "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
}  # fmt: skip
EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"


def supposed(tensor: str, recipe: str, threads: tuple[int, ...] = (A100,)) -> Supposition:
    """The first supposition of a recipe, by the beginning of its name."""
    found = suppositions(LLAMA, tensor, (1024, 64), threads)
    return next(one for one in found if any(name.startswith(recipe) for name in one.recipes))


def test_suppositions_are_distinct_and_counted() -> None:
    """No two say the same; each layout with an offset of its own is a trial; most start at the beginning."""
    found = suppositions(LLAMA, EMBEDDING, (1024, 64), (A100, H100))
    assert len({one.key for one in found}) == len(found)
    assert trials(found) == sum(len(set(one.offsets.values())) for one in found)
    assert found[0].plain
    assert found[0].recipes[:2] == ("megatron-core", "megatron-legacy")
    assert any(not one.plain for one in found)
    assert {one.generator for one in found} == {"cuda", "cpu"}


def test_a_head_depends_on_the_layout() -> None:
    """The output layer lies behind the layers: as many offsets as layouts differ, all multiples of 4."""
    big = LLAMA | {"vocab_size": 32_000, "hidden_size": 2048, "intermediate_size": 5632}
    found = suppositions(big, HEAD, (32_000, 2048), table_threads())
    megatron = next(one for one in found if "megatron-core" in one.recipes)
    assert len(set(megatron.offsets.values())) > 10
    assert all(offset % 4 == 0 for offset in megatron.offsets.values())


@pytest.mark.parametrize("tensor", [EMBEDDING, HEAD])
def test_the_supposed_place_is_that_of_the_recipe(tensor: str) -> None:
    """Values of the hypothesis are those that the recipe's own prediction has, on two ranks and on one."""
    model = model_from(LLAMA)
    one = supposed(tensor, "megatron-core of TP 2 and PP 1")
    hypothesis = hypothesis_of(one, A100)
    assert isinstance(hypothesis, Hypothesis)
    made = birth(MegatronCore(), Config(model, Parallel(tp=2)), 1234, "A100")
    rows = made.rows(tensor, 500, 530)
    assert np.array_equal(rows.ravel(), hypothesis.run(1234 + 2718, 500 * 64, 530 * 64))
    assert not np.array_equal(rows.ravel(), hypothesis.run(1235 + 2718, 500 * 64, 530 * 64))


def test_an_embedding_behind_the_output_layer() -> None:
    """LitGPT's embedding is not at offset 0; the scale can be the stored one."""
    one = supposed(EMBEDDING, "litgpt")
    assert one.offsets == {A100: 4}
    hypothesis = hypothesis_of(one, A100, scale=0.5)
    assert isinstance(hypothesis, Hypothesis)
    rows = birth(LitGpt(), Config(model_from(LLAMA), dtype="float32"), 42, "A100").rows(EMBEDDING, 3, 9)
    scaled = hypothesis.run(42, 3 * 64, 9 * 64)
    assert np.corrcoef(rows.ravel(), scaled)[0, 1] > 0.999
    assert float(scaled.std()) == pytest.approx(0.5, rel=0.2)


def test_shards_of_dtensor() -> None:
    """torchtitan on 8 ranks: offsets of the general rule, and equal values by both ways."""
    one = supposed(HEAD, "torchtitan on 8 ranks")
    hypothesis = hypothesis_of(one, A100)
    assert isinstance(hypothesis, Distributed)
    config = Config(model_from(LLAMA), Parallel(shards=8))
    rows = birth(Torchtitan(), config, 7, "A100").rows(HEAD, 120, 140)
    assert np.array_equal(rows.ravel(), hypothesis.values(7, np.arange(120 * 64, 140 * 64)))
    placed = offsets(Torchtitan().draws(Config(model_from(LLAMA), Parallel(shards=6))))
    rule = Distribution((1024, 64), (6,), (Shard(0),))
    assert [one.position for one in placed[:6]] == [rule.shift(rank) for rank in range(6)]
    assert placed[6].position == rule.advance


def test_nothing_is_supposed_of_other_models() -> None:
    """No language model, no such tensor, another shape: nothing; CPU draws have no layout."""
    assert suppositions({"vocab_size": 10}, EMBEDDING, (10, 4), (A100,)) == ()
    assert suppositions(LLAMA, "model.norm.weight", (1024, 64), (A100,)) == ()
    assert suppositions(LLAMA, EMBEDDING, (1024, 63), (A100,)) == ()
    cpu = next(one for one in suppositions(LLAMA, EMBEDDING, (1024, 64), (A100,)) if one.generator == "cpu")
    assert set(cpu.offsets) == {0}
    with pytest.raises(UsageError, match="give a layout"):
        hypothesis_of(cpu, A100)
    with pytest.raises(UsageError, match="give a layout"):
        hypothesis_of(supposed(HEAD, "litgpt"), H100)


def test_experts_do_not_slow_it() -> None:
    """Experts have streams of their own: a model with thousands is supposed about like any other."""
    sparse = LLAMA | {"n_routed_experts": 64, "moe_intermediate_size": 8, "model_type": "deepseek_v3"}
    found = suppositions(sparse, HEAD, (1024, 64), (A100,))
    assert any("megatron-core" in one.recipes for one in found)
    assert not any("torchtitan" in name for one in found for name in one.recipes)


def test_what_needs_no_recipe() -> None:
    """A draw behind its constructor's, by each layout's own step, and even cuts of a distributed tensor."""
    again = redrawn((8192, 144), (40_960, H100))
    assert again.offsets == {40_960: 32, H100: 8}
    assert not again.plain
    cuts = sharded((96, 8), (A100, H100), 12)
    assert [one.shards for one in cuts] == [2, 4, 8, 16, 32]
    assert all(one.offsets == {A100: 12, H100: 12} for one in cuts)
    assert sharded((7, 8), (A100,)) == ()
    hypothesis = hypothesis_of(cuts[0], H100)
    assert isinstance(hypothesis, Distributed)
