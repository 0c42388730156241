"""Megatron-LM's seeds: the worked table of the rule, and the way back with its ambiguities."""

from __future__ import annotations

import pytest

from birthmark.recipes.megatron import base_seed, expert_seed, rule_text, stream_seed


@pytest.mark.parametrize(
    ("base", "tp0", "tp7", "pp1", "pp15", "ep0", "ep1", "ep31"),
    [
        (42, 2760, 2767, 2860, 4260, 1066, 1166, 4166),
        (1234, 3952, 3959, 4052, 5452, 2258, 2358, 5358),
        (1337, 4055, 4062, 4155, 5555, 2361, 2461, 5461),
        (3407, 6125, 6132, 6225, 7625, 4431, 4531, 7531),
        (5678, 8396, 8403, 8496, 9896, 6702, 6802, 9802),
        (6198, 8916, 8923, 9016, 10_416, 7222, 7322, 10_322),
        (1, 2719, 2726, 2819, 4219, 1025, 1125, 4125),
        (17, 2735, 2742, 2835, 4235, 1041, 1141, 4141),
        (2024, 4742, 4749, 4842, 6242, 3048, 3148, 6148),
        (8888, 11_606, 11_613, 11_706, 13_106, 9912, 10_012, 13_012),
    ],
)
def test_worked_seeds(
    base: int, tp0: int, tp7: int, pp1: int, pp15: int, ep0: int, ep1: int, ep31: int
) -> None:
    """Stream seeds are those of the rule's worked table, and shard 0 leads back to the base."""
    assert [stream_seed(base), stream_seed(base, tp=7)] == [tp0, tp7]
    assert [stream_seed(base, pp=1), stream_seed(base, pp=15)] == [pp1, pp15]
    assert [expert_seed(base, ep) for ep in (0, 1, 31)] == [ep0, ep1, ep31]
    assert base_seed(tp0) == base


def test_a_base_seed_is_positive() -> None:
    """Seeds up to 2718 cannot belong to shard 0; the text says so instead of naming a base."""
    assert base_seed(2718) is None
    assert base_seed(2719) == 1
    assert "does not give the seed 42" in rule_text(42, 1)


def test_one_shard_leaves_the_rank_open() -> None:
    """With a single shard the text names the base seed and both ambiguities; a second shard fixes tp."""
    one = rule_text(3952, 1)
    assert "base seed 1234" in one
    assert "1234 - tp" in one
    assert "1234 - 100 pp" in one
    two = rule_text(3952, 2)
    assert "3952 to 3953 fix tp" in two
    assert "1234 - tp" not in two
