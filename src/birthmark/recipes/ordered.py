"""Recipes that draw one matrix after another in one stream, whole or in the shards of DTensor.

Published tensors are runs of rows of the drawn matrices: all of them, a part of a fused one, or every second
row of a head where the two sides pair the rotary dimensions differently.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from birthmark.errors import UnknownName
from birthmark.recipes.config import Config, Model
from birthmark.recipes.mapping import Block
from birthmark.recipes.recipe import Recipe
from birthmark.recipes.streams import RecipeDraw, Stream
from birthmark.samplers.draw import Draw

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Run:
    """Drawn rows that follow each other in a published tensor: `count` of them from `first`, `step` apart."""

    first: int
    count: int
    step: int = 1


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix that one call fills.

    Attributes:
        tensor: the framework's own name.
        draw: the call, in the shape of the whole matrix.
        views: published names, each with the runs of rows that it is made of.
    """

    tensor: str
    draw: Draw
    views: dict[str, tuple[Run, ...]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Rows of the whole matrix."""
        return self.draw.shape[0]

    @property
    def columns(self) -> int:
        """Columns of it."""
        return self.draw.shape[1]


@dataclass(frozen=True)
class OrderedRecipe(Recipe):
    """A recipe with one stream; where it is `sharded`, every rank draws its rows of each matrix.

    The shards of DTensor are those of `torch.chunk`: ceil(rows / shards) each, the last one shorter, and
    ranks beyond the last row with an empty one.
    """

    generator: ClassVar[Literal["cuda", "cpu"]] = "cuda"
    sharded: ClassVar[bool] = False

    @abstractmethod
    def matrices(self, config: Config) -> tuple[Matrix, ...]:
        """The matrices in the order in which they are drawn."""

    def draws(self, config: Config) -> tuple[RecipeDraw, ...]:
        """Every draw of every shard; see `Recipe.draws`."""
        found = []
        for matrix in self.matrices(config):
            if not self._cut(config):
                found.append(RecipeDraw(Stream(DEFAULT), matrix.tensor, matrix.draw, self.generator))
                continue
            for shard, rows in _shards(matrix.rows, config.parallel.shards):
                local = Draw(
                    matrix.draw.distribution,
                    matrix.draw.parameters,
                    (rows, matrix.columns),
                    matrix.draw.dtype,
                    matrix.draw.version,
                )
                share = -(-matrix.rows // config.parallel.shards)
                found.append(
                    RecipeDraw(
                        Stream(DEFAULT, shard=shard),
                        matrix.tensor,
                        local,
                        self.generator,
                        whole=matrix.draw.size,
                        first=share * matrix.columns,
                    )
                )
        return tuple(found)

    def tensors(self, config: Config) -> tuple[str, ...]:
        """The framework's own names and those of a Hugging Face export."""
        names = [name for matrix in self.matrices(config) for name in (matrix.tensor, *matrix.views)]
        return tuple(dict.fromkeys(names))

    def blocks(self, config: Config, tensor: str) -> tuple[Block, ...]:
        """Runs of rows, cut where shards begin."""
        for matrix in self.matrices(config):
            runs = (Run(0, matrix.rows),) if tensor == matrix.tensor else matrix.views.get(tensor)
            if runs is not None:
                shards = config.parallel.shards if self._cut(config) else 1
                return tuple(_row_blocks(matrix, runs, shards))
        raise UnknownName("tensor of the recipe", tensor, self.tensors(config))

    def _cut(self, config: Config) -> bool:
        return self.sharded and config.parallel.shards > 1


def _shards(rows: int, shards: int) -> Iterator[tuple[int, int]]:
    """(rank, its rows) of each shard; those without rows move their offset all the same."""
    share = -(-rows // shards)
    for shard in range(shards):
        yield shard, max(0, min(share, rows - shard * share))


def _row_blocks(matrix: Matrix, runs: tuple[Run, ...], shards: int) -> Iterator[Block]:
    share, top = -(-matrix.rows // shards), 0
    for run in runs:
        done = 0
        while done < run.count:
            row = run.first + done * run.step
            shard = row // share
            here = min(run.count - done, -(-((shard + 1) * share - row) // run.step))
            yield Block(
                Stream(DEFAULT, shard=shard),
                matrix.tensor,
                (top, top + here),
                (0, matrix.columns),
                row - shard * share,
                0,
                matrix.columns,
                step=run.step,
            )
            top, done = top + here, done + here


def rotary(model: Model, heads: int) -> tuple[Run, ...]:
    """Rows of queries or keys as Hugging Face stores them where the framework rotates pairs of neighbours.

    Of each head the even rows, then the odd ones. Source: huggingface/transformers 5.24.0,
    `src/transformers/models/llama/convert_llama_weights_to_hf.py`.
    """
    width, half = model.width, model.width // 2
    return tuple(Run(head * width + odd, half, 2) for head in range(heads) for odd in (0, 1))


def fused(model: Model, prefix: str, *, grouped: bool) -> dict[str, tuple[Run, ...]]:
    """Queries, keys and values as views of one matrix, head after head of each or group by group."""
    width, heads, groups = model.width, model.heads, model.kv_heads
    sizes = {"q": heads * width, "k": groups * width, "v": groups * width}
    if not grouped:
        found: dict[str, tuple[Run, ...]] = {}
        first = 0
        for part, size in sizes.items():
            found[f"{prefix}{part}_proj.weight"] = (Run(first, size),)
            first += size
        return found
    each = heads // groups
    inside = {"q": (0, each * width), "k": (each * width, width), "v": ((each + 1) * width, width)}
    return {
        f"{prefix}{part}_proj.weight": tuple(
            Run(group * (each + 2) * width + first, count) for group in range(groups)
        )
        for part, (first, count) in inside.items()
    }
