"""The modules of Hugging Face models in the order in which constructors make them and the class init visits.

Both go through submodules in registration order. Sources: huggingface/transformers 4.57.1 and 5.24.0,
`src/transformers/models`, whose draws were logged while models of these families were built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from birthmark.errors import UnknownName
from birthmark.recipes.config import Experts, Latent, Model

Kind = Literal["embedding", "linear", "transposed", "parameter"]


@dataclass(frozen=True, slots=True)
class Module:
    """A module with one matrix.

    Attributes:
        tensor: the name of the matrix.
        kind: how its constructor draws: "embedding" N(0, 1), "linear" uniform, "transposed" (GPT-2's Conv1D)
            N(0, 0.02), "parameter" not at all.
        shape: of the matrix as stored.
        bias: values of a bias that the constructor draws; 0 for none.
        scaled: whether its parent draws it once more, with a smaller scale.
        padding: the row that is set to 0 afterwards; -1 for none.
    """

    tensor: str
    kind: Kind
    shape: tuple[int, ...]
    bias: int = 0
    scaled: bool = False
    padding: int = -1


Modules = tuple[list[Module], list[Module]]

_LLAMA: Final = (
    "llama", "mistral", "qwen2", "qwen3", "olmo", "olmo2", "mixtral", "qwen2_moe", "qwen3_moe", "deepseek_v2",
    "deepseek_v3",
)  # fmt: skip
#: Families whose order is known, by `model_type`.
FAMILIES: Final = (*_LLAMA, "gpt2", "bert", "gpt_neox")
#: Families that draw the router before the experts; from transformers 5 on, Qwen3's changed sides.
_ROUTER_FIRST: Final = {"4": ("mixtral", "qwen2_moe", "qwen3_moe"), "5": ("mixtral", "qwen2_moe")}


def modules(model: Model, major: str) -> Modules:
    """The modules of the inner model, and those of the head.

    Args:
        model: its family says whose order.
        major: of transformers: "4" keeps every expert by itself, "5" stacks them.

    Raises:
        UnknownName: a family whose order is not known.
    """
    if model.family == "gpt2":
        return _gpt2(model)
    if model.family == "bert":
        return _bert(model, major)
    if model.family == "gpt_neox":
        return _neox(model, major)
    if model.family in _LLAMA:
        return _llama(model, major)
    raise UnknownName("family", model.family, FAMILIES)


def _linear(prefix: str, parts: Sequence[tuple[str, int, int]], biased: bool) -> list[Module]:
    """Linear modules: name, outputs, inputs."""
    return [
        Module(f"{prefix}{name}.weight", "linear", (rows, columns), rows if biased else 0)
        for name, rows, columns in parts
    ]


def _embedding(tensor: str, rows: int, model: Model, padding: int = -1) -> Module:
    return Module(tensor, "embedding", (rows, model.hidden), padding=padding)


def _head(tensor: str, model: Model, *, biased: bool = False) -> Module:
    rows = model.vocabulary
    return Module(tensor, "linear", (rows, model.hidden), rows if biased else 0)


def _llama(model: Model, major: str) -> Modules:
    padding = -1 if model.padding_id is None else model.padding_id
    found = [_embedding("model.embed_tokens.weight", model.vocabulary, model, padding)]
    for layer in range(model.layers):
        prefix = f"model.layers.{layer}."
        found += _attention(model, f"{prefix}self_attn.")
        if model.experts is not None and model.has_experts(layer):
            found += _experts(model, model.experts, prefix, major)
        else:
            found += _gated(model, f"{prefix}mlp.", model.ffn)
    return found, [_head("lm_head.weight", model)]


def _attention(model: Model, prefix: str) -> list[Module]:
    hidden, width = model.hidden, model.width
    if model.latent is not None:
        return _latent(model, model.latent, prefix)
    heads, groups = model.heads * width, model.kv_heads * width
    fused = [("q_proj", heads, hidden), ("k_proj", groups, hidden), ("v_proj", groups, hidden)]
    return [
        *_linear(prefix, fused, "qkv" in model.biases),
        *_linear(prefix, [("o_proj", hidden, heads)], "output" in model.biases),
    ]


def _latent(model: Model, latent: Latent, prefix: str) -> list[Module]:
    hidden, heads = model.hidden, model.heads
    query, rank, biased = heads * (latent.plain + latent.rotary), latent.query_rank, "qkv" in model.biases
    found = _linear(prefix, [("q_a_proj", rank, hidden)], biased) if rank else []
    found += _linear(prefix, [("q_b_proj", query, rank) if rank else ("q_proj", query, hidden)], False)
    compressed = latent.key_value_rank
    found += _linear(prefix, [("kv_a_proj_with_mqa", compressed + latent.rotary, hidden)], biased)
    found += _linear(prefix, [("kv_b_proj", heads * (latent.plain + latent.value), compressed)], False)
    return [*found, *_linear(prefix, [("o_proj", hidden, heads * latent.value)], "output" in model.biases)]


def _gated(model: Model, prefix: str, width: int) -> list[Module]:
    parts = [
        ("gate_proj", width, model.hidden),
        ("up_proj", width, model.hidden),
        ("down_proj", model.hidden, width),
    ]
    return _linear(prefix, parts, "mlp" in model.biases)


def _experts(model: Model, experts: Experts, prefix: str, major: str) -> list[Module]:
    hidden, width, count = model.hidden, experts.width, experts.count
    mixtral = model.family == "mixtral"
    own = f"{prefix}block_sparse_moe." if mixtral and major == "4" else f"{prefix}mlp."
    free = major == "5" or model.family.startswith("deepseek")
    router = Module(f"{own}gate.weight", "parameter" if free else "linear", (count, hidden))
    routed: list[Module] = []
    if major == "5":
        routed.append(Module(f"{own}experts.gate_up_proj", "parameter", (count, 2 * width, hidden)))
        routed.append(Module(f"{own}experts.down_proj", "parameter", (count, hidden, width)))
    for expert in range(count if major == "4" else 0):
        if mixtral:
            parts = [("w1", width, hidden), ("w2", hidden, width), ("w3", width, hidden)]
            routed += _linear(f"{own}experts.{expert}.", parts, False)
        else:
            routed += _gated(model, f"{own}experts.{expert}.", width)
    found = [router, *routed] if model.family in _ROUTER_FIRST[major] else [*routed, router]
    if experts.shared_width:
        name = "shared_expert" if experts.shared_gate else "shared_experts"
        found += _gated(model, f"{own}{name}.", experts.shared_width)
    if experts.shared_gate:
        found += _linear(own, [("shared_expert_gate", 1, hidden)], False)
    return found


def _gpt2(model: Model) -> Modules:
    hidden = model.hidden
    found = [
        _embedding("transformer.wte.weight", model.vocabulary, model),
        _embedding("transformer.wpe.weight", model.positions, model),
    ]
    for layer in range(model.layers):
        prefix = f"transformer.h.{layer}."
        parts = [
            ("attn.c_attn", (hidden, 3 * hidden)),
            ("attn.c_proj", (hidden, hidden)),
            ("mlp.c_fc", (hidden, model.ffn)),
            ("mlp.c_proj", (model.ffn, hidden)),
        ]
        found += [
            Module(f"{prefix}{name}.weight", "transposed", shape, scaled=name.endswith("c_proj"))
            for name, shape in parts
        ]
    return found, [_head("lm_head.weight", model)]


def _bert(model: Model, major: str) -> Modules:
    hidden = model.hidden
    prefix = "bert.embeddings."
    padding = -1 if model.padding_id is None else model.padding_id
    found = [
        _embedding(f"{prefix}word_embeddings.weight", model.vocabulary, model, padding),
        _embedding(f"{prefix}position_embeddings.weight", model.positions, model),
        _embedding(f"{prefix}token_type_embeddings.weight", model.token_types, model),
    ]
    for layer in range(model.layers):
        parts = [
            *((f"attention.self.{name}", hidden, hidden) for name in ("query", "key", "value")),
            ("attention.output.dense", hidden, hidden),
            ("intermediate.dense", model.ffn, hidden),
            ("output.dense", hidden, model.ffn),
        ]
        found += _linear(f"bert.encoder.layer.{layer}.", parts, True)
    head = _linear("cls.predictions.transform.", [("dense", hidden, hidden)], True)
    return found, [*head, _head("cls.predictions.decoder.weight", model, biased=major == "5")]


def _neox(model: Model, major: str) -> Modules:
    hidden = model.hidden
    found = [_embedding("gpt_neox.embed_in.weight", model.vocabulary, model)]
    for layer in range(model.layers):
        parts = [
            ("attention.query_key_value", 3 * hidden, hidden),
            ("attention.dense", hidden, hidden),
            ("mlp.dense_h_to_4h", model.ffn, hidden),
            ("mlp.dense_4h_to_h", hidden, model.ffn),
        ]
        found += _linear(f"gpt_neox.layers.{layer}.", parts, True)
    return found, [_head("lm_head.weight" if major == "5" else "embed_out.weight", model)]
