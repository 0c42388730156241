"""The names that exports give to the tensors of a model."""

from __future__ import annotations

from birthmark.recipes.config import Model


def published_names(model: Model) -> tuple[str, ...]:
    """The names of a Hugging Face export in the style of Llama and DeepSeek, or of NeoX."""
    if model.family == "gpt_neox":
        return _neox_names(model)
    names = ["model.embed_tokens.weight"] + ([] if model.tied else ["lm_head.weight"])
    latent = model.latent
    attention = ["q_proj", "k_proj", "v_proj", "o_proj"]
    if latent is not None:
        query = ["q_a_proj", "q_b_proj"] if latent.query_rank else ["q_proj"]
        attention = [*query, "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"]
    matrices = ["gate_proj", "up_proj", "down_proj"] if model.gated else ["up_proj", "down_proj"]
    for layer in range(model.layers + model.prediction_layers):
        prefix, kind = f"model.layers.{layer}.", model.kind(layer)
        if layer >= model.layers:
            names.append(f"{prefix}eh_proj.weight")
        if kind in ("attention", "transformer"):
            names += [f"{prefix}self_attn.{part}.weight" for part in attention]
        if kind == "mamba":
            names += [f"{prefix}mixer.{part}.weight" for part in ("in_proj", "conv1d", "out_proj")]
        if kind in ("mlp", "transformer"):
            names += _feed_forward_names(model, layer, f"{prefix}mlp.", matrices)
    return tuple(names)


def _feed_forward_names(model: Model, layer: int, prefix: str, matrices: list[str]) -> list[str]:
    experts = model.experts
    if experts is None or not model.has_experts(layer):
        return [f"{prefix}{part}.weight" for part in matrices]
    names = [f"{prefix}gate.weight"]
    names += [f"{prefix}experts.{e}.{part}.weight" for e in range(experts.count) for part in matrices]
    if experts.shared_width:
        shared = "shared_expert" if experts.shared_gate else "shared_experts"
        names += [f"{prefix}{shared}.{part}.weight" for part in matrices]
    if experts.shared_gate:
        names.append(f"{prefix}shared_expert_gate.weight")
    return names


def _neox_names(model: Model) -> tuple[str, ...]:
    parts = (
        "attention.query_key_value",
        "attention.dense",
        "mlp.dense_h_to_4h",
        "mlp.dense_4h_to_h",
    )
    layers = [f"gpt_neox.layers.{layer}.{part}.weight" for layer in range(model.layers) for part in parts]
    return ("gpt_neox.embed_in.weight", *layers, "embed_out.weight")
