"""What a user can ask of a scan."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from birthmark.recipes.trace import Trace
from birthmark.search.options import Options


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """What a user can ask of a scan.

    Attributes:
        search: how far the search of the most promising tensor goes.
        tensors: names of the tensors to search, each in full; empty for birthmark's own choice.
        ledger: where the full search keeps its progress; None for nowhere.
        resume: whether to go on from there.
        cpu: whether survivors are also tried as a draw of the CPU generator.
        trace: where each tensor was drawn; None where that is not known.
        prefix: what stands before the trace's names in the checkpoint; None to find out.
    """

    search: Options = field(default_factory=Options)
    tensors: tuple[str, ...] = ()
    ledger: Path | None = None
    resume: bool = False
    cpu: bool = True
    trace: Trace | None = None
    prefix: str | None = None
