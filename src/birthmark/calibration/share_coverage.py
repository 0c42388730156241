"""How often the interval of a share holds the share that was made: simulated mixtures of rows, and sums.

Each simulation makes a table of its own: other seeds, other layouts, another share. `python -m
birthmark.calibration.share_coverage` prints both figures; docs/mixtures.md quotes them.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.calibration.made import Made, MadeCheckpoint
from birthmark.evidence.case import Beside
from birthmark.evidence.combination import combine
from birthmark.evidence.elements import Elements
from birthmark.evidence.exactness import tally
from birthmark.evidence.mixture_account import Origin, account_for
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.numerics.dtypes import round_to

#: The tables that are made, and their untouched rows.
SHAPE: Final = (4096, 128)
UNTOUCHED: Final = 60
#: Layouts that they are drawn on: A100, H100, B200, RTX 4090.
LAYOUTS: Final = (221184, 270336, 303104, 196608)
DTYPES: Final = ("bfloat16", "float32", "float16")
#: The share of elements that a wrong seed explains.
CHANCE: Final = 0.01


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often intervals held the truth.

    Attributes:
        covered: how many did.
        of: how many were made.
        width: their median width.
    """

    covered: int
    of: int
    width: float

    @property
    def share(self) -> float:
        """Of all intervals; 0.95 is what they promise at the least."""
        return self.covered / self.of


def rows_coverage(simulations: int, seed: int = 0) -> Coverage:
    """Mixtures of rows: each row is dealt to one of two births with a share of its own for each table."""
    random = np.random.default_rng(seed)
    held, widths = 0, []
    for _ in range(simulations):
        share = float(random.uniform(0.03, 0.97))
        rows = np.sort(random.choice(SHAPE[0], UNTOUCHED, replace=False)).astype(np.int64)
        indices = (rows[:, None] * SHAPE[1] + np.arange(SHAPE[1])).ravel()
        dtype = DTYPES[int(random.integers(2))]
        drawn = [_stored(one, indices, dtype).reshape(UNTOUCHED, -1) for one in _two(random)]
        first = random.random(UNTOUCHED) < share
        table = np.zeros(SHAPE, np.float32)
        table[rows] = np.where(first[:, None], drawn[0], drawn[1])
        checkpoint = MadeCheckpoint(Made(table, dtype, rows))
        (name,) = checkpoint.tensors
        account = account_for(checkpoint, name, SHAPE, "row", [_origin(one, indices, table) for one in drawn])
        found = account.parts[0].share
        if found is not None:
            held += found.lo <= share <= found.hi
            widths.append(found.hi - found.lo)
    return Coverage(held, len(widths), float(np.median(widths)))


def sums_coverage(simulations: int, seed: int = 0) -> Coverage:
    """Weighted sums of two draws in float32; the truth is the weight that was meant, in two digits."""
    random = np.random.default_rng(seed)
    held, widths = 0, []
    for _ in range(simulations):
        weight = round(float(random.uniform(0.05, 0.95)), 2)
        rows = np.sort(random.choice(SHAPE[0], UNTOUCHED, replace=False)).astype(np.int64)
        indices = (rows[:, None] * SHAPE[1] + np.arange(SHAPE[1])).ravel()
        dtype = DTYPES[int(random.integers(len(DTYPES)))]
        both = _two(random)
        one, other = (_stored(each, indices, "float32") for each in both)
        summed = np.float32(weight) * one + np.float32(1.0 - weight) * other
        values = np.asarray(round_to(summed, dtype), np.float64)
        share = combine(both, Elements(indices, values, indices // SHAPE[1]), dtype).share(0)
        held += share.lo <= weight <= share.hi
        widths.append(share.hi - share.lo)
    return Coverage(held, len(widths), float(np.median(widths)))


def _two(random: np.random.Generator) -> tuple[Beside, Beside]:
    """Two births: other seeds, or one seed on two devices."""
    seed = int(random.integers(1 << 20))
    layouts = random.permutation(np.array(LAYOUTS))[:2].tolist()
    draw = Draw("normal", (0.0, 0.02), SHAPE)
    other = seed if random.random() < 0.5 else seed + 1
    return Beside(Hypothesis(draw, layouts[0]), seed), Beside(Hypothesis(draw, layouts[1]), other)


def _stored(one: Beside, indices: NDArray[np.int64], dtype: str) -> NDArray[np.float32]:
    return np.asarray(round_to(one.hypothesis.values(one.seed, indices), dtype), np.float32)


def _origin(predicted: NDArray[np.float32], indices: NDArray[np.int64], table: NDArray[np.float32]) -> Origin:
    """A birth that predicts some values, among those of a table."""
    values = predicted.ravel()

    def near(elements: Elements) -> NDArray[np.bool_]:
        same: NDArray[np.bool_] = values[np.searchsorted(indices, elements.indices)] == elements.values
        return same

    units = tally(indices // SHAPE[1], values == table.ravel()[indices], CHANCE)
    return Origin(units.ids[units.predicted], near, CHANCE)


def main() -> None:
    """Print how often the intervals held the truth."""
    parser = argparse.ArgumentParser(description="Coverage of the intervals of shares.")
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    for what, measure in (("rows", rows_coverage), ("sums", sums_coverage)):
        found = measure(asked.simulations, asked.seed)
        sys.stdout.write(
            f"{what}: {found.covered} of {found.of} intervals hold the truth ({found.share:.3f}), "
            f"median width {found.width:.2g}\n"
        )


if __name__ == "__main__":
    main()
