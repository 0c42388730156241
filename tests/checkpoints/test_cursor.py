"""Small pieces in a row out of a byte source."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from birthmark.checkpoints import cursor as module
from birthmark.checkpoints.cursor import Cursor
from birthmark.checkpoints.sources import MemoryBytes
from birthmark.errors import MalformedFile


@given(st.data())
def test_pieces_of_any_size_are_the_bytes_in_order(data: Any) -> None:
    """Bytes, pieces, numbers, lines and skipped spans follow each other without gap, whatever the window."""
    whole = data.draw(st.binary(min_size=1, max_size=120))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WINDOW", data.draw(st.integers(1, 16)))
        cursor = Cursor(MemoryBytes("it", len(whole), lambda: whole))
        place = 0
        while place < len(whole):
            assert cursor.position == place
            assert cursor.left == len(whole) - place
            count = data.draw(st.integers(1, len(whole) - place))
            how = data.draw(st.sampled_from(["take", "byte", "number", "skip"]))
            if how == "take":
                assert cursor.take(count) == whole[place : place + count]
            elif how == "byte":
                count = 1
                assert cursor.byte() == whole[place]
            elif how == "number":
                assert cursor.number(count) == int.from_bytes(whole[place : place + count], "little")
            else:
                span = cursor.skip(count)
                assert (span.start, span.size) == (place, count)
            place += count


def test_lines_end_at_newlines() -> None:
    """A line is what stands before the newline; the next one starts behind it."""
    cursor = Cursor(MemoryBytes("it", 12, lambda: b"one\ntwo\n\nxyz"))

    assert [cursor.line(), cursor.line(), cursor.line()] == [b"one", b"two", b""]
    with pytest.raises(MalformedFile, match="line without an end"):
        cursor.line()


@pytest.mark.parametrize("piece", [lambda c: c.take(4), lambda c: c.skip(4), lambda c: c.number(2**40)])
def test_what_lies_behind_the_end_is_refused_before_it_is_allocated(piece: Any) -> None:
    """A count beyond the source says how many bytes are needed and left."""
    with pytest.raises(MalformedFile, match=r"cut short: .* are needed at byte 0, 3 are left"):
        piece(Cursor(MemoryBytes("it", 3, lambda: b"abc")))
