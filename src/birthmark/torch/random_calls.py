"""Random operators of PyTorch in the words of a trace: distribution, parameters, and the tensor they fill."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import torch

#: Arguments of an operator by name; an operator, and what it returns: torch has no public types for these.
Arguments: TypeAlias = Mapping[str, Any]
Operator: TypeAlias = Any
Result: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class RandomCall:
    """What an operator draws.

    Attributes:
        distribution: one of `birthmark.recipes.trace_costs.DISTRIBUTIONS`.
        parameters: as `birthmark.recipes.trace.TracedDraw` has them.
        after: whether the values follow from the draw in a way that is not recorded.
    """

    distribution: str
    parameters: tuple[float, ...] = ()
    after: bool = False


def is_random(func: Operator) -> bool:
    """Whether an operator draws numbers."""
    return torch.Tag.nondeterministic_seeded in func.tags


def bound(func: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """An operator's arguments by name, those that were left out with their defaults."""
    found = {}
    for place, argument in enumerate(func._schema.arguments):  # noqa: SLF001 - torch has no public way
        if place < len(args):
            found[argument.name] = args[place]
        elif argument.name in kwargs:
            found[argument.name] = kwargs[argument.name]
        else:
            found[argument.name] = argument.default_value
    return found


def described(func: Operator, given: Arguments) -> RandomCall:
    """What a random operator draws; "other" where it is none that a trace knows."""
    name = func._schema.name.removeprefix("aten::")  # noqa: SLF001 - torch has no public way
    make = _CALLS.get(name)
    found = make(given) if make is not None else None
    return RandomCall("other", after=True) if found is None else found


def _normal(given: Arguments) -> RandomCall | None:
    mean, std = given.get("mean", 0.0), given.get("std", 1.0)
    if isinstance(mean, torch.Tensor) or isinstance(std, torch.Tensor):
        return RandomCall("normal", (0.0, 1.0), after=True)
    return RandomCall("normal", (float(mean), float(std)))


def _uniform(given: Arguments) -> RandomCall:
    return RandomCall("uniform", (float(given.get("from", 0.0)), float(given.get("to", 1.0))))


def _bernoulli(given: Arguments) -> RandomCall | None:
    p = given.get("p", None)
    if p is None or isinstance(p, torch.Tensor):
        return None
    return RandomCall("bernoulli", (float(p),))


def _integers(given: Arguments) -> RandomCall | None:
    low, high = given.get("low", given.get("from")), given.get("high", given.get("to"))
    if isinstance(high, torch.Tensor):
        return None
    if low is None and high is None:
        return RandomCall("integers")
    if high is None:
        return None  # random_(low, None): up to what the dtype holds
    return RandomCall("integers", (int(low or 0), int(high)))


def _one(distribution: str, *names: str) -> Callable[[Arguments], RandomCall]:
    return lambda given: RandomCall(distribution, tuple(float(given[name]) for name in names))


_CALLS: Final[dict[str, Callable[[Arguments], RandomCall | None]]] = {
    "normal_": _normal,
    "normal": _normal,
    "randn": lambda _: RandomCall("normal", (0.0, 1.0)),
    "randn_like": lambda _: RandomCall("normal", (0.0, 1.0)),
    "uniform_": _uniform,
    "uniform": _uniform,
    "rand": lambda _: RandomCall("uniform", (0.0, 1.0)),
    "rand_like": lambda _: RandomCall("uniform", (0.0, 1.0)),
    "exponential_": _one("exponential", "lambd"),
    "exponential": _one("exponential", "lambd"),
    "cauchy_": _one("cauchy", "median", "sigma"),
    "cauchy": _one("cauchy", "median", "sigma"),
    "geometric_": _one("geometric", "p"),
    "geometric": _one("geometric", "p"),
    "log_normal_": _one("log-normal", "mean", "std"),
    "log_normal": _one("log-normal", "mean", "std"),
    "bernoulli_": _bernoulli,
    "bernoulli": _bernoulli,
    "random_": _integers,
    "random": _integers,
    "randint": _integers,
    "randint_like": _integers,
    "randperm": lambda _: RandomCall("permutation"),
}
