"""Options that are small languages of their own: shapes, ranges, numbers and placements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from birthmark.errors import UsageError

if TYPE_CHECKING:
    from birthmark.recipes.dtensor import Placement


def parse_shape(text: str, *, option: str = "--shape") -> tuple[int, ...]:
    """Extents such as "128256,4096" (or with x) as a tuple of extents.

    Raises:
        UsageError: something else stands there.
    """
    parts = [part.strip() for part in text.lower().replace("x", ",").strip("()[] ,").split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise UsageError(f"{option} {text!r}: expected extents such as 128256,4096.")
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


def parse_number(option: str, text: str) -> float | int | None:
    """A number such as "0.02" or "-5", whole ones exactly; "none" for a bound that is left out.

    Raises:
        UsageError: something else stands there, or a number that is not finite.
    """
    word = text.strip().lower().replace("_", "")
    if word == "none":
        return None
    try:
        return int(word)
    except ValueError:
        pass
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{option} {text!r}: expected a number such as 0.02.")
    return number


def parse_numbers(option: str, texts: Sequence[str]) -> dict[str, float | int | None]:
    """Numbers such as "rate=2" by their names.

    Raises:
        UsageError: something else stands there, or a name stands twice.
    """
    found: dict[str, float | int | None] = {}
    for text in texts:
        name, equals, number = (part.strip() for part in text.partition("="))
        if not equals or not name or name in found:
            raise UsageError(f"{option} {text!r}: expected NAME=NUMBER, each name once, such as rate=2.")
        found[name] = parse_number(option, number)
    return found


def parse_placements(option: str, text: str) -> tuple[Placement, ...]:
    """What each dimension of a mesh does to a tensor, such as "0/4,1,r".

    A number cuts that dimension of the tensor, a number with a divisor cuts it in torch's strided way, and r
    makes replicas.

    Raises:
        UsageError: something else stands there.
    """
    from birthmark.recipes.dtensor import Shard

    found: list[Placement] = []
    for part in text.lower().split(",") if text.strip() else []:
        word = part.strip()
        dimension, slash, split = (side.strip() for side in word.partition("/"))
        if word == "r":
            found.append(None)
        elif (
            dimension.isascii()
            and dimension.isdigit()
            and (not slash or (split.isascii() and split.isdigit()))
        ):
            found.append(Shard(int(dimension), int(split or 1)))
        else:
            raise UsageError(
                f"{option} {text!r}: expected one of 0, 0/4 or r for each dimension of the mesh."
            )
    return tuple(found)
