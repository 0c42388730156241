"""What the trials of a calibration amount to: rates with intervals, and detection by strength."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from scipy.special import betaincinv

from birthmark.calibration.nulls import FAMILIES
from birthmark.calibration.tail import SIGMAS, Tail
from birthmark.calibration.trial import Result
from birthmark.calibration.truths import AXES
from birthmark.evidence.significance import SIGNIFICANT

#: Confidence of every interval.
CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of trials with its exact (Clopper and Pearson 1934) interval.

    Attributes:
        count: trials of which it is true.
        of: trials.
        low, high: the interval's ends.
    """

    count: int
    of: int
    low: float
    high: float


def rate(count: int, of: int) -> Rate:
    """The share count / of, with its interval at `CONFIDENCE`; 0 to 1 where there are no trials."""
    beyond = (1.0 - CONFIDENCE) / 2.0
    low = 0.0 if count == 0 else float(betaincinv(count, of - count + 1, beyond))
    high = 1.0 if count == of else float(betaincinv(count + 1, of - count, 1.0 - beyond))
    return Rate(count, of, low, high)


@dataclass(frozen=True, slots=True)
class Family:
    """The null checkpoints of one family.

    Attributes:
        name: of the family.
        wrong: readings that claim something untrue.
        claims: what they said.
        verdicts: how often each verdict was reached.
    """

    name: str
    wrong: Rate
    claims: tuple[str, ...]
    verdicts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Step:
    """The true checkpoints at one step of an axis.

    Attributes:
        axis, step: which.
        found: readings that name the true seed, and nothing untrue.
        wrong: readings that claim something untrue.
        claims: what they said.
        verdicts: how often each verdict was reached.
    """

    axis: str
    step: float
    found: Rate
    wrong: Rate
    claims: tuple[str, ...]
    verdicts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Summary:
    """A calibration in numbers.

    Attributes:
        seed: what all its checkpoints come from.
        nulls: by family.
        steps: by axis and step.
        null: wrong readings among all null checkpoints.
        truth: wrong readings among all true ones.
        nominal: the share that each of a reading's two tests may pass by chance.
        median_seconds: of a scan.
        tail: the decoys; None where none were scored.
    """

    seed: int
    nulls: tuple[Family, ...]
    steps: tuple[Step, ...]
    null: Rate
    truth: Rate
    nominal: float
    median_seconds: float
    tail: Tail | None

    def as_dict(self) -> dict[str, Any]:
        """JSON types only."""
        return {
            "schema": "birthmark.calibration-summary/1",
            "seed": self.seed,
            "confidence": CONFIDENCE,
            "nominal": self.nominal,
            "null": asdict(self.null),
            "truth": asdict(self.truth),
            "median_seconds": self.median_seconds,
            "families": [asdict(each) for each in self.nulls],
            "steps": [asdict(each) for each in self.steps],
            "tail": None if self.tail is None else self.tail.as_dict(),
        }


def summarise(results: Sequence[Result], seed: int, tail: Tail | None) -> Summary:
    """Count a calibration's trials."""
    null = [each for each in results if each.kind == "null"]
    truth = [each for each in results if each.kind == "truth"]
    families = [_family(name, [each for each in null if each.family == name]) for name in FAMILIES]
    steps = [
        _step(axis, step, [each for each in truth if (each.family, each.step) == (axis, step)])
        for axis, every in AXES.items()
        for step in every.steps
    ]
    return Summary(
        seed=seed,
        nulls=tuple(each for each in families if each.wrong.of),
        steps=tuple(each for each in steps if each.found.of),
        null=_rate(null, "wrong"),
        truth=_rate(truth, "wrong"),
        nominal=10.0**SIGNIFICANT,
        median_seconds=float(np.median([each.seconds for each in results])) if results else 0.0,
        tail=tail,
    )


def largest_excess(tail: Tail, least: float = 10.0) -> tuple[float, str, float]:
    """The sigma and family with most decoys over what the nominal tail says, where it says `least` or more.

    Returns:
        Sigma, family, and the ratio of counted to nominal.
    """
    expected = tail.expected
    enough = np.flatnonzero(expected >= least)
    ratio = tail.counts[:, enough] / expected[enough]
    family, place = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    return SIGMAS[enough[place]], tail.families[family], float(ratio[family, place])


def _family(name: str, results: list[Result]) -> Family:
    return Family(name, _rate(results, "wrong"), _claims(results), _verdicts(results))


def _step(axis: str, step: float, results: list[Result]) -> Step:
    found, wrong = _rate(results, "right"), _rate(results, "wrong")
    return Step(axis, step, found, wrong, _claims(results), _verdicts(results))


def _rate(results: Sequence[Result], outcome: str) -> Rate:
    return rate(sum(each.outcome == outcome for each in results), len(results))


def _claims(results: Sequence[Result]) -> tuple[str, ...]:
    return tuple(f"{each.key}: {each.claims}" for each in results if each.outcome == "wrong")


def _verdicts(results: Sequence[Result]) -> dict[str, int]:
    names = sorted({each.verdict for each in results})
    return {name: sum(each.verdict == name for each in results) for name in names}
