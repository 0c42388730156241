"""A calibration's folder: its summary as JSON, as plots, and as a page of Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from birthmark.calibration import plots
from birthmark.calibration.summary import Family, Rate, Step, Summary, largest_excess
from birthmark.calibration.tail import VALUES
from birthmark.calibration.truths import AXES
from birthmark.reports.output import write_whole

#: Page and summary in a calibration's folder.
PAGE, SUMMARY = "calibration.md", "summary.json"
#: What the reader of an axis should know.
_TRACES = (
    "The trained rows of these tables still correlate with their initial values: where too little survives "
    "for a match, that is what is found.\n"
)
_REMARKS = {"survivors": _TRACES, "altered": _TRACES}


def write(folder: Path, summary: Summary, command: str) -> list[Path]:
    """Write summary, plots and page; each appears whole.

    Args:
        folder: exists.
        summary: of the trials.
        command: how it can be made again, for the page.

    Raises:
        OutputError: a file cannot be written.
    """
    drawings = {f"detection-{axis}.svg": plots.detection(summary, axis) for axis in _axes(summary)}
    if summary.tail is not None:
        drawings["tail.svg"] = plots.tail(summary)
    files = {
        SUMMARY: json.dumps(summary.as_dict(), indent=1) + "\n",
        **drawings,
        PAGE: page(summary, command),
    }
    for name, text in files.items():
        write_whole(folder / name, text.encode())
    return [folder / name for name in files]


def page(summary: Summary, command: str) -> str:
    """The page, in Markdown; it refers to the plots beside it."""
    parts = [
        "# Calibration\n",
        "How often a scan claims what is not true, and how little of a draw it needs, on checkpoints whose "
        "truth is known because they were made for this. Every scan is the one that users run with "
        "`--no-cpu`; it searches 2^16 seeds, and in every twentieth trial also the seeds that people use "
        "with all that hangs on "
        "them; its significance counts just these trials.\n",
        f"Made by `{command}`; all checkpoints follow from seed {summary.seed}. Intervals are exact, at "
        f"95 %. Median of a scan on one core of a busy machine: {summary.median_seconds:.1f} s.\n",
    ]
    if summary.nulls:
        parts += _null_part(summary)
    for axis in _axes(summary):
        parts += _axis_part(summary, axis)
    if summary.tail is not None:
        parts += _tail_part(summary)
    return "\n".join(parts)


def _null_part(summary: Summary) -> list[str]:
    wrong = summary.null
    return [
        "## Nothing to find\n",
        f"{wrong.of:,} checkpoints without a searched birth: {wrong.count} wrong readings (between 0 and "
        f"{wrong.high:.2g} of such checkpoints)."
        if wrong.count == 0
        else f"{wrong.of:,} checkpoints without a searched birth: {_percent(wrong)} wrong readings.",
        f"By design a reading needs the selection and then the hold-out to be rarer than {summary.nominal:g} "
        "after all trials. A true layout named without a seed, where a GPU did draw the table, is no wrong "
        "reading. `not-searched`: no row looked untouched, and the trained values, which were then tried "
        "for a weak trace of the same seeds, showed none.\n",
        "| family | checkpoints | wrong | verdicts |",
        "|---|---|---|---|",
        *[_family_row(each) for each in summary.nulls],
        "",
        *[f"- {claim}" for each in summary.nulls for claim in each.claims],
    ]


def _axis_part(summary: Summary, axis: str) -> list[str]:
    steps = [each for each in summary.steps if each.axis == axis]
    return [
        f"## {axis.capitalize()}\n",
        f"![detection by {axis}](detection-{axis}.svg)\n",
        *([_REMARKS[axis]] if axis in _REMARKS else []),
        f"| {AXES[axis].unit} | found | interval | wrong | verdicts |",
        "|---|---|---|---|---|",
        *[_step_row(each) for each in steps],
        "",
        *[f"- {claim}" for each in steps for claim in each.claims],
    ]


def _tail_part(summary: Summary) -> list[str]:
    assert summary.tail is not None
    sigma, family, ratio = largest_excess(summary.tail)
    return [
        "## The tail of p\n",
        "![decoys above each sigma](tail.svg)\n",
        f"{summary.tail.decoys:,} wrong seeds were scored on {VALUES} stored values of each family. The "
        f"largest excess over the nominal tail, where that expects ten decoys or more, is a factor of "
        f"{ratio:.2f} (values of {family}, above {sigma:g} sigma). With {VALUES} values r cannot be large, "
        "so the far tail lies below the nominal one: p is never too small there.\n",
    ]


def _axes(summary: Summary) -> list[str]:
    return [axis for axis in AXES if any(each.axis == axis for each in summary.steps)]


def _family_row(family: Family) -> str:
    return f"| {family.name} | {family.wrong.of} | {family.wrong.count} | {_verdicts(family.verdicts)} |"


def _step_row(step: Step) -> str:
    found = step.found
    return (
        f"| {step.step:g} | {found.count} of {found.of} | {found.low:.0%} to {found.high:.0%} "
        f"| {step.wrong.count} | {_verdicts(step.verdicts)} |"
    )


def _verdicts(verdicts: dict[str, int]) -> str:
    ordered: Sequence[tuple[str, int]] = sorted(verdicts.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{name} {count}" for name, count in ordered)


def _percent(rate: Rate) -> str:
    return f"{rate.count} ({rate.low:.2%} to {rate.high:.2%})"
