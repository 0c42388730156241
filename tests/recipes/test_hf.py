"""Hugging Face recipes: the order of draws against stock torch, and whole models of transformers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.recipe_prediction import birth
from birthmark.recipes.config import Config, Experts, Latent, Model
from birthmark.recipes.config_file import model_from
from birthmark.recipes.hf import HuggingFace
from birthmark.recipes.positions import offsets
from birthmark.recipes.zero_init import ZeroInit

torch = pytest.importorskip("torch")


def model(**changes: Any) -> Model:
    """A small Llama-like model."""
    shape: dict[str, Any] = {
        "vocabulary": 67, "hidden": 16, "layers": 2, "heads": 4, "ffn": 24, "key_value_heads": 2,
    }  # fmt: skip
    return Model(**{**shape, **changes})


def names(recipe: HuggingFace, what: Config) -> list[str]:
    """Which tensor each draw fills, in order."""
    return [each.tensor for each in recipe.draws(what)]


def stock_llama(seed: int, what: Config) -> dict[str, Any]:
    """What a Llama's constructors and class init leave, written with torch's own modules."""
    shape, std = what.model, what.std
    hidden, keys = shape.hidden, shape.kv_heads * shape.width
    torch.manual_seed(seed)
    made: dict[str, Any] = {"model.embed_tokens": torch.nn.Embedding(shape.vocabulary, hidden, padding_idx=3)}
    for layer in range(shape.layers):
        for name, inputs, outputs in (
            ("self_attn.q_proj", hidden, hidden),
            ("self_attn.k_proj", hidden, keys),
            ("self_attn.v_proj", hidden, keys),
            ("self_attn.o_proj", hidden, hidden),
            ("mlp.gate_proj", hidden, shape.ffn),
            ("mlp.up_proj", hidden, shape.ffn),
            ("mlp.down_proj", shape.ffn, hidden),
        ):
            biased = name.startswith("self_attn") and not name.endswith("o_proj")
            made[f"model.layers.{layer}.{name}"] = torch.nn.Linear(inputs, outputs, bias=biased)
    for module in made.values():
        module.weight.data.normal_(0.0, std)
    made["model.embed_tokens"].weight.data[3] = 0
    made["lm_head"] = torch.nn.Linear(hidden, shape.vocabulary, bias=False)
    made["lm_head"].weight.data.normal_(0.0, std)
    return {f"{name}.weight": module.weight.detach().numpy() for name, module in made.items()}


def test_a_llama_built_by_stock_torch() -> None:
    """Every matrix of constructors, redraws and head equals the prediction bit for bit."""
    what = Config(model(padding_id=3, biases=frozenset({"qkv"})), dtype="float32")
    stock = stock_llama(42, what)
    made = birth(HuggingFace(), what, 42)
    assert set(made.recipe.tensors(what)) == set(stock)
    for name, wanted in stock.items():
        assert np.array_equal(made.rows(name, 0, len(wanted)), wanted), name
    assert not np.array_equal(
        birth(HuggingFace(), what, 43).rows("lm_head.weight", 0, 67), stock["lm_head.weight"]
    )


def test_older_versions_draw_the_inner_model_once_more() -> None:
    """Up to 4.26 the embedding's third draw is the one that stays."""
    what = Config(model(layers=1), dtype="float32")
    embedding = "model.embed_tokens.weight"
    assert names(HuggingFace(version="4.27+"), what).count(embedding) == 2
    drawn = [each for each in HuggingFace(version="4.26-").draws(what) if each.tensor == embedding]
    assert [each.kept for each in drawn] == [False, False, True]


def test_gpt2_draws_projections_a_third_time() -> None:
    """Each output projection is drawn again by its parent, with a smaller scale, before what follows."""
    what = Config(model(family="gpt2", positions=8, layers=1, tied=True, ffn=64), dtype="float32")
    drawn = HuggingFace().draws(what)
    short = [(each.tensor.split(".")[-2], round(each.draw.parameters[1], 5)) for each in drawn[6:14]]
    assert short == [
        ("wte", 0.02), ("wpe", 0.02), ("c_attn", 0.02), ("c_proj", 0.02), ("c_proj", 0.01414), ("c_fc", 0.02),
        ("c_proj", 0.02), ("c_proj", 0.01414),
    ]  # fmt: skip
    assert [each.kept for each in drawn[-2:]] == [False, False]
    assert HuggingFace().blocks(what, "lm_head.weight")[0].tensor == "transformer.wte.weight"


@pytest.mark.parametrize(
    ("family", "version", "first", "count"),
    [
        ("mixtral", "4.27+", "model.layers.0.block_sparse_moe.gate.weight", 7),
        ("mixtral", "5", "model.layers.0.mlp.gate.weight", 3),
        ("qwen3_moe", "4.27+", "model.layers.0.mlp.gate.weight", 7),
        ("qwen3_moe", "5", "model.layers.0.mlp.experts.gate_up_proj", 3),
        ("deepseek_v3", "4.27+", "model.layers.0.mlp.experts.0.gate_proj.weight", 7),
        ("deepseek_v3", "5", "model.layers.0.mlp.experts.gate_up_proj", 3),
    ],
)
def test_where_routers_and_experts_stand(family: str, version: Any, first: str, count: int) -> None:
    """Families differ in which comes first, versions in whether experts are one matrix."""
    what = Config(model(family=family, layers=1, experts=Experts(count=2, width=8)), dtype="float32")
    tensors = [name for name in HuggingFace(version=version).tensors(what) if "mlp" in name or "moe" in name]
    assert tensors[0] == first
    assert len(tensors) == count


def test_words_of_one_linear_module() -> None:
    """A 768 x 768 module with bias: 589,824 words, 768, and 589,824 for the redraw."""
    shape = model(vocabulary=16, hidden=768, heads=12, key_value_heads=12, layers=1, ffn=16, head_width=64)
    placed = offsets(
        HuggingFace().draws(
            Config(Model(**{**_fields(shape), "biases": frozenset({"qkv"})}), dtype="float32")
        )
    )
    query = [one for one in placed if one.draw.tensor.endswith("q_proj.weight")]
    after = [one for one in placed if one.draw.tensor.endswith("k_proj.weight")]
    assert query[0].position == 16 * 768
    assert after[0].position == 16 * 768 + 589_824 + 768
    assert query[1].position is not None
    assert after[1].position == query[1].position + 589_824


def _fields(shape: Model) -> dict[str, Any]:
    return {name: getattr(shape, name) for name in shape.__slots__}


def test_zero_init_draws_on_the_gpu_in_the_runs_dtype() -> None:
    """Whole tensors, constructors first; the embedding that stays begins where its stream then is."""
    what = Config(model(vocabulary=50_257, hidden=256, heads=4, key_value_heads=4), dtype="float16")
    placed = offsets(ZeroInit(version="4.27+").draws(what), 221_184)
    embedding = [one for one in placed if one.draw.tensor == "model.embed_tokens.weight"]
    assert [one.draw.draw.dtype for one in embedding] == ["float16", "float16"]
    assert embedding[0].position == 0
    assert embedding[1].position == 4 * math.ceil(50_257 * 256 / (4 * 221_184)) + 14 * 4
    fifth = offsets(ZeroInit().draws(what), 221_184)
    assert [one.position for one in fifth if one.draw.tensor == "model.embed_tokens.weight"] == [0]


def test_unknown_families_versions_and_devices() -> None:
    """What the recipe does not know is refused by name."""
    with pytest.raises(UnknownName, match="llama"):
        HuggingFace().draws(Config(model(family="llamas")))
    with pytest.raises(UnknownName, match=r"4\.27"):
        HuggingFace(version="4.27")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'cuda'"):
        HuggingFace(device="tpu")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match=r"mlp\.up_proj"):
        HuggingFace().blocks(Config(model()), "model.layers.0.mlp.up.weight")


def test_shapes_are_read_from_a_config() -> None:
    """A DeepSeek-like config gives latent attention, experts and the layer for further tokens."""
    found = model_from(
        {
            "model_type": "deepseek_v3", "vocab_size": 129_280, "hidden_size": 7168, "num_hidden_layers": 61,
            "num_attention_heads": 128, "num_key_value_heads": 128, "intermediate_size": 18_432,
            "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
            "first_k_dense_replace": 3, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64, "v_head_dim": 128, "num_nextn_predict_layers": 1,
        }
    )  # fmt: skip
    assert found.latent == Latent(1536, 512, 128, 64, 128)
    assert found.experts == Experts(256, 2048, 2048, shared_gate=False, dense_layers=3)
    assert (found.prediction_layers, found.gated, found.tied, found.has_experts(2)) == (1, True, False, False)
    with pytest.raises(UsageError, match="does not describe a language model"):
        model_from({"vocab_size": 10})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["Llama", "Qwen2", "Qwen3", "Mistral", "Mixtral", "Qwen3Moe", "GPT2", "Bert"]
)
def test_models_of_transformers(name: str) -> None:
    """Whole state dicts of models that the installed transformers builds equal the prediction bit for bit."""
    transformers = pytest.importorskip("transformers")
    sizes: dict[str, Any] = {
        "vocab_size": 67, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }  # fmt: skip
    if name == "GPT2":
        sizes = {"vocab_size": 67, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 8}
    elif name == "Bert":
        sizes["max_position_embeddings"] = 8
    else:
        sizes["num_key_value_heads"] = 2
    if name == "Mixtral":
        sizes["num_local_experts"] = 3
    if name.startswith("Qwen3"):
        sizes["head_dim"] = 4
    if name == "Qwen3Moe":
        sizes |= {"num_experts": 3, "moe_intermediate_size": 8}
    ending = {"GPT2": "LMHeadModel", "Bert": "ForMaskedLM"}.get(name, "ForCausalLM")
    declared = getattr(transformers, f"{name}Config")(**sizes)
    torch.manual_seed(42)
    built = getattr(transformers, name + ending)(declared)
    what = Config(model_from(declared.to_dict()), dtype="float32")
    version: Any = "5" if transformers.__version__.startswith("5") else "4.27+"
    made = birth(HuggingFace(version=version), what, 42)
    stored = {key: value.detach().numpy() for key, value in built.named_parameters()}
    for tensor in made.recipe.tensors(what):
        wanted = stored[tensor]
        found = made.values(tensor, np.arange(wanted.size), wanted.shape).reshape(wanted.shape)
        assert np.array_equal(found, wanted), tensor
