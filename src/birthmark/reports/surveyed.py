"""What a survey saw, in sentences: rows that are no survivors, and why there is nothing to search."""

from __future__ import annotations

import math
from collections.abc import Sequence

from birthmark.survivors.survivor import TensorSurvey


def special_notes(surveys: Sequence[TensorSurvey]) -> list[str]:
    """Rows that hold no draw of their own, told once for each tensor and kind."""
    notes = []
    for each in surveys:
        for kind, ids in each.special.items():
            if len(ids):
                listed = ", ".join(str(i) for i in ids[:6]) + (", ..." if len(ids) > 6 else "")
                notes.append(f"{each.tensor}: {len(ids):,} {kind} rows, which are no survivors ({listed}).")
        if each.sampled:
            notes.append(f"{each.tensor}: only a sample of its rows was surveyed.")
    return notes


def why_not(surveys: Sequence[TensorSurvey]) -> str:
    """Why there is nothing to search, in one sentence."""
    if not surveys:
        return "Not searched: the checkpoint has no float tensors."
    largest = max(surveys, key=lambda each: math.prod(each.shape))
    more = f" (the largest of {len(surveys):,} float tensors)" if len(surveys) > 1 else ""
    return f"Not searched: no survivors. {largest.tensor}{more}: {largest.reason}"
