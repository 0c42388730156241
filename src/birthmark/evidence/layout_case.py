"""What a layout that was read without a seed rests on: the survivors' values, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from birthmark.checkpoints.interface import Checkpoint
from birthmark.evidence.elements import Elements
from birthmark.evidence.seed_free import SeedFree, read_layout
from birthmark.evidence.seed_free_values import read
from birthmark.survivors.survivor import Axis, Survivors


@dataclass(frozen=True, slots=True, eq=False)
class LayoutCase:
    """Survivors of one tensor.

    Attributes:
        tensor: its name.
        shape: its extents.
        dtype: its stored dtype.
        axis: what units count.
        scale: standard deviation of the stored values, as the survey saw it.
        selection, holdout: the first and the second half of the values, in ascending order. What chooses a
            layout and what confirms it are pairs of values from both.
    """

    tensor: str
    shape: tuple[int, ...]
    dtype: str
    axis: Axis
    scale: float
    selection: Elements
    holdout: Elements

    @property
    def everything(self) -> Elements:
        """All values, in ascending order."""
        return self.selection.with_(self.holdout)

    @property
    def survivors(self) -> Survivors:
        """The units that the values belong to."""
        ids = np.unique(self.everything.unit)
        sure = np.ones(len(ids))
        return Survivors(self.tensor, self.shape, self.dtype, self.axis, ids, sure, "normal", self.scale, 1.0)


def layout_case(checkpoint: Checkpoint, survivors: Survivors) -> LayoutCase:
    """The case of a layout that `seed_free` read off a checkpoint."""
    elements = read(checkpoint, survivors)
    first = np.arange(len(elements)) < len(elements) // 2
    return LayoutCase(
        survivors.tensor,
        survivors.shape,
        survivors.dtype,
        survivors.axis,
        survivors.scale,
        elements.keep(first),
        elements.keep(~first),
    )


def weigh_layout(case: LayoutCase) -> SeedFree:
    """Read the layout off the values again."""
    return read_layout(case.everything, case.shape, case.dtype)
