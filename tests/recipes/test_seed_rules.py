"""The rules that turn a base seed into those of streams: worked values, the way back, and the dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from birthmark.errors import UnknownName
from birthmark.recipes.seed_rules import (
    FLEET,
    FLEET_OLD,
    INTERNEVO,
    MEGATRON_EXPERT,
    MEGATRON_MODEL,
    MEGATRON_REMADE,
    NEOX_INTERIOR,
    PADDLENLP_GLOBAL,
    PADDLENLP_LOCAL,
    RULES,
    SeedRule,
    rule,
)
from birthmark.recipes.seeds import NAMED, dictionary


@pytest.mark.parametrize(
    ("made_by", "base", "ranks", "seed"),
    [
        (MEGATRON_MODEL, 42, {"tp": 3}, 2763),
        (MEGATRON_MODEL, 1234, {"pp": 15}, 5452),
        (MEGATRON_EXPERT, 1234, {"ep": 2}, 2458),
        (MEGATRON_REMADE, 1234, {}, 1234 + 2718 + 65_536),
        (NEOX_INTERIOR, 1234, {"position": 2}, 5092),
        (NEOX_INTERIOR, 1234, {"position": 4}, 5094),
        (FLEET, 42, {}, 43),
        (FLEET, 42, {"position": 4}, 47),
        (FLEET_OLD, 1234, {}, 1_263_616),
        (PADDLENLP_LOCAL, 42, {}, 60_041),
        (PADDLENLP_GLOBAL, 42, {"rank": 2}, 100_047),
        (INTERNEVO, 7, {"tp": 3, "pp": 2}, 2058),
    ],
)
def test_worked_seeds(made_by: SeedRule, base: int, ranks: dict[str, int], seed: int) -> None:
    """Each rule gives the seeds of the worked examples, and leads back to the base."""
    assert made_by.seed(base, **ranks) == seed
    assert made_by.base(seed, **ranks) == base


@given(st.sampled_from(RULES), st.integers(0, 2**32), st.integers(0, 7))
def test_a_rule_inverts(made_by: SeedRule, base: int, rank: int) -> None:
    """On any ranks the base comes back, below the point where 64 bits wrap."""
    ranks = {step.axis: rank for step in made_by.steps}
    assert made_by.base(made_by.seed(base, **ranks), **ranks) == base


def test_a_factor_leaves_most_numbers_without_a_base() -> None:
    """A seed that is no multiple of 1024 comes from no base seed under the older rule of fleet."""
    assert FLEET_OLD.base(1_263_617) is None
    assert FLEET_OLD.base(5, rank=1) is None


def test_the_dictionary_is_made_of_the_rules() -> None:
    """Whatever any rule makes of any named seed, on every rank that is tried, is in the dictionary."""
    seeds = dictionary()
    for made_by in RULES:
        derived = made_by.seeds(NAMED)
        assert np.array_equal(seeds[np.searchsorted(seeds, derived) % len(seeds)], derived), made_by.name


def test_formulas_read_as_people_write_them() -> None:
    """The text of a rule names what is added for each kind of rank."""
    assert MEGATRON_MODEL.formula == "base + 2718 + 100 pp + tp"
    assert FLEET_OLD.formula == "1024 base + 100 rank"


def test_unknown_rules_name_the_nearest() -> None:
    """Rules are found by name; a slip names the one that was meant."""
    assert rule("paddle-fleet") is FLEET
    with pytest.raises(UnknownName, match="megatron-expert"):
        rule("megatron-experts")
