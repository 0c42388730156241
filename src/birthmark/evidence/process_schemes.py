"""How seeds may follow from ranks: each progression that a framework makes of shards, experts or layers.

A scheme gives each process what its seed has above that of rank 0, and so also which processes are one rank.
Schemes that give all processes the same are one, and count once among the trials.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from birthmark.recipes.seed_rules import RULES, SeedRule

Kind = Literal["shard", "expert", "layer"]

#: Axes of rules along which each kind of process counts.
AXES: Final[dict[str, tuple[str, ...]]] = {
    "shard": ("tp", "rank", "position"),
    "expert": ("ep", "rank"),
    "layer": ("pp",),
}
#: Pipeline stages that rules which count ranks through the stages are tried with.
STAGES: Final = (1, 2, 4, 8, 16)
#: Virtual chunks that a stage may hold.
CHUNKS: Final = (1, 2, 4)


@dataclass(frozen=True, slots=True)
class Process:
    """A process whose seed was found.

    Attributes:
        name: what it drew, in words.
        kind: "shard": a run of rows of a table; "expert": one expert's matrices; "layer": one layer's.
        index: its number: of the shard from the top, of the expert, of the layer.
        of: how many there are of that kind.
        seed: its seed.
        searched: seeds among which it was found; 1 where a rule predicted the seed and it was only tested.
        log10_p: where it was only tested, log10 of the probability of so good a score under a wrong seed.
        threads: G of its layout, where the values separate it from all others.
        part: which part of an expert's matrices, where expert-tensor ranks share them.
    """

    name: str
    kind: Kind
    index: int
    of: int
    seed: int
    searched: int = 1 << 32
    log10_p: float = 0.0
    threads: int | None = None
    part: int = 0


@dataclass(frozen=True, slots=True)
class Scheme:
    """One way in which seeds follow from ranks.

    Attributes:
        steps: for each process what its seed has above that of rank 0; equal for processes of one rank.
        order: how ranks hold the processes, in words.
        ranks: how many ranks there are.
        size: what each rank adds.
        rules: the rules that have this step.
        free: numbers that are fitted to the seeds: the base, and the step where no rule gives it.
    """

    steps: tuple[int, ...]
    order: str
    ranks: int
    size: int
    rules: tuple[SeedRule, ...]
    free: int = 1


def schemes(processes: Sequence[Process]) -> tuple[Scheme, ...]:
    """The distinct schemes for processes of one kind; those of known rules first."""
    found: dict[tuple[int, ...], Scheme] = {}
    for scheme in (*_known(processes), *_free(processes)):
        key = tuple(step - scheme.steps[0] for step in scheme.steps)
        same = found.setdefault(key, scheme)
        if same is not scheme and scheme.order == same.order and scheme.free == same.free:
            rules = tuple(dict.fromkeys((*same.rules, *scheme.rules)))
            found[key] = Scheme(same.steps, same.order, same.ranks, same.size, rules, same.free)
    return tuple(found.values())


def _known(processes: Sequence[Process]) -> Iterator[Scheme]:
    kind = processes[0].kind
    for size, rules in _sizes(kind).items():
        for ranks, order, numbers in _orders(processes):
            parts = [one.part if kind == "expert" else 0 for one in processes]
            steps = tuple(size * rank + part for rank, part in zip(numbers, parts, strict=True))
            yield Scheme(steps, order, ranks, size, rules)


def _sizes(kind: Kind) -> dict[int, tuple[SeedRule, ...]]:
    """What ranks of a kind add under any rule, and which rules those are."""
    found: dict[int, list[SeedRule]] = {}
    for rule in RULES:
        for step in rule.steps:
            if step.axis in AXES[kind]:
                for stages in STAGES if step.axis == "position" else (1,):
                    found.setdefault(step.size * stages, []).append(rule)
    return {size: tuple(rules) for size, rules in found.items()}


def _orders(processes: Sequence[Process]) -> Iterator[tuple[int, str, list[int]]]:
    """(ranks, order in words, the rank of each process) of every way to hold the processes."""
    kind, of = processes[0].kind, processes[0].of
    indices = [one.index for one in processes]
    if kind == "shard":
        yield of, "ranks ascend with the rows", indices
        yield of, "ranks descend with the rows", [of - 1 - index for index in indices]
        return
    for ranks in (count for count in range(of, 1, -1) if of % count == 0):
        share = of // ranks
        if kind == "expert":
            held = f"{share} neighbouring experts a rank" if share > 1 else "one expert a rank"
            yield ranks, held, [index // share for index in indices]
            if share > 1:
                yield ranks, f"every {ranks}th expert on one rank", [index % ranks for index in indices]
            continue
        for chunks in CHUNKS:
            if share % chunks == 0:
                size = share // chunks
                text = f"{share} neighbouring layers a stage" if share > 1 else "one layer a stage"
                if chunks > 1:
                    text = f"{chunks} chunks of {size} layers a stage"
                yield ranks, text, [index // size % ranks for index in indices]


def _free(processes: Sequence[Process]) -> Iterator[Scheme]:
    """A progression with a step of its own, read off the first two processes that differ in rank and seed."""
    kind = processes[0].kind
    for ranks, order, numbers in _orders(processes):
        if kind != "shard" and (ranks != processes[0].of or not order.startswith("one ")):
            continue
        for one, other, a, b in zip(processes, processes[1:], numbers, numbers[1:], strict=False):
            if a != b and (other.seed - one.seed) % (b - a) == 0 and one.seed != other.seed:
                size = (other.seed - one.seed) // (b - a)
                yield Scheme(tuple(size * rank for rank in numbers), order, ranks, size, (), free=2)
                return
