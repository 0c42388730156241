"""The tail of the p-value, measured on decoys: does a false candidate score as rarely as its p says?

A scan's log10 p rests on one statement: under a wrong seed r sqrt(n) is standard normal, whatever the stored
values are. Here very many decoy seeds are scored on stored values of every null family at once, and the
scores are counted above each sigma. What is drawn is exactly what `Hypothesis.standard` gives for lanes 0
and 1 of a first call.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from birthmark.calibration.nulls import FAMILIES
from birthmark.generators.philox import block
from birthmark.numerics.compiled import kernel
from birthmark.samplers.arithmetic import code_of
from birthmark.samplers.normal import pair

#: Stored values that each decoy is scored on: one row of the made table.
VALUES: Final = 64
#: The sigmas above which scores are counted.
SIGMAS: Final = tuple(round(0.25 * step, 2) for step in range(4, 25))
#: The decoys' seeds: 2^40 and up, far from every seed that people use.
FIRST_SEED: Final = 1 << 40
#: Decoys that one thread scores at a time.
UNIT: Final = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """Decoys counted above each sigma.

    Attributes:
        decoys: how many were scored on each family's values.
        families: names, one a row of `counts`.
        counts: int64[families, sigmas], scores of at least that sigma.
    """

    decoys: int
    families: tuple[str, ...]
    counts: NDArray[np.int64]

    @property
    def expected(self) -> NDArray[np.float64]:
        """Decoys that a standard normal leaves above each sigma."""
        expected: NDArray[np.float64] = self.decoys * ndtr(-np.array(SIGMAS))
        return expected

    def as_dict(self) -> dict[str, Any]:
        """JSON types only."""
        return {
            "decoys": self.decoys,
            "values": VALUES,
            "sigmas": list(SIGMAS),
            "counts": dict(zip(self.families, self.counts.tolist(), strict=True)),
        }


def stored_values(seed: int) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Values of every null family, `VALUES` each: what decoys are scored on, centred and of unit length."""
    rows = []
    for number, fill in enumerate(FAMILIES.values()):
        table, _ = fill(np.random.default_rng([seed, number, 1]), number)
        rows.append(table.reshape(-1)[:VALUES].astype(np.float64))
    values = np.array(rows)
    values -= values.mean(axis=1, keepdims=True)
    values /= np.sqrt((values * values).sum(axis=1, keepdims=True))
    return tuple(FAMILIES), values


def measure(decoys: int, seed: int, workers: int, told: Callable[[int, int], None] | None = None) -> Tail:
    """Score decoys on all families.

    Args:
        decoys: how many; rounded up to whole units.
        seed: what the stored values come from.
        workers: threads.
        told: called with the decoys done and those to do.
    """
    names, rows = stored_values(seed)
    values = np.ascontiguousarray(rows.T)
    sigmas = np.array(SIGMAS)
    code = code_of("nvidia-volta+")
    starts = range(0, decoys, UNIT)
    total = np.zeros((len(names), len(SIGMAS)), np.int64)

    def unit(start: int) -> NDArray[np.int64]:
        counts = np.zeros_like(total)
        count_scores(np.uint64(FIRST_SEED + start), UNIT, values, sigmas, code, counts)
        return counts

    with ThreadPoolExecutor(workers, thread_name_prefix="birthmark-tail") as pool:
        try:
            for done, counts in enumerate(pool.map(unit, starts), 1):
                total += counts
                if told is not None:
                    told(done * UNIT, len(starts) * UNIT)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    return Tail(len(starts) * UNIT, names, total)


@kernel()
def count_scores(
    first: np.uint64,
    decoys: int,
    values: NDArray[np.float64],
    sigmas: NDArray[np.float64],
    code: np.uint32,
    counts: NDArray[np.int64],
) -> None:
    """Count the scores of consecutive seeds above each sigma.

    Args:
        first: the first seed.
        decoys: how many seeds.
        values: float64[n, families], n even, each column of mean 0 and length 1.
        sigmas: float64, ascending.
        code: of the arithmetic.
        counts: int64[families, sigmas], added to.
    """
    n, families = values.shape
    root = np.sqrt(np.float64(n))
    along = np.zeros(families)
    for decoy in range(decoys):
        key = first + np.uint64(decoy)
        along[:] = 0.0
        total = 0.0
        squares = 0.0
        for i in range(n // 2):
            x, y, _, _ = block(key, np.uint64(0), np.uint64(i))
            sine, cosine = pair(x, y, code)
            z, w = np.float64(sine), np.float64(cosine)
            total += z + w
            squares += z * z + w * w
            for family in range(families):
                along[family] += z * values[2 * i, family] + w * values[2 * i + 1, family]
        length = np.sqrt(squares - total * total / n)
        for family in range(families):
            sigma = along[family] / length * root
            for place in range(sigmas.shape[0]):
                if sigma < sigmas[place]:
                    break
                counts[family, place] += 1
