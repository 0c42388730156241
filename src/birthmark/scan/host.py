"""Draws of the CPU generator in a scan: what is tried on which tensors, and what one seed leads to.

Where nearly all survivors of a tensor lie on the lattice of a CPU sampler there is hardly a doubt, and they
are solved before any GPU seed is tried: alone where they are enough, else together with other tensors of the
constructor, else with the seeds that people use. Other survivors get two eliminations after the seeds of
GPUs, some five seconds of one core. Once a seed is known, its stream tells where all other tensors lie.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from birthmark.errors import NothingToSearch
from birthmark.evidence.solved import HostLook, held_against
from birthmark.generators.mt19937_field import DEGREE
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.scan.lattices import on_lattices
from birthmark.scan.state import State
from birthmark.scan.supposed import supposed_words
from birthmark.search.cpu_origin import CpuOrigin
from birthmark.search.known_seed import among_usual_seeds, locate_selections, reach_of
from birthmark.search.origin import Found
from birthmark.search.solve.equations import BITS
from birthmark.search.solve.recover import ATTEMPTS
from birthmark.search.solve.selections import (
    Lattice,
    lattice_of,
    recurs,
    solve_selection,
    solve_selections,
)
from birthmark.search.solve.sequence import starts
from birthmark.search.solve.solve import Unsolved
from birthmark.survivors.nearly_all import nearly_all
from birthmark.survivors.split import Holdout, Selection
from birthmark.survivors.survivor import Survivors

#: Tensors whose values are held against the CPU's lattices, and those that a known seed is tried on.
MOST_SIGHTS: Final = 64
#: Tensors on the lattice that are solved alone, and tried with the seeds that people use.
MOST_ALONE: Final = 3
#: Eliminations on survivors that lie on no lattice, or on one of an unknown scale: two seconds of a core
#: each.
DOUBTFUL_ELIMINATIONS: Final = 2


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """One tensor as it is tried: nearly all of its survivors, and a small hold-out."""

    survivors: Survivors
    selection: Selection
    holdout: Holdout
    lattice: Lattice | None

    @property
    def tensor(self) -> str:
        """The tensor's name."""
        return self.survivors.tensor


def sights(state: State, targets: Sequence[Survivors], names: Sequence[str] = ()) -> list[Sight]:
    """What is tried: tensors with survivors, and what lies on a CPU lattice where the survey's do not.

    Args:
        state: the scan.
        targets: what the survey found.
        names: the tensors to look into; all where there are none.
    """
    nominals = _nominals(state)
    seen = [sight for each in targets[:MOST_SIGHTS] if (sight := _sight(state, each)) is not None]
    sure = {each.tensor for each in seen if each.lattice is not None}
    others = on_lattices(state.checkpoint, sure, names, nominals)
    return seen + [sight for each in others if (sight := _sight(state, each)) is not None]


def _sight(state: State, target: Survivors) -> Sight | None:
    try:
        selection, holdout = nearly_all(state.checkpoint, target)
    except NothingToSearch:
        return None
    return Sight(target, selection, holdout, lattice_of(selection, _nominals(state)))


def on_the_lattice(state: State, seen: Sequence[Sight]) -> None:
    """Solve tensors whose values lie on a CPU lattice: alone, together, or by the seeds that people use."""
    sure = [(each, each.lattice) for each in seen if each.lattice is not None]
    sure.sort(key=lambda pair: -pair[1].words)
    for sight, lattice in sure[:MOST_ALONE]:
        if BITS * lattice.words >= DEGREE and not state.settled:
            _alone(state, sight)
    if len(sure) > 1 and not state.settled:
        _together(state, [sight for sight, _ in sure])
    for sight, _ in sure[:MOST_ALONE]:
        if not state.settled:
            _by_usual_seeds(state, sight)


def by_elimination(state: State, seen: Sequence[Sight]) -> None:
    """Try survivors that lie on no lattice: rounded, scaled afterwards, or perhaps of another generator."""
    doubtful = [(each, recurs(each.selection)) for each in seen if each.lattice is None]
    # Where the recurrence holds, all that solving takes is well spent.
    for sight in [each for each, holds in doubtful if holds][:MOST_ALONE]:
        if not state.settled:
            _alone(state, sight)
    open_ = [each for each, holds in doubtful if holds is None]
    refuted = [each for each, holds in doubtful if holds is False]
    for sight in (open_ + refuted)[:MOST_ALONE]:
        if state.settled:
            break
        unsolved = _alone(state, sight, DOUBTFUL_ELIMINATIONS)
        if unsolved is not None and unsolved.attempts:
            break  # the most promising of those that offer enough equations; another would cost as much
    for sight in open_[:1]:
        if not state.settled:
            _by_usual_seeds(state, sight)


def along_the_stream(state: State, seen: Sequence[Sight]) -> None:
    """Look for all other tensors in the stream of the seed that is known."""
    known = [one for one in state.solved if isinstance(one.judgement.origin, CpuOrigin)]
    if not known:
        return
    taken = {one.tensor for one in known}
    rest = [each for each in seen if each.tensor not in taken]
    if not rest:
        return
    ends = [_end(one.judgement.origin) for one in known if isinstance(one.judgement.origin, CpuOrigin)]
    elements = sum(info.size for info in state.checkpoint.tensors.values())
    reach = reach_of(ends, elements)
    origin = known[0].judgement.origin
    candidates = locate_selections(
        [each.selection for each in rest], origin.seed, reach, known[0].tensor, _nominals(state), ends
    )
    for sight, found in zip(rest, candidates, strict=True):
        if found is not None:
            _judge(state, sight, found)
    lost = [sight.tensor for sight, found in zip(rest, candidates, strict=True) if found is None]
    place = f"{reach:,} words of the stream of seed {origin.seed}"
    what = f"CPU draw, {place}, {len(rest) - len(lost)} of {len(rest)} found"
    state.looks.append(HostLook(tuple(each.tensor for each in rest), what, reach))


def _alone(state: State, sight: Sight, attempts: int = ATTEMPTS) -> Unsolved | None:
    """Solve one tensor; return why it was not solved."""
    found = solve_selection(sight.selection, _nominals(state), attempts=attempts)
    _solved(state, [sight], found)
    return found if isinstance(found, Unsolved) else None


def _together(state: State, sure: Sequence[Sight]) -> None:
    """Solve tensors on the lattice together, as PyTorch's default layers draw them one after the other."""
    order = {name: number for number, name in enumerate(state.checkpoint.tensors)}
    nominals = _nominals(state)
    for group in _groups(sorted(sure, key=lambda each: order[each.tensor])):
        first, last = order[group[0].tensor], order[group[-1].tensor]
        listed = [
            (each.name, each.shape) for each in list(state.checkpoint.tensors.values())[first : last + 1]
        ]
        orders: list[tuple[list[Sight], list[int]]] = []
        for norms_draw in (False, True):
            at = starts(listed, norms_draw=norms_draw)
            part = [each for each in group if each.tensor in at]
            order_ = (part, [at[each.tensor] for each in part])
            if len(part) > 1 and order_ not in orders:
                orders.append(order_)
        # One subset of each order first: where no word is wrong, that is enough for the right one.
        for attempts in (1, ATTEMPTS):
            for part, positions in orders:
                if not state.settled:
                    selections = [each.selection for each in part]
                    _solved(state, part, solve_selections(selections, positions, nominals, attempts=attempts))


def _groups(sure: Sequence[Sight]) -> list[list[Sight]]:
    """Tensors that one constructor may have drawn: those of one state dict, where a file holds several."""
    inner = Counter(each.tensor.partition(".")[2] for each in sure)
    if all(count == 1 for count in inner.values()):
        return [list(sure)]
    outer = dict.fromkeys(each.tensor.partition(".")[0] for each in sure)
    groups = [[each for each in sure if each.tensor.startswith(f"{name}.")] for name in outer]
    return [group for group in groups if len(group) > 1]


def _by_usual_seeds(state: State, sight: Sight) -> None:
    """Try the seeds that people use at the positions where draws usually start."""
    supposed = supposed_words(state, sight.tensor, sight.selection.shape)
    positions = tuple(dict.fromkeys((*_positions(sight.selection), *supposed)))
    tried, found = among_usual_seeds(sight.selection, positions, _nominals(state))
    for one in tried.tried:
        seeds = f"all {one.seeds:,}" if one.seeds == one.of else f"the first {one.seeds:,} of {one.of:,}"
        what = f"CPU draw, dictionary of seeds, index {one.index:,}: {seeds} seeds"
        reason = tried.reason if found is None else None
        state.looks.append(HostLook((sight.tensor,), what, one.seeds, reason, complete=one.seeds == one.of))
    if found is not None:
        _judge(state, sight, found)


def _positions(selection: Selection) -> tuple[int, int]:
    """Where draws usually start: with the stream, or after a constructor's draw of the same tensor."""
    size = 1
    for extent in selection.shape:
        size *= extent
    parameters = (0.0, 1.0) if selection.distribution == "normal" else (-1.0, 1.0)
    return 0, CpuDraw(selection.distribution, parameters, size).consumed


def _solved(state: State, part: Sequence[Sight], found: Found | list[Found] | Unsolved) -> None:
    """Take note of a solution, or of why there is none."""
    tensors = tuple(each.tensor for each in part)
    if isinstance(found, Unsolved):
        state.looks.append(HostLook(tensors, _solving(found.attempts, "not "), found.attempts, found.message))
        return
    several = found if isinstance(found, list) else [found]
    state.looks.append(HostLook(tensors, _solving(several[0].attempts), several[0].attempts))
    for sight, one in zip(part, several, strict=True):
        _judge(state, sight, one)


def _solving(attempts: int, negation: str = "") -> str:
    subsets = f"{attempts:,} subset{'' if attempts == 1 else 's'}"
    return (
        f"CPU draw, any seed and position, by solving for the generator's state, {subsets}, {negation}solved"
    )


def _judge(state: State, sight: Sight, found: Found) -> None:
    """Hold a candidate against the checkpoint; one that fails becomes a look that found nothing."""
    reading = held_against(state.checkpoint, sight.survivors, sight.selection, sight.holdout, found)
    if reading.matches:
        state.solved.append(reading)
        return
    what = f"CPU draw, seed {found.origin.seed}, {found.how}"
    state.looks.append(
        HostLook((sight.tensor,), what, 1, f"the candidate does not hold: {reading.judgement.reason}")
    )


def _end(origin: CpuOrigin) -> int:
    """Words up to the end of a draw."""
    return origin.index + CpuDraw(origin.distribution, origin.parameters, origin.size).consumed


def _nominals(state: State) -> tuple[float, ...]:
    return () if state.declared.scale is None else (state.declared.scale,)
