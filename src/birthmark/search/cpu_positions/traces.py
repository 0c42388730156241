"""A seed's stream against trained values, at every position: correlation by Fourier transforms.

Values that training moved predict no word, but over thousands of them a correlation with what was drawn may
remain (see `search.weak`). Its value at all positions of a stretch of the stream is one product of Fourier
transforms. A uniform value is its word, scaled. The two values k and k + 8 of a normal block come from two
words as radius times cosine and radius times sine; so every word, with the one eight places on, is taken for
a complex number, and so are the two values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from birthmark.errors import NothingToSearch, UsageError
from birthmark.generators.mt19937 import words
from birthmark.numerics.compiled import kernel
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.cpu_normal import BLOCK, PARTNER, pair
from birthmark.samplers.cpu_uniform import unit
from birthmark.search.correlation import correlation, log10_p, log10_tail
from birthmark.search.cpu_positions.crew import finished
from birthmark.search.cpu_positions.selftest import check
from birthmark.search.options import Options
from birthmark.survivors.levelling import levelled
from birthmark.survivors.split import Selection

Distribution = Literal["normal", "uniform"]

#: How far streams are followed unless told otherwise: some seconds a seed.
FURTHEST: Final = 10**8
#: Words of one transform, and the most that values may lie apart: the rest of the words are positions.
TRANSFORM: Final = 1 << 20
REACH: Final = 1 << 17
#: A candidate is handed over when its log10 p, after all trials, is below this.
SIGNIFICANT: Final = -4.0
#: Fewer values than this carry no trace that would stand out.
LEAST: Final = 256

_ROOT_12 = np.float32(math.sqrt(12.0))
_HALF = np.float32(0.5)


@dataclass(frozen=True, slots=True)
class TraceCandidate:
    """A seed and position with which trained values correlate.

    Attributes:
        seed: the low 32 bits of the seed.
        index: 32-bit words drawn before the tensor's first element.
        distribution: of the draw.
        n: values compared: all of the selection.
        r: their correlation.
        log10_p: log10 of the chance that the best of all trials reaches it.
    """

    seed: int
    index: int
    distribution: Distribution
    n: int
    r: float
    log10_p: float


@dataclass(frozen=True, slots=True)
class TraceOutcome:
    """The end of a search for traces.

    Attributes:
        candidates: those that stand out after all trials, best first.
        seeds: the seeds, in the order in which they were tried.
        positions: first, and one past the last.
        trials: seeds times positions times distributions, as planned.
        done: those that were finished.
        values: values that the transforms saw.
        sigma: the best score of all, candidates' included: r sqrt(n) on these values.
        stopped: whether it was interrupted.
    """

    candidates: tuple[TraceCandidate, ...]
    seeds: tuple[int, ...]
    positions: tuple[int, int]
    trials: int
    done: int
    values: int
    sigma: float
    stopped: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Template:
    """Values as the transforms want them.

    Attributes:
        spectrum: the conjugate spectrum of the values, each at its word, with their length as 1.
        first: the first of these words, counted from the draw's first.
        reach: words between the first and the last, and one.
        count: values.
    """

    spectrum: NDArray[np.complexfloating]
    first: int
    reach: int
    count: int


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Positions that are scored together, and in the end the best scores: (sigma, position)."""

    seed: int
    distribution: Distribution
    start: int
    stop: int
    best: tuple[tuple[float, int], ...] = ()


def search_traces(
    selection: Selection,
    seeds: Sequence[int],
    *,
    positions: tuple[int, int] = (0, FURTHEST),
    distributions: Sequence[Distribution] = ("normal", "uniform"),
    workers: int | None = None,
) -> TraceOutcome:
    """Score seeds at every position of a range against values that were all trained.

    Args:
        selection: values of a trained tensor. They are levelled first (see `survivors.levelling`).
        seeds: any integers, of which the low 32 bits count, likeliest first.
        positions: 32-bit words drawn before the tensor's first element: first, and one past the last.
        distributions: draws to suppose.
        workers: threads; None for as many as there are processors.

    Returns:
        The candidates and what was tried. `stopped` is set after Ctrl-C.

    Raises:
        NothingToSearch: too few values near each other, or values that do not vary.
        SelfTestFailed: this machine does not compute the known answers.
        UsageError: a range that cannot be.
    """
    first, stop = positions
    if not 0 <= first <= stop:
        raise UsageError(f"positions {first} to {stop}: expected 0 <= first <= last + 1.")
    check()
    columns = math.prod(selection.shape[1:]) if len(selection.shape) > 1 else math.prod(selection.shape)
    level = levelled(selection.values, selection.indices, columns)
    templates = {each: _template(selection, level, each) for each in distributions}
    each = tuple(dict.fromkeys(int(seed) & 0xFFFFFFFF for seed in seeds))
    trials = max(1, len(each) * (stop - first) * len(templates))
    limit = _limit(trials)
    candidates: dict[tuple[int, int, str], TraceCandidate] = {}
    done, sigma, stopped = 0, 0.0, False
    stretches = _stretches(templates, each, positions)
    tasks = (partial(_scored, templates[one.distribution], one, limit) for one in stretches)
    try:
        with closing(finished(tasks, Options(workers=workers).threads)) as results:
            for result in results:
                done += result.stop - result.start
                for score, index in result.best:
                    sigma = max(sigma, score)
                    if score >= limit:
                        found = _exact(selection, level, result, index, trials)
                        candidates[found.seed, found.index, found.distribution] = found
    except KeyboardInterrupt:
        stopped = True
    standing = sorted(
        (one for one in candidates.values() if one.log10_p < SIGNIFICANT),
        key=lambda one: (one.log10_p, one.seed, one.index),
    )
    values = max(template.count for template in templates.values())
    return TraceOutcome(tuple(standing), each, positions, trials, done, values, sigma, stopped)


def _limit(trials: int) -> float:
    """The sigma that a candidate needs on the values that the transforms see; half a sigma is let pass."""
    sigma = 3.0
    while log10_tail(sigma) + math.log10(trials) >= SIGNIFICANT:
        sigma += 0.05
    return sigma - 0.5


def _stretches(
    templates: dict[Distribution, _Template], seeds: Sequence[int], positions: tuple[int, int]
) -> Iterator[_Stretch]:
    for seed in seeds:
        for distribution, template in templates.items():
            step = TRANSFORM - template.reach
            for start in range(*positions, step):
                yield _Stretch(seed, distribution, start, min(start + step, positions[1]))


def _template(selection: Selection, level: NDArray[np.float64], distribution: Distribution) -> _Template:
    """The values of a selection that lie within reach of its first."""
    size = math.prod(selection.shape)
    if distribution == "normal" and size < BLOCK:
        raise NothingToSearch(f"normals of fewer than {BLOCK} elements carry no trace.")
    # The last values of a ragged normal draw come from other words (see `cpu_normal`).
    end = size if distribution == "uniform" or size % BLOCK == 0 else size - BLOCK
    first = int(selection.indices[0]) // BLOCK * BLOCK if len(selection.indices) else 0
    near = (selection.indices < min(end, first + REACH)) & np.isfinite(level)
    values, offsets = level[near], selection.indices[near] - first
    length = math.sqrt(float(np.einsum("i,i->", values, values)))
    if len(values) < LEAST or length == 0.0:
        raise NothingToSearch(f"{len(values)} values within {REACH} words; a trace takes {LEAST} that vary.")
    values = (values / length).astype(np.float32)
    if distribution == "uniform":
        placed = np.zeros(TRANSFORM, np.float32)
        placed[offsets] = values
        return _Template(fft.rfft(placed).conj(), first, REACH, len(values))
    sine = offsets % BLOCK >= PARTNER
    both = np.zeros(TRANSFORM, np.complex64)
    np.add.at(both, offsets - PARTNER * sine, np.where(sine, np.complex64(1j), np.complex64(1)) * values)
    return _Template(fft.fft(both).conj(), first, REACH, len(values))


def _scored(template: _Template, stretch: _Stretch, limit: float, stop: Event) -> _Stretch | None:
    """The best scores of a stretch: all above the limit, one at the least. None if `stop` is set."""
    if stop.is_set():
        return None
    made = words(stretch.seed, stretch.start + template.first, TRANSFORM + PARTNER)
    if stretch.distribution == "uniform":
        drawn = np.empty(TRANSFORM, np.float32)
        _uniforms(made, drawn)
        scores = fft.irfft(fft.rfft(drawn, overwrite_x=True) * template.spectrum, TRANSFORM)
    else:
        pairs = np.empty((TRANSFORM, 2), np.float32)
        _normals(made, pairs)
        spectrum = fft.fft(pairs.view(np.complex64)[:, 0], overwrite_x=True)
        scores = fft.ifft(spectrum * template.spectrum, overwrite_x=True).real
    scores = scores[: stretch.stop - stretch.start]
    places = np.union1d(np.flatnonzero(scores >= limit), [int(np.argmax(scores))])
    best = tuple((float(scores[place]), stretch.start + int(place)) for place in places)
    return _Stretch(stretch.seed, stretch.distribution, stretch.start, stretch.stop, best)


def _exact(
    selection: Selection, level: NDArray[np.float64], found: _Stretch, index: int, trials: int
) -> TraceCandidate:
    """A position scored on the whole selection, by the sampler itself."""
    parameters = (0.0, 1.0) if found.distribution == "normal" else (-1.0, 1.0)
    draw = CpuDraw(found.distribution, parameters, math.prod(selection.shape), index)
    drawn = np.asarray(draw.values(found.seed, selection.indices), np.float64)
    usable = np.isfinite(level)
    r = correlation(level[usable], drawn[usable])
    n = int(usable.sum())
    return TraceCandidate(found.seed, index, found.distribution, n, r, log10_p(n, r, trials))


@kernel()
def _uniforms(made: NDArray[np.uint32], out: NDArray[np.float32]) -> None:
    """Words as uniforms of mean 0 and variance 1."""
    for i in range(len(out)):
        out[i] = np.float32(np.float32(unit(made[i]) - _HALF) * _ROOT_12)


@kernel()
def _normals(made: NDArray[np.uint32], out: NDArray[np.float32]) -> None:
    """Each word and the one eight places on as the two values of a pair."""
    for i in range(len(out)):
        out[i, 0], out[i, 1] = pair(made[i], made[i + PARTNER], np.float32(0.0), np.float32(1.0))
