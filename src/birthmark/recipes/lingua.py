"""Meta Lingua: DTensor's rule like torchtitan, but embedding and output layer before the layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from birthmark.errors import UsageError
from birthmark.recipes.config import Config, check_plain
from birthmark.recipes.ordered import DEFAULT, Matrix, OrderedRecipe
from birthmark.recipes.seed_rules import PLAIN, SeedRule
from birthmark.recipes.streams import Source, truncated

Factor = Literal["disabled", "global_depth", "current_depth"]


@dataclass(frozen=True)
class Lingua(OrderedRecipe):
    """facebookresearch/lingua on `Config.parallel.shards` ranks; `Model.ffn` is the inner width itself.

    Attributes:
        factor: by what output projections shrink: "disabled", or the root of twice a depth.
        version: what PyTorch's truncated normal does, see `birthmark.samplers.draw.Draw`.
    """

    name: ClassVar[str] = "lingua"
    assumptions: ClassVar[tuple[str, ...]] = (
        "One mesh dimension cuts every tensor along its rows.",
        "The model's seed (42 by default) is set right before the draws, in float32 on the GPU.",
        "Bounds are 3 sigma; those of wo are not divided by the factor.",
        "From torch 2.12 on where a draw begins depends on the seed, but for the first.",
    )
    sources: ClassVar[tuple[Source, ...]] = (
        Source("facebookresearch/lingua", "437d680", "lingua/transformer.py, apps/main/transformer.py"),
    )
    rules: ClassVar[Mapping[str, SeedRule]] = {DEFAULT: PLAIN}
    sharded: ClassVar[bool] = True

    factor: Factor = "disabled"
    version: str = "2.1+"

    def matrices(self, config: Config) -> tuple[Matrix, ...]:
        """Embedding, output; then q, k, v, o, w1, w3, w2 of each layer."""
        model = config.model
        check_plain(model, self.name)
        hidden, table = model.hidden, (model.vocabulary, model.hidden)
        std = hidden**-0.5
        found = [self._matrix("tok_embeddings", table, std, std)]
        if not model.tied:
            found.append(self._matrix("output", table, std, std))
        queries, keys = model.heads * model.width, model.kv_heads * model.width
        for layer in range(model.layers):
            factor, inner = self._factor(layer, model.layers), model.ffn**-0.5
            prefix = f"layers.{layer}."
            for own, shape, scale, bound in (
                ("attention.wq", (queries, hidden), std, std),
                ("attention.wk", (keys, hidden), std, std),
                ("attention.wv", (keys, hidden), std, std),
                ("attention.wo", (hidden, queries), std / factor, std),
                ("feed_forward.w1", (model.ffn, hidden), std, std),
                ("feed_forward.w3", (model.ffn, hidden), std, std),
                ("feed_forward.w2", (hidden, model.ffn), inner / factor, inner / factor),
            ):
                found.append(self._matrix(prefix + own, shape, scale, bound))
        return tuple(found)

    def _matrix(self, name: str, shape: tuple[int, int], std: float, bound: float) -> Matrix:
        return Matrix(f"{name}.weight", truncated(std, 3.0 * bound, shape, "float32", self.version))

    def _factor(self, layer: int, layers: int) -> float:
        depths = {"disabled": 0.5, "global_depth": layers + 1.0, "current_depth": layer + 1.0}
        if self.factor not in depths:
            raise UsageError(f"factor {self.factor!r}: expected one of {', '.join(depths)}.")
        return float((2.0 * depths[self.factor]) ** 0.5)
