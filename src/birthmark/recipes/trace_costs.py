"""How far one random call moves its generator: 32-bit words on the CPU, offsets on a GPU.

The rules are those of the modules under `birthmark.samplers` that make the values. A call whose cost is not
known, because it is none that a sampler makes, ends the count: what follows in its stream has no position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from birthmark.devices.layout import Layout, launches
from birthmark.errors import UsageError
from birthmark.samplers.bernoulli import Bernoulli
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.cuda_draw import Sampler
from birthmark.samplers.derived import Cauchy, Geometric, LogNormal
from birthmark.samplers.draw import Draw
from birthmark.samplers.exponential import Exponential
from birthmark.samplers.integers import Integers
from birthmark.samplers.permutation import Permutation
from birthmark.samplers.torch_rules import TorchRules
from birthmark.samplers.truncated import LEAST_MASS, REDRAWING, masses

#: What a random call can be; "other" is a call whose name is kept and whose cost is not known.
DISTRIBUTIONS: Final = (
    "normal", "uniform", "truncated-normal", "exponential", "bernoulli", "integers", "permutation", "cauchy",
    "geometric", "log-normal", "other",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """A random call as far as its cost goes.

    Attributes:
        distribution: one of `DISTRIBUTIONS`.
        parameters: as `birthmark.recipes.trace.TracedDraw` has them.
        size: elements of the tensor.
        dtype: of the tensor.
        contiguous: whether its elements follow each other in memory in their own order.
    """

    distribution: str
    parameters: tuple[float, ...]
    size: int
    dtype: str
    contiguous: bool = True


@dataclass(frozen=True, slots=True)
class Position:
    """Where a call starts in a CPU stream.

    Attributes:
        index: 32-bit words before it.
        kept_at: the index of the pair whose second normal the generator still keeps; None if it keeps none.
    """

    index: int = 0
    kept_at: int | None = None


def cpu_draw(call: Call, at: Position, version: str, arithmetic: str = "cpu-fused") -> CpuDraw:
    """A call at its place in a CPU stream.

    Raises:
        UsageError: no sampler makes such a call.
    """
    return CpuDraw(
        call.distribution,
        call.parameters,
        call.size,
        at.index,
        call.dtype,
        arithmetic,
        version,
        call.contiguous,
        at.kept_at,
    )


def cpu_after(call: Call, at: Position, version: str, rounds: int = 0) -> Position | None:
    """Where the next call starts on the CPU; None where that is not known.

    Args:
        call: the call.
        at: where it starts.
        version: of torch.
        rounds: of a truncated normal from torch 2.12 on: how many it takes beyond the first.
    """
    try:
        whole = cpu_draw(call, at, version)
    except UsageError:
        return None
    if not (call.distribution == "truncated-normal" and whole.call.rules.redraws):
        after = whole.after()
        return Position(after.index, after.kept_at)
    below, up_to = masses(call.parameters)
    steps = [Call("normal", call.parameters[:2], call.size, call.dtype, call.contiguous)]
    if up_to - below <= LEAST_MASS:
        steps = [Call("uniform", call.parameters[2:], call.size, call.dtype, call.contiguous)] * 2
    for step in steps * (1 + rounds):
        after = cpu_draw(step, at, version).after()
        at = Position(after.index, after.kept_at)
    return at


def gpu_cost(call: Call, threads: int, rules: TorchRules) -> int | None:
    """How far a call moves a GPU generator's offset; None where that is not known.

    Args:
        call: the call; of a truncated normal from torch 2.12 on, one round.
        threads: G of the device.
        rules: of the torch release.
    """
    if call.size == 0:
        return 0
    if call.distribution == "permutation":
        return Permutation(call.size, threads, 0, rules.integers, rules.offsets).end_offset
    try:
        sampler = _launched(call, rules)
    except UsageError:
        return None
    if sampler is None:
        return None
    layout = Layout(threads)
    step = launches(call.size, sampler.width, layout, unroll=sampler.unroll, rule=rules.offsets)[1]
    return 2 * step if _rejects(call, rules) else step


def per_call(call: Call, rules: TorchRules) -> int | None:
    """Values that one call of a GPU thread makes; None where that is not known."""
    try:
        sampler = _launched(call, rules)
    except UsageError:
        return None
    return None if sampler is None else sampler.unroll


def gpu_sampler(call: Call, rules: TorchRules) -> Sampler | None:
    """What makes the values of a call on a GPU, launch by launch; None where none does.

    Raises:
        UsageError: parameters or a dtype that cannot be.
    """
    kind, numbers, dtype = call.distribution, call.parameters, call.dtype
    match kind:
        case "normal" | "uniform" | "truncated-normal":
            version = rules.uniform if kind != "truncated-normal" else rules.truncated
            return Draw(kind, numbers, (call.size,), dtype, version)
        case "exponential":
            return Exponential(numbers[0], dtype, rules.exponential)
        case "bernoulli":
            return Bernoulli(numbers[0], dtype)
        case "integers":
            low, high = (int(each) for each in numbers) if numbers else (None, None)
            return Integers(low, high, dtype, rules.integers)
        case "log-normal":
            return LogNormal(numbers[0], numbers[1], dtype)
        case "cauchy":
            return Cauchy(numbers[0], numbers[1], dtype)
        case "geometric":
            return Geometric(numbers[0], dtype)
        case _:
            return None


def _launched(call: Call, rules: TorchRules) -> Sampler | None:
    """A sampler that has the launches of a call, or of one of the two of a rejection."""
    if _rejects(call, rules):
        return Draw("uniform", call.parameters[2:], (call.size,), call.dtype)
    return gpu_sampler(call, rules)


def _rejects(call: Call, rules: TorchRules) -> bool:
    return call.distribution == "truncated-normal" and round_of(call.parameters, rules) == "rejection"


def round_of(parameters: tuple[float, ...], rules: TorchRules) -> str:
    """What one round of `trunc_normal_` draws.

    "uniform" up to torch 2.11, which takes one round; "normal", or where the bounds hold little of the
    normal's mass a "rejection": candidates and the chance to keep them, both uniform.
    """
    if rules.truncated != REDRAWING:
        return "uniform"
    below, up_to = masses(parameters)
    return "normal" if up_to - below > LEAST_MASS else "rejection"
