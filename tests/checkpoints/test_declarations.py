"""What the files beside the weights declare."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
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


class Arguments:
    """Arguments as a program of somebody else keeps them."""

    def __init__(self, **settings: object) -> None:
        """Keep them as attributes."""
        self.__dict__.update(settings)


def test_arguments_saved_beside_the_weights_count(folder: Path) -> None:
    """A pickled object of an unknown class tells its seed, and nothing of it is loaded."""
    torch.save(Arguments(output_dir="x", seed=42, flag=True), folder / "training_args.bin")

    assert read(folder) == Declarations(None, 42, "training_args.bin")


def test_arguments_inside_the_checkpoint_come_first(folder: Path) -> None:
    """A seed in the pickle of the weights counts more than one in a file beside it."""
    (folder / "config.json").write_text('{"seed": 1, "initializer_range": 0.01}')
    weights = {"state_dict": {"w": torch.zeros(2, 2)}, "args": {"deeper": [Arguments(random_seed=7)]}}
    torch.save(weights, folder / "model.pt")
    with open_checkpoint(folder / "model.pt") as checkpoint:
        assert dict(checkpoint.settings) == {"args.deeper.0.random_seed": 7}
        assert declarations(checkpoint) == Declarations(0.01, 7, "model.pt")


@pytest.mark.parametrize("value", [True, "42", 4.5, 2**70, None])
def test_what_is_no_seed_is_not_taken(folder: Path, value: object) -> None:
    """Truth values, texts, fractions and numbers beyond 64 bits are no seeds."""
    torch.save({"w": torch.zeros(2), "seed": value}, folder / "model.pt")
    with open_checkpoint(folder / "model.pt") as checkpoint:
        assert declarations(checkpoint).seed is None


def test_damaged_arguments_are_no_hint(folder: Path) -> None:
    """A pickle that cannot be read declares nothing."""
    (folder / "training_args.bin").write_bytes(b"\x80\x02garbage")

    assert read(folder) == Declarations()
