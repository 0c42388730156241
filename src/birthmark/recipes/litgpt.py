"""LitGPT's pretraining on one GPU or as equal copies: the output layer is drawn before the embedding.

The model is built with constructors that draw nothing; then every module draws in registration order, and the
output layer was registered first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from birthmark.errors import UnknownName
from birthmark.recipes.config import Config, check_plain
from birthmark.recipes.ordered import DEFAULT, Matrix, OrderedRecipe, Run, fused
from birthmark.recipes.seed_rules import PLAIN, SeedRule
from birthmark.recipes.streams import Source, drawn

#: What the vocabulary is padded to a multiple of.
PADDING: Final = 512
FUSED: Final = ("stacked", "grouped")


@dataclass(frozen=True)
class LitGpt(OrderedRecipe):
    """Lightning-AI/litgpt `pretrain`, without FSDP.

    Attributes:
        fused: how the fused matrix lies: "stacked": all queries, keys, values (since the end of 2024), or
            "grouped": group by group.
    """

    name: ClassVar[str] = "litgpt"
    assumptions: ClassVar[tuple[str, ...]] = (
        "One GPU, or copies with one seed: under FSDP modules are drawn in another order.",
        "Linear layers are those of Llama; the vocabulary is padded to a multiple of 512.",
        "The seed (42 by default) is set right before the model is built.",
    )
    sources: ClassVar[tuple[Source, ...]] = (
        Source("Lightning-AI/litgpt", "26857050", "litgpt/pretrain.py, litgpt/model.py"),
    )
    rules: ClassVar[Mapping[str, SeedRule]] = {DEFAULT: PLAIN}

    fused: Literal["stacked", "grouped"] = "stacked"

    def __post_init__(self) -> None:
        if self.fused not in FUSED:
            raise UnknownName("way to fuse", self.fused, FUSED)

    def matrices(self, config: Config) -> tuple[Matrix, ...]:
        """Output layer, embedding; then fused, projection, gate, up and down of each layer."""
        model = config.model
        check_plain(model, self.name)
        hidden = model.hidden
        rows = -(-model.vocabulary // PADDING) * PADDING
        std, scaled = math.sqrt(2.0 / 5 / hidden), 1.0 / math.sqrt(hidden) / model.layers
        whole = (Run(0, rows),)
        parts: list[tuple[str, tuple[int, int], float, dict[str, tuple[Run, ...]]]] = [
            ("lm_head", (rows, hidden), std, {}),
            ("transformer.wte", (rows, hidden), std, {"model.embed_tokens.weight": whole}),
        ]
        for layer in range(model.layers):
            prefix, export = f"transformer.h.{layer}.", f"model.layers.{layer}."
            split = fused(model, f"{export}self_attn.", grouped=self.fused == "grouped")
            out, inner = (Run(0, hidden),), (Run(0, model.ffn),)
            width = model.heads * model.width
            parts += [
                (f"{prefix}attn.qkv", (model.fused_rows, hidden), std, split),
                (f"{prefix}attn.proj", (hidden, width), scaled, {f"{export}self_attn.o_proj.weight": out}),
                (f"{prefix}mlp.fc_1", (model.ffn, hidden), std, {f"{export}mlp.gate_proj.weight": inner}),
                (f"{prefix}mlp.fc_2", (model.ffn, hidden), std, {f"{export}mlp.up_proj.weight": inner}),
                (f"{prefix}mlp.proj", (hidden, model.ffn), scaled, {f"{export}mlp.down_proj.weight": out}),
            ]
        return tuple(
            Matrix(f"{name}.weight", drawn("normal", (0.0, scale), shape, config.dtype), views)
            for name, shape, scale, views in parts
        )
