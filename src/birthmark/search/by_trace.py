"""Searches that know where each tensor was drawn: a trace gives the offset for any G, and the CPU's index.

Without a trace a search tries the start of the stream and, with a seed in hand, the near offsets. With one,
each layout is tried at its own offset of the tensor, so that later tensors can be searched as well as the
first, and one seed is held against every tensor with a single trial each.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from birthmark.recipes.trace import Trace
from birthmark.recipes.trace_values import Applied, parts, sources
from birthmark.search.correlation import correlation, log10_p
from birthmark.search.families import other_families, own_family
from birthmark.search.layouts import resolve
from birthmark.search.options import Options
from birthmark.search.outcome import Candidate, Outcome, Searched, StageReport
from birthmark.search.plan import VERIFIED
from birthmark.search.report import hypothesis_text
from birthmark.search.space import Prediction, predictions, shardings
from birthmark.survivors.split import Selection

#: Elements by which it is seen whether a tensor is one draw in its own order.
SAMPLES = 1024
#: Numbers of rounds that are tried where the seed decides how many a call before took.
MOST_ROUNDS = 9


@dataclass(frozen=True, slots=True)
class Aim:
    """The call behind a tensor.

    Attributes:
        number: of the call.
        on_gpu: whether the trace says that it drew on a GPU; None where it leaves that open.
        truncated: whether its values are those of a truncated normal.
        seed: the seed of its stream where the program sets it itself; None where it is the user's.
    """

    number: int
    on_gpu: bool | None
    truncated: bool
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Layouts for which a tensor's draw starts at the same offset."""

    offset: int
    layouts: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TracedPlaces:
    """Where a checkpoint's tensors were drawn.

    Attributes:
        trace: the trace.
        names: the traced tensor behind each of the checkpoint's.
    """

    trace: Trace
    names: Mapping[str, str]
    _offsets: dict[tuple[int, tuple[tuple[int, int], ...]], tuple[int | None, ...]] = field(
        default_factory=dict
    )

    def aim(self, tensor: str) -> Aim | None:
        """The one call that filled a tensor in its own order; None where it is made otherwise."""
        name = self.names.get(tensor)
        traced = self.trace.tensor(name) if name is not None else None
        if traced is None or traced.size == 0:
            return None
        chosen = np.unique(np.linspace(0, traced.size - 1, min(traced.size, SAMPLES)).astype(np.int64))
        draw, element = sources(traced.value, chosen)
        drawn = draw >= 0
        numbers = np.unique(draw[drawn])
        if len(numbers) != 1 or not np.array_equal(element[drawn], chosen[drawn]):
            return None
        number = int(numbers[0])
        call = self.trace.draws[number]
        inverted = any(
            isinstance(each, Applied) and each.operation == "erfinv" for each in parts(traced.value)
        )
        if call.strides is not None or call.size != traced.size:
            return None
        if call.distribution not in ("normal", "uniform", "truncated-normal"):
            return None
        mixed = any(stream.device == "cuda" for stream in self.trace.streams)
        on_gpu = self.trace.streams[call.stream].device == "cuda" if mixed else None
        own = self.trace.streams[call.stream].seed
        return Aim(number, on_gpu, inverted or call.distribution == "truncated-normal", own)

    def groups(self, tensor: str, layouts: Sequence[int]) -> tuple[Group, ...]:
        """The offsets of a tensor's draw, each with the layouts that give it; likely rounds first."""
        aim = self.aim(tensor)
        if aim is None or aim.on_gpu is False:
            return ()
        found: dict[int, list[int]] = {}
        for rounds in self._rounds(aim.number):
            for threads in layouts:
                offset = self._offsets_of(threads, rounds)[aim.number]
                if offset is not None and threads not in found.setdefault(offset, []):
                    found[offset].append(threads)
        return tuple(Group(offset, tuple(sorted(same))) for offset, same in found.items())

    def indices(self, tensor: str) -> tuple[int, ...]:
        """Where a tensor's draw starts on the CPU: for the likely numbers of rounds, likeliest first."""
        aim = self.aim(tensor)
        if aim is None or aim.on_gpu:
            return ()
        found: dict[int, None] = {}
        for rounds in self._rounds(aim.number):
            position = self.trace.indices(rounds)[aim.number]
            if position is not None:
                found[position.index] = None
        return tuple(found)

    def _rounds(self, number: int) -> list[dict[int, int]]:
        return [each for each, _ in zip(self.trace.likely_rounds(number), range(MOST_ROUNDS), strict=False)]

    def _offsets_of(self, threads: int, rounds: Mapping[int, int]) -> tuple[int | None, ...]:
        key = (threads, tuple(sorted(rounds.items())))
        if key not in self._offsets:
            self._offsets[key] = self.trace.offsets(threads, rounds)
        return self._offsets[key]


def narrowed(options: Options, group: Group, aim: Aim) -> Options:
    """The search of one group: its layouts at its offset, truncated normals only if the trace has them."""
    return replace(
        options,
        also=options.also if aim.seed is None else (*options.also, aim.seed),
        offset=group.offset,
        layouts=group.layouts,
        ways=(1,),
        exhaustive=False,
        truncated=options.truncated and aim.truncated,
    )


def confirm(selection: Selection, seed: int, groups: Sequence[Group], options: Options, aim: Aim) -> Outcome:
    """Hold a known seed against a tensor at the places that the trace gives: one trial for each of them.

    Args:
        selection: what may be seen of the tensor.
        seed: the seed.
        groups: the offsets, each with its layouts.
        options: whether truncated normals are looked for.
        aim: the call behind the tensor.
    """
    began = time.monotonic()
    families = [own_family(selection)]
    families += other_families(selection) if options.truncated and aim.truncated else ()
    cuts = shardings(selection, (1,))
    classes: list[tuple[Group, Prediction]] = [
        (group, prediction)
        for group in groups
        for family in families
        for prediction in predictions(selection, group.layouts, cuts, group.offset, family)
    ]
    candidate = None
    if classes and len(selection.indices):
        look = np.unique(np.linspace(0, len(selection.indices) - 1, SAMPLES).astype(np.int64))
        values, indices = selection.values[look], selection.indices[look]
        scored = [correlation(values, each.hypothesis.standard(seed, indices)) for _, each in classes]
        best, chosen = classes[int(np.argmax(scored))]
        same = [
            each
            for group, each in classes
            if group is best and each.hypothesis.draw.distribution == chosen.hypothesis.draw.distribution
        ]
        found = resolve(selection, seed, same)
        score = log10_p(found.n, found.r, len(classes))
        if score < VERIFIED:
            candidate = Candidate(
                found.hypothesis, seed, found.n, found.r, score, found.not_excluded, found.rival
            )
    threads = tuple(sorted({each for group in groups for each in group.layouts}))
    report = StageReport(
        name="trace",
        seeds=1,
        predictions=len(classes),
        threads=threads,
        at_least=None,
        probes=0,
        miss_chance=0.0,
        units=(1, 1),
        complete=True,
        trials=len(classes),
        hits=0,
    )
    searched = Searched(
        seeds=(seed, seed + 1),
        layouts=threads,
        at_least=None,
        at_least_miss=1.0,
        hypotheses=tuple(
            hypothesis_text(selection, cut, f"the trace's offset {group.offset}")
            for group in groups
            for cut in cuts
        ),
        candidates_tested=int(candidate is not None),
        complete=True,
        trials=max(len(classes), 1),
        probes=0,
        miss_chance=0.0,
        stages=(report,),
        seconds=time.monotonic() - began,
    )
    return Outcome((candidate,) if candidate else (), searched, stopped=False)


def fewest_groups(places: TracedPlaces, tensors: Sequence[str], layouts: Sequence[int]) -> list[str]:
    """Tensors by what a search of all seeds costs: the fewest offsets first, else as they came."""
    cost = {tensor: len(places.groups(tensor, layouts)) or math.inf for tensor in tensors}
    return sorted(tensors, key=lambda tensor: cost[tensor])
