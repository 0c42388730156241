"""Seeds that readings find in two checkpoints: one seed, one maker's base seed, or different ones.

A seed says what initial values were, not who drew them: strangers who type the same number, on the same kind
of card, get the same ones. So the chance that a seed is shared by accident counts its being one that many
people use (`evidence.maker`), and one that is known as such says little by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from birthmark.checkpoints.interface import Checkpoint
from birthmark.evidence.maker import SameBase, same_base
from birthmark.evidence.processes import Process
from birthmark.recipes.seeds import describe
from birthmark.scan import ScanOptions, scan
from birthmark.search.options import Options


@dataclass(frozen=True, slots=True)
class Origin:
    """A seed that a reading found in a checkpoint.

    Attributes:
        tensor: where.
        generator, seed, threads: of the finding; threads None where the generator has no layout.
        place: the generator's position where the tensor's draw starts; None where it is not known.
        rule: the rule by which the seed was made; None where the reading names none.
        log10_p: of the finding on its hold-out, after trials.
    """

    tensor: str
    generator: str
    seed: int
    threads: int | None
    place: int | None = None
    rule: str | None = None
    log10_p: float | None = None


@dataclass(frozen=True, slots=True)
class SharedSeed:
    """One seed in both readings.

    Attributes:
        generator, seed: which.
        known: what the seed is known as; None where it is no known one.
        rule: the rule that either reading names.
        threads: total threads of the layouts in the first, and in the second.
        tensors: found in both.
        same_values: those drawn at one place in one layout: their initial values are the same.
        log10_p: of the weaker of the two findings.
    """

    generator: str
    seed: int
    known: str | None
    rule: str | None
    threads: tuple[tuple[int, ...], tuple[int, ...]]
    tensors: tuple[str, ...]
    same_values: tuple[str, ...]
    log10_p: float | None


@dataclass(frozen=True, slots=True)
class Seeds:
    """What two readings say of each other.

    Attributes:
        shared: seeds in both, one entry each.
        base: the base seed from which the first seeds of both come by rules; None without one.
        different: the seeds of either, where both have one and none is shared.
    """

    shared: tuple[SharedSeed, ...] = ()
    base: SameBase | None = None
    different: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    @property
    def proves(self) -> SharedSeed | None:
        """The shared seed from which some tensor was drawn alike in both; None without one."""
        found = [each for each in self.shared if each.same_values and each.log10_p is not None]
        return min(found, key=lambda each: each.log10_p or 0.0, default=None)


def origins_of(checkpoint: Checkpoint) -> tuple[Origin, ...]:
    """The seeds that a scan of those that people use finds, each once a tensor."""
    options = ScanOptions(search=Options(seeds=(0, 0)))
    reading = scan(checkpoint, options, command="birthmark lineage").reading
    found: dict[tuple[str, str, int, int | None, int | None], Origin] = {}
    for each in reading.findings:
        if each.seed is None:
            continue
        threads = each.layout.threads if each.layout else None
        place = each.offset if each.offset is not None else each.index
        score = each.holdout if each.holdout.log10_p_global is not None else each.selection
        origin = Origin(
            each.tensor, each.generator, each.seed, threads, place, each.seed_rule, score.log10_p_global
        )
        found.setdefault((each.tensor, each.generator, each.seed, threads, place), origin)
    return tuple(found.values())


def compare_seeds(first: Sequence[Origin], second: Sequence[Origin]) -> Seeds:
    """What the origins of two checkpoints have in common."""
    if not first or not second:
        return Seeds()
    keys = dict.fromkeys((each.generator, each.seed) for each in first)
    there = {(each.generator, each.seed) for each in second}
    shared = tuple(_shared(first, second, *key) for key in keys if key in there)
    base = base_of({"first": first, "second": second})
    different = None
    if not shared:
        different = (
            tuple(dict.fromkeys(each.seed for each in first)),
            tuple(dict.fromkeys(each.seed for each in second)),
        )
    return Seeds(shared, base, different)


def base_of(found: Mapping[str, Sequence[Origin]]) -> SameBase | None:
    """The base seed from which the first seeds of most of these come by rules; None without one.

    Args:
        found: the origins of each checkpoint, by a name for it; those without any are left out.
    """
    return same_base(
        {
            name: Process(name, "shard", 0, 1, origins[0].seed, threads=origins[0].threads)
            for name, origins in found.items()
            if origins
        }
    )


def _shared(first: Sequence[Origin], second: Sequence[Origin], generator: str, seed: int) -> SharedSeed:
    one, other = (
        [each for each in origins if (each.generator, each.seed) == (generator, seed)]
        for origins in (first, second)
    )
    tensors = [name for name in dict.fromkeys(each.tensor for each in one) if _of(other, name)]
    alike = [
        name
        for name in tensors
        if {(each.threads, each.place) for each in _of(one, name)}
        & {(each.threads, each.place) for each in _of(other, name)}
    ]
    best = [min((each.log10_p or 0.0 for each in side), default=0.0) for side in (one, other)]
    return SharedSeed(
        generator=generator,
        seed=seed,
        known=describe(seed),
        rule=next((each.rule for each in (*one, *other) if each.rule), None),
        threads=(_threads(one), _threads(other)),
        tensors=tuple(tensors),
        same_values=tuple(alike),
        log10_p=max(best),
    )


def _of(origins: Sequence[Origin], tensor: str) -> list[Origin]:
    return [each for each in origins if each.tensor == tensor]


def _threads(origins: Sequence[Origin]) -> tuple[int, ...]:
    return tuple(sorted({each.threads for each in origins if each.threads is not None}))
