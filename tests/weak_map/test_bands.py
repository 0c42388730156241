"""How tensors are cut: rows, heads, values of a vector; every element in one band."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.weak_map.bands import MOST, Bands, Heads, bands_of, heads_of, matrix

HEADS = Heads(8, 2, 16)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((), (1, 1)), ((7,), (1, 7)), ((3, 5), (3, 5)), ((2, 3, 5), (6, 5)), ((2, 3, 5, 5), (2, 75))],
)
def test_matrices(shape: tuple[int, ...], expected: tuple[int, int]) -> None:
    """Vectors are rows, stacks keep their columns, convolutions their outputs."""
    assert matrix(shape) == expected


@pytest.mark.parametrize(
    ("name", "shape", "axis", "count"),
    [
        ("model.layers.0.self_attn.q_proj.weight", (128, 128), "rows", 8),
        ("model.layers.0.self_attn.k_proj.weight", (32, 128), "rows", 2),
        ("transformer.attention.q_lin.weight", (128, 128), "rows", 8),
        ("model.layers.0.self_attn.o_proj.weight", (128, 128), "columns", 8),
    ],
)
def test_heads(name: str, shape: tuple[int, int], axis: str, count: int) -> None:
    """Queries, keys and values by rows, outputs by columns."""
    found = bands_of(name, shape, HEADS)

    assert (found.kind, found.axis, len(found)) == ("heads", axis, count)
    assert found.edges[1] == 16


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("model.layers.0.mlp.up_proj.weight", (512, 128)),
        ("model.layers.0.self_attn.q_proj.weight", (130, 128)),
        ("model.layers.0.self_attn.q_proj.bias", (128,)),
    ],
)
def test_what_has_no_heads(name: str, shape: tuple[int, ...]) -> None:
    """Other matrices, other sizes, and vectors are cut evenly."""
    assert bands_of(name, shape, HEADS).kind != "heads"
    assert bands_of("model.layers.0.self_attn.q_proj.weight", (128, 128), Heads()).kind == "rows"


def test_declared_heads() -> None:
    """With keys of their own, with a width of their own, inside a model of several parts, or not at all."""
    plain = {"hidden_size": 64, "num_attention_heads": 4}

    assert heads_of(plain) == Heads(4, 4, 16)
    assert heads_of(plain | {"num_key_value_heads": 2, "head_dim": 32}) == Heads(4, 2, 32)
    assert heads_of({"text_config": plain}) == Heads(4, 4, 16)
    assert heads_of({"hidden_size": 65, "num_attention_heads": 4}) == Heads()
    assert heads_of({"num_attention_heads": "4"}) == Heads()


@given(rows=st.integers(1, 300), columns=st.integers(1, 3000), step=st.integers(7, 70))
@settings(max_examples=30, deadline=None)
def test_every_row_is_in_one_band(rows: int, columns: int, step: int) -> None:
    """However the rows come in, bands add up to the whole."""
    bands = bands_of("w", (rows, columns), Heads())
    values = np.arange(1.0, rows + 1)[None, :]
    into = np.zeros((1, len(bands) if bands.axis == "rows" else 1))
    if bands.axis == "columns":
        assert bands.edges[-1] == columns
        return
    for first in range(0, rows, step):
        bands.of_rows(first, values[:, first : first + step], into)

    assert 1 <= len(bands) <= MOST
    assert bands.edges[0] == 0
    assert bands.edges[-1] == rows
    np.testing.assert_array_equal(
        into[0], [values[0, a:b].sum() for a, b in zip(bands.edges, bands.edges[1:], strict=False)]
    )


def test_columns_add_up() -> None:
    """Sums of columns become those of their bands."""
    bands = Bands("columns", "heads", (0, 2, 5))

    np.testing.assert_array_equal(bands.of_columns(np.arange(5.0)[None, :]), [[1, 9]])
