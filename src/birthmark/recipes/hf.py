"""Hugging Face models: what constructors draw, and what the class init draws over it.

The inner model initialises itself at the end of its own constructor, before the head exists. So the order is:
constructors of the inner model, its class init, constructor of the head, its class init.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from birthmark.errors import UnknownName, UsageError
from birthmark.recipes.config import Config
from birthmark.recipes.hf_modules import Module, modules
from birthmark.recipes.mapping import Block
from birthmark.recipes.recipe import Recipe
from birthmark.recipes.seed_rules import PLAIN, SeedRule
from birthmark.recipes.streams import RecipeDraw, Source, Stream, Tape, keep_last

DEFAULT = "default"
VERSIONS = ("5", "4.27+", "4.26-")

Version = Literal["5", "4.27+", "4.26-"]


@dataclass(frozen=True)
class HuggingFace(Recipe):
    """A model built from its config by transformers, on one process or the same on all.

    Attributes:
        device: where it is built: "cpu", or "cuda" under a device context.
        version: "5", "4.27+", or "4.26-", whose outer pass drew the inner model once more.
    """

    name: ClassVar[str] = "hf"
    assumptions: ClassVar[tuple[str, ...]] = (
        "The seed is set right before the model is built, and equally on all ranks.",
        "Everything is drawn in the dtype that is the default at that time.",
        "The head is that of a causal language model, or BERT's for masked tokens without a pooler.",
    )
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            "huggingface/transformers",
            "4.26.1, 4.27.4, 4.57.1, 5.24.0",
            "src/transformers/modeling_utils.py, src/transformers/models",
        ),
    )
    rules: ClassVar[Mapping[str, SeedRule]] = {DEFAULT: PLAIN}

    device: Literal["cpu", "cuda"] = "cpu"
    version: Version = "5"

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            raise UnknownName("version of transformers", self.version, VERSIONS)
        if self.device not in ("cpu", "cuda"):
            raise UsageError(f"device {self.device!r}: expected 'cpu' or 'cuda'.")

    def draws(self, config: Config) -> tuple[RecipeDraw, ...]:
        """Every draw, in order; see `Recipe.draws`."""
        base, head = self._modules(config)
        tape = Tape(config.dtype, self.device)
        constructed(tape, base)
        initialised(tape, base, config)
        constructed(tape, head)
        if self.version == "4.26-":
            initialised(tape, base, config)
        initialised(tape, head, config)
        lost = {head[-1].tensor} if config.model.tied else frozenset()
        return keep_last(tape.made, lost)

    def tensors(self, config: Config) -> tuple[str, ...]:
        """The names of the matrices; an output layer that is the embedding has none of its own."""
        base, head = self._modules(config)
        own = head[:-1] if config.model.tied else head
        return tuple(module.tensor for module in (*base, *own))

    def blocks(self, config: Config, tensor: str) -> tuple[Block, ...]:
        """Published tensors are the drawn ones; that of a tied head is the embedding's."""
        base, head = self._modules(config)
        known = {module.tensor: module for module in (*base, *head)}
        if config.model.tied:
            known[head[-1].tensor] = base[0]
        if tensor not in known:
            raise UnknownName("tensor of the recipe", tensor, known)
        return (whole_block(Stream(DEFAULT), known[tensor].tensor, known[tensor].shape),)

    def _modules(self, config: Config) -> tuple[list[Module], list[Module]]:
        return modules(config.model, "5" if self.version == "5" else "4")


def whole_block(stream: Stream, tensor: str, shape: tuple[int, ...]) -> Block:
    """A published tensor that one draw filled as it is."""
    rows, columns = math.prod(shape[:-1]), shape[-1]
    return Block(stream, tensor, (0, rows), (0, columns), 0, 0, columns)


def linear_bound(inputs: int) -> float:
    """The bound of the uniform that torch.nn.Linear draws, computed as torch does."""
    gain = math.sqrt(2.0 / (1.0 + math.sqrt(5.0) ** 2))
    return math.sqrt(3.0) * (gain / math.sqrt(inputs))


def constructed(tape: Tape, made: list[Module]) -> None:
    """What the constructors of torch and of GPT-2's Conv1D draw."""
    for module in made:
        if module.kind == "embedding":
            tape.normal(Stream(DEFAULT), module.tensor, module.shape, 1.0)
        elif module.kind == "transposed":
            tape.normal(Stream(DEFAULT), module.tensor, module.shape, 0.02)
        elif module.kind == "linear":
            inputs = module.shape[-1]
            bound = linear_bound(inputs)
            tape.uniform(Stream(DEFAULT), module.tensor, module.shape, -bound, bound)
            if module.bias:
                end = 1.0 / math.sqrt(inputs)
                name = f"{module.tensor.removesuffix('weight')}bias"
                tape.uniform(Stream(DEFAULT), name, (module.bias,), -end, end)


def initialised(tape: Tape, made: list[Module], config: Config) -> None:
    """What the class init draws over it; biases become 0 without a draw."""
    scaled = config.std / math.sqrt(2.0 * config.model.layers)
    for module in made:
        for std in (config.std, scaled) if module.scaled else (config.std,):
            tape.normal(Stream(DEFAULT), module.tensor, module.shape, std, zeroed=module.padding)
