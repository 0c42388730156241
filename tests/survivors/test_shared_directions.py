"""The directions that touched units share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from birthmark.checkpoints.interface import Checkpoint
from birthmark.survivors.shared_directions import (
    MOST_DIRECTIONS,
    Projected,
    frame_for,
    no_directions,
    shared_directions,
)
from birthmark.survivors.units import RowUnits


def whole(values: np.ndarray) -> Projected:
    """Units in all their dimensions."""
    return Projected(values, np.zeros(len(values)), values.shape[1])


def test_shared_directions_are_found_and_no_others() -> None:
    """Three strong directions among 96 are found; their energies stand far above the rest."""
    random = np.random.default_rng(0)
    basis = np.linalg.qr(random.standard_normal((96, 3)))[0]
    values = random.standard_normal((1000, 96)) + 4.0 * random.standard_normal((1000, 3)) @ basis.T

    spectrum = shared_directions(whole(values), 1.0)

    assert len(spectrum.energy) == 3
    assert np.linalg.norm(basis.T @ spectrum.directions) == pytest.approx(np.sqrt(3), rel=0.01)
    assert (spectrum.energy > 10.0).all()
    mean = (spectrum.energy.sum() + 93 * spectrum.rest) / 96
    assert mean == pytest.approx(1.0)


def test_isotropic_units_share_nothing() -> None:
    """Chance alone makes no strong direction."""
    values = 1.5 * np.random.default_rng(1).standard_normal((300, 96))

    spectrum = shared_directions(whole(values), 1.0)

    assert spectrum.energy.max(initial=0.0) < 4.0
    assert spectrum.rest == pytest.approx(1.0, abs=0.15)
    assert no_directions(whole(values)).rest == 1.0


def test_wide_units_are_projected_and_keep_their_energy(in_memory: Callable[..., Checkpoint]) -> None:
    """A projection has 256 dimensions at most; what it leaves out is kept as one number."""
    random = np.random.default_rng(2)
    values = random.standard_normal((600, 900)).astype(np.float32)
    values += (random.standard_normal((600, 4)) @ random.standard_normal((4, 900))).astype(np.float32)
    checkpoint = in_memory({"w": values})
    units = RowUnits(checkpoint, checkpoint.tensors["w"])
    ids = np.arange(600)

    frame = frame_for(units, ids, np.zeros(900), 2.0)
    seen = frame.project(units, ids)

    assert seen.inside.shape[1] <= MOST_DIRECTIONS
    np.testing.assert_allclose(seen.total, (values.astype(float) ** 2).mean(1) / 4.0, rtol=1e-4)
    # The four strong directions lie inside.
    assert np.median(seen.outside) < 950 / 4.0


def test_few_units_have_no_directions(in_memory: Callable[..., Checkpoint]) -> None:
    """Three wide units share nothing that could be told from chance."""
    values = np.random.default_rng(3).standard_normal((3, 500)).astype(np.float32)
    checkpoint = in_memory({"w": values})
    units = RowUnits(checkpoint, checkpoint.tensors["w"])

    seen = frame_for(units, np.arange(3), np.zeros(500), 1.0).project(units, np.arange(3))

    assert seen.inside.shape == (3, 0)
    np.testing.assert_allclose(seen.total, (values**2).mean(1), rtol=1e-5)
