"""What a seed explains of a whole traced model, tensors without survivors included."""

from __future__ import annotations

from birthmark.errors import UsageError
from birthmark.recipes.trace import Trace
from birthmark.replay.layouts import layout_scores
from birthmark.replay.matching import Match
from birthmark.replay.replaying import Birth, Replay
from birthmark.replay.scores import drawn_tensors, scores
from birthmark.scan.state import State
from birthmark.search.cpu_origin import CpuOrigin

#: A tensor shows the seed when the chance of its score, after all tensors, is below this.
SIGNIFICANT = -6.0


def account_for_model(state: State, trace: Trace, match: Match) -> None:
    """Hold the seed against every drawn tensor of the model, and say in how many it shows."""
    birth = _birth(state)
    if birth is None:
        return
    try:
        replay = Replay(trace, birth)
    except UsageError as error:
        state.notes.append(f"The trace does not say more: {error}")
        return
    tensors = drawn_tensors(state.checkpoint, trace, match)
    found = scores(state.checkpoint, replay, tensors, match)
    shown = [each for each in found.values() if each.rarer_than(SIGNIFICANT)]
    where = "the CPU" if birth.threads is None else f"G = {birth.threads:,}"
    text = (
        f"Trace: seed {birth.seed} on {where} shows in {len(shown)} of {len(tensors)} drawn tensors, at the "
        f"places that the trace gives ({len(found)} trials)"
    )
    weakest = min((each.r for each in shown if each.r is not None), default=None)
    state.notes.append(text + (f", the weakest with r = {weakest:.2f}." if weakest is not None else "."))
    layouts = layout_scores(state.checkpoint, trace, birth, match)
    if len(layouts) > 1:
        order = sorted(layouts, key=lambda threads: -layouts[threads])
        state.notes.append(
            f"By the trace's offsets G = {order[0]:,} explains the model best: the squares of its sigmas add "
            f"up to {layouts[order[0]]:,.0f}, those of the next, G = {order[1]:,}, to "
            f"{layouts[order[1]]:,.0f}."
        )


def _birth(state: State) -> Birth | None:
    """Seed and place of what was found."""
    for one in state.solved:
        origin = one.judgement.origin
        if isinstance(origin, CpuOrigin):
            return Birth(origin.seed, None, cpu_arithmetic=origin.arithmetic)
    for found in state.findings:
        hypothesis = found.judgement.fit.hypothesis
        if hypothesis.sharding.ways == 1:
            return Birth(found.judgement.case.seed, hypothesis.threads, hypothesis.arithmetic)
    return None
