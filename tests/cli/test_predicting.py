"""`birthmark predict` from options to files, in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from birthmark.cli.app import app
from birthmark.errors import UsageError
from birthmark.prediction import predict
from birthmark.recipes.dtensor import Shard
from birthmark.recipes.sharding import Sharding

RUNNER = CliRunner()


def run(path: Path, *options: str, shape: str = "40,50") -> tuple[NDArray[Any], dict[str, Any], str]:
    given = ["predict", "--seed", "7", "--threads", "512", "--shape", shape, "-o", str(path), *options]
    finished = RUNNER.invoke(app, given, catch_exceptions=False)
    assert finished.exit_code == 0, finished.output
    with np.load(path) as file:
        return file["values"], json.loads(str(file["metadata"])), finished.output


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), {}),
        (("--std", "0.02"), {"parameters": (0.0, 0.02)}),
        (("--low", "-1", "--high", "1"), {"distribution": "uniform", "parameters": (-1.0, 1.0)}),
        (("--distribution", "uniform"), {"distribution": "uniform"}),
        (
            ("--std", "0.02", "--a", "-0.04", "--b", "0.04", "--torch-version", "2.4"),
            {"distribution": "truncated-normal", "parameters": (0.0, 0.02, -0.04, 0.04), "torch": "2.4"},
        ),
        (
            ("--distribution", "truncated-normal", "--std", "0.02", "--torch-version", "2.13"),
            {"distribution": "truncated-normal", "parameters": {"std": 0.02}, "torch": "2.13"},
        ),
        (
            ("--distribution", "exponential", "--parameter", "rate=2"),
            {"distribution": "exponential", "parameters": (2.0,)},
        ),
        (
            ("--distribution", "integers", "--low", "0", "--high", "2_000_000_000", "--dtype", "int64"),
            {"distribution": "integers", "parameters": (0, 2 * 10**9), "dtype": "int64"},
        ),
        (("--cast", "float16"), {"cast": "float16"}),
        (("--shards", "2"), {"sharding": Sharding(2, "megatron")}),
        (("--mesh", "4", "--placements", "0"), {"mesh": (4,), "placements": (Shard(0),)}),
        (("--dtype", "float64", "--torch-version", "2.4"), {"dtype": "float64", "torch": "2.4"}),
    ],
)
def test_options_are_the_request(tmp_path: Path, options: tuple[str, ...], expected: dict[str, Any]) -> None:
    """Every option reaches the prediction; what was written is what Python predicts."""
    values, _, _ = run(tmp_path / "rows.npz", *options)
    assert np.array_equal(values, predict(7, (40, 50), threads=512, **expected))


def test_what_is_printed_says_what_was_drawn(tmp_path: Path) -> None:
    """The draw with its numbers, the layout, and how exact it is."""
    _, facts, shown = run(tmp_path / "rows.npz", "--std", "0.02", "--rows", "0:2")
    assert "normal (mean 0.0, std 0.02), seed 7, GPU (G = 512)" in shown
    assert "40x50, rows 0:2, float32; bit for bit" in shown
    assert facts["rows"] == [0, 2]
    _, _, shown = run(tmp_path / "order.npz", "--distribution", "permutation", shape="100")
    assert "permutation, seed 7" in shown
    _, _, shown = run(tmp_path / "rows.npz", "--distribution", "exponential", "--cast", "bfloat16")
    assert "float32 cast to bfloat16; not proved to the last bit" in shown


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--a", "-1", "--b", "1"), "--torch-version"),
        (("--low", "0"), "both --low and --high"),
        (("--low", "0", "--high", "1", "--std", "2"), "belong to a normal"),
        (("--mesh", "4"), "both --mesh and --placements"),
        (("--device", "A100"), "with --device, or a GPU's number of threads with --threads, not both"),
        (("--seed", str(1 << 64)), "seed 18446744073709551616: expected -2^63 to 2^64 - 1"),
        (("--distribution", "gamma"), "unknown distribution"),
        (("--parameter", "rate=2"), "'rate' is no number of normal"),
        (("--std", "wide"), "--std"),
        (("--torch-version", "1.0"), "1.7 to 2.15"),
        (("--rows", "0:41"), "--rows"),
    ],
)
def test_bad_options_are_one_clear_line(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    """What cannot be is refused before a file is touched."""
    path = tmp_path / "rows.npz"
    given = ["predict", "--seed", "7", "--threads", "512", "--shape", "40,50", "-o", str(path), *options]
    finished = RUNNER.invoke(app, given)
    assert isinstance(finished.exception, UsageError)
    assert words in str(finished.exception)
    assert not path.exists()
