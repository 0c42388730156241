"""Comparing what a pack says with what its rows give: exact for counts, to rounding for real numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from birthmark.errors import PackError
from birthmark.evidence.weigh import Judgement
from birthmark.reports.reading import Finding

#: Sums of floats differ this much, relatively, between machines.
TOLERANCE = 1e-9
#: Keys whose words may be put differently by another version of birthmark.
TEXTS = frozenset({"statement", "seed_rule", "level", "words", "for_it", "against_it"})
#: A listed survivor must have more than this share of its packed elements explained, an unlisted row less
#: than that.
CLEARLY_NOT, CLEARLY = 0.5, 0.95


def first_difference(
    stated: Any,  # noqa: ANN401 - any JSON value
    found: Any,  # noqa: ANN401
    *,
    texts: bool = True,
    key: str = "",
) -> tuple[str, str, str] | None:
    """The first key at which two JSON values differ, with both values as text; None where they agree.

    Args:
        stated: what the pack says.
        found: what was recomputed.
        texts: whether texts that versions may word differently are compared.
        key: the path to here.
    """
    if isinstance(stated, dict) and isinstance(found, dict):
        for name in dict.fromkeys([*stated, *found]):
            if name in TEXTS and not texts:
                continue
            if name not in stated or name not in found:
                return (f"{key}.{name}".strip("."), str(stated.get(name)), str(found.get(name)))
            difference = first_difference(
                stated[name], found[name], texts=texts, key=f"{key}.{name}".strip(".")
            )
            if difference is not None:
                return difference
        return None
    if isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for number, (one, other) in enumerate(zip(stated, found, strict=True)):
            if (difference := first_difference(one, other, texts=texts, key=f"{key}[{number}]")) is not None:
                return difference
        return None
    if type(stated) is float and type(found) is float:
        equal = math.isclose(stated, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    else:
        equal = type(stated) is type(found) and stated == found
    return None if equal else (key, _short(stated), _short(found))


def _short(value: Any) -> str:  # noqa: ANN401 - any JSON value
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_survivors(number: int, stated: Finding, judgement: Judgement) -> None:
    """Whether the stated survivors agree with the rows in the pack.

    The whole rows decided; a pack may hold a part of each, so only what is clear is held against the list.

    Raises:
        PackError: a listed row is not predicted, or a predicted one is not listed.
    """
    units = judgement.units
    exact = judgement.outcome in ("match", "seed-only")
    listed = stated.survivors.ids
    altered = stated.altered
    if listed is not None and (len(listed) != stated.survivors.count or listed != sorted(set(listed))):
        raise PackError(f"finding {number + 1}: survivors.ids and survivors.count do not agree.")
    if altered.ids is not None and (
        len(altered.ids) != altered.count
        or (listed is not None and not set(altered.ids) <= set(listed))
        or altered.elements < altered.count
    ):
        raise PackError(
            f"finding {number + 1}: altered.ids do not agree with its count or with the survivors."
        )
    if not exact and stated.survivors.count:
        raise PackError(f"finding {number + 1}: a {judgement.outcome} has no survivors, but some are listed.")
    if not exact or listed is None:
        return
    share = units.explained / np.maximum(units.elements, 1)
    inside = np.isin(units.ids, np.asarray(listed, dtype=np.int64))
    wrong = units.ids[inside & (share < CLEARLY_NOT)]
    missing = units.ids[~inside & (share > CLEARLY)]
    for ids, words in (
        (wrong, "is listed as a survivor but not predicted"),
        (missing, "is predicted but not listed"),
    ):
        if ids.size:
            raise PackError(f"finding {number + 1}: {judgement.case.axis} {int(ids[0])} {words}.")
