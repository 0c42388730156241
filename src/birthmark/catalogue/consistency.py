"""Consistency: whether what was published about a model is what birthmark reads in it.

Every published statement is held against every reading of the same model, item by item: seed, generator, G,
devices. A statement that names a seed which the reading lacks is not refuted by it; one that names another
seed is. A declared seed is looked for among those that known programs derive from it, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from birthmark.catalogue.catalogue import Catalogue
from birthmark.catalogue.entry import Entry
from birthmark.devices.catalogue import find
from birthmark.recipes.experiment_seeds import explain

Outcome = Literal["agrees", "differs", "not found", "not comparable"]
Standing = Literal["differs", "not found", "agrees", "not comparable", "only published", "only ours"]

#: Of several outcomes for one model the first of these stands for it.
_WEIGHTIEST: Final[tuple[Outcome, ...]] = ("differs", "not found", "agrees", "not comparable")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A published statement beside a reading of the same model.

    Attributes:
        published: the statement.
        ours: the entry of the reading that agrees best.
        outcome: "differs" if any item does; "not found" where the reading found nothing.
        remarks: what agrees and what does not, in words.
    """

    published: Entry
    ours: Entry
    outcome: Outcome
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Account:
    """All that the catalogue holds about one model or draw.

    Attributes:
        model: its name.
        published: statements of others.
        ours: readings of birthmark.
        comparisons: each statement with each reading.
    """

    model: str
    published: tuple[Entry, ...]
    ours: tuple[Entry, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def any_entry(self) -> Entry:
        """An entry, for what all entries about the model share; one with a date before others."""
        entries = (*self.published, *self.ours)
        return next((entry for entry in entries if entry.released is not None), entries[0])

    @property
    def standing(self) -> Standing:
        """The weightiest outcome, or whose word there is where only one side has spoken."""
        if not self.ours:
            return "only published"
        if not self.published:
            return "only ours"
        outcomes = {comparison.outcome for comparison in self.comparisons}
        return next(outcome for outcome in _WEIGHTIEST if outcome in outcomes)


def accounts(catalogue: Catalogue) -> tuple[Account, ...]:
    """An account of each model, in the catalogue's order."""
    by_model: dict[str, list[Entry]] = {}
    for entry in catalogue.entries:
        by_model.setdefault(entry.model, []).append(entry)
    return tuple(_account(model, entries) for model, entries in by_model.items())


def _account(model: str, entries: Sequence[Entry]) -> Account:
    published = tuple(entry for entry in entries if entry.read_by == "published")
    ours = tuple(entry for entry in entries if entry.read_by == "birthmark")
    comparisons = tuple(best(statement, reading) for statement in published for reading in _readings(ours))
    return Account(model, published, ours, comparisons)


def _readings(ours: Sequence[Entry]) -> list[list[Entry]]:
    """Entries of one reading together: one that found two seeds is not refuted by a source that names one."""
    together: dict[tuple[str | None, ...], list[Entry]] = {}
    for entry in ours:
        key = (entry.digest, entry.revision, entry.command, entry.version)
        together.setdefault(key, []).append(entry)
    return list(together.values())


def best(published: Entry, reading: Sequence[Entry]) -> Comparison:
    """The comparison with that entry of a reading which agrees best."""
    order: tuple[Outcome, ...] = ("agrees", "differs", "not found", "not comparable")
    found = [compare(published, entry) for entry in reading]
    return min(found, key=lambda comparison: order.index(comparison.outcome))


def compare(published: Entry, ours: Entry) -> Comparison:
    """Hold one statement against one entry of ours, item by item."""
    if ours.verdict in ("none", "not-searched"):
        return Comparison(published, ours, "not found", ())
    if published.tensor and ours.tensor and published.tensor != ours.tensor:
        remark = f"published of {published.tensor}, read in {ours.tensor}"
        return Comparison(published, ours, "not comparable", (remark,))
    items = [
        item
        for item in (_seed(published, ours), _generator(published, ours), _layout(published, ours))
        if item is not None
    ]
    if ours.kind == "prediction" and ours.matched is not None:
        items.append((ours.matched.count == ours.matched.of, matched_text(ours)))
    outcome: Outcome = "not comparable" if not items else "agrees"
    if not all(equal for equal, _ in items):
        outcome = "differs"
    return Comparison(published, ours, outcome, tuple(remark for _, remark in items))


def matched_text(entry: Entry) -> str:
    """Such as "461 of 469 rows"."""
    assert entry.matched is not None
    return f"{entry.matched.count:,} of {entry.matched.of:,} {entry.matched.things}"


def _seed(published: Entry, ours: Entry) -> tuple[bool, str] | None:
    if published.seed is None or ours.seed is None:
        return None
    if published.seed == ours.seed:
        return True, f"seed {ours.seed}"
    if published.kind == "declaration":
        explanation = explain(published.seed, ours.seed)
        if explanation is not None:
            tried = f"the {explanation.tried:,}th number that was tried"
            return True, f"seed {ours.seed} follows from {published.seed}: {explanation.text} ({tried})"
        return False, f"declared seed {published.seed}, read {ours.seed}"
    return False, f"published seed {published.seed}, read {ours.seed}"


def _generator(published: Entry, ours: Entry) -> tuple[bool, str] | None:
    if published.generator is None or ours.generator is None:
        return None
    if published.generator == ours.generator:
        return True, f"generator {ours.generator}"
    return False, f"published generator {published.generator}, read {ours.generator}"


def launches(entry: Entry) -> tuple[int, ...]:
    """The G's that an entry allows, ascending: its own, or those of the devices that it names."""
    if entry.threads is not None:
        return (entry.threads,)
    return tuple(sorted({find(name).threads for name in entry.devices}))


def _layout(published: Entry, ours: Entry) -> tuple[bool, str] | None:
    theirs = launches(published)
    if not theirs:
        return None
    named = f" ({', '.join(published.devices)})" if published.devices else ""
    if ours.threads is not None:
        if ours.threads in theirs:
            return True, f"G {ours.threads:,}{named}"
        return False, f"published G {_or(theirs)}{named}, read {ours.threads:,}"
    if not ours.not_excluded or set(theirs) & set(ours.not_excluded):
        return None
    return False, f"published G {_or(theirs)}{named}, which the reading excludes"


def _or(numbers: Sequence[int]) -> str:
    return " or ".join(f"{number:,}" for number in numbers)


def own_contradictions(entry: Entry) -> tuple[str, ...]:
    """Devices that an entry names although they launch other G's than it states."""
    if entry.threads is None:
        return ()
    devices = [find(name) for name in entry.devices]
    return tuple(
        f"{device.name} launches {device.threads:,} threads, not {entry.threads:,}"
        for device in devices
        if device.threads != entry.threads
    )
