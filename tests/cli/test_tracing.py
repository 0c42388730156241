"""`birthmark trace` and `birthmark rewind` as a user meets them, on a published lottery ticket."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from typer.testing import CliRunner

from birthmark.checkpoints import open_checkpoint
from birthmark.cli.app import app
from birthmark.errors import BirthmarkError

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = f"{ROOT / 'examples' / 'lottery' / 'my_model.py'}:build"
LOTTERY = "ggl_lottery_fc1_pp0x1_seed3_co2False_T4.pt"


def run(*arguments: str | Path) -> str:
    """The output of a command that succeeds."""
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return str(result.output)


def fails(*arguments: str | Path) -> str:
    """The message of a command that does not."""
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert isinstance(result.exception, BirthmarkError)
    return str(result.exception)


@pytest.fixture(scope="module")
def draws(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of the lottery net."""
    path = tmp_path_factory.mktemp("trace") / "draws.json"
    run("trace", PROGRAM, "-o", path)
    return path


def test_trace_says_what_it_ran_and_what_it_found(tmp_path: Path) -> None:
    """That the user's code was run, how many draws, and how many are kept."""
    text = run("trace", PROGRAM, "-o", tmp_path / "draws.json")

    assert "it is your own code" in text
    assert "12 draws, of which 6 are kept; 6 tensors with 266,610 values" in text
    document = json.loads((tmp_path / "draws.json").read_text())
    assert [each["device"] for each in document["draws"]] == ["cpu"] * 6 + ["cuda"] * 6


def test_a_published_lottery_ticket_is_rewound_to_its_true_initial_weights(
    cases: Path, draws: Path, tmp_path: Path
) -> None:
    """From the trained weights alone: every one of 266,610 values is the one that lies beside them."""
    output = tmp_path / "step0.safetensors"
    text = run(
        "rewind", cases / "real" / LOTTERY, "--trace", draws, "--seed", "3", "--device", "T4", "-o", output,
        "--prefix", "final_state_dict.", "--quiet",
    )  # fmt: skip
    rewound = load_file(output)

    assert "initial values were found in 5 of 6 drawn ones" in text
    with open_checkpoint(cases / "real" / LOTTERY) as checkpoint:
        for name, values in rewound.items():
            info = checkpoint.tensors[f"initial_state_dict.{name}"]
            truth = checkpoint.rows(info.name, 0, info.matrix_shape[0]).reshape(info.shape)
            assert np.array_equal(values, truth), name
    account = json.loads((tmp_path / "step0.json").read_text())
    assert [each["state"] for each in account["tensors"]] == ["weak-trace"] * 5 + ["unverified"]


def test_a_reading_gives_seed_and_device(cases: Path, draws: Path, tmp_path: Path) -> None:
    """A scan with the trace, and its reading handed on."""
    reading, output = tmp_path / "reading.json", tmp_path / "step0.safetensors"
    scanned = CliRunner().invoke(
        app,
        [
            "scan", str(cases / "real" / LOTTERY), "--trace", str(draws), "--prefix", "initial_state_dict.",
            "--quick", "--no-cpu", "-q", "-o", str(reading),
        ],
    )  # fmt: skip
    assert scanned.exit_code == 0
    text = run(
        "rewind", cases / "real" / LOTTERY, "--trace", draws, "--reading", reading, "-o", output,
        "--prefix", "initial_state_dict.", "--quiet", "--json",
    )  # fmt: skip

    assert json.loads(text)["threads"] == 40_960
    assert {each["state"] for each in json.loads(text)["tensors"]} == {"equal"}


def test_wrong_calls_are_told_in_one_line(draws: Path, tmp_path: Path) -> None:
    """What is missing, what contradicts itself, what is not there."""
    save_file({"w": np.zeros(3, np.float32)}, tmp_path / "model.safetensors")
    model, output = tmp_path / "model.safetensors", tmp_path / "step0.safetensors"

    assert "name a function" in fails("trace", "-o", tmp_path / "a.json")
    assert "--dtype belongs to --hf-config" in fails(
        "trace", PROGRAM, "--dtype", "float32", "-o", tmp_path / "a"
    )
    assert "cuda" in fails("trace", PROGRAM, "--device", "gpu", "-o", tmp_path / "a.json")
    assert "either a reading" in fails("rewind", model, "--trace", draws, "-o", output)
    assert "--device, --threads and --cpu" in fails(
        "rewind", model, "--trace", draws, "--seed", "3", "-o", output
    )
    assert "-2^63 to 2^64 - 1" in fails(
        "rewind", model, "--trace", draws, "--seed", str(1 << 64), "--cpu", "-o", output
    )
    assert "does not fit" in fails(
        "rewind", model, "--trace", draws, "--seed", "3", "--device", "T4", "-o", output
    )
    assert ".safetensors" in fails(
        "rewind", model, "--trace", draws, "--seed", "3", "--cpu", "-o", tmp_path / "step0.json"
    )
    assert not output.exists()
