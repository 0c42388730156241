"""How often the vendor test is wrong, on simulated draws of each vendor and of a program in float64.

Run with `pytest tests/evidence/test_vendor_chance.py -m slow -s` for the table of docs/reading.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.evidence.exactness import same_bits
from birthmark.evidence.plain_float64 import plain_normals
from birthmark.evidence.vendor import against_amd, imitation
from birthmark.hypothesis import Arithmetic, Draw, Hypothesis
from birthmark.numerics.dtypes import round_to

STD = 0.02
RUNS = 100


def hypothesis_of(arithmetic: Arithmetic, size: int) -> Hypothesis:
    """A draw under one arithmetic."""
    return Hypothesis(Draw("normal", (0.0, STD), (size,)), 270336, arithmetic)


def other_tables(seed: int, size: int, bits: float, random: np.random.Generator) -> NDArray[np.float64]:
    """AMD's constants and steps, with units that are off by up to 2^-bits of the radius."""
    raw = hypothesis_of("amd", size).raw(seed, np.arange(size)).astype(np.float64)
    radius = np.maximum(np.sqrt(random.chisquare(2, size)), np.abs(raw))
    moved = (raw + radius * random.uniform(-1.0, 1.0, size) * 2.0**-bits).astype(np.float32)
    return np.asarray(moved * np.float32(STD), np.float64)


def stored(who: str, seed: int, size: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Values as somebody drew them, before they are stored."""
    indices = np.arange(size)
    if who == "float64":
        plain = plain_normals(hypothesis_of("amd", size), seed, indices)
        assert plain is not None
        return plain * STD
    if who.startswith("2^-"):
        return other_tables(seed, size, float(who[3:]), random)
    names: dict[str, Arithmetic] = {"nvidia": "nvidia-volta+", "amd": "amd"}
    return hypothesis_of(names[who], size).values(seed, indices).astype(np.float64)


def tally(who: str, size: int, dtype: str, random: np.random.Generator) -> tuple[int, int, int, float, bool]:
    """Telling values, those of either vendor, log10 of the ratio (0 for none), and if it is a program."""
    seed, indices = int(random.integers(1 << 53)), np.arange(size)

    def rounded(values: NDArray[Any]) -> NDArray[Any]:
        return round_to(np.asarray(values, np.float64), dtype)

    held = rounded(stored(who, seed, size, random))
    one, other = (
        rounded(hypothesis_of(name, size).values(seed, indices)) for name in ("nvidia-volta+", "amd")
    )
    telling = ~same_bits(one, other)
    nvidia = int(np.count_nonzero(telling & same_bits(held, one)))
    amd = int(np.count_nonzero(telling & same_bits(held, other)))
    best = one if nvidia >= amd else other
    plain = plain_normals(hypothesis_of("amd", size), seed, indices)
    assert plain is not None
    program = rounded(plain * STD)
    apart = ~same_bits(best, program)
    of_best = int(np.count_nonzero(apart & same_bits(held, best)))
    of_program = int(np.count_nonzero(apart & same_bits(held, program)))
    named = imitation(of_best, of_program, best_name="NVIDIA's") is not None
    found = against_amd(nvidia, amd, int(telling.sum()))
    return int(telling.sum()), nvidia, amd, 0.0 if found is None else found.log10, named


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "size"), [("bfloat16", 50_000), ("float32", 500), ("float32", 5000)])
@pytest.mark.parametrize("who", ["nvidia", "amd", "2^-20", "2^-21", "2^-22", "float64"])
def test_no_ratio_of_a_hundred_is_wrong(who: str, dtype: str, size: int) -> None:
    """Of 100 simulations none has a ratio above 100 for the wrong side; a program is named, and no GPU is."""
    random = np.random.default_rng(20261130)
    runs = [tally(who, size, dtype, random) for _ in range(RUNS)]
    ratios = np.array([run[3] for run in runs])
    programs = sum(run[4] for run in runs)
    telling, nvidia, amd = np.mean([run[:3] for run in runs], axis=0)
    print(  # noqa: T201
        f"| {dtype}, {size:,} | {who} | {telling:.0f} | {nvidia:.0f} | {amd:.0f} | "
        f"{' to '.join(f'{each:.1f}' for each in np.quantile(ratios, [0.05, 0.95]))} | {programs} |"
    )
    wrong = ratios > 2.0 if who != "nvidia" else ratios < -2.0
    assert not wrong.any()
    if dtype == "float32":
        assert programs == (RUNS if who == "float64" else 0)
    else:
        assert programs == 0 or who == "float64"
    if who == "nvidia":
        assert np.mean(ratios > 1.0) > 0.8


@pytest.mark.parametrize("who", ["nvidia", "2^-21", "float64"])
def test_one_draw_of_each_kind_is_not_misread(who: str) -> None:
    """One float32 draw each: the ratio is on its side or absent, and only the program is named as one."""
    *_, ratio, named = tally(who, 2000, "float32", np.random.default_rng(3))
    assert named == (who == "float64")
    assert ratio > 2.0 if who == "nvidia" else ratio <= 0.0
