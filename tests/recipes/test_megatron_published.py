"""Published tensors of Megatron-trained models: every element against a conversion done by numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.recipes.config import Config, Experts, Latent, Mamba, Model, Parallel
from birthmark.recipes.megatron_core import MegatronCore
from birthmark.recipes.megatron_legacy import MegatronLegacy, NeoX
from birthmark.recipes.recipe import Recipe
from birthmark.recipes.streams import Stream

Numbered = dict[tuple[Stream, str], NDArray[np.int64]]


def numbered(recipe: Recipe, config: Config) -> Numbered:
    """Every kept local tensor filled with numbers of its own."""
    found: Numbered = {}
    begin = 0
    for each in recipe.draws(config):
        if each.kept:
            size = each.draw.size
            found[each.stream, each.tensor] = np.arange(begin, begin + size).reshape(each.draw.shape)
            begin += size
    return found


def assembled(
    recipe: Recipe, config: Config, local: Numbered, tensor: str, shape: tuple[int, ...]
) -> NDArray[np.int64]:
    """The published tensor, element by element, as the recipe's mapping has it."""
    out = np.full(int(np.prod(shape)), -1, np.int64)
    for part in recipe.published(config, tensor, shape).parts(np.arange(out.size)):
        out[part.at] = local[part.block.stream, part.block.tensor].ravel()[part.local]
    return out.reshape(shape)


def ranks(local: Numbered, tensor: str, count: int, pp: int = 0) -> list[NDArray[np.int64]]:
    """The local tensors of all tensor-parallel ranks."""
    return [local[Stream("model-parallel", pp, tp), tensor] for tp in range(count)]


def model(**changes: Any) -> Model:
    """A small Llama-like model."""
    shape: dict[str, Any] = {
        "vocabulary": 300, "hidden": 16, "layers": 2, "heads": 8, "ffn": 24, "key_value_heads": 4,
        "head_width": 3,
    }  # fmt: skip
    return Model(**{**shape, **changes})


@settings(deadline=None, max_examples=12)
@given(st.sampled_from([1, 2, 4]), st.sampled_from([1, 2]), st.sampled_from([4, 8]))
def test_dense_tensors_equal_a_conversion(tp: int, pp: int, groups: int) -> None:
    """Queries, keys, values, projections, gate, up and down come from the elements a converter takes."""
    config = Config(model(key_value_heads=groups), Parallel(tp=tp, pp=pp))
    recipe = MegatronCore()
    local = numbered(recipe, config)
    own, name = "decoder.layers.1.", "model.layers.1."
    stage, width, hidden = pp - 1, 3, 16
    fused = np.concatenate(ranks(local, f"{own}self_attention.linear_qkv.weight", tp, stage))
    grouped = fused.reshape(groups, 8 // groups + 2, width, hidden)
    expected = {
        "q": grouped[:, :-2].reshape(-1, hidden),
        "k": grouped[:, -2].reshape(-1, hidden),
        "v": grouped[:, -1].reshape(-1, hidden),
        "o": np.concatenate(ranks(local, f"{own}self_attention.linear_proj.weight", tp, stage), axis=1),
    }
    for part, wanted in expected.items():
        found = assembled(recipe, config, local, f"{name}self_attn.{part}_proj.weight", wanted.shape)
        assert np.array_equal(found, wanted), part
    halves = [np.split(each, 2) for each in ranks(local, f"{own}mlp.linear_fc1.weight", tp, stage)]
    for part, wanted in {
        "gate": np.concatenate([gate for gate, _ in halves]),
        "up": np.concatenate([up for _, up in halves]),
        "down": np.concatenate(ranks(local, f"{own}mlp.linear_fc2.weight", tp, stage), axis=1),
    }.items():
        found = assembled(recipe, config, local, f"{name}mlp.{part}_proj.weight", wanted.shape)
        assert np.array_equal(found, wanted), part


@pytest.mark.parametrize("rows", [300, 512])
def test_tables_lose_their_padding(rows: int) -> None:
    """Embedding and head are the ranks' row blocks; a trimmed table is their beginning."""
    config = Config(model(), Parallel(tp=4, pp=2))
    recipe = MegatronCore()
    local = numbered(recipe, config)
    for name, own, stage in (
        ("model.embed_tokens.weight", "embedding.word_embeddings.weight", 0),
        ("lm_head.weight", "output_layer.weight", 1),
    ):
        wanted = np.concatenate(ranks(local, own, 4, stage))[:rows]
        assert np.array_equal(assembled(recipe, config, local, name, (rows, 16)), wanted)


def test_worked_row_of_a_vocabulary() -> None:
    """Row 151,900 of 152,064 x 8,192 on four ranks, seed 42: rank 3, seed 2763, first element 310,083,584."""
    config = Config(Model(vocabulary=151_851, hidden=8192, layers=1, heads=64, ffn=64), Parallel(tp=4))
    recipe = MegatronCore()
    published = recipe.published(config, "model.embed_tokens.weight", (152_064, 8192))
    (part,) = published.parts(np.array([151_900 * 8192]))
    assert (part.block.stream.tp, int(part.local[0])) == (3, 310_083_584)
    assert recipe.seed_of(part.block.stream, 42, config) == 2763


@pytest.mark.parametrize("order", ["grouped", "sequential", "stacked"])
def test_experts_single_and_stacked(order: Any) -> None:
    """An expert's matrices come from its own rank's draws; a published stack holds them one by one."""
    config = Config(
        model(experts=Experts(count=6, width=8, shared_width=4, shared_gate=True, dense_layers=1)),
        Parallel(ep=3, etp=2, tp=2),
    )
    recipe = MegatronCore(order)
    local = numbered(recipe, config)
    own, name = "decoder.layers.1.mlp.experts.", "model.layers.1.mlp.experts."
    stacks: dict[str, list[NDArray[np.int64]]] = {"gate_up": [], "down": []}
    for expert in range(6):
        ep, number = divmod(expert, 2)
        gates, ups, downs = [], [], []
        for etp in range(2):
            stream = Stream("expert-parallel", ep=ep, etp=etp)
            if order == "stacked":
                first = local[stream, f"{own}weight1"].reshape(2, 16, 8)[number].T
                second = local[stream, f"{own}weight2"].reshape(2, 4, 16)[number].T
            else:
                one, two = {
                    "grouped": (f"linear_fc1.weight{number}", f"linear_fc2.weight{number}"),
                    "sequential": (
                        f"local_experts.{number}.linear_fc1.weight",
                        f"local_experts.{number}.linear_fc2.weight",
                    ),
                }[order]
                first, second = local[stream, own + one], local[stream, own + two]
            gates.append(first[:4])
            ups.append(first[4:])
            downs.append(second)
        for part, wanted in {
            "gate": np.concatenate(gates),
            "up": np.concatenate(ups),
            "down": np.concatenate(downs, axis=1),
        }.items():
            found = assembled(recipe, config, local, f"{name}{expert}.{part}_proj.weight", wanted.shape)
            assert np.array_equal(found, wanted), (expert, part)
        stacks["gate_up"].append(np.concatenate([*gates, *ups]))
        stacks["down"].append(np.concatenate(downs, axis=1))
    for part, each in stacks.items():
        stacked = np.stack(each)
        assert np.array_equal(assembled(recipe, config, local, f"{name}{part}_proj", stacked.shape), stacked)


def test_shared_experts_and_routers() -> None:
    """The shared expert is split like a dense layer; router and its gate are the same on every rank."""
    config = Config(
        model(layers=1, experts=Experts(count=4, width=8, shared_width=12, shared_gate=True)), Parallel(tp=2)
    )
    recipe = MegatronCore()
    local = numbered(recipe, config)
    own, name = "decoder.layers.0.mlp.", "model.layers.0.mlp."
    halves = [np.split(each, 2) for each in ranks(local, f"{own}shared_experts.linear_fc1.weight", 2)]
    wanted = np.concatenate([up for _, up in halves])
    found = assembled(recipe, config, local, f"{name}shared_expert.up_proj.weight", (12, 16))
    assert np.array_equal(found, wanted)
    for published, drawn in (("gate", "router.weight"), ("shared_expert_gate", "shared_experts.gate_weight")):
        table = local[Stream("cpu"), own + drawn]
        assert np.array_equal(
            assembled(recipe, config, local, f"{name}{published}.weight", table.shape), table
        )


def test_latent_attention_and_further_tokens() -> None:
    """Split projections are row or column blocks, shared ones whole; the extra layer is on the last stage."""
    shape = Latent(query_rank=10, key_value_rank=6, plain=4, rotary=2, value=3)
    config = Config(model(latent=shape, prediction_layers=1), Parallel(tp=2, pp=2))
    recipe = MegatronCore()
    local = numbered(recipe, config)
    own, name = "mtp.layers.0.transformer_layer.self_attention.linear_", "model.layers.2."
    for published, drawn in (("q_b_proj", "q_up_proj"), ("kv_b_proj", "kv_up_proj")):
        wanted = np.concatenate(ranks(local, f"{own}{drawn}.weight", 2, 1))
        found = assembled(recipe, config, local, f"{name}self_attn.{published}.weight", wanted.shape)
        assert np.array_equal(found, wanted)
    whole = local[Stream("data-parallel", 1), f"{own}kv_down_proj.weight"]
    found = assembled(recipe, config, local, f"{name}self_attn.kv_a_proj_with_mqa.weight", whole.shape)
    assert np.array_equal(found, whole)
    wanted = np.concatenate(ranks(local, "mtp.layers.0.eh_proj.weight", 2, 1))
    assert np.array_equal(assembled(recipe, config, local, f"{name}eh_proj.weight", wanted.shape), wanted)


def test_packed_rows_of_mamba_are_cut_one_by_one() -> None:
    """z, x, B, C and dt are each split over the ranks before they are packed."""
    config = Config(
        model(layers=1, pattern="M", mamba=Mamba(heads=4, head_width=2, state=3, groups=2)), Parallel(tp=2)
    )
    recipe = MegatronCore()
    local = numbered(recipe, config)
    shards = ranks(local, "decoder.layers.0.mixer.in_proj.weight", 2)
    parts = [np.split(each, np.cumsum([4, 4, 3, 3])) for each in shards]
    wanted = np.concatenate([part for pair in zip(*parts, strict=True) for part in pair])
    found = assembled(recipe, config, local, "backbone.layers.0.mixer.in_proj.weight", wanted.shape)
    assert np.array_equal(found, wanted)
    convolution = assembled(recipe, config, local, "model.layers.0.mixer.conv1d.weight", (20, 1, 4))
    pieces = [
        np.split(each[:, 0], np.cumsum([4, 3]))
        for each in ranks(local, "decoder.layers.0.mixer.conv1d.weight", 2)
    ]
    wanted = np.concatenate([part for pair in zip(*pieces, strict=True) for part in pair])
    assert np.array_equal(convolution[:, 0], wanted)


def test_fused_exports_are_row_blocks() -> None:
    """NeoX and BLOOM publish the fused matrix as it was drawn, head by head."""
    shape = model(gated=False, key_value_heads=0, family="gpt_neox")
    config = Config(shape, Parallel(tp=2))
    recipe = NeoX()
    local = numbered(recipe, config)
    wanted = np.concatenate(ranks(local, "encoder.layers.0.self_attention.query_key_value.weight", 2))
    name = "gpt_neox.layers.0.attention.query_key_value.weight"
    assert np.array_equal(assembled(recipe, config, local, name, wanted.shape), wanted)
    assert name in recipe.tensors(config)


@pytest.mark.parametrize(
    ("recipe", "config"),
    [
        (MegatronCore(), Config(model(experts=Experts(count=4, width=8, dense_layers=1)), Parallel(ep=2))),
        (MegatronCore(), Config(model(latent=Latent(0, 6, 4, 2, 3), prediction_layers=1))),
        (MegatronCore(on_cpu=True), Config(model(tied=True), Parallel(tp=2))),
        (MegatronLegacy(), Config(model(), Parallel(tp=2))),
        (NeoX(), Config(model(gated=False, family="gpt_neox"), Parallel(tp=2, pp=2))),
    ],
)
def test_every_kept_element_is_published_once(recipe: Recipe, config: Config) -> None:
    """All published tensors together hold each element of each kept draw exactly once."""
    local = numbered(recipe, config)
    seen = []
    for tensor in recipe.tensors(config):
        blocks = recipe.blocks(config, tensor)
        shape = (max(block.rows[1] for block in blocks), max(block.columns[1] for block in blocks))
        seen.append(assembled(recipe, config, local, tensor, shape).ravel())
    found = np.sort(np.concatenate(seen))
    assert np.array_equal(found, np.arange(sum(each.size for each in local.values())))


@pytest.mark.parametrize(
    "tensor",
    [
        "model.layers.2.mlp.up_proj.weight",
        "model.layers.0.self_attn.kv_b_proj.weight",
        "model.layers.0.mlp.gate.weight",
        "model.layers.0.mlp.experts.3.up_proj.weight",
        "model.norm.weight",
    ],
)
def test_tensors_that_are_not_drawn_are_unknown(tensor: str) -> None:
    """Layers beyond the last, parts of other models, and norms name the nearest tensor."""
    with pytest.raises(UnknownName, match=r"Nearest|Known"):
        MegatronCore().blocks(Config(model()), tensor)


def test_shapes_that_do_not_fit_are_refused() -> None:
    """A wider or a longer tensor than was drawn, or an index outside, is a usage error."""
    recipe, config = MegatronCore(), Config(model())
    for shape in ((300, 17), (600, 16)):
        with pytest.raises(UsageError, match="the recipe draws 384 rows of 16"):
            recipe.published(config, "model.embed_tokens.weight", shape)
    published = recipe.published(config, "model.embed_tokens.weight", (300, 16))
    with pytest.raises(UsageError, match="it has 4800"):
        list(published.parts(np.array([4800])))
