"""Megatron-Core's order of draws: dense, latent attention, experts, further-token prediction, Mamba hybrids.

Three kinds of stream on each process. What tensor-parallel ranks split is drawn under the model-parallel
seed, what they all hold under the default one, routed experts under the expert seed. Routers and tables of
positions are built on the CPU. Within a stream the offset grows over all layers of the stage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from birthmark.errors import UsageError
from birthmark.recipes.config import Config, Latent, Mamba, divided
from birthmark.recipes.mapping import Block
from birthmark.recipes.megatron_geometry import Geometry
from birthmark.recipes.megatron_published import published_blocks
from birthmark.recipes.megatron_stages import stages
from birthmark.recipes.padding import DIVISOR, padded
from birthmark.recipes.published_names import published_names
from birthmark.recipes.recipe import Recipe
from birthmark.recipes.seed_rules import MEGATRON_DATA, MEGATRON_EXPERT, MEGATRON_MODEL, SeedRule
from birthmark.recipes.streams import RecipeDraw, Source, Stream, Tape

MODEL, DATA, EXPERT_STREAM, CPU = "model-parallel", "data-parallel", "expert-parallel", "cpu"

ExpertLayout = Literal["grouped", "sequential", "stacked"]


@dataclass(frozen=True)
class MegatronCore(Recipe):
    """Megatron-LM since its core was split off, and what is built on it (NeMo, Megatron-Bridge).

    Attributes:
        experts: "grouped": one matrix an expert, all first ones before all second ones. "sequential": expert
            by expert. "stacked": one matrix for all local experts, as older cores drew them.
        on_cpu: whether every rank draws whole matrices on the CPU and keeps its share.
        divisor: what the vocabulary is padded to a multiple of, times TP.
        spare_projection: width a head of the output projection that latent attention draws and throws away;
            0 for hidden / heads.
    """

    name: ClassVar[str] = "megatron-core"
    assumptions: ClassVar[tuple[str, ...]] = (
        "Data-parallel ranks repeat the draws of rank 0.",
        "Parameters are drawn in their own dtype on the GPU, or whole in float32 on the CPU.",
        "Each stage holds equally many layers; virtual chunks are drawn in their order.",
        "Routers are drawn in float32 on the CPU and cast.",
        "The ranks of one expert's matrices are etp; left unset, Megatron takes TP for it.",
        "Published names and fused matrices are those of Hugging Face exports.",
    )
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            "NVIDIA/Megatron-LM",
            "d98e8a64; tags v1.0 to core_v0.19.0",
            "megatron/training/initialize.py, megatron/core/tensor_parallel/{random,layers}.py, "
            "megatron/core/models/gpt/gpt_model.py, megatron/core/transformer/*.py, "
            "megatron/core/ssm/mamba_mixer.py",
        ),
        Source("NVIDIA/TransformerEngine", "d0067d0d", "transformer_engine/pytorch/module"),
    )
    rules: ClassVar[Mapping[str, SeedRule]] = {
        MODEL: MEGATRON_MODEL,
        DATA: MEGATRON_DATA,
        EXPERT_STREAM: MEGATRON_EXPERT,
        CPU: MEGATRON_DATA,
    }

    experts: ExpertLayout = "grouped"
    on_cpu: bool = False
    divisor: int = DIVISOR
    spare_projection: int = 0

    def __post_init__(self) -> None:
        if self.experts not in ("grouped", "sequential", "stacked"):
            raise UsageError(f"experts {self.experts!r}: expected 'grouped', 'sequential' or 'stacked'.")

    def draws(self, config: Config) -> tuple[RecipeDraw, ...]:
        """Every draw of every stream; see `Recipe.draws`."""
        if self.on_cpu and config.model.experts is not None and config.parallel.ep > 1:
            raise UsageError(
                "CPU initialisation of experts on several ranks: every rank would draw the same ones; "
                "use ep of 1."
            )
        return _Build(self, config).draws()

    def tensors(self, config: Config) -> tuple[str, ...]:
        """The names of a Hugging Face export."""
        return published_names(config.model)

    def blocks(self, config: Config, tensor: str) -> tuple[Block, ...]:
        """Which draw each part of a published tensor comes from."""
        geometry = Geometry(
            config,
            rows=self.rows(config),
            experts=self.experts,
            ways=1 if self.on_cpu else config.parallel.tp,
            streams=(CPU, CPU, CPU, CPU) if self.on_cpu else (MODEL, DATA, EXPERT_STREAM, CPU),
        )
        return published_blocks(geometry, tensor)

    def rows(self, config: Config) -> int:
        """Rows of the padded embedding."""
        return padded(config.model.vocabulary, config.parallel.tp, self.divisor)


class _Build:
    """Draws of one model, stage by stage and layer by layer."""

    def __init__(self, recipe: MegatronCore, config: Config) -> None:
        self.recipe, self.config, self.model = recipe, config, config.model
        self.tp = 1 if recipe.on_cpu else config.parallel.tp
        self.tape = Tape(config.dtype)
        self.std = config.std
        depth = math.sqrt(self.model.layers if self.model.pattern else 2.0 * self.model.layers)
        self.scaled = config.std / depth
        self.pp = 0

    def draws(self) -> tuple[RecipeDraw, ...]:
        last = self.config.parallel.pp - 1
        for stage, layers in enumerate(stages(self.config)):
            self.pp = stage
            copied = self.pp == last > 0 and self.model.prediction_layers > 0
            if self.pp == 0 or copied:
                self._embedding(kept=not copied)
            for layer in layers:
                self._layer(f"decoder.layers.{layer}", layer)
            if self.pp == last:
                self._predictions()
                self._output(last)
        return tuple(self.tape.made)

    def _embedding(self, *, kept: bool) -> None:
        std = self.std if self.config.embedding_std is None else self.config.embedding_std
        rows = self.recipe.rows(self.config)
        self._split_rows("embedding.word_embeddings.weight", rows, self.model.hidden, std, kept=kept)
        tables = {"position": self.model.positions, "tokentype": self.model.token_types}
        for name, count in tables.items():
            if count:
                tensor = f"embedding.{name}_embeddings.weight"
                self._cpu(tensor, (count, self.model.hidden), 1.0, kept=False)
                self._cpu(tensor, (count, self.model.hidden), std, kept=kept)

    def _output(self, last: int) -> None:
        copied = self.model.tied and last > 0
        if not self.model.tied or copied:
            rows = self.recipe.rows(self.config)
            self._split_rows("output_layer.weight", rows, self.model.hidden, self.std, kept=not copied)

    def _predictions(self) -> None:
        hidden = self.model.hidden
        for number in range(self.model.prediction_layers):
            name = f"mtp.layers.{number}"
            self._split_rows(f"{name}.eh_proj.weight", hidden, 2 * hidden, self.std)
            self._layer(f"{name}.transformer_layer", self.model.layers + number)

    def _layer(self, name: str, layer: int) -> None:
        kind = self.model.kind(layer)
        if kind == "mamba":
            if self.model.mamba is None:
                raise UsageError("a pattern with Mamba layers and no sizes for them: give Model.mamba.")
            self._mamba(f"{name}.mixer", self.model.mamba)
        if kind in ("attention", "transformer"):
            if self.model.latent is not None:
                self._latent(f"{name}.self_attention", self.model.latent)
            else:
                self._attention(f"{name}.self_attention")
        if kind in ("mlp", "transformer"):
            if self.model.has_experts(layer):
                self._experts(f"{name}.mlp")
            else:
                self._mlp(f"{name}.mlp", self.model.ffn)

    def _attention(self, name: str) -> None:
        model = self.model
        divided(model.kv_heads, self.tp, "heads of keys and values")
        self._split_columns(f"{name}.linear_proj.weight", model.hidden, model.heads * model.width)
        self._split_rows(f"{name}.linear_qkv.weight", model.fused_rows, model.hidden, self.std)

    def _latent(self, name: str, latent: Latent) -> None:
        hidden, heads = self.model.hidden, self.model.heads
        spare = self.recipe.spare_projection or hidden // heads
        self._split_columns(f"{name}.linear_proj.weight", hidden, heads * spare, kept=False)
        self._split_columns(f"{name}.linear_proj.weight", hidden, heads * latent.value)
        query = heads * (latent.plain + latent.rotary)
        if latent.query_rank:
            self._same(f"{name}.linear_q_down_proj.weight", latent.query_rank, hidden)
            self._split_rows(f"{name}.linear_q_up_proj.weight", query, latent.query_rank, self.std)
        else:
            self._split_rows(f"{name}.linear_q_proj.weight", query, hidden, self.std)
        rank = latent.key_value_rank
        self._same(f"{name}.linear_kv_down_proj.weight", rank + latent.rotary, hidden)
        self._split_rows(
            f"{name}.linear_kv_up_proj.weight", heads * (latent.plain + latent.value), rank, self.std
        )

    def _mlp(self, name: str, width: int) -> None:
        rows = 2 * width if self.model.gated else width
        self._split_rows(f"{name}.linear_fc1.weight", rows, self.model.hidden, self.std)
        self._split_columns(f"{name}.linear_fc2.weight", self.model.hidden, width)

    def _experts(self, name: str) -> None:
        experts = self.model.experts
        if experts is None:
            return
        self._cpu(f"{name}.router.weight", (experts.count, self.model.hidden), self.std)
        local = divided(experts.count, self.config.parallel.ep, "experts")
        width = divided(experts.width, self.config.parallel.etp, "columns of an expert")
        for ep in range(self.config.parallel.ep):
            for etp in range(self.config.parallel.etp):
                self._local_experts(f"{name}.experts", local, width, ep, etp)
        if experts.shared_width:
            self._mlp(f"{name}.shared_experts", experts.shared_width)
        if experts.shared_gate:
            self._cpu(f"{name}.shared_experts.gate_weight", (1, self.model.hidden), self.std)

    def _local_experts(self, name: str, local: int, width: int, ep: int, etp: int) -> None:
        hidden = self.model.hidden
        rows = 2 * width if self.model.gated else width
        stream = Stream(EXPERT_STREAM, self.pp, ep=ep, etp=etp)
        calls: list[tuple[str, tuple[int, int], float]] = []
        if self.recipe.experts == "stacked":
            calls.append((f"{name}.weight1", (hidden, rows * local), self.std))
            calls.append((f"{name}.weight2", (width * local, hidden), self.scaled))
        elif self.recipe.experts == "grouped":
            calls += [(f"{name}.linear_fc1.weight{e}", (rows, hidden), self.std) for e in range(local)]
            calls += [(f"{name}.linear_fc2.weight{e}", (hidden, width), self.scaled) for e in range(local)]
        else:
            for e in range(local):
                calls.append((f"{name}.local_experts.{e}.linear_fc1.weight", (rows, hidden), self.std))
                calls.append((f"{name}.local_experts.{e}.linear_fc2.weight", (hidden, width), self.scaled))
        for tensor, shape, std in calls:
            if self.recipe.on_cpu:
                self._cpu(tensor, shape, std)
            else:
                self.tape.normal(stream, tensor, shape, std)

    def _mamba(self, name: str, mamba: Mamba) -> None:
        """in_proj; the convolution as its constructor draws it and its weight again; dt; A; out_proj."""
        if self.recipe.on_cpu:
            raise UsageError("Mamba layers are always built on the GPU: use a recipe without on_cpu.")
        inner, hidden = mamba.inner, self.model.hidden
        heads = divided(mamba.heads, self.tp, "heads of a Mamba layer")
        groups = divided(mamba.groups, self.tp, "groups of a Mamba layer")
        rows = 2 * inner + 2 * mamba.groups * mamba.state + mamba.heads
        self._split_rows(f"{name}.in_proj.weight", rows, hidden, self.std)
        channels = heads * mamba.head_width + 2 * groups * mamba.state
        bound = 1.0 / math.sqrt(mamba.convolution)
        weight = (channels, 1, mamba.convolution)
        for tp in range(self.tp):
            stream = Stream(MODEL, self.pp, tp)
            self.tape.uniform(stream, f"{name}.conv1d.weight", weight, -bound, bound, kept=False)
            self.tape.uniform(stream, f"{name}.conv1d.bias", (channels,), -bound, bound)
            self.tape.uniform(stream, f"{name}.conv1d.weight", weight, -bound, bound)
            self.tape.uniform(stream, f"{name}.dt_bias", (heads,), 0.0, 1.0, then="made a bias of the step")
            self.tape.uniform(
                stream, f"{name}.A_log", (heads,), 1.0, 16.0, dtype="float32", then="its logarithm taken"
            )
        self._split_columns(f"{name}.out_proj.weight", hidden, inner)

    def _split_rows(self, tensor: str, rows: int, columns: int, std: float, *, kept: bool = True) -> None:
        """A column-parallel matrix: every rank draws its rows of the weight."""
        if self.recipe.on_cpu:
            self._cpu(tensor, (rows, columns), std, kept=kept)
            return
        share = divided(rows, self.tp, f"rows of {tensor}")
        for tp in range(self.tp):
            self.tape.normal(Stream(MODEL, self.pp, tp), tensor, (share, columns), std, kept=kept)

    def _split_columns(self, tensor: str, rows: int, columns: int, *, kept: bool = True) -> None:
        """A row-parallel matrix, which is always an output projection: every rank draws its columns."""
        if self.recipe.on_cpu:
            self._cpu(tensor, (rows, columns), self.scaled, kept=kept)
            return
        share = divided(columns, self.tp, f"columns of {tensor}")
        for tp in range(self.tp):
            self.tape.normal(Stream(MODEL, self.pp, tp), tensor, (rows, share), self.scaled, kept=kept)

    def _same(self, tensor: str, rows: int, columns: int) -> None:
        """A matrix that all tensor-parallel ranks hold whole."""
        if self.recipe.on_cpu:
            self._cpu(tensor, (rows, columns), self.std)
        else:
            self.tape.normal(Stream(DATA, self.pp), tensor, (rows, columns), self.std)

    def _cpu(self, tensor: str, shape: tuple[int, ...], std: float, *, kept: bool = True) -> None:
        """A draw in float32 on the CPU, the same on every rank of the stage."""
        self.tape.normal(
            Stream(CPU, self.pp),
            tensor,
            shape,
            std,
            kept=kept,
            dtype="float32",
            generator="cpu",
            stored=self.config.dtype,
        )
