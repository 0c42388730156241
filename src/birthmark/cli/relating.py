"""`birthmark lineage`: how checkpoints are related, for people and as JSON."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from birthmark.lineage.compare import Lineage, Related
    from birthmark.lineage.merges import Merge, Merges
    from birthmark.lineage.stacking import Stack

#: Exit codes: something in common was seen; nothing was; there was nothing to compare.
FOUND, NOTHING, NOT_COMPARED = 0, 3, 5

_HEADLINES = {
    "identical": "IDENTICAL",
    "copy": "COPY",
    "descendant": "ONE BIRTH, SHARED TRAINING",
    "same-birth": "ONE BIRTH",
    "one-start": "ONE START",
    "one-seed": "ONE SEED",
    "related": "SOMETHING IN COMMON",
    "different-births": "DIFFERENT BIRTHS",
    "unrelated": "NOTHING IN COMMON SEEN",
    "not-compared": "NOT COMPARED",
}
_WAYS = {
    "linear": "the weighted sum of them",
    "linear-by-tensor": "in each tensor a weighted sum of them",
    "rows": "each row from one of them",
    "tensors": "each tensor from one of them",
    "mixed": "sums of them in some tensors, rows or whole tensors in others",
}


def run(models: list[str], *, json: bool, seeds: bool) -> None:
    """Compare the checkpoints and leave with the exit code."""
    from birthmark.lineage.compare import lineage
    from birthmark.lineage.parts import opened

    with opened(models) as checkpoints:
        found = lineage(checkpoints, seeds=seeds)
    if json:
        typer.echo(json_module.dumps(found.as_dict(), indent=2, allow_nan=False))
    else:
        for line in _lines(found):
            typer.echo(line)
    silent = all(each.relation.kind == "not-compared" for each in found.related)
    raise typer.Exit(FOUND if found.found else NOT_COMPARED if silent else NOTHING)


def _lines(found: Lineage) -> Iterator[str]:
    for number, source in enumerate(found.sources, 1):
        yield f"{number}  {source}"
    for each in found.related:
        yield ""
        yield from _pair(each)
    if found.base is not None:
        from birthmark.lineage.seed_wording import about_base

        yield ""
        yield about_base(found.base)
    yield from _merges(found.merges)


def _pair(each: Related) -> Iterator[str]:
    from birthmark.numerics.dtypes import FORMATS

    relation = each.relation
    headline = _HEADLINES[relation.kind]
    if relation.kind == "copy" and relation.how is not None:
        upto = relation.how.startswith("up to rounding")
        headline = f"IDENTICAL {relation.how.upper()}" if upto else f"COPY, {relation.how.upper()}"
        for dtype in sorted(FORMATS, key=len, reverse=True):
            headline = headline.replace(f" {dtype.upper()}", f" {dtype}")
    if relation.partial:
        headline += ", IN PART"
    rarity = "" if relation.log10_p is None else f"  (log10 p {relation.log10_p:.0f})"
    yield f"{each.first + 1} and {each.second + 1}: {headline}{rarity}"
    for reason in relation.reasons:
        yield f"  - {reason}"
    if relation.kind == "copy" and relation.later is not None:
        yield f"  - {each.second + 1 if relation.later == 2 else each.first + 1} follows from the other one."
    if any(each.prefixes):
        names = [f"`{prefix}`" if prefix else "nothing" for prefix in each.prefixes]
        yield f"  - Names meet once {names[0]} is taken away in the first and {names[1]} in the second."
    if any(each.alone):
        yield (
            f"  - Tensors without a counterpart of one name and width: {each.alone[0]:,} in the first, "
            f"{each.alone[1]:,} in the second."
        )
    for sentence in relation.background:
        yield f"    {sentence}"


def _merges(merges: Merges) -> Iterator[str]:
    for merge in merges.found:
        yield ""
        yield from _merge(merge)
    for stack in merges.stacks:
        yield ""
        yield from _stack(stack)
    if merges.tried and not merges.found and not merges.stacks:
        yield ""
        yield f"No merge: {merges.tried:,} families of a child and parents tried ({merges.trials:,} tensors)."


def _numbers(places: tuple[int, ...]) -> str:
    *most, last = (str(place + 1) for place in places)
    return f"{', '.join(most)} and {last}" if most else last


def _merge(merge: Merge) -> Iterator[str]:
    names = _numbers(merge.parents)
    yield f"{merge.child + 1} is a MERGE of {names}: {_WAYS[merge.way]}  (log10 p {merge.log10_p:.0f})"
    what = {"rows": "share of the rows", "tensors": "share of the tensors"}.get(merge.way, "weight")
    for place, parent in enumerate(merge.parents):
        low, high = merge.low[place], merge.high[place]
        span = "" if merge.way in ("rows", "tensors") else f" (in single tensors {low:.4f} to {high:.4f})"
        yield f"  - {parent + 1}: {what} {merge.weights[place]:.4f}{span}"
    total = sum(merge.weights)
    if len(merge.parents) == 3 and abs(total - 1.0) < 0.01 and merge.way.startswith("linear"):
        bases = [place for place in range(3) if merge.weights[place] < 0.0] or [
            min(range(3), key=lambda place: merge.weights[place])
        ]
        others = [place for place in range(3) if place != bases[0]]
        yield (
            f"  - The weights add up to 1, as in task arithmetic: with {merge.parents[bases[0]] + 1} as the "
            f"base, w = base"
            + "".join(
                f" + {merge.weights[place]:.4f} ({merge.parents[place] + 1} - base)" for place in others
            )
            + ". Each of the four follows from the other three; this way has the smallest weights."
        )
    yield (
        f"  - {merge.tensors:,} of {merge.telling:,} tensors that can tell follow to within rounding; in "
        f"{merge.silent:,} more the parents are too much alike."
    )
    yield (
        f"    Trials counted: {merge.trials:,} tensors of all families. Wrong sums and rows come as near in "
        f"{merge.rate:.1e} of cases at the most (shifted rows); p is Chernoff's bound."
    )


def _stack(stack: Stack) -> Iterator[str]:
    names = _numbers(stack.parents)
    yield f"{stack.child + 1} is made of TENSORS of {names} UNDER OTHER NAMES"
    counts = ", ".join(
        f"{count:,} from {parent + 1}" for parent, count in zip(stack.parents, stack.tensors, strict=True)
    )
    yield (
        f"  - {counts}, of {stack.telling:,} that can tell; {stack.renamed:,} have another name there, and "
        f"{stack.repeated:,} are there more than once."
    )
    for before, after in stack.examples:
        yield f"  - {before} is {after} here."
