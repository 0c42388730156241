"""The dictionary of seeds: what must be in it, what it stays out of, and what it says about a number."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from birthmark.recipes.megatron import expert_seed, stream_seed
from birthmark.recipes.seeds import NAMED, describe, dictionary, name_of


def test_dictionary_is_a_sorted_set() -> None:
    """Unsigned 64-bit numbers, ascending, each once, and nobody can change them."""
    seeds = dictionary()
    assert seeds.dtype == np.uint64
    assert bool(np.all(seeds[1:] > seeds[:-1]))
    with pytest.raises(ValueError, match="read-only"):
        seeds[0] = 1


def test_dictionary_stays_small() -> None:
    """With half a million entries, all layouts of the table are tried in about a second."""
    assert 300_000 < dictionary().size < 500_000


@pytest.mark.parametrize(
    "seed",
    [
        0,
        42,
        200_000,
        20_240_131,
        31_012_024,
        1_312_024,
        991_231,
        stream_seed(20_240_131, tp=15),
        67_280_421_310_721,
        34_342_423_252,
        42_069 * 1024 + 300,
        0xDEADBEEF,
        2**32 - 1,
        2**64 - 1,
        2**64 - 100,
        *(stream_seed(base, tp=15, pp=31) for base in NAMED),
        *(expert_seed(base, ep=255) for base in NAMED),
    ],
)
def test_dictionary_holds_what_people_use(seed: int) -> None:
    """Defaults, dates, habits and what the rules make of them on late ranks are all tried first."""
    seeds = dictionary()
    assert int(seeds[np.searchsorted(seeds, np.uint64(seed))]) == seed


def test_every_date_is_in() -> None:
    """Each day from 1970 to 2030 is there in the three eight-digit orders."""
    seeds = set(dictionary().tolist())
    day = dt.date(1970, 1, 1)
    while day.year < 2031:
        for form in ("%Y%m%d", "%d%m%Y", "%m%d%Y"):
            assert int(day.strftime(form)) in seeds
        day += dt.timedelta(days=1)


@pytest.mark.parametrize("seed", [3_812_746_019, 168_449_886, 1_594_280_920, 200_001 + 7_919, 2**63 + 12_345])
def test_dictionary_leaves_random_numbers_out(seed: int) -> None:
    """Seeds that nobody chose by hand are left to the full search, and nothing is said about them."""
    assert seed not in set(dictionary().tolist())
    assert describe(seed) is None
    assert name_of(seed) is None


@pytest.mark.parametrize(
    ("seed", "words"),
    [
        (1234, "Megatron-LM"),
        (42, "Hugging Face"),
        (67_280_421_310_721, "nobody seeded"),
        (3952, "1234 + 2718: Megatron's first model-parallel stream"),
        (43, "Paddle fleet"),
        (2760, "42 + 2718"),
        (2258, "1234 + 1024: Megatron's first expert stream"),
        (1_263_616, "1234 x 1024"),
        (60_041, "42 + 59999"),
        (20_240_131, "the date 2024-01-31 written YYYYMMDD"),
        (31_012_024, "the date 2024-01-31 written DDMMYYYY"),
        (20_242_849, "20240131 + 2718"),
        (2**64 - 1, "the negative seed -1"),
        (0xDEADBEEF, "habit"),
    ],
)
def test_describe(seed: int, words: str) -> None:
    """Known numbers are named with the rule and the place that they come from."""
    text = describe(seed)
    assert text is not None
    assert words in text


def test_describe_does_not_read_meaning_into_small_numbers() -> None:
    """A number without a name of its own gets none, though the flat scan covers it."""
    assert describe(5093) is None
    assert describe(11_111 + 1) is None


def test_name_is_for_the_exact_seed() -> None:
    """A derived seed has a description but no name."""
    assert name_of(1234) is not None
    assert name_of(3952) is None
