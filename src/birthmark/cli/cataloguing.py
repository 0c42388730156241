"""`birthmark catalogue`: what was published and read about models, side by side; adding to it; its page."""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from birthmark.errors import BirthmarkError, UsageError

if TYPE_CHECKING:
    from birthmark.catalogue.catalogue import Catalogue
    from birthmark.catalogue.consistency import Account
    from birthmark.catalogue.makers import Releases


@dataclass(frozen=True, slots=True)
class Request:
    """The options of the command, as they were given."""

    model: str | None
    maker: str | None
    digest: str | None
    json: bool
    add: Path | None
    released: str | None
    source: str | None
    file: Path | None
    own: bool
    write: Path | None


def run(request: Request) -> None:
    """Add a reading, write the page, or list what the filters leave."""
    from birthmark.catalogue.catalogue import load, own_file

    own = request.file if request.file is not None else own_file()
    if request.add is not None:
        _add(request, own)
        return
    if request.released is not None or request.source is not None:
        raise UsageError("--released and --source belong to --add.", advice="Name a reading with --add.")
    if request.file is not None and request.own and not request.file.exists():
        raise UsageError(f"--file {request.file}: there is no such file.")
    catalogue = load(own if request.own else None)
    if request.write is not None:
        _write(request, catalogue)
        return
    chosen = _filtered(request, catalogue)
    if request.json:
        typer.echo(json_module.dumps(_as_dict(chosen), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _list(chosen)


def _add(request: Request, own: Path) -> None:
    from birthmark.catalogue.catalogue import add, bundled
    from birthmark.catalogue.from_reading import entries_of
    from birthmark.reports.reading import from_json

    assert request.add is not None
    for option, value in (
        ("--model", request.model),
        ("--maker", request.maker),
        ("--source", request.source),
    ):
        if not (value or "").strip():
            raise UsageError(f"--add needs {option}.", advice="It names what the reading is of.")
    if request.write is not None or request.digest is not None:
        raise UsageError("--add stands alone; leave out --write and --digest.")
    try:
        raw = request.add.read_bytes()
    except OSError as error:
        raise BirthmarkError(f"cannot read {request.add}: {error.strerror or error}.") from error
    entries = entries_of(
        from_json(raw),
        model=request.model or "",
        maker=request.maker or "",
        source=request.source or "",
        released=request.released,
    )
    there = bundled().entries
    new = add(own, [entry for entry in entries if entry not in there])
    if request.json:
        from birthmark.catalogue.entry import as_record

        typer.echo(json_module.dumps([as_record(entry) for entry in new], indent=2, ensure_ascii=False))
    elif new:
        typer.echo(
            f"{own}: {len(new)} {'entry' if len(new) == 1 else 'entries'} about {request.model} added."
        )
    else:
        typer.echo(f"{request.model}: this reading is in the catalogue already; nothing was written.")


def _write(request: Request, catalogue: Catalogue) -> None:
    from birthmark.catalogue.page import page
    from birthmark.reports.output import write_whole

    assert request.write is not None
    if request.maker or request.model or request.digest or request.json:
        raise UsageError("--write makes the whole page; leave out --maker, --model, --digest and --json.")
    write_whole(request.write, page(catalogue).encode())
    typer.echo(f"{request.write}")


def _filtered(request: Request, catalogue: Catalogue) -> Catalogue:
    from birthmark.catalogue.catalogue import Catalogue

    if request.digest is not None:
        found = catalogue.of_digest(request.digest)
        if not found:
            raise BirthmarkError(
                f"no file with a SHA-256 that begins with {request.digest} is in the catalogue.",
                advice="`birthmark catalogue --json` prints all digests.",
            )
        models = {entry.model for entry in found}
        catalogue = Catalogue(tuple(entry for entry in catalogue.entries if entry.model in models))
    if request.maker is not None:
        catalogue = catalogue.of_maker(request.maker)
    if request.model is not None:
        catalogue = Catalogue(catalogue.of_model(request.model))
    return catalogue


def _list(catalogue: Catalogue) -> None:
    from birthmark.catalogue.consistency import accounts
    from birthmark.catalogue.makers import releases
    from birthmark.catalogue.page import statement

    for account in accounts(catalogue):
        entry = account.any_entry
        about = ", ".join(part for part in (entry.maker, entry.released) if part)
        typer.echo(f"{account.model}" + (f"  ({about})" if about else ""))
        for each in account.published:
            typer.echo(f"  published   {statement(each)}  [{each.source}]")
        for each in account.ours:
            typer.echo(f"  birthmark   {statement(each)}")
        typer.echo(f"  {account.standing}" + _reasons(account))
    for maker in releases(catalogue):
        typer.echo(f"\n{maker.maker}: {' '.join(maker.sentences)}")


def _reasons(account: Account) -> str:
    remarks = dict.fromkeys(remark for one in account.comparisons for remark in one.remarks)
    return f": {'; '.join(remarks)}" if remarks else ""


def _as_dict(catalogue: Catalogue) -> dict[str, Any]:
    from birthmark.catalogue.catalogue import SCHEMA
    from birthmark.catalogue.consistency import accounts
    from birthmark.catalogue.entry import as_record
    from birthmark.catalogue.makers import releases

    return {
        "schema": SCHEMA,
        "entries": [as_record(entry) for entry in catalogue.entries],
        "models": [_account_record(account) for account in accounts(catalogue)],
        "makers": [_maker_record(maker) for maker in releases(catalogue)],
    }


def _account_record(account: Account) -> dict[str, Any]:
    return {
        "model": account.model,
        "standing": account.standing,
        "comparisons": [
            {
                "published": comparison.published.source,
                "reading": comparison.ours.digest or comparison.ours.revision,
                "outcome": comparison.outcome,
                "remarks": list(comparison.remarks),
            }
            for comparison in account.comparisons
        ],
    }


def _maker_record(maker: Releases) -> dict[str, Any]:
    base = maker.base
    shared: dict[str, Any] | None = None
    if base is not None:
        shared = {
            "base": base.base,
            "rules": {model: rule.name for model, rule in base.rules.items()},
            "others": list(base.others),
            "trials": base.trials,
            "log10_p": base.log10_p,
            "significant": base.significant,
        }
    layouts: dict[str, Sequence[str]] = {str(threads): models for threads, models in maker.layouts.items()}
    return {
        "maker": maker.maker,
        "seeds": {model: entry.seed for model, entry in maker.births.items()},
        "without_seed": list(maker.open),
        "shared_base": shared,
        "layouts": {threads: list(models) for threads, models in layouts.items()},
    }
