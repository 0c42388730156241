"""One trial: a made checkpoint, the same scan that users run, and whether its reading is right.

The scan searches a stated range of 2^16 seeds, so that a trial takes about a second, and in every twentieth
trial also the seeds that people use, with the stages that hang on them; its significance counts just these.
The solve for the CPU generator is left out: its own check is exact (see `search.solve`).
"""

from __future__ import annotations

import time
import zlib
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import numpy as np

from birthmark.calibration.made import Made, MadeCheckpoint
from birthmark.calibration.nulls import null
from birthmark.calibration.seeds import SEEDS, with_dictionary
from birthmark.calibration.truths import truth
from birthmark.reports.reading import Reading
from birthmark.scan import ScanOptions, scan
from birthmark.search.options import Options

#: Verdicts that claim nothing.
SILENT: Final = frozenset({"none", "not-searched"})

Kind = Literal["null", "truth"]
Outcome = Literal["right", "silent", "wrong"]


@dataclass(frozen=True, slots=True)
class Job:
    """A trial to be made.

    Attributes:
        kind: "null" or "truth".
        family: of a null checkpoint, or the axis of a true one.
        step: of the axis; 0 for null checkpoints.
        number: of the checkpoint among its like.
        seed: of the whole calibration.
    """

    kind: Kind
    family: str
    step: float
    number: int
    seed: int

    @property
    def key(self) -> str:
        """What names the trial in a calibration's record."""
        return f"{self.kind}/{self.family}/{self.step:g}/{self.number}"

    def random(self) -> np.random.Generator:
        """The trial's own random numbers, whatever other trials there are."""
        words = [self.seed, zlib.crc32(f"{self.kind}/{self.family}/{self.step:g}".encode()), self.number]
        return np.random.default_rng(words)


@dataclass(frozen=True, slots=True)
class Result:
    """What a trial came to.

    Attributes:
        key: the trial's name.
        kind, family, step: as in the job.
        dtype: the stored dtype.
        verdict: of the reading.
        outcome: "right": all that is claimed is true, and the seed is named where there is one to name;
            "silent": nothing is claimed; "wrong": something is claimed that is not true.
        claims: what a wrong reading said, in words.
        log10_p: of the first finding on the hold-out, after trials; None where there is none.
        trials: predictions tried.
        seconds: of the scan, on a machine that may be busy.
    """

    key: str
    kind: Kind
    family: str
    step: float
    dtype: str
    verdict: str
    outcome: Outcome
    claims: str
    log10_p: float | None
    trials: int
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """JSON types only."""
        return asdict(self)


def run(job: Job) -> Result:
    """Make the job's checkpoint, scan it, and hold the reading against the truth."""
    random = job.random()
    seed: int | None = None
    if job.kind == "null":
        nothing = null(job.family, random, job.number)
        made, threads = nothing.made, nothing.threads
    else:
        something = truth(job.family, job.step, random, job.number)
        made, threads, seed = something.made, something.threads, something.seed
    began = time.perf_counter()
    reading = _scanned(made, job.number)
    seconds = time.perf_counter() - began
    outcome, claims = weighed(reading, seed, threads)
    first = reading.findings[0] if reading.findings else None
    return Result(
        key=job.key,
        kind=job.kind,
        family=job.family,
        step=job.step,
        dtype=made.dtype,
        verdict=reading.verdict,
        outcome=outcome,
        claims=claims,
        log10_p=first.holdout.log10_p_global if first is not None and first.holdout is not None else None,
        trials=reading.searched.trials or 0,
        seconds=round(seconds, 3),
    )


def weighed(reading: Reading, seed: int | None, threads: int | None) -> tuple[Outcome, str]:
    """Whether a reading is right.

    Args:
        reading: of a made checkpoint.
        seed: what it was drawn with; None where no searched seed explains it.
        threads: the G of its launch; None where there was none.

    Returns:
        The outcome, and for a wrong one what was claimed.
    """
    if reading.verdict in SILENT or not reading.findings:
        return "silent", ""
    named = False
    for finding in reading.findings:
        if finding.seed is not None and finding.seed != seed:
            return "wrong", f"seed {finding.seed} instead of {seed}"
        named = named or finding.seed is not None
        layout = finding.layout
        if layout is None:
            continue
        possible = {layout.threads, *layout.not_excluded} - {None}
        if possible and threads not in possible:
            return "wrong", f"G {sorted(each for each in possible if each)} instead of {threads}"
    return ("right", "") if named or seed is None else ("silent", "")


def _scanned(made: Made, number: int) -> Reading:
    wanted = Options(seeds=SEEDS, dictionary=with_dictionary(number), workers=1)
    options = ScanOptions(search=wanted, cpu=False)
    return scan(MadeCheckpoint(made), options, command="birthmark calibrate").reading
