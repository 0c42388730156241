"""Padded vocabularies: the worked tables, the way back to the tensor-parallel size, and rows in shards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from birthmark.errors import UsageError
from birthmark.recipes.padding import fitting_ranks, largest_ranks, padded, row_of


@pytest.mark.parametrize(
    ("vocabulary", "rows"),
    [
        (50_257, (50_304, 50_432, 50_688, 51_200)),
        (50_277, (50_304, 50_432, 50_688, 51_200)),
        (151_851, (151_936, 152_064, 152_064, 152_576)),
        (128_256, (128_256, 128_256, 128_512, 129_024)),
    ],
)
def test_worked_table(vocabulary: int, rows: tuple[int, ...]) -> None:
    """Rows for 1, 2, 4 and 8 ranks are those of the published table."""
    assert tuple(padded(vocabulary, tp) for tp in (1, 2, 4, 8)) == rows


@pytest.mark.parametrize(
    ("rows", "ranks"),
    [
        (151_936, 1), (152_064, 4), (129_280, 2), (163_840, 256), (154_880, 2), (157_184, 4), (151_552, 32),
        (200_064, 1), (126_464, 4), (152_576, 8), (151_680, 1), (201_088, 1), (120_832, 16), (103_424, 8),
        (248_320, 4), (128_256, 2), (250_880, 8), (202_048, 0), (201_024, 0), (262_208, 0),
    ],
)  # fmt: skip
def test_divisibility_bounds_the_ranks(rows: int, ranks: int) -> None:
    """The power of two in the rows bounds TP as the fingerprint table says; 0 is no multiple of 128."""
    assert largest_ranks(rows) == ranks


@pytest.mark.parametrize(
    ("vocabulary", "rows", "divisor", "ranks"),
    [
        (151_851, 151_936, 128, (1,)),
        (151_851, 152_064, 128, (2, 4)),
        (248_077, 248_320, 128, (2, 4)),
        (64_005, 64_256, 128, (2,)),
        (50_277, 50_432, 128, (2,)),
        (50_277, 50_688, 128, (4,)),
        (32_022, 32_256, 128, (2, 4)),
        (128_815, 129_280, 128, ()),
        (128_815, 129_280, 1280, (1,)),
        (100_015, 102_400, 128, (32,)),
        (151_665, 151_680, 128, (1,)),
        (201_135, 202_048, 128, ()),
    ],
)
def test_a_known_tokenizer_sharpens_the_reading(
    vocabulary: int, rows: int, divisor: int, ranks: tuple[int, ...]
) -> None:
    """With the tokenizer's size, only the sizes that pad it to these rows are left."""
    assert fitting_ranks(rows, vocabulary, divisor) == ranks


@given(st.integers(1, 300_000), st.sampled_from([1, 2, 4, 8, 16]))
def test_the_true_size_always_fits(vocabulary: int, tp: int) -> None:
    """Whatever was padded is read back with its own TP among the possible ones."""
    assert tp in fitting_ranks(padded(vocabulary, tp), vocabulary)


def test_worked_row() -> None:
    """Row 151,900 of 152,064 in four shards is row 37,852 of rank 3."""
    assert row_of(151_900, 152_064, 4) == (3, 37_852)


@pytest.mark.parametrize("call", [(10, 10, 2), (0, 9, 2), (-1, 8, 2), (0, 8, 0)])
def test_impossible_rows_are_refused(call: tuple[int, int, int]) -> None:
    """Rows outside the table, shards that do not divide it, and no shards are usage errors."""
    with pytest.raises(UsageError, match="expected a row"):
        row_of(*call)


def test_nothing_is_padded_to_nothing() -> None:
    """Empty vocabularies, no ranks and no divisor are usage errors."""
    for call in ((0, 1, 128), (5, 0, 128), (5, 1, 0)):
        with pytest.raises(UsageError, match="positive"):
            padded(*call)
