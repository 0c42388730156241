"""The seeds that people use: defaults of frameworks, dates, habits, and what seed rules make of them.

A search tries these first. Every entry is an unsigned 64-bit number as the generator sees it; negative seeds
wrap. The named seeds were read in the public repositories that their texts name; dates and habits were not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from birthmark.recipes.megatron import MODEL_PARALLEL
from birthmark.recipes.seed_rules import (
    FLEET_OLD,
    MEGATRON_EXPERT,
    MEGATRON_MODEL,
    PADDLENLP_GLOBAL,
    PADDLENLP_LOCAL,
    RULES,
    SeedRule,
)
from birthmark.recipes.sharding import SEED_SPACE

#: Every seed up to here is in the dictionary, and so all that rules make of bases up to about 100,000.
FLAT_END = 200_000
#: Tensor-parallel ranks that dates as base seeds are tried with.
RANKS = range(16)
FIRST_DAY, LAST_DAY = np.datetime64("1970-01-01"), np.datetime64("2030-12-31")
ONE_DAY = np.timedelta64(1, "D")

#: Seeds that public code or launch files name, and where.
NAMED: dict[int, str] = {
    1234: "default of Megatron-LM, NeMo, Megatron-Bridge, GPT-NeoX, Pythia and Megatron-DeepSpeed",
    42: "default of Hugging Face transformers, PaddleNLP, nanotron, litgpt and lingua; seed of BLOOM",
    0: "default of OLMo-core's model generator and of many tools",
    43: "42 + 1: Paddle fleet's first model-parallel stream; 42 is PaddleNLP's default",
    1337: "default of nanoGPT; seed of OLMo-3 scripts",
    6198: "seed of OLMo 1 and 2",
    3407: "default of unsloth; seed of TinyLlama",
    17: "default of MosaicML's Composer and llm-foundry",
    1: "seed of Pythia's variant 1, and a first choice everywhere",
    1024: "seed of ColossalAI's examples",
    5678: "seed of Megatron-Bridge's fine-tuning recipes",
    123: "seed of Megatron-LM's tests and of custom scripts",
    777: "seed of lingua's training and of custom scripts",
    666: "seed of an OLMo stage and of custom scripts",
    12536: "seed of OLMo-core scripts",
    34521: "seed of OLMo-core's data",
    137: "seed of llm.c's tests",
    67280421310721: "seed of a torch.Generator or Paddle generator object that nobody seeded",
    34342423252: "initial value of a Paddle generator's seed field",
    **dict.fromkeys((42069, 1110, 2662, 6209, 7201, 683, 4123), "seed of an OLMo stage"),
    **dict.fromkeys((20, 1002), "seed of Paddle demos"),
    **{seed: f"seed of Pythia's variant {seed}" for seed in range(2, 10)},
    **dict.fromkeys(range(2021, 2027), "year as a seed, in custom scripts"),
    **dict.fromkeys((1000, 8888, 6666, 10, 100, 99), "seed of custom scripts"),
}

#: Large numbers that people type because they know them.
HABITS: tuple[int, ...] = (
    *(int("1234567890123456"[:length]) for length in range(6, 17)),
    *(int("3141592653589793238"[:length]) for length in range(6, 20)),
    *(int("2718281828459045235"[:length]) for length in range(6, 20)),
    *(int("1618033988749894848"[:length]) for length in range(6, 20)),
    *(int(digit * length) for digit in "123456789" for length in range(6, 20)),
    *(int("42" * times) for times in range(3, 10)),
    *(1 << bits for bits in range(18, 64)),
    *((1 << bits) - 1 for bits in range(18, 65)),
    *(10**power for power in range(6, 20)),
    987654321,
    9876543210,
    8675309,
    0xC0FFEE,
    0xBADC0DE,
    0xDEADBEEF,
    0xCAFEBABE,
    0xFEEDFACE,
    0x8BADF00D,
    0xDEADBEEFCAFEBABE,
    *(SEED_SPACE - below for below in range(1, 101)),
)


def _dates() -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Each way to write a day as a number, and that number for every day, in ascending days."""
    days = np.arange(FIRST_DAY, LAST_DAY + ONE_DAY)
    months = days.astype("datetime64[M]")
    year = days.astype("datetime64[Y]").astype(np.int64) + 1970
    month = months.astype(np.int64) % 12 + 1
    day = (days - months.astype("datetime64[D]")).astype(np.int64) + 1
    short = year % 100
    yield "YYYYMMDD", year * 10_000 + month * 100 + day
    yield "DDMMYYYY", day * 1_000_000 + month * 10_000 + year
    yield "MMDDYYYY", month * 1_000_000 + day * 10_000 + year
    yield "YYMMDD", short * 10_000 + month * 100 + day
    yield "DDMMYY", day * 10_000 + month * 100 + short
    yield "MMDDYY", month * 10_000 + day * 100 + short
    yield "YYYYMM", year * 100 + month


def _derived(rule: SeedRule) -> NDArray[np.uint64]:
    """What a rule makes of the named seeds, but for bases whose every seed the flat run holds anyway."""
    largest = int(rule.additions.max())
    beyond = [base for base in NAMED if base * rule.factor + largest > FLAT_END]
    return rule.seeds(beyond)


def _wrapped(numbers: Iterable[int]) -> NDArray[np.uint64]:
    return np.fromiter((number % SEED_SPACE for number in numbers), dtype=np.uint64)


def _distinct(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The numbers ascending, each once; numpy's own `unique` hashes, which is several times slower here."""
    ordered = np.sort(numbers)
    first: NDArray[np.uint64] = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])]
    return first


@cache
def dictionary() -> NDArray[np.uint64]:
    """All seeds that are tried first: uint64, ascending, each once; read-only."""
    dates = _distinct(np.concatenate([numbers for _, numbers in _dates()]).astype(np.uint64))
    ranks = np.arange(len(RANKS), dtype=np.uint64) + np.uint64(MODEL_PARALLEL)
    seeds = _distinct(
        np.concatenate(
            [
                np.arange(FLAT_END + 1, dtype=np.uint64),
                *(_derived(rule) for rule in RULES),
                _wrapped(HABITS),
                dates,
                np.add.outer(dates, ranks).ravel(),
            ]
        )
    )
    seeds.flags.writeable = False
    return seeds


@cache
def in_order() -> NDArray[np.uint64]:
    """The dictionary with the likelier seeds first: uint64, each once, read-only.

    Named seeds come first, then what rules make of them on the first rank, then all others from 0 up.
    """
    first = _wrapped([*NAMED, *(rule.seed(base) for base in NAMED for rule in RULES)])
    together = np.concatenate([first, dictionary()])
    _, where = np.unique(together, return_index=True)
    seeds: NDArray[np.uint64] = together[np.sort(where)]
    seeds.flags.writeable = False
    return seeds


def name_of(seed: int) -> str | None:
    """Where public code or launch files use exactly this seed; None where they are not known to."""
    return NAMED.get(seed)


@cache
def _readings() -> dict[int, str]:
    """What the rules make of each named seed on the first rank; of several readings the first counts."""
    rules = (
        (f"{{}} + {MODEL_PARALLEL}: Megatron's first model-parallel stream", MEGATRON_MODEL),
        (f"{{}} + {MEGATRON_EXPERT.constant}: Megatron's first expert stream", MEGATRON_EXPERT),
        (f"{{}} x {FLEET_OLD.factor}: first process under older Paddle fleet", FLEET_OLD),
        (f"{{}} + {PADDLENLP_LOCAL.constant}: PaddleNLP's first local stream", PADDLENLP_LOCAL),
        (f"{{}} + {PADDLENLP_GLOBAL.constant}: PaddleNLP's first global stream", PADDLENLP_GLOBAL),
    )
    found: dict[int, str] = {}
    for text, rule in rules:
        for base, where in NAMED.items():
            if base > 0:
                found.setdefault(rule.seed(base), f"{text.format(base)}; {base} is the {where}")
    return found


def _date(number: int) -> str | None:
    """The day that a number spells, if it spells all four digits of the year."""
    if number < 10**5:
        return None
    for form, numbers in _dates():
        if "YYYY" not in form:
            continue
        where = np.flatnonzero(numbers == number)
        if where.size:
            day = str(FIRST_DAY + where[0] * ONE_DAY)
            return f"the date {day[:7] if form == 'YYYYMM' else day} written {form}"
    return None


@cache
def describe(seed: int) -> str | None:
    """What this number is known as: a named seed, what a rule makes of one, a date or a habit.

    A hint for a reader, never evidence: small numbers can be read in many ways, and only the likeliest
    reading is given. None where nothing is known.
    """
    if text := NAMED.get(seed):
        return text
    if text := _readings().get(seed):
        return text
    if text := _date(seed):
        return text
    if text := _date(seed - MODEL_PARALLEL):
        return f"{seed - MODEL_PARALLEL} + {MODEL_PARALLEL}: Megatron's first model-parallel stream; {text}"
    if SEED_SPACE - 100 <= seed < SEED_SPACE:
        return f"the negative seed {seed - SEED_SPACE}"
    return "a number that people type by habit" if seed in HABITS else None
