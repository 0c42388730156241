"""Comparing what a pack says with what its rows give: exact for counts, to rounding for real numbers."""

from __future__ import annotations

import math
from typing import Any

#: Sums of floats differ this much, relatively, between machines.
TOLERANCE = 1e-9
#: Keys whose words may be put differently by another version of birthmark.
TEXTS = frozenset({"statement", "seed_rule", "level", "words", "for_it", "against_it"})


def first_difference(
    stated: Any,  # noqa: ANN401 - any JSON value
    found: Any,  # noqa: ANN401
    *,
    texts: bool = True,
    later: bool = False,
    key: str = "",
) -> tuple[str, str, str] | None:
    """The first key at which two JSON values differ, with both values as text; None where they agree.

    Args:
        stated: what the pack says.
        found: what was recomputed.
        texts: whether texts that versions may word differently are compared.
        later: whether `found` may have keys that `stated` lacks, which came with a later version.
        key: the path to here.
    """
    if isinstance(stated, dict) and isinstance(found, dict):
        for name in dict.fromkeys([*stated, *found]):
            if name in TEXTS and not texts:
                continue
            if later and name not in stated:
                continue
            if name not in stated or name not in found:
                return (f"{key}.{name}".strip("."), str(stated.get(name)), str(found.get(name)))
            difference = first_difference(
                stated[name], found[name], texts=texts, later=later, key=f"{key}.{name}".strip(".")
            )
            if difference is not None:
                return difference
        return None
    if isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for number, (one, other) in enumerate(zip(stated, found, strict=True)):
            difference = first_difference(one, other, texts=texts, later=later, key=f"{key}[{number}]")
            if difference is not None:
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
