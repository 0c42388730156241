"""How Megatron's ranks cut matrices: the streams, names and blocks of split rows and columns."""

from __future__ import annotations

from dataclasses import dataclass

from birthmark.recipes.config import Config, Model, divided
from birthmark.recipes.mapping import Block
from birthmark.recipes.megatron_stages import stage_of
from birthmark.recipes.streams import Stream


@dataclass(frozen=True, slots=True)
class Geometry:
    """How a model was cut and drawn.

    Attributes:
        config: what was built.
        rows: of the padded embedding.
        experts: "grouped", "sequential" or "stacked".
        ways: ranks that each drew their own share; 1 where every rank drew whole matrices.
        streams: names of the streams of split, shared and expert matrices, and of draws on the CPU.
        names: the framework's own names by part.
        layer_prefix: what the own names of a layer's tensors begin with, before its number.
    """

    config: Config
    rows: int
    experts: str
    ways: int
    streams: tuple[str, str, str, str]
    names: tuple[tuple[str, str], ...] = (
        ("embedding", "embedding.word_embeddings.weight"),
        ("head", "output_layer.weight"),
        ("qkv", "self_attention.linear_qkv.weight"),
        ("o", "self_attention.linear_proj.weight"),
        ("fc1", "mlp.linear_fc1.weight"),
        ("fc2", "mlp.linear_fc2.weight"),
    )
    layer_prefix: str = "decoder.layers."

    @property
    def model(self) -> Model:
        """The model's shape."""
        return self.config.model

    def name(self, part: str, layer: int = -1) -> str:
        """The framework's own name of a tensor."""
        return self.prefix(layer) + dict(self.names)[part]

    def prefix(self, layer: int) -> str:
        """What its name begins with."""
        if layer < 0:
            return ""
        if layer >= self.model.layers:
            return f"mtp.layers.{layer - self.model.layers}.transformer_layer."
        return f"{self.layer_prefix}{layer}."

    def split(self, layer: int, tp: int) -> Stream:
        """The stream of a split matrix."""
        stage = stage_of(self.config, layer) if layer >= 0 else 0
        return Stream(self.streams[0], stage, tp if self.streams[0] != "cpu" else 0)

    def by_rows(self, tensor: str, layer: int, rows: int, columns: int, begin: int = 0) -> list[Block]:
        """Whole row blocks of every rank; `begin` is the row of each rank's draw where they start."""
        share = divided(rows, self.ways, f"rows of {tensor}")
        return [
            Block(
                self.split(layer, tp), tensor, (tp * share, (tp + 1) * share), (0, columns), begin, 0, columns
            )
            for tp in range(self.ways)
        ]

    def by_columns(self, tensor: str, layer: int, rows: int, columns: int) -> list[Block]:
        """Column blocks of every rank."""
        share = divided(columns, self.ways, f"columns of {tensor}")
        return [
            Block(self.split(layer, tp), tensor, (0, rows), (tp * share, (tp + 1) * share), 0, 0, share)
            for tp in range(self.ways)
        ]
