"""A weak map from end to end: every predicted tensor scored, pooled, and held against its controls.

Two claims are kept apart. That a tensor's values correlate with their predicted initial ones is a matter of
chance, and of nothing else: under a wrong seed predictions are independent draws, whatever the stored values
are. That the device is the one that was named is a matter of what its layout explains better than others'.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.devices.catalogue import sharing
from birthmark.errors import UsageError
from birthmark.evidence.score import NORMAL_95
from birthmark.evidence.significance import SIGNIFICANT, after_trials, log10_tail
from birthmark.weak_map.bands import Bands, Heads, bands_of
from birthmark.weak_map.births import Aim, Predicted
from birthmark.weak_map.controls import Background, Layouts, Sample, background, layouts, sample_of
from birthmark.weak_map.moments import QUANTITIES, Moments, kept, levelled_r, stored_r
from birthmark.weak_map.pooling import Pooled, pool
from birthmark.weak_map.result import BandScores, Interval, State, TensorTrace, Verdict, WeakMap
from birthmark.weak_map.scanning import SHIFTS, Scanned, scan_tensor
from birthmark.weak_map.sharing import inflation, same_draws

#: A control above this, and above this share of the true score, makes a score worthless.
LARGEST_CONTROL: Final = 5.0
SHARE_OF_SCORE: Final = 1 / 3
#: Runs of held rows that are listed at most.
MOST_RUNS: Final = 1000
#: A tensor of which this share of values is bit for bit the predicted one holds its birth without whole rows.
EQUAL_SHARE: Final = 0.5
LEAST_EQUAL: Final = 8

Tell = Callable[[str, int, int], None]


def weak_map(
    checkpoint: Checkpoint,
    predicted: Predicted,
    *,
    heads: Heads | None = None,
    decoys: int | None = None,
    workers: int | None = None,
    tell: Tell | None = None,
) -> WeakMap:
    """Map where a model's initial values survive.

    Args:
        checkpoint: the trained model, open.
        predicted: its initial values.
        heads: of its attention, so that the map shows them one by one.
        decoys: false seeds; None for as many as a second or two allows, 0 for none.
        workers: threads; None for as many as there are processors.
        tell: hears a tensor's name, its number and how many there are.

    Raises:
        UsageError: no tensor is predicted.
    """
    if not predicted.aims:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in list(predicted.left_out.items())[:3])
        raise UsageError(
            f"no tensor of the checkpoint is predicted by {predicted.source}"
            f"{f' ({reasons})' if reasons else ''}."
        )
    count = workers or os.cpu_count() or 1
    scans: list[tuple[Aim, Bands, Scanned]] = []
    samples: list[Sample] = []
    with ThreadPoolExecutor(count, thread_name_prefix="birthmark-traces") as pool_:
        for number, aim in enumerate(predicted.aims):
            if tell is not None:
                tell(aim.stored, number, len(predicted.aims))
            bands = bands_of(aim.stored, checkpoint.tensors[aim.stored].shape, heads or Heads())
            scanned = scan_tensor(checkpoint, predicted, aim, bands, pool_, count + 1)
            scans.append((aim, bands, scanned))
            samples.append(sample_of(checkpoint, aim, scanned.levels))
        measured, compared = _controls(predicted, samples, pool_, decoys)
    trials = len(scans) + 1
    tensors = tuple(_tensor(checkpoint, aim, bands, scanned, trials) for aim, bands, scanned in scans)
    moments = [scanned.moments for _, _, scanned in scans]
    wider = inflation(same_draws(predicted, samples), samples, [one.n for one in moments])
    together = pool([_float(levelled_r(one.sums)) for one in moments], [one.n for one in moments], wider)
    shifted = _pooled_shifted(moments, wider)
    log10_p = None if together is None else after_trials(log10_tail(together.z), trials)
    verdict, reason = _verdict(tensors, together, log10_p, shifted, measured, compared, predicted)
    explained, left, whole, total = _explained(scans)
    return WeakMap(
        checkpoint=checkpoint.source,
        source=predicted.source,
        seed=predicted.seed,
        threads=predicted.threads,
        verdict=verdict,
        reason=reason,
        tensors=tensors,
        left_out=dict(predicted.left_out),
        pooled=together,
        log10_p=log10_p,
        pooled_shifted=shifted,
        kept=left / whole if whole > 0.0 else None,
        norm_share=explained / total if total > 0.0 else None,
        background=measured,
        layouts=compared,
        trials=trials,
    )


def _controls(
    predicted: Predicted, samples: list[Sample], pool_: Executor, decoys: int | None
) -> tuple[Background | None, Layouts | None]:
    return background(predicted, samples, pool_, decoys), layouts(predicted, samples, pool_)


def _tensor(checkpoint: Checkpoint, aim: Aim, bands: Bands, scanned: Scanned, trials: int) -> TensorTrace:
    """One tensor's scores."""
    info = checkpoint.tensors[aim.stored]
    moments, unit = scanned.moments, scanned.levels.unit
    r = _float(levelled_r(moments.sums))
    z = None if math.isnan(r) else r * math.sqrt(moments.n)
    log10_p = None if z is None else after_trials(log10_tail(z), trials)
    slope, error = _float(kept(moments.sums, unit)), moments.kept_error(unit)
    shifted = tuple(
        0.0 if math.isnan(one) else one * math.sqrt(moments.n) for one in moments.shifted_r.tolist()
    )
    held = int(scanned.held.size)
    equal = moments.equal >= max(LEAST_EQUAL, EQUAL_SHARE * moments.n)
    return TensorTrace(
        name=aim.stored,
        predicted_as=aim.name,
        shape=info.shape,
        dtype=info.dtype,
        state=_state(moments.n, z, trials, shifted, held=held > 0 or equal, whole=moments.equal == moments.n),
        n=moments.n,
        r=_correlation(r, moments.z_error()),
        z=z,
        log10_p=log10_p,
        r_stored=_number(_float(stored_r(moments.sums))),
        kept=None
        if math.isnan(slope) or math.isnan(error)
        else Interval(slope, slope - NORMAL_95 * error, slope + NORMAL_95 * error),
        norm_share=_number(moments.norm_share()),
        equal=moments.equal,
        held=_runs(scanned.held),
        held_rows=held,
        judged_rows=scanned.judged,
        shifted=shifted,
        bands=_band_scores(bands, scanned.bands, unit),
    )


def _state(
    n: int, z: float | None, trials: int, shifted: tuple[float, ...], *, held: bool, whole: bool
) -> State:
    """What a tensor's scores make of it; `whole` says that each of its values is the predicted one."""
    if z is None or after_trials(log10_tail(z), trials) > SIGNIFICANT:
        if whole and n >= LEAST_EQUAL and z is not None:
            return "held"
        return "too-small" if after_trials(log10_tail(math.sqrt(n)), trials) > SIGNIFICANT else "none"
    if _worthless(z, shifted):
        return "refuted"
    return "held" if held else "trace"


def _worthless(z: float, controls: tuple[float, ...]) -> bool:
    """Whether false pairings score so high that the true one says nothing.

    Columns of mean 0 make true pairings of few rows pull the others below 0, which refutes nothing.
    """
    largest = max(controls, default=0.0)
    return largest > LARGEST_CONTROL and largest > SHARE_OF_SCORE * z


def _verdict(
    tensors: tuple[TensorTrace, ...],
    together: Pooled | None,
    log10_p: float | None,
    shifted: tuple[float, ...],
    measured: Background | None,
    compared: Layouts | None,
    predicted: Predicted,
) -> tuple[Verdict, str]:
    """Whether initial values were found where they were predicted, and why."""
    shown = [each for each in tensors if each.state in ("held", "trace")]
    refuted = [each for each in tensors if each.state == "refuted"]
    pooled = together is not None and log10_p is not None and log10_p <= SIGNIFICANT
    if together is not None and pooled and _worthless(together.z, shifted):
        pooled = False
    if not shown and not pooled:
        reason = "no tensor shows its predicted initial values, nor do all of them together"
        if refuted:
            reason = (
                f"{len(refuted)} of {len(tensors)} tensors correlate with the predictions of the wrong rows "
                "as well, so that their scores say nothing"
            )
        return "nothing", reason
    if measured is not None and measured.largest > LARGEST_CONTROL and measured.reached:
        return "nothing", (
            f"{measured.reached} of {measured.count} false seeds score at least as high: the values favour "
            "any seed"
        )
    if compared is not None and compared.refuted:
        best, score = compared.best
        names = ", ".join(each.name for each in sharing(best)[:3])
        return "another-layout", (
            f"G = {best:,} ({names}) explains the model better than G = {predicted.threads or 0:,}: sums "
            f"of squared z of {score:,.0f} and {compared.claimed:,.0f} on the samples; the device, or what "
            "the model is taken for, is not the right one"
        )
    where = f"{len(shown)} of {len(tensors)} tensors show their predicted initial values"
    return "found", where if shown else "all tensors together show them, though none alone does"


def _pooled_shifted(moments: list[Moments], wider: float) -> tuple[float, ...]:
    found = []
    for number in range(len(SHIFTS)):
        one = pool([float(each.shifted_r[number]) for each in moments], [each.n for each in moments], wider)
        found.append(0.0 if one is None else one.z)
    return tuple(found)


def _explained(scans: list[tuple[Aim, Bands, Scanned]]) -> tuple[float, float, float, float]:
    """Sums over all tensors: squared norm explained, stored x initial, initial squared, stored squared."""
    explained = left = whole = total = 0.0
    for _, _, scanned in scans:
        unit, sums = scanned.levels.unit, dict(zip(QUANTITIES, scanned.moments.sums.tolist(), strict=True))
        total += sums["xx"] * unit * unit
        left += sums["xy"] * unit
        whole += sums["yy"]
        if sums["yy"] > 0.0:
            explained += (sums["xy"] * unit) ** 2 / sums["yy"]
    return explained, left, whole, total


def _band_scores(bands: Bands, sums: NDArray[np.float64], unit: float) -> BandScores:
    r, slope = levelled_r(sums), kept(sums, unit)
    n = sums[0]
    return BandScores(
        bands,
        tuple(int(each) for each in n.tolist()),
        tuple(_number(each) for each in r.tolist()),
        tuple(_number(each) for each in (r * np.sqrt(n)).tolist()),
        tuple(_number(each) for each in slope.tolist()),
    )


def _correlation(r: float, error: float) -> Interval | None:
    """A correlation with its interval of 95 %, from the standard error of its Fisher's z."""
    if math.isnan(r):
        return None
    if abs(r) >= 1.0:
        return Interval(r, r, r)
    if math.isnan(error):
        return Interval(r, -1.0, 1.0)
    middle, reach = math.atanh(r), NORMAL_95 * error
    return Interval(r, math.tanh(middle - reach), math.tanh(middle + reach))


def _runs(rows: NDArray[np.int64]) -> tuple[tuple[int, int], ...]:
    """Ascending row numbers as runs (first, last)."""
    if not rows.size:
        return ()
    ends = np.flatnonzero(np.diff(rows, append=rows[-1] + 2) != 1)
    starts = np.concatenate([[0], ends[:-1] + 1])
    pairs = zip(rows[starts].tolist(), rows[ends].tolist(), strict=True)
    return tuple((int(first), int(last)) for first, last in pairs)[:MOST_RUNS]


def _float(value: NDArray[np.float64]) -> float:
    return float(np.asarray(value).reshape(()))


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
