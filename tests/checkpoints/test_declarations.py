"""What the files beside the weights declare."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from birthmark.checkpoints import open_checkpoint
from birthmark.checkpoints.declarations import Declarations, declarations


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one small checkpoint."""
    save_file({"w": np.zeros((2, 2), np.float32)}, tmp_path / "model.safetensors")
    return tmp_path


def read(folder: Path) -> Declarations:
    """Declarations of the checkpoint in the folder."""
    with open_checkpoint(folder) as checkpoint:
        return declarations(checkpoint)


def test_nothing_declared(folder: Path) -> None:
    """Without files beside the weights nothing is declared."""
    assert read(folder) == Declarations()


def test_scale_and_seed_come_from_the_first_file_that_has_them(folder: Path) -> None:
    """The scale may come from one file and the seed from another, which is named."""
    (folder / "config.json").write_text('{"initializer_range": 0.006}')
    (folder / "trainer_state.json").write_text('{"seed": 42}')

    assert read(folder) == Declarations(0.006, 42, "trainer_state.json")


@pytest.mark.parametrize(
    "text",
    ["", "[1]", "{", '{"seed": true, "initializer_range": "x"}', '{"seed": 1e400, "initializer_range": -1}',
     '{"initializer_range": NaN, "seed": 36893488147419103232}'],
)  # fmt: skip
def test_hints_that_make_no_sense_are_no_hints(folder: Path, text: str) -> None:
    """Malformed files and values of the wrong kind declare nothing and raise nothing."""
    (folder / "config.json").write_text(text)

    assert read(folder) == Declarations()
