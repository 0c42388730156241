"""Null checkpoints: tables in which a scan must not find a seed.

Every family fills the whole table; `made.trained` then trains all rows but some. Some families are pure
noise, some have the structure that critics of correlations point at, and some are true draws of the right
generator that only the searched seeds, places or layouts do not explain: the hardest to tell from a finding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.calibration.made import DTYPES, SCALE, SHAPE, Made, some_rows, trained
from birthmark.calibration.seeds import searched_seed
from birthmark.devices.catalogue import table_threads
from birthmark.errors import UnknownName
from birthmark.generators.threefry import key_of
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.jax_draw import JaxDraw

#: Rows that training leaves alone.
KEPT: Final = 48
#: Seeds from here on are in no searched range.
BEYOND: Final = 1 << 40
#: A generator's offset that no scan tries by itself.
LATE_OFFSET: Final = 4 * 1_000_003

Values = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Null:
    """A null checkpoint.

    Attributes:
        made: the table.
        threads: the G of the launch that drew it, which a scan may name; None where no launch did.
    """

    made: Made
    threads: int | None


def null(family: str, random: np.random.Generator, number: int) -> Null:
    """The null checkpoint `number` of a family.

    Args:
        family: one of `FAMILIES`.
        random: where it comes from.
        number: decides the stored dtype, and which seeds are searched.

    Raises:
        UnknownName: no such family.
    """
    if family not in FAMILIES:
        raise UnknownName("family of null checkpoints", family, FAMILIES)
    initial, threads = FAMILIES[family](random, number)
    dtype = DTYPES[number % len(DTYPES)]
    return Null(trained(random, initial, some_rows(random, KEPT), dtype), threads)


def drawn(seed: int, threads: int, *, offset: int = 0) -> Values:
    """A table as a GPU draws it."""
    values = Hypothesis(Draw("normal", (0.0, SCALE), SHAPE), threads, offset=offset).tensor(seed)
    return values.astype(np.float32)


def informative_threads() -> list[int]:
    """The G's of the device table of which the table holds more than one wave and a half."""
    return [threads for threads in table_threads() if 3 * threads < 2 * SHAPE[0] * SHAPE[1]]


def _noise(random: np.random.Generator, _: int) -> tuple[Values, None]:
    return (SCALE * random.standard_normal(SHAPE)).astype(np.float32), None


def _uniform_noise(random: np.random.Generator, _: int) -> tuple[Values, None]:
    return random.uniform(-SCALE, SCALE, SHAPE).astype(np.float32), None


def _heavy_tails(random: np.random.Generator, _: int) -> tuple[Values, None]:
    return (SCALE * random.standard_t(3.0, SHAPE) / 3.0**0.5).astype(np.float32), None


def _shared_row(random: np.random.Generator, _: int) -> tuple[Values, None]:
    common = random.standard_normal((1, SHAPE[1]))
    return (SCALE * (0.7 * common + 0.7 * random.standard_normal(SHAPE))).astype(np.float32), None


def _low_rank(random: np.random.Generator, _: int) -> tuple[Values, None]:
    factors = random.standard_normal((SHAPE[0], 8)) @ random.standard_normal((8, SHAPE[1])) / 8.0**0.5
    return (SCALE * (0.9 * factors + 0.4 * random.standard_normal(SHAPE))).astype(np.float32), None


def _alike_rows(random: np.random.Generator, _: int) -> tuple[Values, None]:
    """Rows that any survey takes for untouched ones, and that share a tenth of their variance."""
    common = random.standard_normal((1, SHAPE[1]))
    own = random.standard_normal(SHAPE)
    return (SCALE * (0.1**0.5 * common + 0.9**0.5 * own)).astype(np.float32), None


def _repeated_rows(random: np.random.Generator, _: int) -> tuple[Values, None]:
    """Every row is one of eight, as where reserved tokens were copied from each other."""
    rows = SCALE * random.standard_normal((8, SHAPE[1]))
    return rows[random.integers(0, 8, SHAPE[0])].astype(np.float32), None


def _jax(random: np.random.Generator, number: int) -> tuple[Values, None]:
    """A searched seed, given to another generator and another way from words to normals."""
    draw = JaxDraw("normal", SHAPE[0] * SHAPE[1], factor=SCALE)
    values = draw.values(key_of(searched_seed(random, number)), np.arange(draw.size))
    return values.reshape(SHAPE), None


def _cpu(random: np.random.Generator, _: int) -> tuple[Values, None]:
    size = SHAPE[0] * SHAPE[1]
    draw = CpuDraw("normal", (0.0, SCALE), size, index=int(random.integers(0, 1 << 16)))
    values = draw.values(int(random.integers(0, 1 << 32)), np.arange(size))
    return values.reshape(SHAPE).astype(np.float32), None


def _other_seed(random: np.random.Generator, _: int) -> tuple[Values, int]:
    threads = int(random.choice(informative_threads()))
    return drawn(BEYOND + int(random.integers(0, 1 << 40)), threads), threads


def _other_offset(random: np.random.Generator, number: int) -> tuple[Values, int]:
    threads = int(random.choice(informative_threads()))
    return drawn(searched_seed(random, number), threads, offset=LATE_OFFSET), threads


def _shuffled(random: np.random.Generator, number: int) -> tuple[Values, None]:
    values = drawn(searched_seed(random, number), int(random.choice(informative_threads())))
    return values[random.permutation(SHAPE[0])], None


def _shifted(random: np.random.Generator, number: int) -> tuple[Values, None]:
    values = drawn(searched_seed(random, number), int(random.choice(informative_threads())))
    return np.roll(values, int(random.integers(1, SHAPE[1])), axis=1), None


#: By name: fills a whole table, and says the G of the launch that a scan may name.
FAMILIES: Final[dict[str, Callable[[np.random.Generator, int], tuple[Values, int | None]]]] = {
    "noise": _noise,
    "uniform-noise": _uniform_noise,
    "heavy-tails": _heavy_tails,
    "shared-row": _shared_row,
    "low-rank": _low_rank,
    "alike-rows": _alike_rows,
    "repeated-rows": _repeated_rows,
    "cpu": _cpu,
    "jax": _jax,
    "other-seed": _other_seed,
    "other-offset": _other_offset,
    "shuffled-rows": _shuffled,
    "shifted-columns": _shifted,
}
