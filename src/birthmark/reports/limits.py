"""What a reading does not show, in plain words, chosen by what it found."""

from __future__ import annotations

from collections.abc import Sequence

from birthmark.reports.reading import Finding, SearchedModel, Verdict

_ALWAYS = (
    "It does not show where the hardware was, who owned or rented it, or when it ran.",
    "It does not show what trained the model afterwards: initial values can be drawn on one machine, "
    "copied, and trained on any other.",
)


def limits(verdict: Verdict, findings: Sequence[Finding], searched: SearchedModel) -> list[str]:
    """The limits of a reading.

    Args:
        verdict: the overall verdict.
        findings: what was found; may be empty.
        searched: what was searched.
    """
    if verdict == "not-searched":
        return ["Nothing was searched, so nothing follows about how the model was initialised."]
    if verdict == "none":
        return _nothing(searched)
    found = list(_ALWAYS)
    if any(len(finding.layout.devices) > 1 for finding in findings if finding.layout):
        found.append(
            "Devices with the same number of threads cannot be told apart by the layout; every known one is "
            "listed."
        )
    if any(finding.layout and finding.layout.threads is not None for finding in findings):
        found.append(
            "A layout names a number of threads, not a product: a MIG slice, a partition, a card that is not "
            "in the table, or a program that imitates the layout gives the same values."
        )
    if any(finding.layout and finding.layout.threads is None for finding in findings):
        found.append("The device stays open: the surviving values are the same under every layout listed.")
    if any(finding.platform == "cpu" for finding in findings):
        found.append(
            "A CPU draw names no machine: PyTorch gives the same values on any x86 processor with AVX2, "
            "and a GPU may have trained what a CPU drew."
        )
    if any(finding.seed is not None for finding in findings):
        found.append(
            "A seed is a choice that many people make alike; two models with the same small seed need not be "
            "related."
        )
    if any(finding.vendor is not None for finding in findings):
        found.append(
            "AMD's sine and logarithm tables are not public; stand-ins were used, so a count of last bits "
            "can favour a vendor but not prove one."
        )
    if verdict == "layout-only":
        found.append(
            "A layout read without its seed says how the values were drawn together, not with which seed: "
            "none is known or claimed, and perhaps none was ever written down."
        )
    if verdict == "weak-trace":
        found.append(
            "A weak trace names the draw that the values still correlate with; it does not show that they "
            "were drawn by exactly that sampler, nor which of them were never trained."
        )
    if verdict == "mixture":
        found.append("It does not show how the initialisations came into one tensor, nor when or by whom.")
    if any(finding.merge is not None for finding in findings):
        found.append(
            "The shares of a merge suppose that its draws had one scale; with other scales the weights stay "
            "and the shares do not."
        )
    return found


def _nothing(searched: SearchedModel) -> list[str]:
    text = "Nothing found means: not among the seeds, layouts and hypotheses listed as searched"
    if not searched.complete:
        text += ", and not all of those were completed"
    found = [
        text + ".",
        "Other seeds (an unseeded run draws one of 53 bits), other generators, samplers and recipes, draws "
        "at other offsets, and values that were all trained are not excluded.",
    ]
    if searched.miss_chance is not None and searched.miss_chance > 0.0:
        found.append(
            f"Even a seed in the searched range is missed with probability {searched.miss_chance:.2g}: every "
            "probe could lie on a value that was changed."
        )
    return found
