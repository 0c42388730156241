"""Trained tensors that may carry a trace of their initial values, and what a search for it may see.

A trace is spread over all values, so nothing needs to be surveyed. What matters is where values lie: the
first rows are in the first wave, where all layouts agree, and rows further on tell the layouts apart. So the
first rows of a tensor are taken, as many as a few waves of the widest layout need.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint, TensorInfo
from birthmark.survivors.split import MOST_ELEMENTS, Holdout, Selection, held_out
from birthmark.survivors.survivor import Distribution, Survivors

#: Tensors with fewer values carry no trace that would stand out of the dictionary's trials.
LEAST_ELEMENTS = 1 << 14
#: Values that are read to see what a tensor looks like.
SAMPLE = 1 << 16
#: Below this kurtosis values look uniform (1.8) rather than normal (3).
UNIFORM_KURTOSIS = 2.2
#: Parts of names by which first-drawn tensors go: embeddings are mostly constructed first.
FIRST = ("embed", "wte", "tok", "word")
#: Rows narrower than this are dealt to selection and hold-out whole; of wider ones runs of `RUN` values are,
#: for too few rows lie in the first wave.
NARROW, RUN = 2048, 256


def traceable(
    checkpoint: Checkpoint, names: Iterable[str] | None = None, *, most: int = 2
) -> list[Survivors]:
    """The tensors to look for a trace in, most promising first: embeddings, then the largest.

    Args:
        checkpoint: an open one; a sample of each tensor that is returned is read.
        names: the tensors to choose among; None for all.
        most: how many to return.

    Returns:
        For each its first rows as if they were survivors, with the probability 1; `scale` is that of the
        values as stored. Tensors that equal another one, constant ones and small ones are left out.
    """
    chosen = checkpoint.tensors.values() if names is None else [checkpoint.tensors[name] for name in names]
    wide = [info for info in chosen if info.is_float and len(info.shape) > 1 and info.size >= LEAST_ELEMENTS]
    wide.sort(
        key=lambda info: (not any(part in info.name.casefold() for part in FIRST), -info.size, info.name)
    )
    found: list[Survivors] = []
    seen: set[tuple[tuple[int, ...], bytes]] = set()
    for info in wide:
        if len(found) == most:
            break
        sample = _sample(checkpoint, info)
        mark = (info.shape, sample.tobytes())
        if mark not in seen and (one := _as_survivors(info, sample)) is not None:
            seen.add(mark)
            found.append(one)
    return found


def _sample(checkpoint: Checkpoint, info: TensorInfo) -> NDArray[np.float64]:
    """Rows from all over the tensor."""
    rows, columns = info.matrix_shape
    count = max(1, min(rows, SAMPLE // columns))
    return np.asarray(
        checkpoint.take(info.name, np.arange(count, dtype=np.int64) * rows // count), np.float64
    )


def _as_survivors(info: TensorInfo, sample: NDArray[np.float64]) -> Survivors | None:
    """The first rows of a tensor; None where its values do not vary."""
    finite = sample[np.isfinite(sample)]
    largest = float(np.max(np.abs(finite), initial=0.0))
    if largest == 0.0 or np.all(finite == finite[0]):
        return None
    centred = finite / largest - float(np.mean(finite / largest))
    square = float(np.mean(centred**2))
    distribution: Distribution = "normal"
    if float(np.mean(centred**4)) / square**2 < UNIFORM_KURTOSIS:
        distribution = "uniform"
    rows, columns = info.matrix_shape
    count = max(1, min(rows, 2 * MOST_ELEMENTS // columns))
    return Survivors(
        tensor=info.name,
        shape=info.shape,
        dtype=info.dtype,
        axis="row",
        ids=np.arange(count, dtype=np.int64),
        probability=np.ones(count),
        distribution=distribution,
        scale=math.sqrt(square) * largest * (math.sqrt(3.0) if distribution == "uniform" else 1.0),
        scale_error=1.0 / math.sqrt(2.0 * finite.size),
    )


def split_traced(checkpoint: Checkpoint, traced: Survivors) -> tuple[Selection, Holdout]:
    """Divide the values of a traced tensor into what a search may see and what it may not.

    Rows, or runs of values of wide rows, go to one side or the other by the hash of their number.

    Args:
        checkpoint: where the values lie; only those of the selection are read.
        traced: one of `traceable`.

    Returns:
        The selection with its values, and the hold-out without any.
    """
    columns = math.prod(traced.shape[1:])
    indices = np.arange(int(traced.ids[-1]) * columns + columns, dtype=np.int64)[: 2 * MOST_ELEMENTS]
    part = indices // (columns if columns < NARROW else RUN)
    away = held_out(traced.tensor, np.arange(int(part[-1]) + 1, dtype=np.int64))[part]
    kept, held = indices[~away], indices[away]
    values = np.asarray(checkpoint.elements(traced.tensor, kept), np.float64)
    finite = np.isfinite(values)
    kept, values = kept[finite], values[finite]
    selection = Selection(
        tensor=traced.tensor,
        shape=traced.shape,
        dtype=traced.dtype,
        axis=traced.axis,
        distribution=traced.distribution,
        scale=traced.scale,
        scale_error=traced.scale_error,
        indices=kept,
        values=values,
        unit=kept // columns,
        probability=np.ones(kept.size),
    )
    return selection, Holdout(traced.tensor, traced.axis, held, held // columns)
