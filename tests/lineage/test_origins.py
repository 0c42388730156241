"""Seeds of two readings."""

from __future__ import annotations

from birthmark.lineage.origins import Origin, base_of, compare_seeds
from birthmark.lineage.relation import relate
from birthmark.lineage.seed_wording import about_base, about_seeds


def origin(tensor: str, seed: int, threads: int | None = 270_336, place: int = 0) -> Origin:
    """A finding of a seed."""
    return Origin(tensor, "philox", seed, threads, place, None, -200.0)


def test_one_seed_is_told_once() -> None:
    """A seed in five tensors of both is one sentence, with its meaning and how little it says."""
    both = [origin(f"layer{number}", 42, place=4 * number) for number in range(5)]

    seeds = compare_seeds(both, both)
    told = about_seeds(seeds)

    assert len(seeds.shared) == 1
    assert seeds.shared[0].same_values == tuple(f"layer{number}" for number in range(5))
    assert len([one for one in told if one.startswith("Both readings")]) == 1
    assert "and 1 more" in told[0]
    assert "This seed is known: default of Hugging Face" in told[0]
    assert "excludes nothing" in told[1]
    assert relate([], (both, both)).kind == "same-birth"


def test_two_layouts_are_no_proof_of_equal_values() -> None:
    """One seed on two layouts is named with both, and proves no value to be shared."""
    seeds = compare_seeds([origin("embed", 42)], [origin("embed", 42, 163_840)])

    assert seeds.proves is None
    assert "G = 270,336 in the first and 163,840 in the second" in about_seeds(seeds)[0]
    assert relate([], ([origin("embed", 42)], [origin("embed", 42, 163_840)])).kind == "one-seed"


def test_different_seeds() -> None:
    """Different seeds are said to be, and nothing is shared."""
    one, other = [origin("embed", 77)], [origin("embed", 987_654_321)]

    seeds = compare_seeds(one, other)

    assert seeds.different == ((77,), (987_654_321,))
    assert about_seeds(seeds) == [
        "The readings find different seeds: 77 in the first, 987654321 in the second."
    ]
    assert not relate([], (one, other)).is_common


def test_one_base_under_two_rules() -> None:
    """Seeds that two rules make of one uncommon base are one maker's, with the trials counted."""
    base = 918_273_645
    seeds = compare_seeds([origin("embed", base)], [origin("embed", base + 2718)])
    told = " ".join(about_seeds(seeds))

    assert seeds.base is not None
    assert seeds.base.significant
    assert f"one base seed, {base}" in told
    assert "combinations of rules tried" in told


def test_an_uncommon_seed_is_no_accident() -> None:
    """A seed that nobody would choose is shared by accident once in billions."""
    both = [origin("embed", 3_918_273_645)]
    base = compare_seeds(both, both).base

    assert base is not None
    assert base.log10_p < -9


def test_three_of_one_maker() -> None:
    """Of several checkpoints those whose seeds come from one base are named together, others apart."""
    found = {"1": [origin("a", 31_415_926)], "2": [origin("b", 31_415_926)], "3": [origin("c", 77)], "4": []}

    base = base_of(found)

    assert base is not None
    told = about_base(base)
    assert told.startswith("The seeds of 1, 2 come from one base seed")
    assert "not of 3" in told
    assert base_of({"1": [origin("a", 5)], "2": []}) is None


def test_nothing_found_is_nothing_said() -> None:
    """Without a reading on one side seeds say nothing."""
    assert about_seeds(compare_seeds([origin("embed", 42)], [])) == []
