"""The order of draws before Megatron-Core: Megatron-LM 2.x, Megatron-DeepSpeed and GPT-NeoX.

Everything is on the model-parallel stream: the embedding, then in each layer the fused queries, keys and
values, the output projection and the two feed-forward matrices, last an output layer that is not tied.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from birthmark.errors import UnknownName
from birthmark.recipes.config import Config, check_plain, divided
from birthmark.recipes.mapping import Block
from birthmark.recipes.megatron_geometry import Geometry
from birthmark.recipes.megatron_published import published_blocks
from birthmark.recipes.megatron_stages import stages
from birthmark.recipes.padding import DIVISOR, padded
from birthmark.recipes.published_names import published_names
from birthmark.recipes.recipe import Recipe
from birthmark.recipes.seed_rules import MEGATRON_DATA, MEGATRON_MODEL, NEOX_INTERIOR, SeedRule
from birthmark.recipes.streams import RecipeDraw, Source, Stream, Tape

MODEL, CPU = "model-parallel", "cpu"
INITS, OUTPUTS = ("normal", "small"), ("scaled", "wang")

_NAMES = (
    ("embedding", "embedding.word_embeddings.weight"),
    ("head", "output_layer.weight"),
    ("qkv", "self_attention.query_key_value.weight"),
    ("o", "self_attention.dense.weight"),
    ("fc1", "mlp.dense_h_to_4h.weight"),
    ("fc2", "mlp.dense_4h_to_h.weight"),
)


@dataclass(frozen=True)
class MegatronLegacy(Recipe):
    """Megatron-LM 2.x and both forks of Megatron-DeepSpeed.

    Attributes:
        divisor: what the vocabulary is padded to a multiple of, times TP.
    """

    name: ClassVar[str] = "megatron-legacy"
    assumptions: ClassVar[tuple[str, ...]] = (
        "Each stage holds equally many layers.",
        "Fused rows lie head by head: query, key, value; checkpoints before version 2 store them otherwise.",
        "The table of positions is built on the CPU.",
        "There are no routed experts and no latent attention.",
    )
    sources: ClassVar[tuple[Source, ...]] = (
        Source("NVIDIA/Megatron-LM", "tags v1.0 to v2.6", "megatron/initialize.py, megatron/model"),
        Source("deepspeedai/Megatron-DeepSpeed", "4efb479d", "megatron/initialize.py"),
        Source("bigscience-workshop/Megatron-DeepSpeed", "8387ae17", "megatron/initialize.py"),
    )
    rules: ClassVar[Mapping[str, SeedRule]] = {MODEL: MEGATRON_MODEL, CPU: MEGATRON_DATA}

    divisor: int = DIVISOR

    def draws(self, config: Config) -> tuple[RecipeDraw, ...]:
        """Every draw of every stream; see `Recipe.draws`."""
        model, parallel = config.model, config.parallel
        check_plain(model, self.name)
        divided(model.kv_heads, parallel.tp, "heads of keys and values")
        tape, last = Tape(config.dtype), parallel.pp - 1
        std, scaled = self.scales(config)
        embedding_std = std if config.embedding_std is None else config.embedding_std
        names = dict(_NAMES)
        table = (padded(model.vocabulary, parallel.tp, self.divisor), model.hidden)
        for stage, layers in enumerate(stages(config)):
            if stage == 0:
                _rows(tape, config, 0, names["embedding"], table, embedding_std)
                self._positions(tape, config, embedding_std)
            for layer in layers:
                prefix = f"encoder.layers.{layer}."
                width, rows = model.heads * model.width, model.ffn * (2 if model.gated else 1)
                _rows(tape, config, stage, prefix + names["qkv"], (model.fused_rows, model.hidden), std)
                _columns(tape, config, stage, prefix + names["o"], (model.hidden, width), scaled)
                _rows(tape, config, stage, prefix + names["fc1"], (rows, model.hidden), std)
                _columns(tape, config, stage, prefix + names["fc2"], (model.hidden, model.ffn), scaled)
            if stage == last and (last > 0 or not model.tied):
                _rows(tape, config, stage, names["head"], table, std, kept=not model.tied)
        return tuple(tape.made)

    def scales(self, config: Config) -> tuple[float, float]:
        """Standard deviations of the ordinary matrices and of the output projections."""
        return config.std, config.std / math.sqrt(2.0 * config.model.layers)

    def tensors(self, config: Config) -> tuple[str, ...]:
        """The names of a Hugging Face export."""
        return published_names(config.model)

    def blocks(self, config: Config, tensor: str) -> tuple[Block, ...]:
        """Which draw each part of a published tensor comes from."""
        geometry = Geometry(
            config,
            rows=padded(config.model.vocabulary, config.parallel.tp, self.divisor),
            experts="grouped",
            ways=config.parallel.tp,
            streams=(MODEL, MODEL, MODEL, CPU),
            names=_NAMES,
            layer_prefix="encoder.layers.",
        )
        return published_blocks(geometry, tensor)

    def _positions(self, tape: Tape, config: Config, std: float) -> None:
        tables = {"position": config.model.positions, "tokentype": config.model.token_types}
        for name, count in tables.items():
            if not count:
                continue
            tensor, shape = f"embedding.{name}_embeddings.weight", (count, config.model.hidden)
            for scale, kept in ((1.0, False), (std, True)):
                tape.normal(
                    Stream(CPU),
                    tensor,
                    shape,
                    scale,
                    kept=kept,
                    dtype="float32",
                    generator="cpu",
                    stored=config.dtype,
                )


@dataclass(frozen=True, kw_only=True)
class NeoX(MegatronLegacy):
    """GPT-NeoX, with which Pythia was trained.

    Attributes:
        init: "normal" (the config's std) or "small": sqrt(2 / (5 h)).
        output: of output projections, "scaled": std / sqrt(2 L), or "wang": 2 / (L sqrt(h)).
    """

    name: ClassVar[str] = "neox"
    assumptions: ClassVar[tuple[str, ...]] = (
        *MegatronLegacy.assumptions,
        "Stages that are neither first nor last have a base seed of their own.",
    )
    sources: ClassVar[tuple[Source, ...]] = (
        Source("EleutherAI/gpt-neox", "ea7aefd8, tag v1.0", "megatron/initialize.py, megatron/model"),
        Source("EleutherAI/pythia", "a19eecb8", "models/*.yml"),
    )

    init: Literal["normal", "small"] = "normal"
    output: Literal["scaled", "wang"] = "scaled"

    def __post_init__(self) -> None:
        for kind, name, known in (("init", self.init, INITS), ("output init", self.output, OUTPUTS)):
            if name not in known:
                raise UnknownName(f"NeoX {kind}", name, known)

    def scales(self, config: Config) -> tuple[float, float]:
        """Standard deviations of the ordinary matrices and of the output projections."""
        hidden, layers = config.model.hidden, config.model.layers
        std = math.sqrt(2.0 / (5.0 * hidden)) if self.init == "small" else config.std
        if self.output == "wang":
            return std, 2.0 / layers / math.sqrt(hidden)
        return std, config.std / math.sqrt(2.0 * layers)

    def seed_of(self, stream: Stream, base: int, config: Config) -> int:
        """The seed of a stream; only interior stages move the base seed."""
        if stream.name == MODEL and 0 < stream.pp < config.parallel.pp - 1:
            return NEOX_INTERIOR.seed(base, position=stream.pp * config.parallel.tp + stream.tp)
        return super().seed_of(Stream(stream.name, tp=stream.tp), base, config)


def _rows(
    tape: Tape,
    config: Config,
    stage: int,
    tensor: str,
    shape: tuple[int, int],
    std: float,
    *,
    kept: bool = True,
) -> None:
    """A matrix whose rows the tensor-parallel ranks share."""
    share = divided(shape[0], config.parallel.tp, f"rows of {tensor}")
    for tp in range(config.parallel.tp):
        tape.normal(Stream(MODEL, stage, tp), tensor, (share, shape[1]), std, kept=kept)


def _columns(tape: Tape, config: Config, stage: int, tensor: str, shape: tuple[int, int], std: float) -> None:
    """A matrix whose columns they share."""
    share = divided(shape[1], config.parallel.tp, f"columns of {tensor}")
    for tp in range(config.parallel.tp):
        tape.normal(Stream(MODEL, stage, tp), tensor, (shape[0], share), std)
