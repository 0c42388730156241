"""One maker's releases: whether their seeds come from one base seed, and whether one layout drew them."""

from __future__ import annotations

from dataclasses import dataclass

from birthmark.catalogue.catalogue import Catalogue
from birthmark.catalogue.entry import Entry
from birthmark.evidence.maker import SameBase, same_base
from birthmark.evidence.processes import Process
from birthmark.recipes.seeds import describe


@dataclass(frozen=True, slots=True)
class Releases:
    """What one maker's models have in common.

    Attributes:
        maker: its name.
        births: for each model the entry whose seed counts: ours before a published one; those models only
            that have a seed that was read. A declared seed is none.
        open: models without one.
        base: the base seed that most of them share.
        layouts: for each G the models that it drew.
    """

    maker: str
    births: dict[str, Entry]
    open: tuple[str, ...]
    base: SameBase | None
    layouts: dict[int, tuple[str, ...]]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What there is to say, for a reader."""
        if len(self.births) < 2:
            return (f"{len(self.births)} of {self.count} has a seed that was read: nothing to compare.",)
        said = [self._base_sentence()]
        if self.layouts:
            said.append(self._layout_sentence())
        theirs = [model for model, entry in self.births.items() if entry.read_by == "published"]
        if theirs:
            said.append(f"As published, not read here: {', '.join(theirs)}.")
        return tuple(said)

    @property
    def count(self) -> int:
        """How many models of this maker the catalogue has."""
        return len(self.births) + len(self.open)

    def _base_sentence(self) -> str:
        if self.base is None:
            return f"Its {len(self.births)} seeds have no base in common, under any known rule."
        names = ", ".join(self.base.rules)
        known = describe(self.base.base)
        rules = {rule.name for rule in self.base.rules.values()}
        how = f"under {'one rule' if len(rules) == 1 else 'several rules'} ({', '.join(sorted(rules))})"
        chance = (
            "chance is excluded" if self.base.significant else "which says little: chance is not excluded"
        )
        seed = f"base seed {self.base.base}" + (f" ({known})" if known else "")
        others = f" Not: {', '.join(self.base.others)}." if self.base.others else ""
        return (
            f"{names} have {seed} in common {how}; log10 p {self.base.log10_p:.1f} after trials, "
            f"{chance}.{others}"
        )

    def _layout_sentence(self) -> str:
        parts = [f"{threads:,} threads ({', '.join(models)})" for threads, models in self.layouts.items()]
        if len(self.layouts) == 1:
            return f"One layout: {parts[0]}."
        return f"{len(self.layouts)} layouts: {'; '.join(parts)}."


def releases(catalogue: Catalogue) -> tuple[Releases, ...]:
    """The makers of two models and more, in the catalogue's order."""
    found = []
    for maker in catalogue.makers:
        entries = catalogue.of_maker(maker).entries
        models = tuple(dict.fromkeys(entry.model for entry in entries))
        if len(models) > 1:
            found.append(_releases(maker, models, entries))
    return tuple(found)


def _releases(maker: str, models: tuple[str, ...], entries: tuple[Entry, ...]) -> Releases:
    births: dict[str, Entry] = {}
    for model in models:
        read = [entry for entry in entries if entry.model == model and _was_read(entry)]
        if read:
            births[model] = next((entry for entry in read if entry.read_by == "birthmark"), read[0])
    layouts: dict[int, tuple[str, ...]] = {}
    for model, entry in births.items():
        if entry.threads is not None:
            layouts[entry.threads] = (*layouts.get(entry.threads, ()), model)
    base = same_base({model: _process(entry) for model, entry in births.items()})
    return Releases(maker, births, tuple(model for model in models if model not in births), base, layouts)


def _was_read(entry: Entry) -> bool:
    return entry.kind == "reading" and entry.seed is not None


def _process(entry: Entry) -> Process:
    assert entry.seed is not None
    return Process(entry.model, "shard", 0, 1, entry.seed, threads=entry.threads)
