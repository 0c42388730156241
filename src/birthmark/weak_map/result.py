"""The result of a weak map, as values and as JSON of the schema "birthmark.traces/1"."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Final, Literal

from birthmark import __version__
from birthmark.weak_map.bands import Bands
from birthmark.weak_map.controls import Background, Layouts
from birthmark.weak_map.pooling import Pooled

SCHEMA: Final = "birthmark.traces/1"

State = Literal["held", "trace", "none", "too-small", "refuted"]
Verdict = Literal["found", "another-layout", "nothing"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its interval of 95 %."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class BandScores:
    """The bands of a tensor, one entry a band; None where a band has no score.

    Attributes:
        bands: how the tensor is cut.
        n: finite values.
        r: correlation of levelled and predicted values.
        z: r sqrt(n).
        kept: how much of the initial values is left.
    """

    bands: Bands
    n: tuple[int, ...]
    r: tuple[float | None, ...]
    z: tuple[float | None, ...]
    kept: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class TensorTrace:
    """What is left of one tensor's initial values.

    Attributes:
        name: in the checkpoint.
        predicted_as: in the trace or recipe.
        shape: extents.
        dtype: as stored.
        state: "held": rows still hold them up to a factor, or most values do. "trace": values correlate.
            "refuted": they do, but with the wrong rows as well. "none": nothing is seen. "too-small": nothing
            could be seen, for even r = 1 would not stand out.
        n: finite values.
        r: correlation of levelled and predicted values; None where one side does not vary.
        z: r sqrt(n), standard normal under a wrong prediction.
        log10_p: of z, after all tensors and the pooled score as trials.
        r_stored: correlation of the values as they are stored.
        kept: how much of the initial values is left: stored = kept x initial + rest.
        norm_share: share of the stored values' squared norm that this explains.
        equal: values that are the predicted ones, bit for bit in the stored dtype.
        held: rows that hold their initial values up to a factor, as runs (first, last).
        held_rows, judged_rows: how many, and of how many.
        shifted: the z's of predictions of rows further on, a control of the same size.
        bands: its parts.
    """

    name: str
    predicted_as: str
    shape: tuple[int, ...]
    dtype: str
    state: State
    n: int
    r: Interval | None
    z: float | None
    log10_p: float | None
    r_stored: float | None
    kept: Interval | None
    norm_share: float | None
    equal: int
    held: tuple[tuple[int, int], ...]
    held_rows: int
    judged_rows: int
    shifted: tuple[float, ...]
    bands: BandScores


@dataclass(frozen=True, slots=True)
class WeakMap:
    """Where a model's initial values survive.

    Attributes:
        checkpoint: what was read.
        source: what predicted, in words.
        seed: the user's seed.
        threads: G; None on the CPU.
        verdict: whether initial values were found.
        reason: why, in a sentence.
        tensors: one for each predicted tensor, in the order of the checkpoint.
        left_out: why others are not predicted.
        pooled: all tensors together; None where none has a score.
        log10_p: of the pooled z, after trials.
        pooled_shifted: the z's of the shifted pairings, pooled.
        kept: how much of the initial values is left in all tensors together.
        norm_share: share of their squared norm that the initial values explain.
        background: false seeds; None where there are none.
        layouts: other layouts; None where there are none.
        trials: predictions that significance was corrected for.
    """

    checkpoint: str
    source: str
    seed: int
    threads: int | None
    verdict: Verdict
    reason: str
    tensors: tuple[TensorTrace, ...]
    left_out: dict[str, str]
    pooled: Pooled | None
    log10_p: float | None
    pooled_shifted: tuple[float, ...]
    kept: float | None
    norm_share: float | None
    background: Background | None
    layouts: Layouts | None
    trials: int

    @property
    def found(self) -> bool:
        """Whether initial values were found where they were predicted."""
        return self.verdict == "found"

    def to_json(self) -> str:
        """The result as JSON; nothing in it is NaN or infinite."""
        pooled = self.pooled
        background = self.background
        document: dict[str, Any] = {
            "schema": SCHEMA,
            "version": __version__,
            "checkpoint": self.checkpoint,
            "source": self.source,
            "seed": self.seed,
            "threads": self.threads,
            "verdict": self.verdict,
            "reason": self.reason,
            "trials": self.trials,
            "pooled": None
            if pooled is None
            else {
                "tensors": pooled.tensors,
                "n": pooled.n,
                "r": {"value": pooled.r, "low": pooled.low, "high": pooled.high},
                "z": pooled.z,
                "log10_p": self.log10_p,
                "q": pooled.q,
                "kept": self.kept,
                "norm_share": self.norm_share,
                "shifted": list(self.pooled_shifted),
            },
            "decoys": None
            if background is None
            else {
                "count": background.count,
                "z": background.z,
                "pooled": {
                    "mean": background.pooled_mean,
                    "std": background.pooled_std,
                    "max": background.pooled_largest,
                },
                "single": {"mean": background.mean, "std": background.std, "max": background.largest},
                "reached": background.reached,
                "log10_p": background.log10_p,
            },
            "layouts": None
            if self.layouts is None
            else {
                "claimed": self.layouts.claimed,
                "same": list(self.layouts.same),
                "best": {"threads": self.layouts.best[0], "score": self.layouts.best[1]},
                "next": None
                if self.layouts.next is None
                else {"threads": self.layouts.next[0], "score": self.layouts.next[1]},
            },
            "tensors": [_entry(each, background) for each in self.tensors],
            "left_out": self.left_out,
        }
        return json.dumps(_finite(document), indent=1, allow_nan=False) + "\n"


def _entry(each: TensorTrace, background: Background | None) -> dict[str, Any]:
    bands = each.bands
    return {
        "name": each.name,
        "predicted_as": each.predicted_as,
        "shape": list(each.shape),
        "dtype": each.dtype,
        "state": each.state,
        "n": each.n,
        "r": _interval(each.r),
        "z": each.z,
        "log10_p": each.log10_p,
        "r_stored": each.r_stored,
        "kept": _interval(each.kept),
        "norm_share": each.norm_share,
        "equal": each.equal,
        "held": {
            "rows": each.held_rows,
            "of": each.judged_rows,
            "runs": [list(run) for run in each.held],
        },
        "shifted": list(each.shifted),
        "sample_z": None if background is None else background.each.get(each.name),
        "bands": {
            "axis": bands.bands.axis,
            "kind": bands.bands.kind,
            "edges": list(bands.bands.edges),
            "n": list(bands.n),
            "r": [_short(value) for value in bands.r],
            "z": [_short(value) for value in bands.z],
            "kept": [_short(value) for value in bands.kept],
        },
    }


def _interval(one: Interval | None) -> dict[str, float] | None:
    return None if one is None else {"value": one.value, "low": one.low, "high": one.high}


def _short(value: float | None) -> float | None:
    """Four digits: a map of hundreds of tensors stays small."""
    return None if value is None else float(f"{value:.4g}")


def _finite(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list) else value
