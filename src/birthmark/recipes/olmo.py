"""OLMo and OLMo-core: truncated normals cut at 3 sigma, the picture of one GPU.

OLMo-core draws every tensor whole on each rank, with a generator of its own, and shards it afterwards. OLMo 1
and 2 set one seed on all ranks; the recipe is that of a model that is built before it is sharded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from birthmark.errors import UnknownName
from birthmark.recipes.config import Config, Model, check_plain
from birthmark.recipes.ordered import DEFAULT, Matrix, OrderedRecipe, Run, fused
from birthmark.recipes.seed_rules import PLAIN, STAGED, SeedRule
from birthmark.recipes.streams import Source, drawn, truncated

Views = dict[str, tuple[Run, ...]]

CUT: Final = 3.0
METHODS: Final = ("normal", "mitchell")
CORE_METHODS: Final = ("normal", "llama", "llama_depth")


@dataclass(frozen=True)
class Olmo(OrderedRecipe):
    """allenai/OLMo: OLMo 1 ("mitchell") and OLMo 2 ("normal" with `Config.std`).

    Attributes:
        method: "mitchell": every std follows from a width; "normal": one std for all.
        version: what PyTorch's truncated normal does, see `birthmark.samplers.draw.Draw`.
    """

    name: ClassVar[str] = "olmo"
    assumptions: ClassVar[tuple[str, ...]] = (
        "The model is drawn whole, in float32, on the GPU; under FSDP's late initialisation it is not, and "
        "what comes of that has not been tested.",
        "Values are cut at 3 sigma; the vocabulary is given with its padding.",
    )
    sources: ClassVar[tuple[Source, ...]] = (
        Source("allenai/OLMo", "59a53e3f", "olmo/model.py, olmo/initialization.py"),
    )
    rules: ClassVar[Mapping[str, SeedRule]] = {DEFAULT: PLAIN}

    method: Literal["normal", "mitchell"] = "normal"
    version: str = "2.1+"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownName("method of OLMo", self.method, METHODS)

    def matrices(self, config: Config) -> tuple[Matrix, ...]:
        """Embedding, output layer, then attention out, feed-forward out, fused in and in of each block."""
        model = config.model
        check_plain(model, self.name)
        hidden, table = model.hidden, (model.vocabulary, model.hidden)
        plain = config.std if self.method == "normal" else hidden**-0.5
        rows: tuple[Run, ...] = (Run(0, table[0]),)
        found = [self._matrix("transformer.wte", table, plain, {"model.embed_tokens.weight": rows})]
        if not model.tied:
            found.append(self._matrix("transformer.ff_out", table, plain, {"lm_head.weight": rows}))
        for layer in range(model.layers):
            prefix, export = f"transformer.blocks.{layer}.", f"model.layers.{layer}."
            attention, output = self._scaled(config, layer)
            out: Views = {f"{export}self_attn.o_proj.weight": (Run(0, hidden),)}
            down: Views = {f"{export}mlp.down_proj.weight": (Run(0, hidden),)}
            inner: Views = {
                f"{export}mlp.up_proj.weight": (Run(0, model.ffn),),
                f"{export}mlp.gate_proj.weight": (Run(model.ffn, model.ffn),),
            }
            split = fused(model, f"{export}self_attn.", grouped=False)
            width = model.heads * model.width
            found += [
                self._matrix(f"{prefix}attn_out", (hidden, width), attention, out),
                self._matrix(f"{prefix}ff_out", (hidden, model.ffn), output, down),
                self._matrix(f"{prefix}att_proj", (model.fused_rows, hidden), plain, split),
                self._matrix(f"{prefix}ff_proj", (2 * model.ffn, hidden), plain, inner),
            ]
        return tuple(found)

    def _scaled(self, config: Config, layer: int) -> tuple[float, float]:
        if self.method == "normal":
            return config.std, config.std
        return (
            1.0 / math.sqrt(2 * config.model.hidden * (layer + 1)),
            1.0 / math.sqrt(2 * config.model.ffn * (layer + 1)),
        )

    def _matrix(self, name: str, shape: tuple[int, int], std: float, views: Views) -> Matrix:
        return Matrix(f"{name}.weight", truncated(std, 0.0, shape, "float32", self.version, sigma=CUT), views)


@dataclass(frozen=True)
class OlmoCore(OrderedRecipe):
    """allenai/OLMo-core: OLMo 2 32B and OLMo 3.

    Attributes:
        method: "normal", or "llama" and "llama_depth": standard normal embedding, smaller output projections.
        version: what PyTorch's truncated normal does, see `birthmark.samplers.draw.Draw`.
    """

    name: ClassVar[str] = "olmo-core"
    assumptions: ClassVar[tuple[str, ...]] = (
        "The model's own generator has the default seed 0 unless the run sets another.",
        "Every tensor is drawn whole in float32 on the GPU of each rank, then sharded.",
        "All layers are on one pipeline stage, and dense.",
    )
    sources: ClassVar[tuple[Source, ...]] = (
        Source("allenai/OLMo-core", "fa6c5014", "src/olmo_core/nn/transformer/{init,model}.py"),
    )
    rules: ClassVar[Mapping[str, SeedRule]] = {DEFAULT: STAGED}

    method: Literal["normal", "llama", "llama_depth"] = "normal"
    version: str = "2.1+"

    def __post_init__(self) -> None:
        if self.method not in CORE_METHODS:
            raise UnknownName("method of OLMo-core", self.method, CORE_METHODS)

    def matrices(self, config: Config) -> tuple[Matrix, ...]:
        """Embedding; q, k, v, out, w1, w3, w2 of each block; output layer."""
        model = config.model
        check_plain(model, self.name)
        hidden, table = model.hidden, (model.vocabulary, model.hidden)
        plain = self.method == "normal"
        embedding = (
            truncated(config.std, 0.0, table, "float32", self.version, sigma=CUT)
            if plain
            else drawn("normal", (0.0, 1.0), table, "float32")
        )
        rows = (Run(0, table[0]),)
        found = [Matrix("embeddings.weight", embedding, {"model.embed_tokens.weight": rows})]
        for layer in range(model.layers):
            found += self._block(model, layer, config.std)
        std = config.std if plain else hidden**-0.5
        head = truncated(std, 0.0, table, "float32", self.version, sigma=CUT)
        found.append(Matrix("lm_head.w_out.weight", head, {"lm_head.weight": rows}))
        return tuple(found)

    def _block(self, model: Model, layer: int, std: float) -> list[Matrix]:
        depth = {"normal": 0.5, "llama": float(model.layers), "llama_depth": layer + 1.0}[self.method]
        scaled = std / (2.0 * depth) ** 0.5
        queries, keys, hidden = model.heads * model.width, model.kv_heads * model.width, model.hidden
        parts = (
            ("attention.w_q", "self_attn.q_proj", (queries, hidden), std),
            ("attention.w_k", "self_attn.k_proj", (keys, hidden), std),
            ("attention.w_v", "self_attn.v_proj", (keys, hidden), std),
            ("attention.w_out", "self_attn.o_proj", (hidden, queries), scaled),
            ("feed_forward.w1", "mlp.gate_proj", (model.ffn, hidden), std),
            ("feed_forward.w3", "mlp.up_proj", (model.ffn, hidden), scaled),
            ("feed_forward.w2", "mlp.down_proj", (hidden, model.ffn), scaled),
        )
        return [
            Matrix(
                f"blocks.{layer}.{own}.weight",
                truncated(scale, 0.0, shape, "float32", self.version, sigma=CUT),
                {f"model.layers.{layer}.{name}.weight": (Run(0, shape[0]),)},
            )
            for own, name, shape, scale in parts
        ]
