"""A case: all that a judgement rests on and nothing else; a pack carries it and anyone can judge it again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from birthmark.evidence.elements import Elements, matrix_shape
from birthmark.hypothesis import Hypothesis
from birthmark.survivors.levelling import levelled
from birthmark.survivors.survivor import Axis


@dataclass(frozen=True, slots=True)
class Beside:
    """Another draw that was added to the candidate's, as merging two models adds them."""

    hypothesis: Hypothesis
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One candidate and the values it is held against.

    Attributes:
        tensor: the tensor's name.
        shape: its extents.
        dtype: its stored dtype.
        axis: what units count.
        scale: standard deviation or bound of the stored values, as the survey saw it.
        hypothesis: the candidate's, as the search had it.
        seed: the seed of shard 0, as the generator saw it.
        selection: what the search saw.
        holdout: what it did not see.
        trials: predictions that the search tried on the selection.
        holdout_trials: candidates that were scored on the hold-out.
        layouts: the G's that the candidate's is compared with.
        declared: the scale that the model's own files declare; None where unknown.
        rank: the shard that the case is about; None for the whole tensor.
        beside: the other draws of a merge, whose weighted sum with the candidate's the values are; empty
            where the values are one draw.
    """

    tensor: str
    shape: tuple[int, ...]
    dtype: str
    axis: Axis
    scale: float
    hypothesis: Hypothesis
    seed: int
    selection: Elements
    holdout: Elements
    trials: int
    holdout_trials: int
    layouts: tuple[int, ...]
    declared: float | None = None
    rank: int | None = None
    beside: tuple[Beside, ...] = ()

    @property
    def everything(self) -> Elements:
        """Selection and hold-out together, in ascending order."""
        return self.selection.with_(self.holdout)

    def levelled(self) -> Case:
        """The same case with levelled values: what a trace is scored on, where no value is predicted."""
        everything = self.everything
        columns = matrix_shape(self.shape)[1]
        level = replace(everything, values=levelled(everything.values, everything.indices, columns))
        hidden = np.isin(everything.indices, self.holdout.indices, assume_unique=True)
        return replace(self, selection=level.keep(~hidden), holdout=level.keep(hidden))

    @property
    def seed_of_rank(self) -> int:
        """The seed that this shard's generator was given."""
        sharding = self.hypothesis.sharding
        if self.rank is None or sharding.ways == 1 or not sharding.own_draws:
            return self.seed
        return sharding.seed_of(self.seed, self.rank)

    def of_rank(self, rank: int) -> Case:
        """The part of the case that one shard drew."""
        parts = [
            elements.keep(self.hypothesis.locate(elements.indices).rank == rank)
            if len(elements)
            else elements
            for elements in (self.selection, self.holdout)
        ]
        return replace(self, selection=parts[0], holdout=parts[1], rank=rank)

    def ranks(self) -> tuple[int, ...]:
        """The shards that have a seed of their own and elements here; none where one seed serves all."""
        sharding = self.hypothesis.sharding
        everything = self.everything
        if sharding.ways == 1 or not sharding.own_draws or len(everything) == 0:
            return ()
        return tuple(int(rank) for rank in np.unique(self.hypothesis.locate(everything.indices).rank))
