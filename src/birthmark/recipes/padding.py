"""How Megatron pads a vocabulary, and what the number of rows says about the tensor-parallel size.

Rows = ceil(V / (D TP)) D TP for a tokenizer of V ids, D the divisor option (128 unless set). Source:
NVIDIA/Megatron-LM `megatron/training/tokenizer/tokenizer.py`, v1.0 to core_v0.19.0; Megatron-Bridge 067f987d
sets 1280 for DeepSeek-V3 and V4, Kimi and GLM-5. The way back holds only where the published tensor was
neither trimmed nor padded again.
"""

from __future__ import annotations

from typing import Final

from birthmark.errors import UsageError

#: The divisor unless an option sets another.
DIVISOR: Final = 128
#: Divisors that public recipes set.
DIVISORS: Final = (128, 1280)


def padded(vocabulary: int, tp: int = 1, divisor: int = DIVISOR) -> int:
    """Rows of the embedding for a tokenizer of `vocabulary` ids.

    Raises:
        UsageError: a number that is not positive.
    """
    if min(vocabulary, tp, divisor) < 1:
        raise UsageError(f"{vocabulary} ids, {tp} ranks, divisor {divisor}: expected positive numbers.")
    step = divisor * tp
    return -(-vocabulary // step) * step


def largest_ranks(rows: int, divisor: int = DIVISOR) -> int:
    """The largest power of two that TP can be for so many rows; 0 where they are no multiple of the divisor.

    TP need not be a power of two; in practice it is.
    """
    if rows < 1 or rows % divisor:
        return 0
    rest = rows // divisor
    return rest & -rest


def fitting_ranks(
    rows: int, vocabulary: int | None = None, divisor: int = DIVISOR, most: int = 64
) -> tuple[int, ...]:
    """The powers of two that TP can be, ascending.

    Args:
        rows: of the published embedding.
        vocabulary: ids of the tokenizer, where known: the sharper test. None for divisibility alone.
        divisor: the divisor option.
        most: the largest TP to consider.
    """
    found = []
    tp = 1
    while tp <= min(most, largest_ranks(rows, divisor)):
        if vocabulary is None or padded(vocabulary, tp, divisor) == rows:
            found.append(tp)
        tp *= 2
    return tuple(found)


def row_of(row: int, rows: int, tp: int) -> tuple[int, int]:
    """(tensor-parallel rank, row within its shard) of a row of the padded table.

    Raises:
        UsageError: the rows do not divide, or there is no such row.
    """
    if tp < 1 or rows % tp or not 0 <= row < rows:
        raise UsageError(f"row {row} of {rows} in {tp} shards: expected a row of a table that divides.")
    share = rows // tp
    return row // share, row % share
