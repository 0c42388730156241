"""PaddlePaddle's model-parallel training: the seed rules, and the class init of PaddleNLP's models.

What its GPU kernels make of a stream is not known well enough for positions, so the recipe gives streams,
seeds, shapes and scales, and where each published part comes from; it predicts no values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from birthmark.errors import UnknownName
from birthmark.recipes.config import Config, divided
from birthmark.recipes.mapping import Block
from birthmark.recipes.recipe import Recipe
from birthmark.recipes.seed_rules import FLEET, FLEET_OLD, MEGATRON_MODEL, PLAIN, SeedRule
from birthmark.recipes.streams import RecipeDraw, Source, Stream, Tape

MODEL = "model-parallel"
RULES: Final = {"fleet": FLEET, "fleet-old": FLEET_OLD, "megatron": MEGATRON_MODEL}


@dataclass(frozen=True)
class PaddleFleet(Recipe):
    """Paddle fleet under PaddleNLP, PaddleFormers or ERNIE; PaddleFleet with `rule` "megatron".

    Attributes:
        rule: "fleet": seed + 1 + mp x PP + pp; "fleet-old": 1024 seed + 100 rank; "megatron": Megatron's.
    """

    name: ClassVar[str] = "paddle-fleet"
    assumptions: ClassVar[tuple[str, ...]] = (
        "One model-parallel rank has no stream of its own: its seed is the base.",
        "Linear weights are stored [in, out]; ranks share rows of the vocabulary and columns of layers.",
        "Output projections are multiplied by 1 / sqrt(2 L) after their draw.",
        "Each stage holds equally many layers.",
    )
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            "PaddlePaddle/Paddle",
            "1931481d, 05242620",
            "python/paddle/distributed/fleet/layers/mpu/{random,mp_layers}.py",
        ),
        Source("PaddlePaddle/PaddleFleet", "0aec87dd, 021152f8", "tensor_parallel/{random,layers}.py"),
        Source("PaddlePaddle/PaddleFormers", "0082c6ed", "trainer/trainer_utils.py"),
        Source("PaddlePaddle/ERNIE", "fec4aa6c", "ernie/utils/seed_utils.py"),
    )
    rules: ClassVar[Mapping[str, SeedRule]] = {MODEL: FLEET}

    rule: Literal["fleet", "fleet-old", "megatron"] = "fleet"

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise UnknownName("seed rule of Paddle", self.rule, RULES)

    def seed_of(self, stream: Stream, base: int, config: Config) -> int:
        """The seed of a stream; `fleet` counts ranks through the stages."""
        if stream.name != MODEL:
            raise UnknownName("stream", stream.name, (MODEL,))
        parallel = config.parallel
        if parallel.tp == 1:
            return PLAIN.seed(base)
        position = stream.tp * parallel.pp + stream.pp
        rank = stream.pp * parallel.tp + stream.tp
        return RULES[self.rule].seed(base, position=position, rank=rank, tp=stream.tp, pp=stream.pp)

    def draws(self, config: Config) -> tuple[RecipeDraw, ...]:
        """The draws of the class init; what constructors drew before it is not listed."""
        tape = Tape(config.dtype, "paddle")
        scale = f"multiplied by {1.0 / math.sqrt(2.0 * config.model.layers):.9g}"
        for tensor, stage, shape, axis, output in self._parts(config):
            local = list(shape)
            local[axis] = divided(shape[axis], config.parallel.tp, f"columns or rows of {tensor}")
            for tp in range(config.parallel.tp):
                then = scale if output else ""
                tape.normal(Stream(MODEL, stage, tp), tensor, tuple(local), config.std, then=then)
        return tuple(tape.made)

    def tensors(self, config: Config) -> tuple[str, ...]:
        """The names of PaddleNLP's Llama."""
        return tuple(tensor for tensor, *_ in self._parts(config))

    def blocks(self, config: Config, tensor: str) -> tuple[Block, ...]:
        """Rows or columns of the ranks, as Paddle stores them."""
        for name, stage, shape, axis, _ in self._parts(config):
            if name != tensor:
                continue
            share = shape[axis] // config.parallel.tp
            width = share if axis else shape[1]
            found = []
            for tp in range(config.parallel.tp):
                along = (tp * share, (tp + 1) * share)
                rows, columns = ((0, shape[0]), along) if axis else (along, (0, shape[1]))
                found.append(Block(Stream(MODEL, stage, tp), tensor, rows, columns, 0, 0, width))
            return tuple(found)
        raise UnknownName("tensor of the recipe", tensor, self.tensors(config))

    @staticmethod
    def _parts(config: Config) -> list[tuple[str, int, tuple[int, int], int, bool]]:
        """Name, stage, whole shape, the axis that ranks share, and whether it is an output projection."""
        model, stages = config.model, config.parallel.pp
        hidden, queries, keys = model.hidden, model.heads * model.width, model.kv_heads * model.width
        found = [("llama.embed_tokens.weight", 0, (model.vocabulary, hidden), 0, False)]
        size = divided(model.layers, stages, "layers")
        for layer in range(model.layers):
            prefix = f"llama.layers.{layer}."
            for name, shape, axis, output in (
                ("self_attn.q_proj", (hidden, queries), 1, False),
                ("self_attn.k_proj", (hidden, keys), 1, False),
                ("self_attn.v_proj", (hidden, keys), 1, False),
                ("self_attn.o_proj", (queries, hidden), 0, True),
                ("mlp.gate_proj", (hidden, model.ffn), 1, False),
                ("mlp.up_proj", (hidden, model.ffn), 1, False),
                ("mlp.down_proj", (model.ffn, hidden), 0, True),
            ):
                found.append((f"{prefix}{name}.weight", layer // size, shape, axis, output))
        if not model.tied:
            found.append(("lm_head.weight", stages - 1, (hidden, model.vocabulary), 1, False))
        return found
