"""How far one random call moves its generator: 32-bit words on the CPU, offsets on a GPU.

Each rule is read from the module under `birthmark.samplers` that makes the values; the words of calls that no
sampler predicts yet were counted on stock torch 2.13.0. A call whose cost is not known, because it depends on
its own values, ends the count: what follows in its stream has no position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from birthmark.devices.layout import Layout, launches
from birthmark.samplers import cpu_normal, cpu_scalar
from birthmark.samplers.bernoulli import Bernoulli
from birthmark.samplers.draw import Draw
from birthmark.samplers.exponential import Exponential
from birthmark.samplers.integers import Integers
from birthmark.samplers.torch_rules import TorchRules
from birthmark.samplers.truncated import LEAST_MASS, REDRAWING, masses

#: What a random call can be; "other" is a call whose name is kept and whose cost is not known.
DISTRIBUTIONS: Final = (
    "normal", "uniform", "truncated-normal", "exponential", "bernoulli", "integers", "permutation", "cauchy",
    "geometric", "log-normal", "other",
)  # fmt: skip

#: Each element takes two words on the CPU, whatever its dtype.
_TWO_WORDS: Final = ("exponential", "bernoulli", "cauchy", "geometric")
#: These have on a GPU the launches of a normal of the same dtype.
_LIKE_NORMAL: Final = ("normal", "uniform", "truncated-normal", "cauchy", "geometric", "log-normal")


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


def cpu_cost(call: Call, pending: bool, rules: TorchRules) -> tuple[int, bool] | None:
    """What a call costs on the CPU.

    Args:
        call: the call; of a truncated normal from torch 2.12 on, one round.
        pending: whether a scalar normal waits in the generator.
        rules: of the torch release.

    Returns:
        The words that it takes, and whether a scalar normal waits afterwards; None where that is not known.
    """
    kind, size = call.distribution, call.size
    width = 2 if call.dtype == "float64" else 1
    if kind == "truncated-normal":
        kind = round_of(call.parameters, rules)
    if size == 0 or kind == "other":
        return None if kind == "other" else (0, pending)
    if kind == "rejection":
        return 2 * width * size, pending
    if kind == "log-normal" or (kind == "normal" and (size < cpu_normal.BLOCK or not call.contiguous)):
        return cpu_scalar.consumed(size, kept=pending)
    if kind == "normal":
        half = call.dtype in ("bfloat16", "float16")
        return width * cpu_normal.consumed(size, half=half), pending
    if kind == "uniform":
        return width * size, pending
    if kind in _TWO_WORDS:
        return 2 * size, pending
    if kind == "integers":
        return size * (2 if _integers(call, rules).unroll == 2 else 1), pending
    return size - 1, pending  # a permutation swaps each place but the last


def gpu_cost(call: Call, threads: int, rules: TorchRules) -> int | None:
    """How far a call moves a GPU generator's offset; None where that is not known.

    Args:
        call: the call; of a truncated normal from torch 2.12 on, one round.
        threads: G of the device.
        rules: of the torch release.
    """
    sampler = _sampler(call, rules)
    if call.size == 0 or sampler is None:
        return 0 if call.size == 0 else None
    layout = Layout(threads)
    step = launches(call.size, sampler.width, layout, unroll=sampler.unroll, rule=rules.offsets)[1]
    twice = call.distribution == "truncated-normal" and round_of(call.parameters, rules) == "rejection"
    return 2 * step if twice else step


def per_call(call: Call, rules: TorchRules) -> int | None:
    """Values that one call of a GPU thread makes; None where that is not known."""
    sampler = _sampler(call, rules)
    return None if sampler is None else sampler.unroll


def round_of(parameters: tuple[float, ...], rules: TorchRules) -> str:
    """What one round of `trunc_normal_` draws.

    "uniform" up to torch 2.11, which takes one round; "normal", or where the bounds hold little of the
    normal's mass a "rejection": candidates and the chance to keep them, both uniform.
    """
    if rules.truncated != REDRAWING:
        return "uniform"
    below, up_to = masses(parameters)
    return "normal" if up_to - below > LEAST_MASS else "rejection"


def _sampler(call: Call, rules: TorchRules) -> Draw | Exponential | Bernoulli | Integers | None:
    """A sampler that costs on a GPU what the call does."""
    kind, dtype = call.distribution, call.dtype
    if kind in _LIKE_NORMAL:
        return Draw("normal", (0.0, 1.0), (), dtype)
    if kind == "exponential":
        return Exponential(1.0, dtype)
    if kind == "bernoulli":
        return Bernoulli(0.5, dtype)
    return _integers(call, rules) if kind == "integers" else None


def _integers(call: Call, rules: TorchRules) -> Integers:
    if not call.parameters:
        return Integers(dtype=call.dtype, version=rules.integers)
    low, high = (int(bound) for bound in call.parameters)
    return Integers(low, high, call.dtype, rules.integers)
