"""The shape of a model as a published config.json declares it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from birthmark.errors import UsageError
from birthmark.recipes.config import Experts, Latent, Model


def model_from(declared: Mapping[str, Any]) -> Model:
    """The shape that a published config.json declares.

    `vocabulary` is its vocab_size, which counts the rows of the published embedding, padding included.

    Raises:
        UsageError: it lacks the sizes of a language model.
    """
    text = declared.get("text_config")
    values: Mapping[str, Any] = text if isinstance(text, Mapping) else declared
    hidden = _number(values, "hidden_size", "n_embd", "d_model")
    layers = _number(values, "num_hidden_layers", "n_layer", "num_layers")
    heads = _number(values, "num_attention_heads", "n_head", "num_heads")
    vocabulary = _number(values, "vocab_size")
    if not (hidden and layers and heads and vocabulary):
        raise UsageError(
            "a config without vocab_size, hidden_size, num_hidden_layers or num_attention_heads: "
            "it does not describe a language model."
        )
    family = str(values.get("model_type") or declared.get("model_type") or "llama")
    plain = family in ("gpt2", "bert", "gpt_neox", "bloom", "gptj", "opt", "roberta")
    return Model(
        vocabulary=vocabulary,
        hidden=hidden,
        layers=layers,
        heads=heads,
        ffn=_number(values, "intermediate_size", "n_inner", "ffn_hidden_size") or 4 * hidden,
        key_value_heads=_number(values, "num_key_value_heads"),
        head_width=_number(values, "head_dim") if "kv_lora_rank" not in values else 0,
        gated=not plain,
        tied=bool(values.get("tie_word_embeddings", plain and family != "gpt_neox")),
        positions=_number(values, "max_position_embeddings", "n_positions")
        if family in ("gpt2", "bert")
        else 0,
        token_types=_number(values, "type_vocab_size") if family == "bert" else 0,
        biases=_biases(values, family),
        latent=_latent(values),
        experts=_experts(values, layers),
        prediction_layers=_number(values, "num_nextn_predict_layers"),
        padding_id=_padding(values, family),
        family=family,
    )


def _number(values: Mapping[str, Any], *names: str) -> int:
    for name in names:
        value = values.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return 0


def _biases(values: Mapping[str, Any], family: str) -> frozenset[str]:
    if family in ("gpt2", "bert", "gpt_neox", "bloom"):
        return frozenset({"qkv", "output", "mlp"})
    found = set()
    if values.get("attention_bias"):
        found |= {"qkv", "output"}
    if family.startswith("qwen2"):
        found.add("qkv")
    if values.get("mlp_bias"):
        found.add("mlp")
    return frozenset(found)


def _latent(values: Mapping[str, Any]) -> Latent | None:
    if not _number(values, "kv_lora_rank"):
        return None
    return Latent(
        query_rank=_number(values, "q_lora_rank"),
        key_value_rank=_number(values, "kv_lora_rank"),
        plain=_number(values, "qk_nope_head_dim"),
        rotary=_number(values, "qk_rope_head_dim"),
        value=_number(values, "v_head_dim"),
    )


def _experts(values: Mapping[str, Any], layers: int) -> Experts | None:
    count = _number(values, "n_routed_experts", "num_experts", "num_local_experts")
    if not count:
        return None
    width = _number(values, "moe_intermediate_size", "intermediate_size")
    shared = _number(values, "shared_expert_intermediate_size")
    return Experts(
        count=count,
        width=width,
        shared_width=shared or _number(values, "n_shared_experts") * width,
        shared_gate=bool(shared),
        dense_layers=min(_number(values, "first_k_dense_replace"), layers),
    )


def _padding(values: Mapping[str, Any], family: str) -> int | None:
    padding = values.get("pad_token_id", 0 if family == "bert" else None)
    return padding if isinstance(padding, int) and padding >= 0 else None
