"""torchtitan's Llama: built without memory, sharded, then drawn shard by shard under DTensor's rule.

All ranks have one seed. Embeddings are standard normals, matrices truncated normals whose bounds of 2 never
bite, the output layer is cut at 3 sigma.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from birthmark.errors import UsageError
from birthmark.recipes.config import Config, check_plain
from birthmark.recipes.ordered import DEFAULT, Matrix, OrderedRecipe, Run, rotary
from birthmark.recipes.seed_rules import STAGED, SeedRule
from birthmark.recipes.streams import Source, drawn, truncated
from birthmark.samplers.truncated import DEFAULT_BOUND

_STD = 0.02


@dataclass(frozen=True)
class Torchtitan(OrderedRecipe):
    """torchtitan's Llama on `Config.parallel.shards` ranks of FSDP2.

    Attributes:
        depth_init: whether output projections shrink with their layer's number, or with the count of layers.
        version: what PyTorch's truncated normal does, see `birthmark.samplers.draw.Draw`.
    """

    name: ClassVar[str] = "torchtitan"
    assumptions: ClassVar[tuple[str, ...]] = (
        "One mesh dimension cuts every tensor along its rows; there is no tensor or pipeline parallelism.",
        "Parameters are drawn in float32 on the GPU, from offset 0.",
        "A seed was set: by default rank 0 draws one of 64 bits at random.",
    )
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            "pytorch/torchtitan",
            "b5bcd76c, tag v0.2.2",
            "torchtitan/distributed/utils.py, torchtitan/models/llama3",
        ),
        Source("pytorch/pytorch", "0175565d", "torch/distributed/tensor/_random.py"),
    )
    rules: ClassVar[Mapping[str, SeedRule]] = {DEFAULT: STAGED}
    sharded: ClassVar[bool] = True

    depth_init: bool = True
    version: str = "2.12+"

    def matrices(self, config: Config) -> tuple[Matrix, ...]:
        """Embedding; q, k, v, o, w1, w2, w3 of each layer; output."""
        model = config.model
        check_plain(model, self.name)
        if config.parallel.pp > 1 or config.parallel.tp > 1:
            raise UsageError("torchtitan with tensor or pipeline parallelism: only FSDP2 is predicted.")
        hidden, table = model.hidden, (model.vocabulary, model.hidden)
        found = [
            Matrix(
                "tok_embeddings.weight",
                drawn("normal", (0.0, 1.0), table, "float32"),
                {"model.embed_tokens.weight": (Run(0, table[0]),)},
            )
        ]
        queries, keys = model.heads * model.width, model.kv_heads * model.width
        for layer in range(model.layers):
            depth = layer + 1 if self.depth_init else model.layers
            scaled = _STD / math.sqrt(2 * depth)
            prefix, export = f"layers.{layer}.", f"model.layers.{layer}."
            for own, shape, std, name, runs in (
                ("attention.wq", (queries, hidden), _STD, "self_attn.q_proj", rotary(model, model.heads)),
                ("attention.wk", (keys, hidden), _STD, "self_attn.k_proj", rotary(model, model.kv_heads)),
                ("attention.wv", (keys, hidden), _STD, "self_attn.v_proj", (Run(0, keys),)),
                ("attention.wo", (hidden, queries), scaled, "self_attn.o_proj", (Run(0, hidden),)),
                ("feed_forward.w1", (model.ffn, hidden), _STD, "mlp.gate_proj", (Run(0, model.ffn),)),
                ("feed_forward.w2", (hidden, model.ffn), scaled, "mlp.down_proj", (Run(0, hidden),)),
                ("feed_forward.w3", (model.ffn, hidden), scaled, "mlp.up_proj", (Run(0, model.ffn),)),
            ):
                draw = truncated(std, DEFAULT_BOUND, shape, "float32", self.version)
                found.append(Matrix(f"{prefix}{own}.weight", draw, {f"{export}{name}.weight": runs}))
        output = truncated(hidden**-0.5, 0.0, table, "float32", self.version, sigma=3.0)
        found.append(Matrix("output.weight", output, {"lm_head.weight": (Run(0, table[0]),)}))
        return tuple(found)
