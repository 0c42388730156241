"""Parts of a tensor that a map shows one by one: runs of rows, attention heads, runs of a vector's values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

#: Bands of a tensor at most, and values that one should have: with fewer it seldom says anything by itself.
MOST: Final = 64
VALUES: Final = 4096

#: Names of matrices whose rows are heads of queries, of keys or values, and whose columns are heads.
_QUERY: Final = re.compile(r"(^|[._])(q_proj|wq|q_lin|query|query_proj)\.weight$")
_KEY: Final = re.compile(r"(^|[._])(k_proj|v_proj|wk|wv|k_lin|v_lin|key|value|key_proj|value_proj)\.weight$")
_OUTPUT: Final = re.compile(r"(^|[._])(o_proj|wo|out_proj|out_lin)\.weight$")

Axis = Literal["rows", "columns"]


@dataclass(frozen=True, slots=True)
class Heads:
    """Attention heads as a model's config declares them; 0 where it does not.

    Attributes:
        queries: heads of queries.
        keys: heads of keys and values.
        width: of a head.
    """

    queries: int = 0
    keys: int = 0
    width: int = 0


@dataclass(frozen=True, slots=True)
class Bands:
    """How a tensor is cut.

    Attributes:
        axis: what is cut.
        kind: "rows", "columns" or "heads".
        edges: where each band begins, and where the last one ends; ascending.
    """

    axis: Axis
    kind: Literal["rows", "columns", "heads"]
    edges: tuple[int, ...]

    def __len__(self) -> int:
        """How many there are."""
        return len(self.edges) - 1

    def of_rows(self, first: int, sums: NDArray[np.float64], into: NDArray[np.float64]) -> None:
        """Add sums of rows from `first` on, float64[quantities, rows], to those of their bands."""
        number = np.searchsorted(self.edges, np.arange(first, first + sums.shape[1]), side="right") - 1
        starts = np.flatnonzero(np.diff(number, prepend=-1))
        into[:, number[starts]] += np.add.reduceat(sums, starts, axis=1)

    def of_columns(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sums of the bands from those of all columns, float64[quantities, columns]."""
        return np.add.reduceat(sums, np.array(self.edges[:-1]), axis=1)


def matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    """(rows, columns) in which a tensor is looked at, in C order.

    A vector is one row. A stack of matrices, as experts are often stored, has its last dimension as columns;
    of more dimensions, as a convolution has, all but the first are columns.
    """
    if len(shape) < 2:
        return 1, math.prod(shape)
    if len(shape) == 3:
        return shape[0] * shape[1], shape[2]
    return shape[0], math.prod(shape[1:])


def heads_of(declared: Mapping[str, Any]) -> Heads:
    """The heads that a config.json declares; none where it does not, or says nothing that fits together."""
    text = declared.get("text_config")
    values = text if isinstance(text, Mapping) else declared
    hidden, queries = (
        _number(values, "hidden_size", "n_embd"),
        _number(values, "num_attention_heads", "n_head"),
    )
    keys = _number(values, "num_key_value_heads") or queries
    if not queries:
        return Heads()
    width = _number(values, "head_dim") or (hidden // queries if hidden % queries == 0 else 0)
    return Heads(queries, keys, width) if width else Heads()


def bands_of(name: str, shape: tuple[int, ...], heads: Heads) -> Bands:
    """The bands of a tensor of that name."""
    rows, columns = matrix(shape)
    if len(shape) == 2 and heads.width:
        for pattern, count, axis in (
            (_QUERY, heads.queries, "rows"),
            (_KEY, heads.keys, "rows"),
            (_OUTPUT, heads.queries, "columns"),
        ):
            extent = rows if axis == "rows" else columns
            if pattern.search(name) and extent == count * heads.width and count <= MOST:
                edges = tuple(range(0, extent + 1, heads.width))
                return Bands("rows" if axis == "rows" else "columns", "heads", edges)
    count = min(MOST, max(1, rows * columns // VALUES))
    if rows == 1:
        return Bands("columns", "columns", _even(columns, count))
    return Bands("rows", "rows", _even(rows, count))


def _even(extent: int, count: int) -> tuple[int, ...]:
    return tuple(np.unique(np.linspace(0, extent, min(extent, count) + 1).astype(np.int64)).tolist())


def _number(values: Mapping[str, Any], *names: str) -> int:
    for name in names:
        value = values.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return 0
