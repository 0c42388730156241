"""nanoGPT: GPT-2 in float32 on the CPU, with the output layer's weight shared from the start.

Constructors draw in order, then every module draws again. The embedding and the output layer are one tensor,
which is drawn as both; the draw as output layer comes last and stays. At the end all output projections are
drawn once more with a smaller scale.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from birthmark.errors import UnknownName, UsageError
from birthmark.recipes.config import Config, check_plain
from birthmark.recipes.hf import linear_bound, whole_block
from birthmark.recipes.mapping import Block
from birthmark.recipes.recipe import Recipe
from birthmark.recipes.seed_rules import RANKED, SeedRule
from birthmark.recipes.streams import RecipeDraw, Source, Stream, Tape, keep_last

DEFAULT = "default"
_HEAD = "lm_head.weight"
_EMBEDDING = "transformer.wte.weight"


@dataclass(frozen=True)
class NanoGpt(Recipe):
    """karpathy/nanoGPT from scratch; the seed is 1337 plus the rank, and rank 0's values are broadcast."""

    name: ClassVar[str] = "nanogpt"
    assumptions: ClassVar[tuple[str, ...]] = (
        "The vocabulary is as given; the script pads GPT-2's to 50,304.",
        "Linear layers have a bias where the model's biases say so (the script's default is none).",
        "The model is built in float32 on the CPU and moved to the GPU afterwards.",
    )
    sources: ClassVar[tuple[Source, ...]] = (Source("karpathy/nanoGPT", "3adf61e1", "model.py, train.py"),)
    rules: ClassVar[Mapping[str, SeedRule]] = {DEFAULT: RANKED}

    def draws(self, config: Config) -> tuple[RecipeDraw, ...]:
        """Every draw of rank 0, in order; see `Recipe.draws`."""
        model, tape, stream = config.model, Tape("float32", "cpu"), Stream(DEFAULT)
        check_plain(model, self.name)
        if not model.positions:
            raise UsageError("nanoGPT has a table of positions: give Model.positions, its block size.")
        tables = ((_EMBEDDING, model.vocabulary), ("transformer.wpe.weight", model.positions))
        for tensor, rows in tables:
            tape.normal(stream, tensor, (rows, model.hidden), 1.0)
        matrices = self._matrices(config)
        for tensor, shape in (*matrices, (_HEAD, (model.vocabulary, model.hidden))):
            bound = linear_bound(shape[1])
            tape.uniform(stream, tensor, shape, -bound, bound)
            if model.biases and tensor != _HEAD:
                end = 1.0 / math.sqrt(shape[1])
                tape.uniform(stream, f"{tensor.removesuffix('weight')}bias", shape[:1], -end, end)
        for tensor, rows in tables:
            tape.normal(stream, tensor, (rows, model.hidden), config.std)
        for tensor, shape in (*matrices, (_EMBEDDING, (model.vocabulary, model.hidden))):
            tape.normal(stream, tensor, shape, config.std)
        scaled = config.std / math.sqrt(2 * model.layers)
        for tensor, shape in matrices:
            if tensor.endswith("c_proj.weight"):
                tape.normal(stream, tensor, shape, scaled)
        return keep_last(tape.made, {_HEAD})

    def tensors(self, config: Config) -> tuple[str, ...]:
        """The names in nanoGPT's own state dict."""
        return (_EMBEDDING, "transformer.wpe.weight", *(name for name, _ in self._matrices(config)), _HEAD)

    def blocks(self, config: Config, tensor: str) -> tuple[Block, ...]:
        """Tensors are published as they were drawn."""
        model = config.model
        shapes = dict(self._matrices(config))
        shapes[_EMBEDDING] = shapes[_HEAD] = (model.vocabulary, model.hidden)
        shapes["transformer.wpe.weight"] = (model.positions, model.hidden)
        if tensor not in shapes:
            raise UnknownName("tensor of the recipe", tensor, shapes)
        own = _EMBEDDING if tensor == _HEAD else tensor
        return (whole_block(Stream(DEFAULT), own, shapes[tensor]),)

    @staticmethod
    def _matrices(config: Config) -> list[tuple[str, tuple[int, int]]]:
        hidden, inner = config.model.hidden, config.model.ffn
        shapes = {
            "attn.c_attn": (3 * hidden, hidden),
            "attn.c_proj": (hidden, hidden),
            "mlp.c_fc": (inner, hidden),
            "mlp.c_proj": (hidden, inner),
        }
        return [
            (f"transformer.h.{layer}.{name}.weight", shape)
            for layer in range(config.model.layers)
            for name, shape in shapes.items()
        ]
