"""All recipes: what every one of them must say about itself, and the ones that no other test covers."""

from __future__ import annotations

from pathlib import Path

import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.recipe_prediction import birth
from birthmark.recipes.config import Config, Experts, Model, Parallel
from birthmark.recipes.megatron_legacy import MegatronLegacy, NeoX
from birthmark.recipes.paddle_fleet import PaddleFleet
from birthmark.recipes.positions import offsets
from birthmark.recipes.registry import RECIPES, recipe
from birthmark.recipes.seed_rules import RULES
from birthmark.recipes.streams import Stream

SMALL = Model(vocabulary=300, hidden=32, layers=4, heads=4, ffn=48)


@pytest.mark.parametrize("name", list(RECIPES))
def test_a_recipe_states_what_it_rests_on(name: str) -> None:
    """Every recipe has a name, assumptions, sources with a commit, and seed rules of the dictionary."""
    kind = recipe(name)
    assert kind.name == name
    assert kind.assumptions
    assert all(text.endswith(".") for text in kind.assumptions)
    assert kind.sources
    assert all(source.repository and source.commit for source in kind.sources)
    assert kind.rules
    assert all(rule in RULES for rule in kind.rules.values())


def test_unknown_recipes_name_the_nearest() -> None:
    """A slip in a recipe's name names the one that was meant."""
    with pytest.raises(UnknownName, match="torchtitan"):
        recipe("torch-titan")


def test_legacy_layers_draw_qkv_first() -> None:
    """Embedding, then qkv, dense and both feed-forward matrices of each layer, then the output layer."""
    what = Config(SMALL, Parallel(tp=2, pp=2))
    drawn = [each for each in MegatronLegacy().draws(what) if each.stream == Stream("model-parallel", tp=1)]
    assert [each.tensor.split(".")[-2] for each in drawn[:5]] == [
        "word_embeddings", "query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h",
    ]  # fmt: skip
    assert drawn[3].draw.shape == (48, 32)
    assert [each.kept for each in MegatronLegacy().draws(Config(SMALL, Parallel(pp=2)))][-1]
    tied = Model(vocabulary=300, hidden=32, layers=4, heads=4, ffn=48, tied=True, positions=5)
    draws = MegatronLegacy().draws(Config(tied, Parallel(pp=2)))
    assert (draws[-1].tensor, draws[-1].kept) == ("output_layer.weight", False)
    assert [each.generator for each in draws[1:3]] == ["cpu", "cpu"]
    with pytest.raises(UnknownName, match="small"):
        NeoX(init="small_init")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="plain attention"):
        MegatronLegacy().draws(
            Config(Model(vocabulary=300, hidden=32, layers=4, heads=4, ffn=48, experts=Experts(4, 8)))
        )


@pytest.mark.parametrize(
    ("stage", "tp", "seed"), [(0, 0, 3952), (0, 1, 3953), (1, 0, 5092), (2, 0, 5094), (3, 0, 3952)]
)
def test_neox_moves_interior_stages(stage: int, tp: int, seed: int) -> None:
    """Seed 1234 on two ranks and four stages: first and last keep Megatron's rule, the others have theirs."""
    what = Config(SMALL, Parallel(tp=2, pp=4))
    assert NeoX().seed_of(Stream("model-parallel", stage, tp), 1234, what) == seed


def test_bloom_and_pythia() -> None:
    """BLOOM's stages follow Megatron's rule; Pythia 6.9B has 25,216 rows a rank under 3952 and 3953."""
    bloom = Config(SMALL, Parallel(tp=4, pp=2))
    legacy = MegatronLegacy()
    assert [legacy.seed_of(Stream("model-parallel", 0, tp), 42, bloom) for tp in range(4)] == [
        2760, 2761, 2762, 2763,
    ]  # fmt: skip
    assert legacy.seed_of(Stream("model-parallel", 1, 0), 42, bloom) == 2860
    pythia = Config(
        Model(vocabulary=50_277, hidden=4096, layers=32, heads=32, ffn=16_384, gated=False), Parallel(tp=2)
    )
    first = offsets(NeoX().draws(pythia), 221_184)[0]
    assert first.draw.draw.shape == (25_216, 4096)
    small = NeoX(init="small", output="wang").scales(pythia)
    assert list(small) == pytest.approx([(2 / 5 / 4096) ** 0.5, 2 / 32 / 64])


def test_neox_20b() -> None:
    """Two ranks of 25,216 rows, 154,927,104 elements each, at offset 0 of 3952 and 3953."""
    what = Config(
        Model(vocabulary=50_277, hidden=6144, layers=44, heads=64, ffn=24_576, gated=False),
        Parallel(tp=2, pp=4),
    )
    placed = offsets(NeoX(init="small", output="wang").draws(what), 221_184)
    assert [(one.position, one.draw.draw.size) for one in placed[:2]] == [(0, 154_927_104)] * 2
    assert placed[0].draw.draw.parameters[1] * 6144**0.5 == pytest.approx(0.4**0.5)


@pytest.mark.parametrize(
    ("rule", "parallel", "stream", "seed"),
    [
        ("fleet", Parallel(tp=2), Stream("model-parallel"), 43),
        ("fleet", Parallel(tp=2, pp=4), Stream("model-parallel", 0, 1), 47),
        ("fleet", Parallel(), Stream("model-parallel"), 42),
        ("fleet-old", Parallel(tp=4), Stream("model-parallel", 0, 1), 42 * 1024 + 100),
        ("megatron", Parallel(tp=2), Stream("model-parallel"), 2760),
    ],
)
def test_paddle_seeds(rule: str, parallel: Parallel, stream: Stream, seed: int) -> None:
    """42 becomes 43 or 47 under fleet, 2760 under PaddleFleet, and stays 42 on one rank."""
    assert PaddleFleet(rule).seed_of(stream, 42, Config(SMALL, parallel)) == seed  # type: ignore[arg-type]


def test_paddle_predicts_no_values() -> None:
    """Streams, shapes and blocks are given; positions are refused, and so are unknown names."""
    what = Config(SMALL, Parallel(tp=2))
    fleet = PaddleFleet()
    draws = {each.tensor: each for each in fleet.draws(what)}
    assert draws["llama.layers.0.self_attn.q_proj.weight"].draw.shape == (32, 16)
    assert "multiplied by 0.35" in draws["llama.layers.0.mlp.down_proj.weight"].then
    blocks = fleet.blocks(what, "llama.layers.0.mlp.down_proj.weight")
    assert [(block.rows, block.stream.tp) for block in blocks] == [((0, 24), 0), ((24, 48), 1)]
    with pytest.raises(UsageError, match="Paddle's own kernels"):
        birth(fleet, what, 42, "A100")
    with pytest.raises(UnknownName, match="embed_tokens"):
        fleet.blocks(what, "llama.embed.weight")
    with pytest.raises(UnknownName, match="fleet-old"):
        PaddleFleet("fleets")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="model-parallel"):
        fleet.seed_of(Stream("default"), 42, what)


def test_the_documentation_lists_every_recipe_and_rule() -> None:
    """Each recipe has its row, and each seed rule is named, whole or by its ending."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "recipes.md").read_text()
    assert all(f"| `{name}` |" in text for name in RECIPES)
    for rule in RULES:
        start, _, end = rule.name.rpartition("-")
        assert f"`{rule.name}`" in text or (f"`{start}-" in text and f"`-{end}`" in text), rule.name
