"""What findings say about processes: from judgements to processes, and from fits to plain sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence

from birthmark.evidence.judge import Judged
from birthmark.evidence.process_schemes import Kind
from birthmark.evidence.processes import Fit, Process, SharedLayout, fit_rule, shared_layout
from birthmark.recipes.megatron import base_seed
from birthmark.recipes.naming import place_of
from birthmark.recipes.seeds import name_of

#: Rules of equal steps that are named, where no base seed tells them apart.
MOST_READINGS = 3
#: How names count experts and layers where they are of no known form.
_EXPERT = re.compile(r"experts?\.(\d+)\.")
_LAYER = re.compile(r"(?:^|\.)(?:layers?|blocks?|h)\.(\d+)\.")


def processes_of(reported: Sequence[Judged], names: Sequence[str]) -> dict[int, Process]:
    """The findings that stand for a process of a kind: shards of a table, single experts or layers.

    Args:
        reported: in the order of the findings.
        names: of all tensors of the checkpoint: they say how many experts or layers there are.

    Returns:
        By the number of the finding. Of a table whose shards one rule was searched for, the first shard that
        is reported paid for the search; the others were only tested.
    """
    found: dict[int, Process] = {}
    paid: set[tuple[str, int]] = set()
    for number, one in enumerate(reported):
        case, layouts = one.judgement.case, one.judgement.layouts
        threads = one.judgement.fit.hypothesis.threads if layouts is not None and layouts.separated else None
        ways, (expert, layer) = case.hypothesis.sharding.ways, _numbers(case.tensor)
        if case.rank is not None and ways > 1:
            tested = (case.tensor, case.seed) in paid
            paid.add((case.tensor, case.seed))
            score = one.judgement.holdout.log10_p_local
            found[number] = Process(
                f"shard {case.rank} of {case.tensor}",
                "shard",
                case.rank,
                ways,
                case.seed_of_rank,
                1 if tested else max(2, case.trials),
                score if tested and score is not None else 0.0,
                threads,
            )
        elif expert >= 0 or layer >= 0:
            kind: Kind = "expert" if expert >= 0 else "layer"
            index = expert if kind == "expert" else layer
            of = _of(case.tensor, index, names)
            found[number] = Process(
                case.tensor, kind, index, of, case.seed, max(2, case.trials), 0.0, threads
            )
    return found


def _numbers(tensor: str) -> tuple[int, int]:
    """The expert and the layer that a tensor's name says it belongs to; -1 for none."""
    place = place_of(tensor)
    if place is not None:
        return place.expert, place.layer
    expert, layer = _EXPERT.search(tensor), _LAYER.search(tensor)
    return (int(expert[1]) if expert else -1), (int(layer[1]) if layer else -1)


def _of(tensor: str, number: int, names: Sequence[str]) -> int:
    """How many experts the layer of a tensor has, or layers its model."""
    part = f".{number}."
    before, _, after = tensor.rpartition(part) if _EXPERT.search(tensor) else tensor.partition(part)
    numbers = [
        name[len(before) + 1 : -len(after) - 1]
        for name in names
        if name.startswith(f"{before}.") and name.endswith(f".{after}")
    ]
    return 1 + max((int(number) for number in numbers if number.isdigit()), default=number)


def expert_rules(reported: Sequence[Judged], names: Sequence[str]) -> dict[int, str]:
    """What the seeds of single experts say about the command line, by the number of the finding."""
    processes = processes_of(reported, names)
    found: dict[int, str] = {}
    for group in _groups({n: one for n, one in processes.items() if one.kind == "expert"}):
        fit = fit_rule(group)
        if fit is not None and fit.significant and fit.readings:
            rule, base = fit.readings[0]
            text = (
                f"{rule.framework}'s rule (seed = {rule.formula}) gives base seed {base}; {fit.scheme.order}."
            )
            indices = {one.index for one in fit.fitted}
            found |= {
                n: text for n, one in processes.items() if one.kind == "expert" and one.index in indices
            }
    return found


def notes_of(judged: Sequence[Judged], names: Sequence[str]) -> list[str]:
    """Notes of a reading about separately seeded processes, and shards that the common rule does not predict.

    Args:
        judged: all judgements, those without a finding included.
        names: of all tensors of the checkpoint.
    """
    reported = [one for one in judged if one.is_finding]
    ranks: dict[tuple[str, int], set[int]] = {}
    for one in reported:
        if one.judgement.case.rank is not None:
            ranks.setdefault((one.judgement.case.tensor, one.judgement.case.seed), set()).add(
                one.judgement.case.rank
            )
    # One shard alone shows no rule that another could break, unless it leads to a seed that people use.
    found = {
        (tensor, seed)
        for (tensor, seed), several in ranks.items()
        if len(several) > 1 or name_of(base_seed(seed) or -1) is not None
    }
    silent = [
        f"Shard {case.rank} of {case.tensor} is not predicted by seed {case.seed_of_rank}, which the rule of "
        "the other shards gives it."
        for one in judged
        if not one.is_finding
        and (case := one.judgement.case).rank is not None
        and (case.tensor, case.seed) in found
    ]
    return [*process_notes(processes_of(reported, names)), *silent]


def process_notes(processes: dict[int, Process]) -> list[str]:
    """Notes about processes: how many share a layout, and the rule that their seeds follow."""
    notes = []
    shared = shared_layout(tuple(processes.values()))
    if shared is not None:
        notes.append(
            f"At least {shared.processes} separately seeded processes share the layout of "
            f"{shared.threads:,} threads{_others(shared)}."
        )
    notes += _alike(processes)
    for group in _groups(processes):
        fit = fit_rule(group)
        if fit is not None and fit.ranks > 1:
            notes.append(rule_note(fit))
    return notes


def _others(shared: SharedLayout) -> str:
    if not shared.others:
        return ""
    return (
        f"; {shared.others} more {'has' if shared.others == 1 else 'have'} another layout, or values that do "
        "not tell theirs"
    )


def _alike(processes: dict[int, Process]) -> list[str]:
    """Shards with one seed among them: they are no separate seedings, however many processes drew them."""
    notes = []
    for group in _groups(processes):
        seeds = {one.seed for one in group}
        if group[0].kind == "shard" and len(seeds) == 1:
            notes.append(
                f"{len(group)} of {group[0].of} shards of {_table(group[0])} have the same seed "
                f"{seeds.pop()}: they repeat each other's values and count as one seeding."
            )
    return notes


def rule_note(fit: Fit) -> str:
    """A fit as a sentence or two."""
    kind, scheme = fit.fitted[0].kind, fit.scheme
    names = {"shard": "shards", "expert": "experts", "layer": "layers"}[kind]
    if kind == "shard" and (table := _table(fit.fitted[0])):  # two tables may have the same seeds
        names += f" of {table}"
    text = (
        f"The seeds of {len(fit.fitted)} {names} on {fit.ranks} ranks are {fit.first} "
        f"{'plus' if scheme.size >= 0 else 'minus'} {abs(scheme.size)} a rank ({scheme.order})"
    )
    text += _read_as(fit)
    text += f": log10 p {fit.log10_p:.1f} after {fit.trials} schemes"
    text += "." if fit.significant else ", which chance does not exclude."
    if fit.deviating:
        text += f" Not so: {', '.join(one.name for one in fit.deviating)}."
    return text


def _read_as(fit: Fit) -> str:
    """Whose rule that is: of a base seed that people are known to use, or else each rule that gives one."""
    readings = list(fit.readings)
    if readings and name_of(readings[0][1]) is not None:
        readings = readings[:1]
    readings.sort(key=lambda one: one[0].constant)  # the plainest first
    by_base = {base: rule for rule, base in reversed(readings)}
    told = [
        f"{rule.framework} {'make' if ' and ' in rule.framework else 'makes'} them of base seed {base} "
        f"({rule.formula})"
        for base, rule in reversed(by_base.items())
    ]
    if not told:
        return ""
    return f", as {' or '.join(told[:MOST_READINGS])}"


def _table(shard: Process) -> str:
    return shard.name.partition(" of ")[2]


def _groups(processes: dict[int, Process]) -> list[list[Process]]:
    """Processes that one rule can be fitted to: the shards of one table, the experts of one kind."""
    found: dict[tuple[str, str, int], dict[int, Process]] = {}
    for one in processes.values():
        table = _table(one) if one.kind == "shard" else ""
        found.setdefault((one.kind, table, one.of), {}).setdefault(one.index, one)
    return [list(group.values()) for group in found.values() if len(group) > 1]
