"""The reading on a terminal: one screen that says what was found, how sure it is, and what it does not show.

Nothing depends on colour, and 80 columns are enough.
"""

from __future__ import annotations

import io

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from birthmark.reports import wording
from birthmark.reports.outcomes import headline, propositions
from birthmark.reports.questions import questions
from birthmark.reports.reading import FamilyModel, Finding, MixtureModel, Reading

#: Findings that are shown in full; the others get a line each.
IN_FULL = 4
#: The columns of the table of scores.
SCORE_COLUMNS = ("n", "r", "sigma", "p local", "p after trials")
#: Notes that explain a null of the JSON; what is null is not shown here at all.
NULL_NOTE = " is null"


def render(reading: Reading, console: Console) -> None:
    """Print a reading."""
    title, subtitle = headline(reading)
    console.print()
    console.print(Text(f"{title}  {subtitle}", style="bold"))
    console.print(Text(f"{wording.safe(reading.checkpoint.source)}", style="dim"))
    for mixture in reading.mixtures:
        _heading(console, f"What came together in {wording.safe(mixture.tensor)}")
        console.print(Padding(Text(mixture.statement), (0, 0, 0, 2)))
        _parts(mixture, console)
    for number, finding in enumerate(reading.findings[:IN_FULL], start=1):
        _heading(console, _finding_title(reading, finding, number))
        _finding(finding, console)
    if rest := reading.findings[IN_FULL:]:
        _heading(console, "Also")
        for finding in rest:
            _bullet(console, _line(finding))
    for family in reading.families:
        _family(family, console)
    if reading.findings:
        _heading(console, "What a critic would ask")
        for one in reading.questions or questions(reading.findings, reading.mixtures):
            _row(console, one.topic, wording.safe(f"{one.question} {one.answer}"))
    notes = [note for note in reading.notes if NULL_NOTE not in note]
    if reading.verdict == "not-searched":
        _list(console, "Why", notes[:1])
        notes = notes[1:]
    _list(console, "What this does not show", reading.limits)
    if reading.verdict != "not-searched":
        _heading(console, "What was searched")
        _searched(reading, console)
    _list(console, "Notes", notes)
    _heading(console, "Run it again")
    console.print(Text(f"  {wording.safe(reading.command)}"), soft_wrap=True)  # to be copied whole
    read = ", ".join(wording.safe(name) for name in reading.checkpoint.tensors_read[:4]) or "no tensor"
    more = len(reading.checkpoint.tensors_read) - 4
    line = f"birthmark {reading.version} read {reading.checkpoint.bytes_read:,} bytes: {read}"
    console.print(Padding(Text(line + (f" and {more} more" if more > 0 else "") + "."), (0, 0, 0, 2)))
    console.print()


def to_text(reading: Reading, width: int = 80) -> str:
    """A reading as plain text of a given width."""
    stream = io.StringIO()
    render(
        reading,
        Console(file=stream, width=width, color_system=None, force_terminal=False, legacy_windows=False),
    )
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _parts(mixture: MixtureModel, console: Console) -> None:
    """Which rows are whose, and how surely."""
    for part in mixture.parts:
        if not part.runs:
            continue
        ids = [row for first, last in part.runs for row in range(first, last + 1)]
        sure = "" if part.least_log10 is None else f"; each with a ratio of 10^{part.least_log10:.0f} or more"
        _row(console, f"  Finding {part.finding + 1}", f"{wording.ids(ids)}{sure}")
    if mixture.either.runs:
        ids = [row for first, last in mixture.either.runs for row in range(first, last + 1)]
        _row(console, "  Either", wording.ids(ids))


def _finding_title(reading: Reading, finding: Finding, number: int) -> str:
    name = wording.safe(finding.tensor)
    return f"{name} ({number} of {len(reading.findings)})" if len(reading.findings) > 1 else name


def _family(one: FamilyModel, console: Console) -> None:
    """A generator that was named without a seed and a layout."""
    _heading(console, wording.safe(one.tensor))
    _row(console, "Generator", f"{one.family}; the values lie on its lattice, which shows no layout")
    chances = [wording.power_of_ten(score.log10_p_global) for score in (one.selection, one.holdout)]
    _row(console, "Chance", f"p = {chances[0]} after {one.trials:,} trials, {chances[1]} on the other half")


def _finding(finding: Finding, console: Console) -> None:
    for name, text in propositions(finding):
        _row(console, name, text)
    console.print()
    for name, value in _facts(finding):
        _row(console, name, value)
    console.print()
    console.print(Padding(_scores(finding), (0, 0, 0, 2)))
    console.print()
    if finding.bit_exact.of:
        _row(console, "Bit-exact", _bit_exact(finding))
    _decoys(finding, console)
    if finding.likelihood is not None:
        _row(console, "Likelihood", wording.likelihood(finding.likelihood))


def _facts(finding: Finding) -> list[tuple[str, str]]:
    facts = []
    if finding.seed is not None:
        facts.append(("Seed", f"{finding.seed}" + (f"  ({finding.seed_hex})" if finding.seed > 9 else "")))
    if finding.seed_rule:
        facts.append(("Seed rule", finding.seed_rule))
    if finding.declared is not None:
        word = "agrees with" if finding.declared.agrees else "contradicts"
        facts.append(
            ("Declared", f"{word} seed {finding.declared.seed} in {wording.safe(finding.declared.source)}")
        )
    layout = finding.layout
    if layout is not None:
        if layout.threads is not None:
            facts.append(("Layout", f"G = {layout.threads:,} threads"))
        else:
            facts.append(("Layout", f"open: {len(layout.not_excluded)} known ones give the same values"))
        if layout.level is not None:
            facts.append(("Left open", f"{wording.listed(layout.not_excluded)}. {layout.level}"))
        facts.append(("Devices", _devices(finding)))
    if finding.arithmetic is not None:
        others = [name for name in finding.arithmetics_not_excluded if name != finding.arithmetic]
        facts.append(
            ("Arithmetic", finding.arithmetic + (f" (not excluded: {', '.join(others)})" if others else ""))
        )
    dtypes = " or ".join([finding.sampler.dtype, *finding.sampler.dtypes_not_excluded])
    facts.append(("Draw", f"{wording.draw_call(finding)} in {dtypes}, {wording.position(finding)}"))
    if finding.solve is not None:
        facts.append(
            (
                "Solved",
                f"{finding.solve.equations:,} equations of rank {finding.solve.rank:,}; "
                f"{finding.solve.redundant_satisfied:,} redundant ones hold",
            )
        )
    survivors = wording.units(finding.survivors.count, finding.survivors.axis)
    if finding.survivors.ids:
        survivors += f": {wording.ids(finding.survivors.ids)}"
    facts.append(("Survivors", survivors))
    if finding.stands_for is not None:
        facts.append((f"{finding.survivors.axis.capitalize()}s", wording.safe(finding.stands_for.sentence)))
    if finding.altered.count:
        facts.append(
            (
                "Altered",
                f"{finding.altered.elements:,} elements in "
                f"{wording.units(finding.altered.count, finding.survivors.axis)} of these",
            )
        )
    if finding.share is not None:
        facts.append(("Share", wording.share(finding.share)))
    if finding.merge is not None:
        added = " + ".join(
            f"{one.weight:.6g} x seed {one.seed} on {one.threads:,} threads" for one in finding.merge.beside
        )
        facts.append(("Merged with", added))
        facts.append(("Weight", f"{finding.merge.weight:.6g}; the others are subtracted in the scores below"))
        return facts
    facts.append(("Scale", f"{finding.scale:.8g}" + _factor(finding)))
    return facts


def _factor(finding: Finding) -> str:
    if finding.factor is None or finding.factor == 1.0:
        return ""
    return f"  ({finding.factor:.6f} of the {finding.scale / finding.factor:.6g} it was drawn with)"


def _devices(finding: Finding) -> str:
    layout = finding.layout
    if layout is None or not layout.devices:
        return "none in the table has this layout"
    names = list(dict.fromkeys(f"{d.name} ({d.sm_count} x {d.threads_per_sm:,})" for d in layout.devices))
    if layout.threads is None and len(names) > 8:
        return f"any of {len(names)}: {'; '.join(names[:4])}; ...; {'; '.join(names[-2:])}"
    return "; ".join(names)


def _scores(finding: Finding) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    table.add_column("")
    seedless = finding.method == "seed-free"
    for name in ("pairs", "r", "R", "p local", "p after trials") if seedless else SCORE_COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row("selection", *wording.score_cells(finding.selection))
    table.add_row("hold-out", *wording.score_cells(finding.holdout))
    if not seedless:
        table.add_row("  seed + 1", *wording.score_cells(finding.controls.seed_plus_one.score))
    following = finding.controls.next_layout
    if following is not None:
        table.add_row(f"  G = {following.threads:,}", *wording.score_cells(following.score))
        if following.differing is not None:
            table.add_row("   where it differs", *wording.score_cells(following.differing))
    return table


def _bit_exact(finding: Finding) -> str:
    exact = finding.bit_exact
    share = f" ({100.0 * exact.equal / exact.of:.1f} %)" if exact.of else ""
    text = f"{exact.equal:,} of {exact.of:,} stored values equal their prediction{share}"
    near = exact.within_ulp.get("1")
    if near is not None and near > exact.equal:
        text += f", {near:,} within one unit in the last place"
    if exact.holdout is not None:
        text += f"; on the hold-out {exact.holdout['equal']:,} of {exact.holdout['of']:,}"
    return text + "."


def _decoys(finding: Finding, console: Console) -> None:
    decoys = finding.controls.decoys
    if decoys.max_sigma is None:
        _row(console, "Decoys", "none scored.")
        return
    mine = "" if decoys.candidate_sigma is None else f", this one {decoys.candidate_sigma:.1f}"
    seedless = finding.method == "seed-free"
    what, unit = ("other layouts", "pairs") if seedless else ("false seeds", "values")
    highest = f"R = {decoys.max_sigma:.1f}" if seedless else f"{decoys.max_sigma:.1f} sigma"
    _row(console, "Decoys", f"{decoys.count:,} {what} on {decoys.n:,} {unit}: highest {highest}{mine}.")
    if decoys.histogram:
        blocks = wording.ASCII_BLOCKS if console.options.ascii_only else wording.BLOCKS
        bars = wording.histogram(decoys.histogram, blocks)
        _row(
            console,
            "",
            f"{decoys.edges[0]:+.0f} |{bars}| {decoys.edges[-1]:+.0f} {'R' if seedless else 'sigma'}",
        )
    if decoys.statement is not None:
        _row(console, "", decoys.statement)


def _searched(reading: Reading, console: Console) -> None:
    searched = reading.searched
    if searched.seeds is not None:
        low, high = searched.seeds
        _row(console, "Seeds", f"{low:,} to {high:,}")
    if searched.layouts:
        count = len(searched.layouts)
        span = f"{min(searched.layouts):,} to {max(searched.layouts):,} threads"
        _row(console, "Layouts", f"{count}, {span}" if count > 1 else f"G = {searched.layouts[0]:,}")
    if searched.at_least is not None:
        _row(console, "", f"and every other one of at least {searched.at_least:,} threads")
    for number, hypothesis in enumerate(searched.hypotheses):
        _row(console, "Hypotheses" if number == 0 else "", hypothesis)
    for number, stage in enumerate(searched.stages):
        _row(console, "Stages" if number == 0 else "", stage)
    tested = f"{searched.candidates_tested:,} seed{'' if searched.candidates_tested == 1 else 's'}"
    _row(console, "Candidates", f"{tested} passed the probes and went on to a full test")
    if searched.trials:
        _row(console, "Trials", f"{searched.trials:,}")
    early = (
        "no: it ended with the answer above" if reading.findings else "no: a part was left out, as said here"
    )
    _row(console, "Complete", "yes, all that was planned" if searched.complete else early)
    if searched.miss_chance is not None:
        _row(
            console,
            "Miss",
            f"a true seed in this range is missed with probability {searched.miss_chance:.2g}",
        )


def _line(finding: Finding) -> str:
    return (
        f"{wording.safe(finding.tensor)}: {finding.outcome}, {wording.origin(finding)}, "
        f"{'' if finding.offset is None and finding.index is None else f'{wording.position(finding)}, '}"
        f"{finding.bit_exact.equal:,} of {finding.bit_exact.of:,} bit-exact, "
        f"p {wording.power_of_ten(finding.holdout.log10_p_global)} on the hold-out"
    )


def _heading(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, style="bold"))


def _list(console: Console, title: str, texts: list[str]) -> None:
    if texts:
        _heading(console, title)
    for text in texts:
        _bullet(console, text)


def _row(console: Console, name: str, value: str) -> None:
    console.print(_columns(Text(name), Text(value), 11))


def _bullet(console: Console, text: str) -> None:
    console.print(_columns(Text("-"), Text(wording.safe(text)), 1))


def _columns(left: RenderableType, right: RenderableType, width: int) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    table.add_column(width=width, no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(left, right)
    return Padding(table, (0, 0, 0, 2))
