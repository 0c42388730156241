"""docs/consistency.md: the catalogue as a page, generated from the data and from nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from birthmark.catalogue.catalogue import Catalogue
from birthmark.catalogue.consistency import Account, accounts, launches, matched_text, own_contradictions
from birthmark.catalogue.entry import Entry
from birthmark.catalogue.makers import Releases, releases
from birthmark.catalogue.wording import ADDING, DRAWS, INTRODUCTION, NO_INFERENCE, PUBLISHED, READ
from birthmark.recipes.seeds import describe

#: How the page and the terminal name each standing.
STANDINGS: Final = {
    "agrees": "agrees",
    "differs": "**differs**",
    "not found": "nothing found",
    "not comparable": "not comparable",
    "only published": "published only",
    "only ours": "ours only",
}


def page(catalogue: Catalogue) -> str:
    """The page, in Markdown, with a final newline."""
    every = accounts(catalogue)
    models = [one for one in every if one.any_entry.subject == "checkpoint"]
    draws = [one for one in every if one.any_entry.subject == "draw"]
    parts = [
        INTRODUCTION,
        *_model_part(models),
        *_date_part(models),
        *_maker_part(releases(catalogue)),
        *_draw_part(draws),
        *_published_part([entry for one in models for entry in one.published]),
        *_own_part([entry for one in models for entry in one.ours]),
        ADDING,
    ]
    return "\n\n".join(parts) + "\n"


def _model_part(models: Sequence[Account]) -> list[str]:
    rows = [
        (
            one.model,
            one.any_entry.maker or "",
            one.any_entry.released or "",
            _lines(statement(entry) for entry in one.published),
            _lines(statement(entry) for entry in one.ours),
            standing(one),
        )
        for one in models
    ]
    header = ("model", "maker", "released", "published", "birthmark reads", "together")
    return ["## Models", _table(header, rows)]


def _date_part(models: Sequence[Account]) -> list[str]:
    of_date: dict[tuple[str, str], list[str]] = {}
    for one in models:
        entry = one.any_entry
        if entry.released is not None and entry.released_source is not None:
            of_date.setdefault((entry.released, entry.released_source), []).append(one.model)
    lines = [f"- {date}, {', '.join(names)}: {source}" for (date, source), names in of_date.items()]
    return ["Dates of release, and where they stand:", "\n".join(lines)] if lines else []


def standing(account: Account) -> str:
    """How publication and readings stand to each other, with the reasons where both have spoken."""
    remarks = [remark for comparison in account.comparisons for remark in comparison.remarks]
    reasons = "; ".join(dict.fromkeys(remarks))
    return STANDINGS[account.standing] + (f": {reasons}" if reasons else "")


def statement(entry: Entry) -> str:
    """An entry in a few words: the seed and where it was drawn."""
    if entry.verdict in ("none", "not-searched"):
        return "nothing found" if entry.verdict == "none" else "nothing to search"
    parts = [f"{'declared ' if entry.kind == 'declaration' else ''}seed {entry.seed}"]
    if entry.seed is None:
        parts = ["no seed"]
    if entry.sm_count is not None:
        parts.append(f"{entry.sm_count} SMs")
    if entry.threads is not None:
        parts.append(f"G {entry.threads:,}")
    elif entry.generator not in (None, "philox"):
        parts.append("CPU" if entry.generator == "mt19937" else f"{entry.generator}")
    if entry.hardware or entry.devices:
        parts.append(entry.hardware or ", ".join(entry.devices))
    return ", ".join(parts)


def _maker_part(makers: Sequence[Releases]) -> list[str]:
    lines = [f"- **{one.maker}**, {one.count} releases: {' '.join(one.sentences)}" for one in makers]
    return ["## One maker's releases", NO_INFERENCE, "\n".join(lines)] if lines else []


def _draw_part(draws: Sequence[Account]) -> list[str]:
    rows = [
        (
            one.model,
            _lines(statement(entry) for entry in one.published),
            _lines(_predicted(entry) for entry in one.ours),
            STANDINGS[one.standing],
            _lines(entry.source for entry in one.published),
            _lines(
                note for note in dict.fromkeys(entry.note for entry in (*one.published, *one.ours)) if note
            ),
        )
        for one in draws
    ]
    header = ("draw", "published", "birthmark predicts", "together", "source", "note")
    return [
        "## Draws of real devices",
        DRAWS,
        _table(header, rows),
    ]


def _predicted(entry: Entry) -> str:
    where = f"G {entry.threads:,}" if entry.threads is not None else "layout open"
    found = f", {matched_text(entry)}" if entry.matched is not None else ""
    return f"seed {entry.seed}, {where}{found}"


def _published_part(entries: Sequence[Entry]) -> list[str]:
    rows = [
        (
            entry.model,
            entry.kind,
            ""
            if entry.seed is None
            else f"{entry.seed}" + (_known(entry.seed) if entry.kind == "reading" else ""),
            _layout_text(entry),
            _strength(entry),
            entry.source + (f" ({entry.published})" if entry.published else ""),
            entry.note or "",
        )
        for entry in entries
    ]
    header = ("model", "kind", "seed", "layout", "strength", "source", "note")
    return [
        "## What was published, and where",
        PUBLISHED,
        _table(header, rows),
    ]


def _known(seed: int) -> str:
    known = describe(seed)
    return f" ({known})" if known else ""


def _layout_text(entry: Entry) -> str:
    if not launches(entry):
        return entry.hardware or ""
    parts = [f"{entry.sm_count} SMs"] if entry.sm_count is not None else []
    parts += [f"G {threads:,}" for threads in launches(entry)]
    if entry.hardware:
        parts.append(entry.hardware)
    if entry.threads is not None and entry.devices:
        parts.append("; ".join(own_contradictions(entry)) or "devices agree")
    return ", ".join(parts)


def _strength(entry: Entry) -> str:
    parts = [matched_text(entry)] if entry.matched is not None else []
    parts += [f"r {entry.r:g}"] if entry.r is not None else []
    parts += [f"{entry.sigma:.1f} sigma"] if entry.sigma is not None else []
    parts += [f"log10 p {entry.log10_p:.1f}"] if entry.log10_p is not None else []
    controls = entry.controls
    if controls is not None and controls.seed_plus_one_r is not None:
        parts.append(f"seed + 1: r {controls.seed_plus_one_r:g}")
    if controls is not None and controls.next_sm_count is not None:
        found = f" at r {controls.next_r:g}" if controls.next_r is not None else ""
        parts.append(f"next best {controls.next_sm_count} SMs{found}")
    return ", ".join(parts)


def _own_part(entries: Sequence[Entry]) -> list[str]:
    rows = [
        (
            entry.model,
            (entry.digest or entry.revision or "")[:12],
            entry.verdict or "",
            entry.tensor or "",
            ", ".join(part for part in (entry.generator, entry.arithmetic) if part),
            "" if entry.seed is None else f"{entry.seed}" + _known(entry.seed),
            _place(entry),
            _strength(entry),
            f"`{entry.command}`, {entry.version}",
            entry.source,
        )
        for entry in entries
    ]
    header = (
        "model",
        "sha256",
        "verdict",
        "tensor",
        "generator",
        "seed",
        "place",
        "hold-out, and bits of all values",
        "command, version",
        "file",
    )
    return [
        "## What birthmark reads, and in what",
        READ,
        _table(header, rows),
    ]


def _place(entry: Entry) -> str:
    if entry.index is not None:
        return f"index {entry.index:,}"
    if entry.offset is not None:
        return f"offset {entry.offset:,}" + (f", G {entry.threads:,}" if entry.threads is not None else "")
    return ""


def _lines(texts: Iterable[str]) -> str:
    return "<br>".join(texts)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
