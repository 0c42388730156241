"""`birthmark lineage`: how checkpoints are related, for people and as JSON."""

from __future__ import annotations

import json as json_module
from contextlib import ExitStack

import typer

#: Exit codes: something in common was seen; nothing was.
FOUND, NOTHING = 0, 3

_HEADLINES = {
    "identical": "IDENTICAL",
    "descendant": "ONE BIRTH, SHARED TRAINING",
    "same-birth": "ONE BIRTH",
    "related": "SOMETHING IN COMMON",
    "unrelated": "NOTHING IN COMMON SEEN",
    "not-compared": "NOT COMPARED",
}


def run(models: list[str], *, json: bool, seeds: bool) -> None:
    """Compare the checkpoints and leave with the exit code."""
    from birthmark.checkpoints import open_checkpoint
    from birthmark.lineage.compare import lineage

    with ExitStack() as stack:
        checkpoints = [stack.enter_context(open_checkpoint(model)) for model in models]
        found = lineage(checkpoints, seeds=seeds)
    if json:
        typer.echo(json_module.dumps(found.as_dict(), indent=2, allow_nan=False))
    else:
        for number, source in enumerate(found.sources, 1):
            typer.echo(f"{number}  {source}")
        for each in found.related:
            p = each.relation.log10_p
            rarity = "" if p is None else f"  (log10 p {p:.0f})"
            typer.echo(f"\n{each.first + 1} and {each.second + 1}: {_HEADLINES[each.relation.kind]}{rarity}")
            for reason in each.relation.reasons:
                typer.echo(f"  - {reason}")
        for merge in found.merges:
            way = merge.merge
            how = (
                f"{way.share:.4f} of the first (in single tensors {way.low:.4f} to {way.high:.4f}) and "
                f"{way.other:.4f} of the second"
                if way.way == "linear"
                else f"{way.share:.1%} of the rows of the first, {way.other:.1%} of the second"
            )
            typer.echo(
                f"\n{merge.child + 1} is a MERGE of {merge.first + 1} and {merge.second + 1}: {how}, "
                f"in {way.tensors:,} tensors"
            )
    raise typer.Exit(FOUND if found.found else NOTHING)
