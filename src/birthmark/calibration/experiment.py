"""A calibration: many trials, kept one by one, so that an interrupted one goes on where it was.

The record is a text file of one JSON object a line. A line is written whole when its trial has ended; a torn
last line, as a killed process leaves it, is dropped and its trial made again.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from birthmark.calibration.nulls import FAMILIES
from birthmark.calibration.trial import Job, Result, run
from birthmark.calibration.truths import AXES
from birthmark.errors import LedgerError, OutputError, UsageError

#: The record's name in a calibration's folder.
RECORD = "trials.jsonl"
SCHEMA = "birthmark.calibration/1"


def plan(nulls: int, truths: int, seed: int) -> list[Job]:
    """The trials of a calibration, mixed so that every part of it grows evenly.

    Args:
        nulls: null checkpoints of each family.
        truths: true checkpoints at each step of each axis.
        seed: what all of them come from.

    Raises:
        UsageError: a negative number, or no trial at all.
    """
    if nulls < 0 or truths < 0 or nulls + truths == 0:
        raise UsageError(f"{nulls} null and {truths} true checkpoints: expected 0 or more, and some at all.")
    null = [Job("null", family, 0.0, number, seed) for number in range(nulls) for family in FAMILIES]
    true = [
        Job("truth", axis, step, number, seed)
        for number in range(truths)
        for axis, each in AXES.items()
        for step in each.steps
    ]
    return sorted(null + true, key=lambda job: job.number)


def conduct(
    folder: Path, jobs: list[Job], *, workers: int, told: Callable[[int, int, Result], None] | None = None
) -> list[Result]:
    """Make the trials that the folder's record lacks, and return all that were asked for.

    Args:
        folder: exists; the record is made in it, or continued.
        jobs: all trials.
        workers: processes.
        told: called after each new trial with the number done, the number of all, and its result.

    Raises:
        LedgerError: the record is damaged, or belongs to a calibration with another seed.
        OutputError: the record cannot be written.
    """
    path = folder / RECORD
    known = {result.key: result for result in read(path, jobs[0].seed)} if path.exists() else {}
    left = [job for job in jobs if job.key not in known]
    try:
        with path.open("a", encoding="utf-8") as record:
            if not known:
                _append(record.fileno(), {"schema": SCHEMA, "seed": jobs[0].seed})
            for result in _results(left, workers):
                _append(record.fileno(), result.as_dict())
                known[result.key] = result
                if told is not None:
                    told(len(jobs) - len(left) + sum(job.key in known for job in left), len(jobs), result)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}.") from error
    return [known[job.key] for job in jobs]


def read(path: Path, seed: int) -> list[Result]:
    """The trials of a record.

    Raises:
        LedgerError: it is damaged, or of a calibration with another seed.
    """
    lines = path.read_bytes().split(b"\n")
    if lines[-1]:  # torn: what follows it must start a line of its own
        with path.open("rb+") as file:
            file.truncate(path.stat().st_size - len(lines[-1]))
    try:
        head, *rest = [json.loads(line) for line in lines[:-1]]
        kept = {SCHEMA: head["seed"]}[head["schema"]]
        results = [Result(**each) for each in rest]
    except (ValueError, TypeError, KeyError) as error:
        raise LedgerError(f"{path} is no record of a calibration; choose another folder.") from error
    if kept != seed:
        raise LedgerError(
            f"{path} is the record of a calibration with seed {kept}, not {seed}; "
            "choose another folder or that seed."
        )
    return results


def _append(descriptor: int, entry: dict[str, object]) -> None:
    os.write(descriptor, json.dumps(entry, separators=(",", ":")).encode() + b"\n")


def _results(jobs: list[Job], workers: int) -> Iterator[Result]:
    if workers == 1:
        yield from map(run, jobs)
        return
    context = multiprocessing.get_context("spawn")  # threads of compiled loops do not survive a fork
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        try:
            yield from pool.map(run, jobs)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
