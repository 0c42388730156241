"""Every seed of a range at given stream positions."""

from __future__ import annotations

from collections.abc import Sequence

from birthmark.search.cpu_positions.conditions import Conditions
from birthmark.search.cpu_positions.engine import Work
from birthmark.search.cpu_positions.outcome import PositionsOutcome, PositionsSearched
from birthmark.search.cpu_positions.plan import SEEDS, make_plan
from birthmark.search.ledger import Ledger
from birthmark.search.progress import Progress


def search_positions(
    conditions: Conditions,
    positions: Sequence[int],
    *,
    seeds: tuple[int, int] = (0, SEEDS),
    passes: int | None = None,
    everything: bool = False,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
    workers: int | None = None,
) -> PositionsOutcome:
    """Try every seed of a range at stream positions.

    Args:
        conditions: what survivors say about the words (`conditions_of`, `conditions_of_selection`).
        positions: 32-bit words drawn before the tensor's first element, 0 or more; likeliest first, repeats
            are dropped. Each costs a pass through all seeds and counts in the trials.
        seeds: first, and one past the last.
        passes: how many passes at most; None for as many as a chance of a miss of 2 % takes.
        everything: whether to go on after the first verified answer.
        ledger: where finished units are noted, and from where a search is resumed; None for nowhere.
        progress: whom to tell.
        workers: threads; None for as many as there are processors.

    Returns:
        The candidates that stand out after all trials, and what was searched. `stopped` is set after Ctrl-C.

    Raises:
        NothingToSearch: the values say too little for any answer to stand out of so many trials.
        SelfTestFailed: this machine does not compute the known answers.
        UsageError: a range or position that cannot be.
        LedgerError: the ledger is damaged, or belongs to another search.
        OutputError: the ledger cannot be written.
    """
    plan = make_plan(conditions, positions, seeds, passes, workers)
    work = Work(plan, everything, progress)
    work.run(ledger)
    searched = PositionsSearched(**work.account(), seeds=plan.seeds, positions=plan.positions)
    return PositionsOutcome(work.candidates, searched, work.stopped)
