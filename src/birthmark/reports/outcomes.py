"""What each verdict says in one line, and the propositions that a finding compares."""

from __future__ import annotations

from birthmark.reports import wording
from birthmark.reports.reading import Finding, Reading


def headline(reading: Reading) -> tuple[str, str]:
    """The verdict as a word, and what it means here."""
    first = reading.findings[0] if reading.findings else None
    if reading.verdict == "not-searched":
        return "NOT SEARCHED", "there is nothing here that a search could work on."
    if first is None:
        done = (
            "all that was planned was searched"
            if reading.searched.complete
            else "a part of what was planned was left out"
        )
        if reading.families:
            names = " and ".join(dict.fromkeys(one.family for one in reading.families))
            return "NOTHING FOUND", f"{done}, and no seed predicts the survivors; they were drawn by {names}."
        return "NOTHING FOUND", f"{done}, and no seed predicts the survivors."
    where = wording.origin(first)
    if reading.verdict == "mixture":
        largest = max(reading.mixtures, key=lambda one: len(one.parts), default=None)
        if largest is not None and largest.kind == "merge":
            return "MIXTURE", f"the survivors are a weighted sum of {len(largest.parts)} initialisations."
        count = len(reading.findings) if largest is None else len(largest.parts)
        return "MIXTURE", f"the survivors come from {count} different initialisations."
    if reading.verdict == "seed-only":
        return "SEED ONLY", f"{where} predicts the survivors; they leave the device open."
    if reading.verdict == "layout-only":
        return "LAYOUT ONLY", f"{where} fits the survivors; the seed is unknown."
    if reading.verdict == "weak-trace":
        return "WEAK TRACE", f"the values still correlate with {where}, but none is unchanged."
    return "MATCH", f"{where} predict{'s' if ' and ' not in where else ''} the surviving values."


def propositions(finding: Finding) -> tuple[tuple[str, str], tuple[str, str]]:
    """The two propositions that the scores compare, each with its letter."""
    draw = wording.draw_call(finding)
    under = [] if finding.seed is None else [f"with seed {finding.seed}"]
    if finding.layout is not None and finding.layout.threads is not None:
        under.append(f"on {finding.layout.threads:,} threads")
    if finding.platform == "cpu":
        under.append("on a CPU")
    if finding.merge is not None and finding.outcome in ("match", "seed-only"):
        return (
            (
                "H1",
                f"the values began as {draw} {' '.join(under)}, added to other draws, and still hold the sum",
            ),
            ("H0", "what the other draws leave of the values is independent of that draw"),
        )
    kept = {
        "match": "and these values still hold it",
        "seed-only": "and these values still hold it, on a device that stays open",
        "layout-only": "with a seed that stays unknown",
        "weak-trace": "and what was done to the values since has left a trace of it",
    }[finding.outcome]
    return (
        ("H1", f"the values began as {draw} {' '.join(under)}, {kept}"),
        ("H0", "the values are independent of that draw"),
    )
