"""torchtitan, lingua, OLMo, OLMo-core and LitGPT: order, shards, offsets, and published rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.recipe_prediction import birth
from birthmark.recipes.config import Config, Model, Parallel
from birthmark.recipes.lingua import Lingua
from birthmark.recipes.litgpt import LitGpt
from birthmark.recipes.olmo import Olmo, OlmoCore
from birthmark.recipes.ordered import OrderedRecipe
from birthmark.recipes.positions import offsets
from birthmark.recipes.streams import Stream
from birthmark.recipes.torchtitan import Torchtitan


def model(**changes: Any) -> Model:
    """A small Llama-like model."""
    shape: dict[str, Any] = {
        "vocabulary": 37, "hidden": 16, "layers": 2, "heads": 4, "ffn": 24, "key_value_heads": 2,
    }  # fmt: skip
    return Model(**{**shape, **changes})


def drawn(recipe: OrderedRecipe, what: Config, tensor: str) -> NDArray[np.int64]:
    """The whole matrix of a tensor, filled with the numbers 0, 1, 2, ..."""
    matrix = next(each for each in recipe.matrices(what) if each.tensor == tensor)
    return np.arange(matrix.draw.size).reshape(matrix.draw.shape)


def published(recipe: OrderedRecipe, what: Config, name: str, whole: NDArray[np.int64]) -> NDArray[np.int64]:
    """A published tensor, element by element through its blocks, from a numbered drawn matrix."""
    share = -(-len(whole) // what.parallel.shards) if recipe.sharded else len(whole)
    blocks = recipe.blocks(what, name)
    shape = (max(block.rows[1] for block in blocks), whole.shape[1])
    out = np.full(shape[0] * shape[1], -1)
    for part in recipe.published(what, name, shape).parts(np.arange(out.size)):
        begin = part.block.stream.shard * share
        out[part.at] = whole[begin : begin + share].ravel()[part.local]
    return out.reshape(shape)


@settings(deadline=None, max_examples=15)
@given(st.sampled_from([1, 2, 3, 8]))
def test_rotary_rows_and_shards(shards: int) -> None:
    """Queries come back as the conversion reorders them, whatever ranks drew the rows."""
    what, recipe = Config(model(), Parallel(shards=shards)), Torchtitan()
    for name, own, heads in (("q_proj", "wq", 4), ("k_proj", "wk", 2)):
        whole = drawn(recipe, what, f"layers.1.attention.{own}.weight")
        wanted = whole.reshape(heads, 2, 2, 16).transpose(0, 2, 1, 3).reshape(whole.shape)
        found = published(recipe, what, f"model.layers.1.self_attn.{name}.weight", whole)
        assert np.array_equal(found, wanted)
    table = drawn(recipe, what, "tok_embeddings.weight")
    assert np.array_equal(published(recipe, what, "model.embed_tokens.weight", table), table)


def test_worked_offsets_of_dtensor() -> None:
    """128,256 x 4,096 on 8 ranks: rank 3 begins at 197,001,216, the next tensor at 525,336,576."""
    what = Config(model(vocabulary=128_256, hidden=4096, layers=1), Parallel(shards=8))
    placed = offsets(Torchtitan().draws(what))
    first = {one.draw.stream.shard: one.position for one in placed[:8]}
    assert (first[0], first[3]) == (0, 197_001_216)
    assert placed[8].position == 525_336_576


@pytest.mark.parametrize(
    ("rows", "shards", "starts"),
    [(30, 8, [0, 64, 128, 192, 256, 320, 384, 448]), (10, 8, [0, 32, 64, 96, 128, 160, 192, 224])],
)
def test_short_and_empty_shards(rows: int, shards: int, starts: list[int]) -> None:
    """The step is that of the first shard; ranks without rows move on like the others."""
    what = Config(model(vocabulary=rows, layers=1), Parallel(shards=shards))
    placed = offsets(Torchtitan().draws(what))
    assert [one.position for one in placed[:shards]] == starts
    following = [one.position for one in placed[shards : 2 * shards] if one.position is not None]
    assert following == [rows * 16 + step * 2 * 16 for step in range(shards)]


def test_shards_predict_what_each_rank_drew() -> None:
    """Rows of the third rank are an ordinary launch at that rank's offset, with the common seed."""
    what = Config(model(vocabulary=40, hidden=64), Parallel(shards=4))
    found = birth(Torchtitan(), what, 11, threads=512).rows("model.embed_tokens.weight", 20, 30)
    draw = Draw("normal", (0.0, 1.0), (10, 64))
    assert np.array_equal(found, Hypothesis(draw, 512, offset=2 * 640).tensor(11))


def test_torchtitan_scales() -> None:
    """Output projections and both later feed-forward matrices shrink with depth, bounds never bite."""
    draws = {each.tensor: each.draw for each in Torchtitan().draws(Config(model()))}
    assert draws["layers.1.feed_forward.w3.weight"].parameters == (0.0, 0.02 / 2.0, -2.0, 2.0)
    assert not draws["layers.1.feed_forward.w3.weight"].redraws
    assert draws["output.weight"].parameters == (0.0, 0.25, -0.75, 0.75)
    assert list(draws)[-1] == "output.weight"
    with pytest.raises(UsageError, match="only FSDP2"):
        Torchtitan().draws(Config(model(), Parallel(tp=2)))


def test_lingua_draws_the_output_second() -> None:
    """Embedding, output, layers; wo keeps the bounds of the undivided scale."""
    recipe = Lingua("current_depth")
    draws = recipe.draws(Config(model()))
    assert [each.tensor for each in draws[:3]] == [
        "tok_embeddings.weight", "output.weight", "layers.0.attention.wq.weight",
    ]  # fmt: skip
    assert [each.tensor.split(".")[-2] for each in draws[5:9]] == ["wo", "w1", "w3", "w2"]
    assert draws[5].draw.parameters == (0.0, 0.25 / 2**0.5, -0.75, 0.75)
    with pytest.raises(UsageError, match="global_depth"):
        Lingua("depth").draws(Config(model()))  # type: ignore[arg-type]


def test_positions_behind_a_redrawn_tensor_are_unknown() -> None:
    """From torch 2.12 on the first cut normal hides where the next one begins; prediction refuses."""
    what = Config(model())
    recipe = Lingua(version="2.12+")
    placed = offsets(recipe.draws(what), 256)
    assert [one.position for one in placed[:2]] == [0, None]
    made = birth(recipe, what, 1, threads=256)
    assert made.rows("tok_embeddings.weight", 0, 2).shape == (2, 16)
    with pytest.raises(UsageError, match="not known beforehand"):
        made.rows("output.weight", 0, 2)


def test_olmo_orders() -> None:
    """OLMo draws output projections before inputs; the up half of the fused matrix comes first."""
    what = Config(model())
    names = [each.tensor.removesuffix(".weight") for each in Olmo().draws(what)]
    assert names[:6] == [
        "transformer.wte", "transformer.ff_out", "transformer.blocks.0.attn_out",
        "transformer.blocks.0.ff_out", "transformer.blocks.0.att_proj", "transformer.blocks.0.ff_proj",
    ]  # fmt: skip
    whole = drawn(Olmo(), what, "transformer.blocks.0.ff_proj.weight")
    gate = published(Olmo(), what, "model.layers.0.mlp.gate_proj.weight", whole)
    assert np.array_equal(gate, whole[24:])
    mitchell = {each.tensor: each.draw.parameters[1] for each in Olmo("mitchell").draws(what)}
    assert mitchell["transformer.blocks.1.ff_out.weight"] == pytest.approx((2 * 24 * 2) ** -0.5)
    core = [each.tensor.removesuffix(".weight") for each in OlmoCore().draws(what)]
    assert [name.split(".")[-1] for name in core[1:8]] == ["w_q", "w_k", "w_v", "w_out", "w1", "w3", "w2"]
    assert OlmoCore("llama").draws(what)[0].draw.distribution == "normal"
    for wrong in (Olmo, OlmoCore):
        with pytest.raises(UnknownName, match="normal"):
            wrong("normals")  # type: ignore[arg-type]


def test_litgpt_draws_the_output_layer_first() -> None:
    """The embedding begins behind the output layer; both ways to fuse give the rows of a conversion."""
    what = Config(model(vocabulary=5000, hidden=512), dtype="float32")
    placed = offsets(LitGpt().draws(what), 221_184)
    assert [(one.draw.tensor, one.position) for one in placed[:2]] == [
        ("lm_head.weight", 0), ("transformer.wte.weight", 12),
    ]  # fmt: skip
    small = Config(model())
    whole = drawn(LitGpt(), small, "transformer.h.0.attn.qkv.weight")
    name = "model.layers.0.self_attn.{}_proj.weight"
    assert np.array_equal(published(LitGpt(), small, name.format("k"), whole), whole[16:24])
    grouped = whole.reshape(2, 4, 4, 16)
    for part, wanted in (("q", grouped[:, :2]), ("k", grouped[:, 2]), ("v", grouped[:, 3])):
        found = published(LitGpt("grouped"), small, name.format(part), whole)
        assert np.array_equal(found, wanted.reshape(-1, 16))
    with pytest.raises(UnknownName, match="grouped"):
        LitGpt("group")  # type: ignore[arg-type]


def test_seeds_and_names() -> None:
    """The rules of each trainer's stream, and the nearest name of a slip."""
    assert Torchtitan().seed_of(Stream("default", pp=2, shard=5), 7, Config(model())) == 9
    assert Lingua().seed_of(Stream("default", shard=5), 42, Config(model())) == 42
    with pytest.raises(UnknownName, match="tok_embeddings"):
        Torchtitan().blocks(Config(model()), "tok_embedding.weight")
