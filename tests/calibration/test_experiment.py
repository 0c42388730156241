"""Calibrations: what is planned, kept and taken up again."""

from __future__ import annotations

from pathlib import Path

import pytest

from birthmark.calibration import experiment
from birthmark.calibration.experiment import RECORD, conduct, plan, read
from birthmark.calibration.trial import Job, Result
from birthmark.errors import LedgerError, OutputError, UsageError


def result(job: Job) -> Result:
    """A result without a scan."""
    return Result(job.key, job.kind, job.family, job.step, "float32", "none", "silent", "", None, 10, 0.5)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces scans; lists the trials that were made."""
    made: list[str] = []

    def run(job: Job) -> Result:
        made.append(job.key)
        return result(job)

    monkeypatch.setattr(experiment, "run", run)
    return made


def test_a_plan_has_every_family_and_step() -> None:
    """Two null checkpoints of ten families, one true one at 26 steps: each with a name of its own."""
    jobs = plan(2, 1, 4)

    assert len(jobs) == 2 * 13 + 26
    assert len({job.key for job in jobs}) == len(jobs)
    assert {job.seed for job in jobs} == {4}


@pytest.mark.parametrize("numbers", [(0, 0), (-1, 3)])
def test_an_empty_plan_is_refused(numbers: tuple[int, int]) -> None:
    """No trials, or a negative number of them, is a wrong call."""
    with pytest.raises(UsageError, match="expected 0 or more"):
        plan(*numbers, 0)


def test_an_interrupted_calibration_goes_on(tmp_path: Path, counted: list[str]) -> None:
    """Trials on record are not made again; a torn last line is, and its remains do no harm."""
    jobs = plan(1, 0, 0)
    conduct(tmp_path, jobs[:6], workers=1)
    record = tmp_path / RECORD
    record.write_bytes(record.read_bytes()[:-9])
    counted.clear()

    results = conduct(tmp_path, jobs, workers=1)

    assert counted == [job.key for job in jobs[5:]]
    assert [each.key for each in results] == [job.key for job in jobs]
    assert [each.key for each in read(record, 0)] == [job.key for job in jobs]


def test_progress_is_told(tmp_path: Path, counted: list[str]) -> None:
    """Each new trial is told with the number done and the number of all."""
    told: list[tuple[int, int]] = []
    jobs = plan(1, 0, 0)
    conduct(tmp_path, jobs[:3], workers=1)

    conduct(tmp_path, jobs[:5], workers=1, told=lambda done, of, _: told.append((done, of)))

    assert told == [(4, 5), (5, 5)]
    assert len(counted) == 5


def test_a_record_of_another_seed_is_refused(tmp_path: Path, counted: list[str]) -> None:
    """Trials of two calibrations are never mixed."""
    conduct(tmp_path, plan(1, 0, 0), workers=1)

    with pytest.raises(LedgerError, match="seed 0, not 1"):
        conduct(tmp_path, plan(1, 0, 1), workers=1)
    assert len(counted) == 13


@pytest.mark.parametrize("text", ["", "{}\n", "[1]\n", "words\n", '{"schema": "other", "seed": 0}\n'])
def test_another_file_is_no_record(tmp_path: Path, text: str) -> None:
    """A file that is no calibration's record is refused in one line."""
    path = tmp_path / RECORD
    path.write_text(text)

    with pytest.raises(LedgerError, match="no record of a calibration"):
        read(path, 0)


def test_a_record_that_cannot_be_written(tmp_path: Path, counted: list[str]) -> None:
    """A folder that is not there is an error of the output."""
    with pytest.raises(OutputError, match="cannot write"):
        conduct(tmp_path / "absent", plan(1, 0, 0), workers=1)
    assert counted == []
