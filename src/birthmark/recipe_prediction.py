"""Initial values of published tensors, from a recipe, a base seed and a device, with random access.

An element of a published tensor leads to the draw that filled it, the draw to its stream, and the stream to a
seed and a position; from there on it is one hypothesis like any other (`birthmark.hypothesis`), or a draw of
the CPU generator (`birthmark.samplers.cpu_draw`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.catalogue import Arithmetic, find
from birthmark.distributed import Distributed
from birthmark.errors import UsageError
from birthmark.hypothesis import Hypothesis
from birthmark.numerics.dtypes import round_to
from birthmark.recipes.config import Config
from birthmark.recipes.dtensor import Shard
from birthmark.recipes.hypotheses import Supposition
from birthmark.recipes.mapping import Block, Published
from birthmark.recipes.positions import Placed, offsets, round4
from birthmark.recipes.recipe import Recipe
from birthmark.recipes.streams import Stream
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.cpu_normal import BLOCK


@dataclass(frozen=True, slots=True, eq=False)
class Birth:
    """A model as a recipe builds it: everything that decides its initial values.

    Attributes:
        recipe: whose order of draws and seed rule.
        config: what is built, and on how many processes.
        seed: the base seed, as it was set on the command line.
        threads: G of the device; None where everything is drawn on the CPU.
        arithmetic: how the device makes float32 normals.
    """

    recipe: Recipe
    config: Config
    seed: int
    threads: int | None = None
    arithmetic: Arithmetic = "nvidia-volta+"
    _kept: dict[tuple[Stream, str], Placed] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        placed = offsets(self.recipe.draws(self.config), self.threads)
        kept = {(one.draw.stream, one.draw.tensor): one for one in placed if one.draw.kept}
        object.__setattr__(self, "_kept", kept)

    def published(self, tensor: str, shape: tuple[int, ...] | None = None) -> Published:
        """Where a published tensor's elements come from; by default in the shape that was drawn.

        Raises:
            UnknownName: the recipe draws no tensor of this name.
            UsageError: the shape does not fit the draws.
        """
        if shape is None:
            blocks = self.recipe.blocks(self.config, tensor)
            shape = (max(block.rows[1] for block in blocks), max(block.columns[1] for block in blocks))
        return self.recipe.published(self.config, tensor, shape)

    def values(
        self, tensor: str, indices: NDArray[np.int64], shape: tuple[int, ...] | None = None
    ) -> NDArray[np.float32]:
        """The initial values of elements of a published tensor, decoded.

        Args:
            tensor: its published name.
            indices: C-order flat indices into it, int64, any shape.
            shape: its published extents; by default those that were drawn, as a matrix.

        Returns:
            float32, in the shape of `indices`.

        Raises:
            UnknownName: the recipe draws no tensor of this name.
            UsageError: an index outside the tensor, or values that are not predicted.
        """
        wanted = np.asarray(indices, np.int64)
        flat = wanted.reshape(-1)
        out = np.empty(flat.size, np.float32)
        for part in self.published(tensor, shape).parts(flat):
            out[part.at] = self._drawn(part.block, part.local)
        return out.reshape(wanted.shape)

    def rows(
        self, tensor: str, start: int, stop: int, shape: tuple[int, ...] | None = None
    ) -> NDArray[np.float32]:
        """Rows start <= i < stop of a published tensor's matrix view, decoded; shape (rows, columns)."""
        count, columns = self.published(tensor, shape).matrix
        if not 0 <= start <= stop <= count:
            raise UsageError(f"rows {start}:{stop} of {tensor}: it has {count} rows; give a range in it.")
        indices = np.arange(start * columns, stop * columns, dtype=np.int64)
        return self.values(tensor, indices, shape).reshape(stop - start, columns)

    def placed(self, block: Block) -> Placed:
        """The draw that fills a block, and where it begins."""
        return self._kept[block.stream, block.tensor]

    def _drawn(self, block: Block, local: NDArray[np.int64]) -> NDArray[np.float32]:
        placed = self.placed(block)
        each, seed = placed.draw, self.recipe.seed_of(block.stream, self.seed, self.config)
        if each.then:
            raise UsageError(f"{each.tensor} is changed after its draw ({each.then}): it is not predicted.")
        if placed.position is None:
            raise UsageError(
                f"{each.tensor} follows a truncated normal that is drawn again as often as its seed asks "
                "for: its position is not known beforehand."
            )
        found = self._on_cpu(placed, seed, local) if each.generator == "cpu" else None
        if found is None:
            if self.threads is None:
                raise UsageError(f"{each.tensor} is drawn on a GPU: give a device or its threads.")
            hypothesis = Hypothesis(
                each.draw,
                self.threads,
                self.arithmetic,
                placed.position,
                redraw_step=round4(each.whole) if each.whole else None,
            )
            found = hypothesis.values(seed, local).astype(np.float32)
        if each.stored:
            found = round_to(found, each.stored).astype(np.float32)
        if each.zeroed >= 0:
            found[local // each.draw.shape[-1] == each.zeroed] = 0.0
        return found

    @staticmethod
    def _on_cpu(placed: Placed, seed: int, local: NDArray[np.int64]) -> NDArray[np.float32]:
        draw = placed.draw.draw
        if draw.distribution == "truncated-normal":
            raise UsageError(f"{placed.draw.tensor}: truncated normals of the CPU are not predicted here.")
        if placed.pending and draw.distribution == "normal" and draw.size < BLOCK:
            raise UsageError(
                f"{placed.draw.tensor} has fewer than {BLOCK} values and begins with one that an earlier "
                "draw left over: it is not predicted."
            )
        first, second = draw.parameters
        cpu = CpuDraw(draw.distribution, (first, second), draw.size, placed.position or 0, draw.dtype)
        return cpu.values(seed, local).astype(np.float32)


def birth(
    recipe: Recipe,
    config: Config,
    seed: int,
    device: str | None = None,
    *,
    threads: int | None = None,
    arithmetic: Arithmetic | None = None,
) -> Birth:
    """A model as a recipe builds it on a device.

    Args:
        recipe: whose order of draws and seed rule.
        config: what is built, and on how many processes.
        seed: the base seed.
        device: a device of the table; gives the layout and the arithmetic.
        threads: G, instead of a device. Neither is needed where everything is drawn on the CPU.
        arithmetic: overrides the device's.

    Raises:
        UsageError: the recipe does not build such a model, or both a device and threads were given.
        UnknownName: no such device.
    """
    if device is not None and threads is not None:
        raise UsageError("a device and threads: give one of the two.")
    card = find(device) if device is not None else None
    return Birth(
        recipe,
        config,
        seed,
        card.threads if card else threads,
        arithmetic or (card.arithmetic if card else "nvidia-volta+"),
    )


def predict(
    recipe: Recipe,
    config: Config,
    tensor: str,
    rows: tuple[int, int],
    seed: int,
    device: str | None = None,
    *,
    threads: int | None = None,
) -> NDArray[np.float32]:
    """Rows of a published tensor before training.

    Args:
        recipe: whose order of draws and seed rule.
        config: what was built, and on how many processes.
        tensor: its published name.
        rows: first row, and the one after the last, of its matrix view.
        seed: the base seed.
        device: a device of the table, or None with `threads`.
        threads: G, instead of a device.

    Returns:
        float32, shape (rows, columns).

    Raises:
        UsageError: see `birth` and `Birth.rows`.
        UnknownName: no such device or tensor.
    """
    return birth(recipe, config, seed, device, threads=threads).rows(tensor, *rows)


def hypothesis_of(
    supposed: Supposition,
    threads: int,
    arithmetic: Arithmetic = "nvidia-volta+",
    scale: float | None = None,
) -> Hypothesis | Distributed:
    """A supposition on one layout, as everything but the seed.

    Args:
        supposed: of a draw on CUDA; its layouts must include this one.
        threads: G.
        arithmetic: how words become float32 normals.
        scale: the standard deviation to take instead of the recipe's, or the bound of a uniform.

    Raises:
        UsageError: the supposition is of a draw on the CPU, or says nothing about this layout.
    """
    if supposed.generator != "cuda" or threads not in supposed.offsets:
        raise UsageError(
            f"a draw of {' or '.join(supposed.recipes)} on the {supposed.generator} generator says nothing "
            f"about {threads} threads: give a layout that it was supposed for."
        )
    draw, offset = supposed.draw, supposed.offsets[threads]
    if scale is not None:
        mean, std, *bounds = draw.parameters
        parameters = (mean, scale, *(bound / std * scale for bound in bounds))
        draw = replace(draw, parameters=parameters if draw.distribution != "uniform" else (-scale, scale))
    if supposed.shards > 1:
        return Distributed(draw, (supposed.shards,), (Shard(0),), threads, arithmetic, offset)
    return Hypothesis(draw, threads, arithmetic, offset, supposed.sharding)
