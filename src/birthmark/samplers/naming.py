"""Draws by name: which numbers each takes, how they become a sampler, and whether its every bit is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from birthmark.errors import UnknownName, UsageError
from birthmark.samplers.bernoulli import Bernoulli
from birthmark.samplers.cuda_draw import Sampler
from birthmark.samplers.derived import Cauchy, Geometric, LogNormal
from birthmark.samplers.draw import Draw
from birthmark.samplers.exponential import Exponential
from birthmark.samplers.integers import Integers
from birthmark.samplers.torch_rules import TorchRules

#: Numbers by their names; None where one is left out that can be.
Numbers = Mapping[str, float | int | None]


@dataclass(frozen=True, slots=True)
class Kind:
    """A draw that has a name.

    Attributes:
        parameters: its numbers with PyTorch's defaults; `REQUIRED` where there is none.
        build: the sampler of (numbers, shape, dtype, rules).
        weights: whether layers are initialised with it, so that it can be sharded and distributed.
    """

    parameters: tuple[tuple[str, float | int | None], ...]
    build: Callable[[Numbers, tuple[int, ...], str, TorchRules], Sampler]
    weights: bool = False


#: Stands for the default of a number that has to be given.
REQUIRED: Final = math.nan


def _plain(name: str) -> Callable[[Numbers, tuple[int, ...], str, TorchRules], Sampler]:
    def build(given: Numbers, shape: tuple[int, ...], dtype: str, rules: TorchRules) -> Sampler:
        numbers = tuple(float(number or 0.0) for number in given.values())
        version = {"uniform": rules.uniform, "truncated-normal": rules.truncated}.get(name, "2.1+")
        return Draw(name, numbers, shape, dtype, version)  # type: ignore[arg-type]  # a key of the table

    return build


def _integers(given: Numbers, _: tuple[int, ...], dtype: str, rules: TorchRules) -> Sampler:
    for name, number in given.items():
        if number is not None and number != int(number):
            raise UsageError(f"{name} {number} of a draw of integers: expected a whole number.")
    low, high = (None if given[name] is None else int(given[name] or 0) for name in ("low", "high"))
    return Integers(low, high, dtype, rules.integers)


KINDS: Final[dict[str, Kind]] = {
    "normal": Kind((("mean", 0.0), ("std", 1.0)), _plain("normal"), weights=True),
    "uniform": Kind((("low", 0.0), ("high", 1.0)), _plain("uniform"), weights=True),
    "truncated-normal": Kind(
        (("mean", 0.0), ("std", 1.0), ("a", -2.0), ("b", 2.0)), _plain("truncated-normal"), weights=True
    ),
    "exponential": Kind(
        (("rate", 1.0),),
        lambda given, _, dtype, rules: Exponential(given["rate"] or 0.0, dtype, rules.exponential),
    ),
    "log-normal": Kind(
        (("mean", 1.0), ("std", 2.0)),
        lambda given, _, dtype, __: LogNormal(given["mean"] or 0.0, given["std"] or 0.0, dtype),
    ),
    "cauchy": Kind(
        (("median", 0.0), ("sigma", 1.0)),
        lambda given, _, dtype, __: Cauchy(given["median"] or 0.0, given["sigma"] or 0.0, dtype),
    ),
    "geometric": Kind((("p", REQUIRED),), lambda given, _, dtype, __: Geometric(given["p"] or 0.0, dtype)),
    "integers": Kind((("low", None), ("high", None)), _integers),
    "bernoulli": Kind((("p", 0.5),), lambda given, _, dtype, __: Bernoulli(given["p"] or 0.0, dtype)),
}
#: The name of `torch.randperm`, which has no numbers and no sampler of its own.
PERMUTATION: Final = "permutation"


def numbers_of(name: str, given: Numbers) -> dict[str, float | int | None]:
    """All numbers of a draw, PyTorch's defaults where none were given, in the draw's own order.

    Raises:
        UnknownName: no such draw, or one of its numbers has another name.
        UsageError: a number is missing that has no default.
    """
    if name == PERMUTATION:
        known: tuple[tuple[str, float | int | None], ...] = ()
    elif name in KINDS:
        known = KINDS[name].parameters
    else:
        raise UnknownName("distribution", name, (*KINDS, PERMUTATION))
    names = [parameter for parameter, _ in known]
    for parameter in given:
        if parameter not in names:
            raise UsageError(
                f"{parameter!r} is no number of {name}: expected {', '.join(names) if names else 'none'}."
            )
    found = {parameter: given.get(parameter, default) for parameter, default in known}
    for parameter, number in found.items():
        if number is not None and math.isnan(number):
            raise UsageError(f"a draw of {name} needs the number {parameter!r}.")
    return found


def exact(sampler: Any, arithmetic: str) -> bool:  # noqa: ANN401 - a sampler, or a permutation
    """Whether every bit of what a draw stores is known to be the device's.

    Uniforms, integers, truth values and permutations come from words by known arithmetic alone. Float32
    normals do on NVIDIA. All else reads a table that is not derived here, or another library's double
    precision functions.
    """
    if isinstance(sampler, Draw):
        if sampler.distribution == "uniform":
            return True
        return sampler.source == "normal" and arithmetic != "amd" and sampler.dtype != "float64"
    return not isinstance(sampler, Exponential | LogNormal | Cauchy | Geometric)
