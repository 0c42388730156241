"""Selection and hold-out of a tensor that may be orthogonal: the line that is the draw's own, and the rest.

Of what `orthogonal_` makes only the first row (or column, where there are more rows than columns) shows the
draw without a decomposition. So that line is what a search may see; all other survivors, which only the
replayed decomposition predicts, are the hold-out.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from birthmark.checkpoints.interface import Checkpoint
from birthmark.errors import NothingToSearch
from birthmark.recipes.orthogonal import Leading
from birthmark.survivors.split import MOST_ELEMENTS, Holdout, Layout, Selection
from birthmark.survivors.survivor import Survivors

#: Gains that programs give: PyTorch's for linear, ReLU and tanh layers, and what agents' outputs have.
GAINS: Final = (1.0, math.sqrt(2.0), 5.0 / 3.0, 0.01, 0.1)
#: Standard errors, and a share of the scale, within which the scale must lie.
ERRORS: Final = 6.0
SLACK: Final = 0.03
#: Survivors on the leading line that a search needs.
LEAST_LEADING: Final = 24


def orthogonal_gain(survivors: Survivors) -> float | None:
    """The gain with which `orthogonal_` gives values of this size; None where none does.

    The rows (or columns) of an orthogonal matrix have the length of the gain, so that its values have the
    standard deviation gain / sqrt(larger extent).
    """
    if survivors.distribution != "normal" or len(survivors.shape) < 2:
        return None
    rows, columns = survivors.shape[0], math.prod(survivors.shape[1:])
    if min(rows, columns) < 2:
        return None
    for gain in GAINS:
        near = abs(survivors.scale * math.sqrt(max(rows, columns)) / gain - 1.0)
        if near <= SLACK + ERRORS * survivors.scale_error:
            return gain
    return None


def split_leading(
    checkpoint: Checkpoint, survivors: Survivors, *, at_least: float = 0.5
) -> tuple[Selection, Holdout]:
    """The survivors on the leading line with their values, and where all others lie.

    Args:
        checkpoint: where the values lie; only those of the line are read.
        survivors: of a tensor of two or more dimensions.
        at_least: the probability from which a row or column takes part.

    Raises:
        NothingToSearch: fewer than `LEAST_LEADING` survivors lie on the line, or none elsewhere.
    """
    ids = np.unique(survivors.ids[survivors.probability >= at_least])
    layout = Layout(survivors.axis, survivors.shape)
    width = max(1, min(layout.width, MOST_ELEMENTS // max(1, len(ids))))
    flat = layout.indices(ids, np.arange(width, dtype=np.int64))
    leading = np.isin(flat, Leading.of(survivors.shape).indices)
    kept, held = flat[leading], flat[~leading]
    if len(kept) < LEAST_LEADING or not len(held):
        raise NothingToSearch(
            f"{len(kept)} survivors of {survivors.tensor!r} lie on the line that shows an orthogonal draw; "
            f"{LEAST_LEADING} are needed at least."
        )
    unit = layout.unit(kept)
    order = np.argsort(survivors.ids, kind="stable")
    at = order[np.searchsorted(survivors.ids[order], unit)]
    selection = Selection(
        tensor=survivors.tensor,
        shape=survivors.shape,
        dtype=survivors.dtype,
        axis=survivors.axis,
        distribution=survivors.distribution,
        scale=survivors.scale,
        scale_error=survivors.scale_error,
        indices=kept,
        values=checkpoint.elements(survivors.tensor, kept).astype(np.float64),
        unit=unit,
        probability=survivors.probability[at],
    )
    return selection, Holdout(survivors.tensor, survivors.axis, held, layout.unit(held))
