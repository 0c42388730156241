"""Cases without a launch layout in a pack, and those of layouts without a seed: their entries, both ways.

The arrays are those of any other case (see `format`); only `case-N.json` differs, and says so by its `kind`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from birthmark.errors import PackError
from birthmark.evidence.case import Case
from birthmark.evidence.layout_case import LayoutCase
from birthmark.evidence.origin_case import OriginCase
from birthmark.numerics.dtypes import is_float
from birthmark.packs.format import pack_case, unpack_case
from birthmark.packs.origin_entries import AnyOriginEntry, origin_of, told_of
from birthmark.packs.parts import (
    MOST_TENSOR,
    Count,
    Part,
    RowDigest,
    SideEntry,
    canonical,
    pack_sides,
    read_json,
    row_digests,
    unpack_sides,
)
from birthmark.search.origin import Found
from birthmark.search.solve.recover import Tally

AnyCase = Case | OriginCase | LayoutCase


class EquationsEntry(Part):
    """The linear system of a solution, as it was counted."""

    rank: Count
    satisfied: Count
    violated: Count
    selected: bool


class OriginEntry(Part):
    """An `OriginCase` without its arrays."""

    kind: Literal["origin"] = "origin"
    tensor: str
    shape: list[Count]
    dtype: str
    axis: Literal["row", "column", "tensor"]
    origin: AnyOriginEntry
    method: Literal["solve", "search"]
    how: str
    written: bool
    exact: bool
    equations: EquationsEntry
    attempts: Count
    trials: Annotated[int, Field(ge=1, le=2**128)]
    holdout_trials: Annotated[int, Field(ge=1, le=2**64)]
    selection: SideEntry
    holdout: SideEntry
    rows: list[RowDigest]


class LayoutEntry(Part):
    """A `LayoutCase` without its arrays."""

    kind: Literal["layout"] = "layout"
    tensor: str
    shape: list[Count]
    dtype: str
    axis: Literal["row", "column", "tensor"]
    scale: float
    selection: SideEntry
    holdout: SideEntry
    rows: list[RowDigest]


def pack_any(number: int, case: AnyCase) -> dict[str, bytes]:
    """A case of any kind as members."""
    if isinstance(case, Case):
        return pack_case(number, case)
    sides, arrays = pack_sides(number, case.selection, case.holdout, case.dtype)
    entry: OriginEntry | LayoutEntry
    if isinstance(case, OriginCase):
        entry = _origin_entry(case, sides)
    else:
        entry = LayoutEntry(
            tensor=case.tensor,
            shape=list(case.shape),
            dtype=case.dtype,
            axis=case.axis,
            scale=float(case.scale),
            selection=sides[0],
            holdout=sides[1],
            rows=row_digests(case),
        )
    return {f"case-{number}.json": canonical(entry), **arrays}


def unpack_any(number: int, members: Mapping[str, bytes]) -> AnyCase:
    """A case of any kind from its members.

    Raises:
        PackError: they do not make one, or the digests of its rows are not theirs.
    """
    name = f"case-{number}.json"
    case: AnyCase
    kind = _kind(members[name])
    if kind is None:
        case, entry = unpack_case(number, members)
        rows = entry.rows
    elif kind == "origin":
        told = read_json(OriginEntry, members[name], name)
        case, rows = _origin_case(number, told, members), told.rows
    elif kind == "layout":
        read = read_json(LayoutEntry, members[name], name)
        case, rows = _layout_case(number, read, members), read.rows
    else:
        raise PackError(f"{name} is of the kind {kind!r:.40}; expected one that this birthmark knows.")
    if rows != row_digests(case):
        raise PackError(
            f"finding {number + 1}: the digests of its rows are not those of the rows in the pack."
        )
    return case


def _kind(data: bytes) -> str | None:
    """What kind of case a member says that it is; None for one of a launch layout."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None  # `read_json` says what is wrong
    kind = document.get("kind") if isinstance(document, dict) else None
    return None if kind is None else str(kind)


def _origin_entry(case: OriginCase, sides: tuple[SideEntry, SideEntry]) -> OriginEntry:
    found = case.found
    return OriginEntry(
        tensor=case.tensor,
        shape=list(case.shape),
        dtype=case.dtype,
        axis=case.axis,
        origin=told_of(found.origin),
        method=found.method,
        how=found.how,
        written=found.written,
        exact=found.exact,
        equations=EquationsEntry(
            rank=found.tally.rank,
            satisfied=found.tally.satisfied,
            violated=found.tally.violated,
            selected=found.tally.selected,
        ),
        attempts=found.attempts,
        trials=found.trials,
        holdout_trials=found.holdout_trials,
        selection=sides[0],
        holdout=sides[1],
        rows=row_digests(case),
    )


def _origin_case(number: int, entry: OriginEntry, members: Mapping[str, bytes]) -> OriginCase:
    size = _checked(number, entry)
    selection, holdout = unpack_sides(number, entry, size, members)
    told = entry.equations
    found = Found(
        entry.tensor,
        origin_of(number, entry.origin, tuple(entry.shape), size),
        entry.method,
        entry.how,
        entry.written,
        entry.exact,
        entry.trials,
        Tally(told.rank, told.satisfied, told.violated, told.selected),
        entry.attempts,
        entry.holdout_trials,
    )
    return OriginCase(found, tuple(entry.shape), entry.dtype, entry.axis, selection, holdout)


def _layout_case(number: int, entry: LayoutEntry, members: Mapping[str, bytes]) -> LayoutCase:
    selection, holdout = unpack_sides(number, entry, _checked(number, entry), members)
    return LayoutCase(
        entry.tensor, tuple(entry.shape), entry.dtype, entry.axis, entry.scale, selection, holdout
    )


def _checked(number: int, entry: OriginEntry | LayoutEntry) -> int:
    """The size of the tensor, where tensor and dtype are such as can be."""
    if not is_float(entry.dtype):
        raise PackError(f"case-{number}.json names the dtype {entry.dtype!r}, which birthmark does not know.")
    size = 1
    for extent in entry.shape:
        size *= extent
    if not 0 < size <= MOST_TENSOR:
        raise PackError(f"case-{number}.json describes a tensor of {size:,} elements, which cannot be.")
    return size
