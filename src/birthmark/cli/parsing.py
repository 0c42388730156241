"""Options that are small languages of their own: shapes and ranges."""

from __future__ import annotations

from birthmark.errors import UsageError


def parse_shape(text: str) -> tuple[int, ...]:
    """Extents such as "128256,4096" (or with x) as a tuple of extents.

    Raises:
        UsageError: something else stands there.
    """
    parts = [part.strip() for part in text.lower().replace("x", ",").strip("()[] ,").split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise UsageError(f"--shape {text!r}: expected extents such as 128256,4096.")
    return tuple(int(part) for part in parts)


def parse_range(option: str, text: str, *, most: int) -> tuple[int, int]:
    """A range such as "8:16" as (8, 16), with 0 <= lower < upper <= most; either side may be left out.

    Raises:
        UsageError: something else stands there, or the range is empty or too wide.
    """
    lower, colon, upper = text.replace("_", "").partition(":")
    sides = [side.strip() for side in (lower, upper)]
    if not colon or not all(side == "" or (side.isascii() and side.isdigit()) for side in sides):
        raise UsageError(f"{option} {text!r}: expected START:STOP, such as 0:1000.")
    start, stop = int(sides[0] or 0), int(sides[1] or most)
    if not start < stop <= most:
        raise UsageError(f"{option} {text!r}: expected 0 <= START < STOP <= {most:,}.")
    return start, stop
