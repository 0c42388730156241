"""The names under which models are published, and the part of the model that each names.

Sources: huggingface/transformers 5.24.0 `src/transformers/models`; EleutherAI/gpt-neox ea7aefd8 and
bigscience-workshop/Megatron-DeepSpeed 8387ae17 for their exports.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a model.

    Attributes:
        part: what it is: "embedding", "head", "positions", "q", "k", "v", "o", "qkv", "gate", "up", "down",
            "up_fused", "router", "experts_up", "experts_down", "q_a", "q_b", "kv_a", "kv_b", "join",
            "shared_gate", "mixer_in", "mixer_out" or "mixer_conv".
        layer: its layer, -1 outside layers.
        expert: its expert, -1 outside experts, -2 for the shared expert.
    """

    part: str
    layer: int = -1
    expert: int = -1


SHARED: Final = -2

_LAYER = r"(?:model|transformer|backbone|gpt_neox)\.(?:layers|h|blocks)\.(?P<layer>\d+)\."
_ATTENTION = r"(?:self_attn|attention|attn|mixer)\."
_FORMS: Final = {
    r"(?:model|backbone)\.embed(?:_tokens|dings)\.weight": "embedding",
    r"(?:transformer\.)?word_embeddings\.weight|gpt_neox\.embed_in\.weight": "embedding",
    r"(?:lm_head|embed_out)\.weight": "head",
    _LAYER + _ATTENTION + r"(?P<part>[qkvo])_proj\.weight": "",
    _LAYER + _ATTENTION + r"q_a_proj\.weight": "q_a",
    _LAYER + _ATTENTION + r"q_b_proj\.weight": "q_b",
    _LAYER + _ATTENTION + r"kv_a_proj_with_mqa\.weight": "kv_a",
    _LAYER + _ATTENTION + r"kv_b_proj\.weight": "kv_b",
    _LAYER + r"(?:self_attention|attention)\.query_key_value\.weight": "qkv",
    _LAYER + r"(?:self_attention|attention)\.dense\.weight": "o",
    _LAYER + r"mlp\.(?P<part>gate|up|down)_proj\.weight": "",
    _LAYER + r"mlp\.dense_h_to_4h\.weight": "up",
    _LAYER + r"mlp\.dense_4h_to_h\.weight": "down",
    _LAYER + r"(?:mlp|block_sparse_moe)\.gate\.weight": "router",
    _LAYER + r"mlp\.experts\.(?P<expert>\d+)\.(?P<part>gate|up|down)_proj\.weight": "",
    _LAYER + r"block_sparse_moe\.experts\.(?P<expert>\d+)\.w1\.weight": "gate",
    _LAYER + r"block_sparse_moe\.experts\.(?P<expert>\d+)\.w3\.weight": "up",
    _LAYER + r"block_sparse_moe\.experts\.(?P<expert>\d+)\.w2\.weight": "down",
    _LAYER + r"mlp\.experts\.gate_up_proj": "experts_up",
    _LAYER + r"mlp\.experts\.down_proj": "experts_down",
    _LAYER + r"mlp\.shared_experts?\.(?P<part>gate|up|down)_proj\.weight": "shared",
    _LAYER + r"mlp\.shared_expert_gate\.weight": "shared_gate",
    _LAYER + r"eh_proj\.weight": "join",
    _LAYER + r"mixer\.in_proj\.weight": "mixer_in",
    _LAYER + r"mixer\.conv1d\.weight": "mixer_conv",
    _LAYER + r"mixer\.out_proj\.weight": "mixer_out",
}


@cache
def _compiled() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(form), part) for form, part in _FORMS.items())


def place_of(tensor: str) -> Place | None:
    """The part of a model that a published name stands for; None for a name of no known form."""
    for form, part in _compiled():
        if match := form.fullmatch(tensor):
            found = match.groupdict()
            expert = int(found["expert"]) if found.get("expert") else -1
            layer = int(found["layer"]) if found.get("layer") else -1
            if part == "shared":
                return Place(found["part"], layer, SHARED)
            return Place(part or found["part"], layer, expert)
    return None
