"""Predicted initial values of a checkpoint's tensors: from a trace of the model, or from a recipe.

Both answer the same questions: which tensors are predicted, any elements of them, and the same for another
seed or layout, which is what decoys and rivals are made of.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.errors import UnknownName, UsageError
from birthmark.numerics.dtypes import is_float
from birthmark.recipe_prediction import Birth as Built
from birthmark.recipes.trace import Trace
from birthmark.recipes.trace_values import draws_of
from birthmark.replay.matching import Match
from birthmark.replay.replaying import Birth, Replay


@dataclass(frozen=True, slots=True)
class Aim:
    """A tensor that is predicted.

    Attributes:
        name: as the trace or recipe has it.
        stored: as the checkpoint has it.
    """

    name: str
    stored: str


class Predicted(ABC):
    """Initial values of a model for one seed and place."""

    #: The tensors that can be predicted, in the order of the checkpoint.
    aims: tuple[Aim, ...]
    #: Why others cannot, by the checkpoint's names.
    left_out: Mapping[str, str]
    #: Whether the positions of draws depend on the seed, so that every seed costs a walk through the model.
    walks: bool = False

    @property
    @abstractmethod
    def seed(self) -> int:
        """The user's seed."""

    @property
    @abstractmethod
    def threads(self) -> int | None:
        """G of the device; None where everything is drawn on the CPU."""

    @property
    @abstractmethod
    def source(self) -> str:
        """What predicts, in words."""

    @abstractmethod
    def run(self, aim: Aim, start: int, stop: int) -> NDArray[Any]:
        """The elements start <= i < stop of a tensor, in C order, decoded."""

    @abstractmethod
    def values(self, aim: Aim, indices: NDArray[np.int64]) -> NDArray[Any]:
        """The elements at C-order flat indices, decoded."""

    @abstractmethod
    def of_seed(self, seed: int) -> Predicted:
        """The same model under another seed."""

    @abstractmethod
    def of_layout(self, threads: int) -> Predicted:
        """The same model on another GPU's layout."""


@dataclass(frozen=True)
class FromTrace(Predicted):
    """Predicted from a trace.

    Attributes:
        trace: of the model.
        birth: with which seed, and where.
        match: which tensor is which.
        aims, left_out: see `Predicted`.
    """

    trace: Trace
    birth: Birth
    match: Match
    aims: tuple[Aim, ...]
    left_out: Mapping[str, str]
    _replay: Replay = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_replay", Replay(self.trace, self.birth))

    @property
    def walks(self) -> bool:  # type: ignore[override]
        """Whether the trace has truncated normals that are drawn again."""
        return any(self.trace.redraws(number) for number in range(len(self.trace.draws)))

    @property
    def seed(self) -> int:
        """The user's seed."""
        return self.birth.seed

    @property
    def threads(self) -> int | None:
        """G of the device."""
        return self.birth.threads

    @property
    def source(self) -> str:
        """What predicts, in words."""
        return f"a trace of {self.trace.model or 'the model'} (torch {self.trace.torch})"

    def run(self, aim: Aim, start: int, stop: int) -> NDArray[Any]:
        """The elements start <= i < stop of a tensor."""
        return self._replay.run(aim.name, start, stop)

    def values(self, aim: Aim, indices: NDArray[np.int64]) -> NDArray[Any]:
        """The elements at flat indices."""
        return self._replay.values(aim.name, indices)

    def of_seed(self, seed: int) -> FromTrace:
        """The same model under another seed; streams that the program seeds itself keep theirs."""
        return replace(self, birth=replace(self.birth, seed=seed))

    def of_layout(self, threads: int) -> FromTrace:
        """The same model on another GPU's layout."""
        return replace(self, birth=replace(self.birth, threads=threads))


@dataclass(frozen=True)
class FromRecipe(Predicted):
    """Predicted from a recipe.

    Attributes:
        built: the model as the recipe builds it.
        shapes: the published extents of each tensor.
        aims, left_out: see `Predicted`.
    """

    built: Built
    shapes: Mapping[str, tuple[int, ...]]
    aims: tuple[Aim, ...]
    left_out: Mapping[str, str]

    @property
    def seed(self) -> int:
        """The base seed."""
        return self.built.seed

    @property
    def threads(self) -> int | None:
        """G of the device."""
        return self.built.threads

    @property
    def source(self) -> str:
        """What predicts, in words."""
        parallel = self.built.config.parallel
        sizes = {name: getattr(parallel, name) for name in ("tp", "pp", "ep", "etp", "virtual", "shards")}
        cut = ", ".join(f"{name} {size}" for name, size in sizes.items() if size > 1)
        return f"the recipe {self.built.recipe.name}{f' on {cut}' if cut else ''}"

    def run(self, aim: Aim, start: int, stop: int) -> NDArray[Any]:
        """The elements start <= i < stop of a tensor."""
        return self.values(aim, np.arange(start, stop, dtype=np.int64))

    def values(self, aim: Aim, indices: NDArray[np.int64]) -> NDArray[Any]:
        """The elements at flat indices."""
        return self.built.values(aim.name, indices, self.shapes[aim.name])

    def of_seed(self, seed: int) -> FromRecipe:
        """The same model under another base seed."""
        return replace(self, built=replace(self.built, seed=seed))

    def of_layout(self, threads: int) -> FromRecipe:
        """The same model on another GPU's layout."""
        return replace(self, built=replace(self.built, threads=threads))


def from_trace(checkpoint: Checkpoint, trace: Trace, birth: Birth, match: Match) -> FromTrace:
    """The tensors of a checkpoint that a trace predicts by draws.

    Args:
        checkpoint: the trained model, open.
        trace: of the model.
        birth: with which seed, and where.
        match: which tensor is which.

    Raises:
        UsageError: the model was built on a GPU, and the birth names none.
    """
    replay = Replay(trace, birth)
    aims: dict[str, Aim] = {}
    left_out: dict[str, str] = {}
    for tensor in trace.tensors:
        stored = match.names.get(tensor.name)
        if stored is None or stored in aims or tensor.tied in match.names:
            continue
        info = checkpoint.tensors[stored]
        if not (is_float(tensor.dtype) and info.size):
            continue
        reason = replay.why_not(tensor.name) if is_float(info.dtype) else _undecoded(info.dtype)
        if reason is None and not draws_of(tensor.value):
            reason = "no draw decides it"
        if reason is not None:
            left_out[stored] = reason
        else:
            aims[stored] = Aim(tensor.name, stored)
    return FromTrace(trace, birth, match, _ordered(checkpoint, aims), left_out)


def from_recipe(checkpoint: Checkpoint, built: Built, prefix: str = "") -> FromRecipe:
    """The tensors of a checkpoint that a recipe draws.

    Args:
        checkpoint: the trained model, open.
        built: the model as the recipe builds it.
        prefix: what stands before the recipe's names in the checkpoint.

    Raises:
        UsageError: the checkpoint has none of the recipe's tensors.
    """
    aims: dict[str, Aim] = {}
    left_out: dict[str, str] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    names = built.recipe.tensors(built.config)
    for name in names:
        info = checkpoint.tensors.get(prefix + name)
        if info is None or not info.size:
            continue
        if not is_float(info.dtype):
            left_out[info.name] = _undecoded(info.dtype)
            continue
        shapes[name] = info.shape
        try:
            built.values(name, np.array([0, info.size - 1]), info.shape)
        except (UsageError, UnknownName) as error:
            left_out[info.name] = str(error).rstrip(".")
        else:
            aims[info.name] = Aim(name, info.name)
    if not aims and not left_out:
        raise UsageError(
            f"the checkpoint has none of the {len(names)} tensors that {built.recipe.name} draws for this "
            f"config, such as {(prefix + names[0])!r}.",
            advice="Name what stands before the recipe's names with --prefix.",
        )
    return FromRecipe(built, shapes, _ordered(checkpoint, aims), left_out)


def _undecoded(dtype: str) -> str:
    """Why a tensor stored in a dtype that is no plain float is left out."""
    return f"stored as {dtype}, which stands for other values than it holds"


def only(predicted: Predicted, names: Iterable[str]) -> Predicted:
    """The same for some of the tensors, by the checkpoint's names.

    Raises:
        UnknownName: one of them is not predicted.
    """
    wanted = set(names)
    known = [aim.stored for aim in predicted.aims]
    for name in wanted:
        if name not in known:
            raise UnknownName("predicted tensor", name, known)
    aims = tuple(aim for aim in predicted.aims if aim.stored in wanted)
    assert isinstance(predicted, FromTrace | FromRecipe)
    return replace(predicted, aims=aims)


def _ordered(checkpoint: Checkpoint, aims: Mapping[str, Aim]) -> tuple[Aim, ...]:
    return tuple(aims[name] for name in checkpoint.tensors if name in aims)
