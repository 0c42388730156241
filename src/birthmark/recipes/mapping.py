"""From published tensors to draws: which draw an element comes from, and where it lies in that draw.

Published tensors are put together of parts that different calls filled: row blocks of vocabulary-parallel
ranks, column blocks of output projections, queries, keys and values cut out of one fused matrix, experts out
of a stack. Every such part is a rectangle of the published matrix and of the drawn one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.recipes.streams import Stream


@dataclass(frozen=True, slots=True)
class Block:
    """A rectangle of a published tensor that one draw filled.

    Both tensors are taken as matrices: all dimensions but the last are rows.

    Attributes:
        stream: name and ranks of the draw's stream, as `Recipe.draws` lists it.
        tensor: the framework's own name of the drawn tensor.
        rows: first published row, and the one after the last.
        columns: first published column, and the one after the last.
        row: row of the drawn matrix where the rectangle begins.
        column: column of the drawn matrix where it begins.
        width: columns of the drawn matrix.
        transposed: whether published rows run along drawn columns.
        step: how many drawn rows lie from one to the next.
    """

    stream: Stream
    tensor: str
    rows: tuple[int, int]
    columns: tuple[int, int]
    row: int
    column: int
    width: int
    transposed: bool = False
    step: int = 1

    def local(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Flat indices into the draw of published elements, which must lie in the rectangle."""
        down, along = rows - self.rows[0], columns - self.columns[0]
        if self.transposed:
            down, along = along, down
        found: NDArray[np.int64] = (self.row + down * self.step) * self.width + self.column + along
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Elements of one block.

    Attributes:
        block: where they come from.
        at: positions in the request, int64.
        local: flat indices into the draw, int64, in the same order.
    """

    block: Block
    at: NDArray[np.int64]
    local: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Published:
    """A published tensor and the blocks that it is made of.

    Attributes:
        tensor: its name.
        shape: its extents.
        blocks: the rectangles; together they hold every element.
    """

    tensor: str
    shape: tuple[int, ...]
    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        if not self.shape or not self.blocks:
            raise UsageError(f"{self.tensor} of shape {self.shape}: expected a tensor with dimensions.")
        rows, columns = self.matrix
        widest = max(block.columns[1] for block in self.blocks)
        longest = max(block.rows[1] for block in self.blocks)
        if columns != widest or rows > longest or (rows < longest and len(self.shape) != 2):
            raise UsageError(
                f"{self.tensor} of shape {self.shape}: the recipe draws {longest} rows of {widest}."
            )

    @property
    def matrix(self) -> tuple[int, int]:
        """(rows, columns) of the matrix view; a vector is one row."""
        return math.prod(self.shape[:-1]), self.shape[-1]

    def parts(self, indices: NDArray[np.int64]) -> Iterator[Part]:
        """The elements at C-order flat indices, block by block.

        Args:
            indices: int64, one dimension.

        Raises:
            UsageError: an index lies outside the tensor, or no draw fills it.
        """
        count, width = self.matrix
        if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < count * width:
            raise UsageError(
                f"elements {indices.min()} to {indices.max()} of {self.tensor}: it has {count * width}."
            )
        rows = indices // width
        columns = indices - rows * width
        number = self._numbers(rows, columns)
        if number.size and int(number.min()) < 0:
            raise UsageError(f"no draw of the recipe fills row {rows[number < 0][0]} of {self.tensor}.")
        order = np.argsort(number, kind="stable")
        ends = np.flatnonzero(np.diff(number[order], append=-1)) + 1
        begin = 0
        for end in ends.tolist():
            at = order[begin:end].astype(np.int64)
            block = self.blocks[int(number[at[0]])]
            yield Part(block, at, block.local(rows[at], columns[at]))
            begin = end

    def _numbers(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of the block that holds each element; -1 for none."""
        across = sorted({edge for block in self.blocks for edge in block.columns})
        down = sorted({edge for block in self.blocks for edge in block.rows})
        table = np.full((len(down) + 1, len(across) + 1), -1, np.int64)
        lines = {edge: number + 1 for number, edge in enumerate(down)}
        posts = {edge: number + 1 for number, edge in enumerate(across)}
        for number, block in enumerate(self.blocks):
            (top, bottom), (left, right) = block.rows, block.columns
            table[lines[top] : lines[bottom], posts[left] : posts[right]] = number
        found: NDArray[np.int64] = table[
            np.searchsorted(down, rows, side="right"), np.searchsorted(across, columns, side="right")
        ]
        return found
