"""A capture of a GPU's table units asks everything, and says by how much the GPU is off the model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.errors import OutputError
from birthmark.samplers.arithmetic import VOLTA
from birthmark.samplers.normal import steps
from birthmark.torch.gpu_units import FUNCTIONS, INPUTS, angles, capture, inputs, model, save

COUNT = 1 << 12


def test_a_gpu_as_modelled_is_off_by_nothing() -> None:
    """One number for each input of each unit."""
    off = capture(model, COUNT)

    assert set(off) == set(FUNCTIONS)
    assert all(not values.any() for values in off.values())
    assert off["sine"].size == COUNT + 3 * COUNT
    assert (off["log2"].size, off["reciprocal_root"].size) == (COUNT, 2 * COUNT)


def test_one_other_value_is_seen() -> None:
    """By its sign and its size, also across zero."""

    def unit(name: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
        made = model(name, values)
        if name == "sine":
            made[7] = np.nextafter(made[7], np.float32(2))
            made[0] = np.float32(-1e-45)
        return made

    off = capture(unit, COUNT)["sine"]
    assert (off[7], off[0]) == (1, -1)
    assert np.flatnonzero(off).tolist() == [0, 7]


def test_the_sine_unit_is_asked_for_every_step() -> None:
    """The angles are the least that it takes as 0, 1, 2, ... in 2^-25 turns."""
    for first in (0, 1 << 12, INPUTS - 2048):
        asked = angles(first, 2048)
        taken = [int(steps(value, VOLTA)) for value in asked]
        before = [int(steps(np.nextafter(value, np.float32(0)), VOLTA)) for value in asked[1:]]
        assert taken == list(range(first, first + 2048))
        assert before == taken[:-1]


def test_inputs_cover_what_a_unit_tells_apart() -> None:
    """A whole binade for log2, two for the root, the first quarter turn and parts of the others."""
    assert inputs("log2", COUNT)[[0, -1]].tolist() == [1.0, 2.0 - 2.0**-12]
    assert inputs("reciprocal_root", COUNT).max() < 4
    turns = inputs("cosine", COUNT) / (2 * np.pi)
    assert turns[:COUNT].max() < 0.25 <= turns[COUNT:].min()
    assert turns.max() < 1


def test_a_capture_is_a_small_file(tmp_path: Path) -> None:
    """With what it is of."""
    path = tmp_path / "gpu.units.npz"
    save(path, capture(model, COUNT), {"device": "none"})
    with np.load(path) as file:
        assert json.loads(str(file["about"])) == {"device": "none"}
        assert not file["log2"].any()
    assert path.stat().st_size < 4000
    with pytest.raises(OutputError):
        save(tmp_path / "none" / "x.npz", {}, {})
