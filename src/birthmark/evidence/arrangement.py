"""How a stored tensor may lie to what was drawn: as it is, transposed, or in shards with a launch each.

A layout shows in the order in which a launch filled memory. A converter may have transposed the parameter
since, and a tensor-parallel run draws every shard by itself, along rows or along columns, and joins them in
the file. The elements of such a tensor are put back into the order of the draw, shard after shard.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from birthmark.devices.catalogue import table_threads
from birthmark.evidence.elements import Elements, matrix_shape

#: Shards that are tried where nothing shows as stored.
USUAL_WAYS = (2, 4, 8)
#: Shards that are tried where a layout shows in a part of the pairs.
MOST_WAYS = 64


@dataclass(frozen=True, slots=True)
class Arrangement:
    """One order.

    Attributes:
        transposed: whether the columns as stored are the rows of the draw.
        ways: shards with a launch of their own each.
        along: "row" where shards are runs of rows, "column" where they are runs of columns.
    """

    transposed: bool = False
    ways: int = 1
    along: str = "row"

    @property
    def words(self) -> str:
        """The arrangement in words, for what was drawn."""
        if self.transposed:
            return "transposed after the draw"
        if self.ways > 1:
            return f"drawn in {self.ways} shards of {self.along}s, each by a launch of its own"
        return "as stored"

    def of_draw(self, elements: Elements, shape: tuple[int, ...]) -> Elements:
        """The elements with indices in the order of the draw, ascending.

        Args:
            elements: with indices as stored.
            shape: extents as stored.
        """
        rows, columns = matrix_shape(shape)
        row, column = np.divmod(elements.indices, max(1, columns))
        if self.transposed:
            moved = column * rows + row
        elif self.ways > 1 and self.along == "column":
            width = columns // self.ways
            moved = (column // width) * (rows * width) + row * width + column % width
        else:
            return elements
        order = np.argsort(moved, kind="stable")
        return Elements(moved[order], elements.values[order], elements.unit[order])


AS_STORED = Arrangement()


def usual_arrangements(shape: tuple[int, ...]) -> Iterator[Arrangement]:
    """Those that are tried where a tensor shows nothing as stored."""
    rows, columns = matrix_shape(shape)
    if rows > 1 and columns > 1:
        yield Arrangement(transposed=True)
        yield from _shards(rows, columns, USUAL_WAYS)


def shard_arrangements(shape: tuple[int, ...]) -> Iterator[Arrangement]:
    """All ways of cutting a tensor into equal shards, fewest first."""
    rows, columns = matrix_shape(shape)
    yield from _shards(rows, columns, range(2, MOST_WAYS + 1))


def alike_in_columns(threads: int, shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """Shards of columns, with their G, whose pairs are those of one launch of `threads` threads.

    Where G is a whole number of rows, shards of columns that were drawn with G / k threads each have their
    partners in the same places as one launch of G threads. Only layouts of the device table are named.

    Returns:
        (k, G / k), fewest shards first.
    """
    rows, columns = matrix_shape(shape)
    if rows < 2 or columns < 2 or threads % columns:
        return []
    known = set(table_threads())
    return [
        (ways, threads // ways)
        for ways in range(2, MOST_WAYS + 1)
        if columns % ways == 0 and threads % ways == 0 and threads // ways in known
    ]


def _shards(rows: int, columns: int, ways: tuple[int, ...] | range) -> Iterator[Arrangement]:
    for count in ways:
        if rows % count == 0 and rows > count:
            yield Arrangement(ways=count)
        if columns % count == 0 and columns > count and rows > 1:
            yield Arrangement(ways=count, along="column")
