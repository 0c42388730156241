"""Which tensor of a checkpoint is which tensor of a trace, and whether the two fit at all.

Checkpoints often put the model's names under another ("final_state_dict.", "module."), or were saved from the
inner model, so that the trace's names have more in front. Both are found out. What then does not fit is
named: the first tensor of the trace that the checkpoint lacks or holds in another shape or kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from birthmark.checkpoints.interface import TensorInfo
from birthmark.errors import UsageError
from birthmark.numerics.dtypes import is_float
from birthmark.recipes.trace import Trace, TracedTensor


@dataclass(frozen=True, slots=True)
class Naming:
    """How the checkpoint's names follow from the trace's: `strip` taken off, `prefix` put in front.

    A traced name that does not begin with `strip` has no counterpart.
    """

    strip: str = ""
    prefix: str = ""

    def stored(self, traced: str) -> str | None:
        """The checkpoint's name of a traced tensor."""
        return self.prefix + traced.removeprefix(self.strip) if traced.startswith(self.strip) else None


@dataclass(frozen=True, slots=True)
class Match:
    """A trace on a checkpoint.

    Attributes:
        naming: how the names follow.
        names: the checkpoint's name of each traced tensor that it holds.
        absent: traced tensors that it does not hold.
        unexplained: its tensors under the same prefix that the trace has not.
    """

    naming: Naming
    names: dict[str, str]
    absent: tuple[str, ...]
    unexplained: tuple[str, ...]


def match_trace(
    trace: Trace, tensors: Mapping[str, TensorInfo], *, prefix: str | None = None, partial: bool = False
) -> Match:
    """Find a trace's tensors in a checkpoint.

    Args:
        trace: the trace.
        tensors: the checkpoint's.
        prefix: what stands before the model's names in the checkpoint; None to find out.
        partial: whether tensors of the trace may be missing. Buffers, tied tensors of which one is there, and
            what an inner model lacks may be in any case.

    Raises:
        UsageError: the trace does not fit; the message names the first tensor that differs.
    """
    found = {naming: _count(trace, tensors, naming) for naming in _namings(trace, tensors, prefix)}
    likely = [naming for naming, count in found.items() if count == max(found.values())]
    likely = [naming for naming in likely if naming.strip == likely[0].strip]
    problems = [_problem(trace, tensors, naming, partial=partial) for naming in likely]
    fitting = [naming for naming, problem in zip(likely, problems, strict=True) if problem is None]
    if not fitting:
        raise UsageError(
            f"the trace does not fit the checkpoint: {problems[0]}.",
            advice="Trace the model that the checkpoint is of.",
        )
    if len(fitting) > 1:
        choice = ", ".join(naming.prefix or "(none)" for naming in fitting)
        raise UsageError(
            f"the trace fits the checkpoint's tensors under several names: {choice}.",
            advice="Name the one that is meant with --prefix.",
        )
    naming = fitting[0]
    names = {
        each.name: stored
        for each in trace.tensors
        if (stored := naming.stored(each.name)) is not None and stored in tensors
    }
    used = set(names.values())
    rest = tuple(name for name in tensors if name.startswith(naming.prefix) and name not in used)
    absent = tuple(each.name for each in trace.tensors if each.name not in names)
    return Match(naming, names, absent, rest)


def _namings(trace: Trace, tensors: Mapping[str, TensorInfo], prefix: str | None) -> Iterator[Naming]:
    """Ways to bring the names together, the plainest first."""
    strips = dict.fromkeys(
        ["", *(f"{each.name.split('.')[0]}." for each in trace.tensors if "." in each.name)]
    )
    for strip in strips:
        inner = [each.name.removeprefix(strip) for each in trace.tensors if each.name.startswith(strip)]
        prefixes = {"": None} if prefix is None else {prefix: None}
        if prefix is None:
            for name in tensors:
                if name.endswith(f".{inner[0]}"):
                    prefixes[name.removesuffix(inner[0])] = None
        for each in prefixes:
            yield Naming(strip, each)


def _count(trace: Trace, tensors: Mapping[str, TensorInfo], naming: Naming) -> int:
    """How many tensors of the trace the checkpoint has under a naming."""
    return sum(naming.stored(each.name) in tensors for each in trace.tensors)


def _problem(trace: Trace, tensors: Mapping[str, TensorInfo], naming: Naming, *, partial: bool) -> str | None:
    """The first tensor of the trace that does not fit, in words; None where all do."""
    held = set()
    found = False
    for each in trace.tensors:
        stored = naming.stored(each.name)
        if stored is not None and stored in tensors:
            held.add(each.tied or each.name)
    for each in trace.tensors:
        stored = naming.stored(each.name)
        info = tensors.get(stored) if stored is not None else None
        if info is None:
            if stored is None or partial or each.buffer or (each.tied or each.name) in held:
                continue
            return f"{each.name} is not in it (looked for {stored})"
        if info.shape != each.shape:
            return f"{each.name} has the shape {each.shape} in the trace and {info.shape} in the checkpoint"
        if not _alike(each, info):
            return f"{each.name} is {each.dtype} in the trace and {info.dtype} in the checkpoint"
        found = True
    return None if found else "they have no tensor in common"


def _alike(traced: TracedTensor, stored: TensorInfo) -> bool:
    """Whether the dtypes can be those of one tensor: floats may have been cast, all else is what it was."""
    if is_float(traced.dtype):
        return is_float(stored.dtype) or stored.dtype.startswith("float8")
    return traced.dtype == stored.dtype
