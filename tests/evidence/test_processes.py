"""Rules behind the seeds of several processes: shards, experts, layers; and what is not one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.checkpoints.opening import open_checkpoint
from birthmark.errors import UsageError
from birthmark.evidence.case import Case
from birthmark.evidence.elements import Elements
from birthmark.evidence.judge import Judged
from birthmark.evidence.maker import same_base
from birthmark.evidence.process_schemes import Kind, schemes
from birthmark.evidence.process_words import expert_rules, notes_of, process_notes, rule_note
from birthmark.evidence.processes import Fit, Process, chance, fit_rule, shared_base, shared_layout
from birthmark.evidence.weigh import weigh
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.recipes.config import Config, Experts, Model, Parallel
from birthmark.recipes.megatron_core import MegatronCore
from birthmark.recipes.sharding import Sharding

A100 = 221_184


def found(
    seeds: Sequence[int], kind: Kind = "shard", of: int | None = None, threads: int | None = A100
) -> list[Process]:
    """Processes with these seeds, each found by a search of 2^32."""
    return [
        Process(f"{kind} {index}", kind, index, of or len(seeds), seed, threads=threads)
        for index, seed in enumerate(seeds)
    ]


def fitted(processes: Sequence[Process]) -> Fit:
    """The fit, which must exist."""
    fit = fit_rule(processes)
    assert fit is not None
    return fit


def test_shards_of_a_vocabulary() -> None:
    """Eight consecutive seeds are Megatron's of base 1234, far beyond chance."""
    fit = fitted(found(range(3952, 3960)))
    assert (fit.first, fit.ranks, fit.scheme.size, fit.deviating) == (3952, 8, 1, ())
    assert fit.scheme.order == "ranks ascend with the rows"
    assert fit.log10_p < -30
    assert next((rule.name, base) for rule, base in fit.readings) == ("megatron-model", 1234)


def test_ranks_that_descend() -> None:
    """A table whose last rows belong to rank 0 is told by its order."""
    fit = fitted(found(range(3959, 3951, -1)))
    assert (fit.scheme.order, fit.first) == ("ranks descend with the rows", 3952)
    assert fit.significant


def test_one_shard_that_deviates_is_named() -> None:
    """Seven of eight fit; the eighth is named, and the choice of it is counted."""
    seeds = list(range(3952, 3960))
    seeds[5] = 77_123
    fit = fitted(found(seeds))
    assert [one.name for one in fit.deviating] == ["shard 5"]
    assert fit.ranks == 7
    assert -30 < fit.log10_p < -20
    assert "Not so: shard 5." in rule_note(fit)


def test_of_two_or_three_none_may_deviate() -> None:
    """Where two fit and a third does not, there is no rule."""
    assert fit_rule(found([3952, 3953, 4100])) is None
    assert fit_rule(found([3952])) is None


def test_random_seeds_have_no_rule() -> None:
    """Thousands of sets of independent seeds: none fits significantly, and hardly any at all."""
    rng = np.random.default_rng(20)
    for _ in range(300):
        seeds = rng.integers(0, 1 << 32, 4).tolist()
        fit = fit_rule(found(seeds))
        assert fit is None or not fit.significant


def test_small_seeds_by_chance_are_not_significant() -> None:
    """Two shards with 42 and 43 may be anybody's choice; the chance is not taken as one in 2^32."""
    fit = fitted(found([42, 43]))
    assert not fit.significant
    assert "chance does not exclude" in rule_note(fit)
    assert not fitted(found([1, 2])).significant
    rng = np.random.default_rng(8)
    fits = [fit_rule(found(rng.integers(0, 100, 4).tolist())) for _ in range(500)]
    assert not any(fit is not None and fit.significant for fit in fits)


@settings(deadline=None, max_examples=30)
@given(st.permutations(range(8)))
def test_shuffled_ranks_are_no_progression(order: list[int]) -> None:
    """The same numbers in another order are not the rule, but for the rare order that is one."""
    seeds = [3952 + rank for rank in order]
    fit = fit_rule(found(seeds))
    aligned = max(
        Counter(seed - step * index for index, seed in enumerate(seeds)).most_common(1)[0][1]
        for step in range(-8, 9)
    )
    if aligned < 6:
        assert fit is None or not fit.significant


@pytest.mark.parametrize(("ep", "order"), [(8, "8 neighbouring experts"), (32, "2 neighbouring experts")])
def test_experts_tell_the_number_of_ranks(ep: int, order: str) -> None:
    """64 experts under Megatron's rule: as many ranks as seeds, 100 apart, base 1234."""
    experts = Experts(count=64, width=16)
    model = Model(vocabulary=128, hidden=16, layers=1, heads=2, ffn=16, experts=experts)
    recipe, config = MegatronCore(), Config(model, Parallel(ep=ep))
    seeds = []
    for expert in range(64):
        block = recipe.blocks(config, f"model.layers.0.mlp.experts.{expert}.up_proj.weight")[0]
        seeds.append(recipe.seed_of(block.stream, 1234, config))
    fit = fitted(found(seeds, "expert"))
    assert (fit.ranks, fit.scheme.size, fit.first, fit.scheme.ranks) == (ep, 100, 2258, ep)
    assert fit.scheme.order.startswith(order)
    assert fit.readings[0][1] == 1234
    assert fit.log10_p < -4 * (ep - 2)


@pytest.mark.parametrize("truth", ["rule", "one deviates", "random"])
def test_experts_whose_seeds_were_searched(truth: str) -> None:
    """Eight experts on four ranks, drawn by themselves: their seeds are found one by one, then their rule."""
    rng = np.random.default_rng(4)
    seeds = [2258 + 100 * (expert // 2) for expert in range(8)]
    if truth == "one deviates":
        seeds[5] = 2300
    if truth == "random":
        seeds = rng.integers(2258, 2560, 8).tolist()
    draw, indices = Draw("normal", (0.0, 0.02), (48, 32), "bfloat16"), np.arange(0, 1536, 24)
    processes = []
    for expert, seed in enumerate(seeds):
        hypothesis = Hypothesis(draw, A100, offset=4 * (expert % 2))
        stored = hypothesis.values(seed, indices)
        tried = np.array([hypothesis.standard(seed, indices) for seed in range(2258, 2560)], np.float64)
        best = 2258 + int(np.argmax(tried @ stored.astype(np.float64)))
        processes.append(Process(f"expert {expert}", "expert", expert, 8, best, searched=1 << 32))
    assert [one.seed for one in processes] == seeds
    fit = fit_rule(processes)
    if truth == "random":
        assert fit is None or not fit.significant
        return
    assert fit is not None
    assert (fit.scheme.size, fit.scheme.ranks, fit.first, fit.significant) == (100, 4, 2258, True)
    assert [one.index for one in fit.deviating] == ([5] if truth == "one deviates" else [])


def test_expert_parts_and_round_robin() -> None:
    """Expert-tensor ranks add 1 within an expert; experts dealt out in turn are told from neighbours."""
    parts = [
        Process(f"expert {e}.{part}", "expert", e, 8, 2258 + 100 * (e // 2) + part, part=part)
        for e in range(8)
        for part in range(2)
    ]
    fit = fitted(parts)
    assert (fit.ranks, fit.scheme.size, fit.deviating) == (8, 100, ())
    dealt = fitted(found([2258 + 100 * (e % 4) for e in range(8)], "expert"))
    assert dealt.scheme.order == "every 4th expert on one rank"


def test_experts_of_one_rank_count_once() -> None:
    """Eight experts with one seed are one process: nothing to fit, nothing claimed."""
    fit = fit_rule(found([2258] * 8, "expert", of=64))
    assert fit is None or (fit.ranks == 1 and not fit.significant)


def test_layers_of_pipeline_stages() -> None:
    """Sixteen layers on four stages, 100 apart; virtual chunks are told from plain stages."""
    plain = fitted(found([3952 + 100 * (layer // 4) for layer in range(16)], "layer"))
    assert (plain.ranks, plain.scheme.order) == (4, "4 neighbouring layers a stage")
    chunked = fitted(found([3952 + 100 * (layer // 2 % 4) for layer in range(16)], "layer"))
    assert chunked.scheme.order == "2 chunks of 2 layers a stage"


def test_a_progression_that_no_framework_has() -> None:
    """Steps of 37 fit a rule of their own, with one number more that was fitted to them."""
    fit = fitted(found([900_001 + 37 * rank for rank in range(6)]))
    assert (fit.scheme.free, fit.scheme.size, fit.readings) == (2, 37, ())
    assert fit.significant
    weak = fitted(found([900_001, 900_038]))
    assert weak.log10_p == 0.0


def test_seeds_that_a_rule_predicted_count_by_their_scores() -> None:
    """A shard that was only tested gives the chance of its score; the one that was found gives the base."""
    searched = Process("shard 0", "shard", 0, 2, 3952, searched=10**7, threads=A100)
    tested = Process("shard 1", "shard", 1, 2, 3953, searched=1, log10_p=-200.0, threads=A100)
    fit = fitted([searched, tested])
    assert fit.log10_p == pytest.approx(-200.0 + np.log10(fit.trials), abs=0.1)
    assert chance(searched) == pytest.approx(np.log10(1 / (3953 * 12)))
    unscored = fitted([searched, Process("shard 1", "shard", 1, 2, 3953, searched=1)])
    assert unscored.log10_p == 0.0


def test_processes_that_share_a_layout() -> None:
    """Distinct seeds count, equal ones do not; others are told apart."""
    mixed = [*found([3952, 3953, 3954]), *found([9, 9]), *found([11], threads=None)]
    shared = shared_layout(mixed)
    assert shared is not None
    assert (shared.threads, shared.processes, shared.others) == (A100, 4, 1)
    assert shared_layout(found([3952], threads=A100)) is None
    assert shared_layout(found([1, 2], threads=None)) is None


def test_shards_and_experts_of_one_base() -> None:
    """Model-parallel and expert streams lead to one base seed, also from a later stage; others do not."""
    shards = fitted(found(range(77_718 - 5, 77_718 - 1)))  # base 74,995
    experts = fitted(found([74_995 + 300 + 1024 + 100 * (e // 4) for e in range(16)], "expert"))
    both = shared_base(shards, experts)
    assert both is not None
    assert (both.base, both.framework, both.stages) == (74_995, "Megatron-LM", 3)
    assert both.log10_p < -3
    stranger = fitted(found([81_111 + 100 * (e // 4) for e in range(16)], "expert"))
    assert shared_base(shards, stranger) is None


def test_releases_of_one_maker() -> None:
    """A seed that nobody else uses, seen again, is the same base; a default seen again says nothing."""
    own = same_base({"A": found([913_276])[0], "B": found([913_276])[0], "C": found([5])[0]})
    assert own is not None
    assert (own.significant, own.same_rule, own.others) == (True, True, ("C",))
    default = same_base({"A": found([3952])[0], "B": found([3952])[0]})
    assert default is not None
    assert (default.base, default.rules["A"].name, default.significant) == (1234, "megatron-model", False)
    often = same_base({name: found([3952])[0] for name in "ABCDEFGH"})
    assert often is not None
    assert (often.log10_p, often.significant) == (default.log10_p, False)
    mixed = same_base({"A": found([913_276])[0], "B": found([913_276 + 2718])[0]})
    assert mixed is not None
    assert (mixed.base, mixed.same_rule) == (913_276, False)
    assert same_base({"A": found([913_276])[0], "B": found([555_000_111])[0]}) is None


def test_notes_name_rule_order_and_layout() -> None:
    """A reading's notes: how many processes share the layout, and the rule with its probability."""
    shards = found(range(3952, 3956))
    named = {n: Process(f"shard {n} of table", *_rest(one)) for n, one in enumerate(shards)}
    notes = process_notes(named)
    assert notes[0] == "At least 4 separately seeded processes share the layout of 221,184 threads."
    assert "as Megatron-LM makes them of base seed 1234 (base + 2718 + 100 pp + tp)" in notes[1]
    assert process_notes({}) == []


def test_notes_do_not_count_one_seed_twice() -> None:
    """Shards of one seed are one seeding, which is said; other layouts beside the commonest are, too."""
    alike = {n: Process(f"shard {n} of table", *_rest(one)) for n, one in enumerate(found([42] * 4))}
    assert process_notes(alike) == [
        "4 of 4 shards of table have the same seed 42: they repeat each other's values and count as one "
        "seeding."
    ]
    apart = [*found([42, 43, 44]), *found([45], threads=None)]
    several = {n: Process(f"shard {n} of table", *_rest(one)) for n, one in enumerate(apart)}
    assert process_notes(several)[0].endswith(
        "221,184 threads; 1 more has another layout, or values that do not tell theirs."
    )


def test_an_unknown_base_seed_leaves_the_rule_open() -> None:
    """Steps of 1 from a base that nobody is known to use: each rule that gives one is named."""
    shards = found(range(81_234_567, 81_234_571))
    (_, note) = process_notes({n: Process(f"shard {n} of t", *_rest(one)) for n, one in enumerate(shards)})
    assert "Megatron-LM makes them of base seed 81231849" in note
    assert "of base seed 81234567 (base + rank)" in note


def _rest(one: Process) -> tuple[Kind, int, int, int, int, float, int | None]:
    return one.kind, one.index, one.of, one.seed, one.searched, one.log10_p, one.threads


def test_schemes_are_distinct() -> None:
    """No scheme is counted twice; mixed kinds and repeated processes are refused."""
    tried = schemes(found(range(3952, 3956)))
    assert len({tuple(np.subtract(one.steps, one.steps[0])) for one in tried}) == len(tried)
    with pytest.raises(UsageError, match="one kind"):
        fit_rule([*found([1]), *found([2], "expert")])
    with pytest.raises(UsageError, match="given twice"):
        fit_rule(found([1])[:1] * 2)


@pytest.mark.parametrize("deviates", [False, True])
def test_the_two_shards_of_a_real_table(cases: Path, deviates: bool) -> None:
    """Rule, order and layout of the shards of a trained table; a shard that the rule fails on is named."""
    checkpoint = open_checkpoint(cases / "megatron-tp2-a100")
    name = "model.embed_tokens.weight"
    values = checkpoint.rows(name, 0, 8192)
    draw = Draw("normal", (0.0, 0.02), (8192, 144), "bfloat16")
    hypothesis = Hypothesis(draw, A100, sharding=Sharding(2, "megatron"))
    untouched = np.flatnonzero((values == hypothesis.tensor(3952)).mean(axis=1) > 0.9)
    parts = []
    for rows in (untouched[::2], untouched[1::2]):
        indices = (rows[:, None] * 144 + np.arange(144)).ravel()
        stored = values.ravel()[indices].astype(np.float64)
        parts.append(Elements(indices, stored, np.repeat(rows, 144)))
    case = Case(
        tensor=name,
        shape=(8192, 144),
        dtype="bfloat16",
        axis="row",
        scale=0.02,
        hypothesis=hypothesis,
        seed=3952,
        selection=parts[0],
        holdout=parts[1],
        trials=10**7,
        holdout_trials=1,
        layouts=(A100, 270_336),
    )
    judged = [Judged(weigh(case.of_rank(rank)), None) for rank in (0, 1)]
    if deviates:
        wrong = weigh(replace(case, seed=7000).of_rank(1))
        judged[1] = Judged(replace(wrong, case=replace(wrong.case, seed=3952)), None)
    notes = notes_of(judged, list(checkpoint.tensors))
    if deviates:
        assert notes == [
            f"Shard 1 of {name} is not predicted by seed 3953, which the rule of the other shards gives it."
        ]
        return
    assert notes[0] == "At least 2 separately seeded processes share the layout of 221,184 threads."
    assert notes[1].startswith(
        "The seeds of 2 shards of model.embed_tokens.weight on 2 ranks are 3952 plus 1 a rank (ranks ascend"
    )
    assert "base seed 1234" in notes[1]
    assert float(notes[1].split("log10 p ")[1].split()[0]) < -100
    assert expert_rules(judged, list(checkpoint.tensors)) == {}
