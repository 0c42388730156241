"""Reading the hold-out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from birthmark.evidence.elements import units_of
from birthmark.evidence.holdout import read_holdout
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.survivors.split import Holdout, Selection, held_out

SHAPE = (64, 32)
SMALL = Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), 512)  # one wave is 16 rows: all four lanes are used
LARGE = Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), 270336)


def _split(values: np.ndarray) -> tuple[Selection, Holdout]:
    hidden = np.repeat(held_out("w", np.arange(SHAPE[0])), SHAPE[1])
    indices = np.arange(values.size)
    unit = units_of(indices, SHAPE, "row")
    seen = indices[~hidden]
    selection = Selection(
        "w", SHAPE, "float32", "row", "normal", 0.02, 0.01, seen, values[seen], unit[seen], np.ones(seen.size)
    )
    return selection, Holdout("w", "row", indices[hidden], unit[hidden])


def test_holdout_keeps_every_element_where_no_block_is_shared(in_memory: Any) -> None:
    """Below one wave each element has its own block."""
    values = LARGE.tensor(1).ravel().astype(np.float64)
    selection, holdout = _split(values)

    held = read_holdout(in_memory("w", values.reshape(SHAPE), "float32"), selection, holdout, LARGE)

    assert len(held.elements) == holdout.indices.size
    assert np.array_equal(held.elements.values, values[holdout.indices])
    assert held.dropped == 0
    assert "left out" not in held.note


def test_holdout_drops_elements_that_share_a_block_with_the_selection(in_memory: Any) -> None:
    """What remains shares no block with anything the search saw."""
    big = Hypothesis(Draw("normal", (0.0, 0.02), (1024, 32)), 8192)
    values = np.zeros((1024, 32))
    hidden = np.repeat(held_out("w", np.arange(1024)), 32)
    indices = np.arange(values.size)
    unit = indices // 32
    selection = Selection(
        "w", (1024, 32), "float32", "row", "normal", 0.02, 0.01,
        indices[~hidden], values.ravel()[~hidden], unit[~hidden], np.ones(int((~hidden).sum())),
    )  # fmt: skip

    held = read_holdout(
        in_memory("w", values, "float32"), selection, Holdout("w", "row", indices[hidden], unit[hidden]), big
    )

    blocks = big.blocks(indices)
    assert held.apart_from == "selection"
    assert len(held.elements) > 256
    assert not np.isin(blocks[held.elements.indices], blocks[selection.indices]).any()
    assert held.dropped == int(hidden.sum()) - len(held.elements)
    assert "an element of the selection" in held.note


def test_holdout_falls_back_to_the_probes_where_too_little_remains(in_memory: Any) -> None:
    """With few elements only the probes' blocks are avoided, and the note says so."""
    values = SMALL.tensor(1).ravel().astype(np.float64)
    selection, holdout = _split(values)
    probes = selection.indices[:40]
    checkpoint = in_memory("w", values.reshape(SHAPE), "float32")

    strict = read_holdout(checkpoint, selection, holdout, SMALL)
    held = read_holdout(checkpoint, selection, holdout, SMALL, probes)

    assert len(strict.elements) < len(held.elements)
    assert held.apart_from == "probes"
    blocks = SMALL.blocks(np.arange(values.size))
    assert not np.isin(blocks[held.elements.indices], blocks[probes]).any()
    assert "probe" in held.note


def test_holdout_leaves_out_values_that_are_not_finite(in_memory: Any) -> None:
    """A NaN is counted and left out."""
    values = LARGE.tensor(1).ravel().astype(np.float64)
    selection, holdout = _split(values)
    values[holdout.indices[:3]] = [np.nan, np.inf, -np.inf]

    held = read_holdout(in_memory("w", values.reshape(SHAPE), "float32"), selection, holdout, LARGE)

    assert held.not_finite == 3
    assert np.isfinite(held.elements.values).all()
    assert "not finite" in held.note


@pytest.mark.parametrize("hypothesis", [SMALL, LARGE])
def test_an_empty_holdout_stays_empty(in_memory: Any, hypothesis: Hypothesis) -> None:
    """No held-out elements is not an error."""
    values = hypothesis.tensor(1).ravel().astype(np.float64)
    selection, _ = _split(values)
    empty = np.zeros(0, np.int64)

    held = read_holdout(
        in_memory("w", values.reshape(SHAPE), "float32"),
        selection,
        Holdout("w", "row", empty, empty),
        hypothesis,
    )

    assert len(held.elements) == 0
