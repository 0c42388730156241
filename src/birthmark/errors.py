"""Every error that birthmark raises on purpose.

The tree::

    BirthmarkError                exit code 1
    ├── UsageError                exit code 2: the call itself is wrong
    │   ├── UnknownName           a device, tensor or sampler nobody knows; names the nearest
    │   ├── MissingExtra          an optional part of birthmark that is not installed
    │   └── NotPredicted          a draw whose numbers birthmark cannot tell
    ├── CheckpointError           a checkpoint that cannot be read as it is
    │   ├── MalformedFile         the bytes contradict themselves or the format
    │   ├── UnsafePickle          a pickle that asks for a global that could run something
    │   └── UnsupportedFormat     sound, but of a kind birthmark does not read
    ├── NothingToSearch           exit code 5: no float tensors, no survivors, too few of them
    ├── LedgerError               a ledger that is damaged or belongs to another search
    ├── PackError                 an evidence pack that does not verify or is not one
    ├── OutputError               an output that cannot be written
    ├── SearchStopped             exit code 4: stopped early, resumable from its ledger
    └── SelfTestFailed            exit code 6: this machine does not compute the known answers

Each message is one line: what was got, what was expected, and what to do next.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BirthmarkError(Exception):
    """Base of all errors that birthmark raises on purpose."""

    #: What the command line returns when this error ends a command.
    exit_code: int = 1

    def __init__(self, message: str, *, advice: str | None = None) -> None:
        super().__init__(message)
        #: What the user can do next, one sentence; None where the message says it.
        self.advice = advice

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} {self.advice}" if self.advice else message


class UsageError(BirthmarkError):
    """The call asks for something that cannot be: a wrong option, range or combination."""

    exit_code = 2


class UnknownName(UsageError):
    """A name that is in no table; the message lists the nearest known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(set(known))
        folded = {candidate.casefold(): candidate for candidate in names}
        near = [
            folded[match] for match in difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.4)
        ]
        more = f" and {len(names) - 12} more" if len(names) > 12 else ""
        hint = f"Nearest: {', '.join(near)}." if near else f"Known: {', '.join(names[:12])}{more}."
        super().__init__(f"unknown {kind} {name!r}.", advice=hint)


class MissingExtra(UsageError):
    """What was asked for needs an optional part of birthmark that is not installed."""


class NotPredicted(UsageError):
    """A draw whose numbers birthmark cannot tell; it gives none rather than wrong ones."""


class CheckpointError(BirthmarkError):
    """A checkpoint that cannot be read as it is."""


class MalformedFile(CheckpointError):
    """The bytes of a file contradict themselves or the format they claim."""


class UnsafePickle(CheckpointError):
    """A pickle asks for a global that could run something; nothing of it was executed."""


class UnsupportedFormat(CheckpointError):
    """A sound file of a kind, version or dtype that birthmark does not read."""


class NothingToSearch(BirthmarkError):
    """There is nothing a search could work on, with the reason."""

    exit_code = 5


class LedgerError(BirthmarkError):
    """A ledger is damaged or belongs to another search."""


class PackError(BirthmarkError):
    """An evidence pack is damaged, altered, or does not say what its values say."""


class OutputError(BirthmarkError):
    """An output could not be written; nothing partial was left behind."""


class SearchStopped(BirthmarkError):
    """A search ended early; its ledger lets it go on."""

    exit_code = 4


class SelfTestFailed(BirthmarkError):
    """This machine does not reproduce the known answers; no result of it can be trusted."""

    exit_code = 6
