"""The command line as a user meets it: one line on stderr, documented exit codes, no partial output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "tiny-lm"
#: A range of seeds around the example's.
AROUND = ("--tensor", "model.embed_tokens.weight", "--seeds", "2893700000:2893800000", "--quiet")


def birthmark(*arguments: str | Path, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "HOME": str(cache or ROOT)}
    if cache is not None:
        environment["XDG_CACHE_HOME"] = str(cache)
    command = [sys.executable, "-m", "birthmark", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)


def assert_fails(finished: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """One line on stderr that holds the words, nothing on stdout, and the exit code."""
    assert finished.returncode == code, finished.stderr
    assert "Traceback" not in finished.stderr
    assert len(finished.stderr.strip().splitlines()) == 1
    assert finished.stdout == ""
    for word in words:
        assert word in finished.stderr


class TestBadInput:
    """Bad input ends in one line and a documented exit code."""

    def test_missing_file(self, tmp_path: Path) -> None:
        """A path that is not there."""
        assert_fails(birthmark("scan", tmp_path / "none", cache=tmp_path), 1, "no file or folder")

    @pytest.mark.parametrize(
        "name",
        ["empty", "truncated-header", "header-length-2pow60", "truncated-data", "overlapping-offsets",
         "duplicate-keys", "wrong-size"],
    )  # fmt: skip
    def test_malformed_file(self, cases: Path, tmp_path: Path, name: str) -> None:
        """Files that contradict themselves."""
        path = cases / "malformed" / f"{name}.safetensors"

        assert_fails(birthmark("inspect", path, cache=tmp_path), 1, path.name)

    def test_pickle_that_would_run_something(self, cases: Path, tmp_path: Path) -> None:
        """A dangerous global is refused by its name, and nothing runs."""
        finished = birthmark("scan", cases / "malformed" / "pickle-system.pt", cache=tmp_path)

        assert_fails(finished, 1, "posix.system")
        assert "PAYLOAD" not in finished.stderr + finished.stdout

    def test_unwritable_output_is_noticed_first(self, tmp_path: Path) -> None:
        """An output that cannot be written is refused before the search, and nothing is left behind."""
        target = tmp_path / "missing" / "reading.json"

        assert_fails(birthmark("scan", EXAMPLE, "-o", target, cache=tmp_path), 1, "cannot write")
        assert not target.parent.exists()

    @pytest.mark.parametrize(
        ("options", "word"),
        [
            (("--offset", "3"), "multiple of 4"),
            (("--device", "H1000"), "Nearest"),
            (("--seeds", "9:3"), "START < STOP"),
            (("--quick", "--exhaustive"), "--quick"),
            (("--tensor", "nope", "--quick"), "unknown tensor"),
        ],
    )
    def test_usage(self, tmp_path: Path, options: tuple[str, ...], word: str) -> None:
        """Options that cannot be."""
        assert_fails(birthmark("scan", EXAMPLE, *options, cache=tmp_path), 2, word)

    def test_two_outputs_in_one_file(self, tmp_path: Path) -> None:
        """One output would overwrite the other."""
        both = tmp_path / "both"

        assert_fails(birthmark("scan", EXAMPLE, "-o", both, "--pack", both, cache=tmp_path), 2, "same file")

    def test_a_device_node_is_no_output(self, tmp_path: Path) -> None:
        """A node stays a node."""
        os.mkfifo(tmp_path / "pipe")
        given = ("--seed", "1", "--device", "A100", "--shape", "8,8", "-o", tmp_path / "pipe")

        assert_fails(birthmark("predict", *given, cache=tmp_path), 1, "no ordinary file")
        assert (tmp_path / "pipe").is_fifo()

    @pytest.mark.parametrize(
        "arguments",
        [("scan",), ("scan", "--bogus", "x"), ("frob",), ("scan", ""), ("predict", "--seed", "4")],
    )
    def test_calls_that_make_no_sense(self, tmp_path: Path, arguments: tuple[str, ...]) -> None:
        """Unknown commands and options, and missing ones, are one line as well."""
        assert_fails(birthmark(*arguments, cache=tmp_path), 2)

    def test_resume_without_a_ledger(self, tmp_path: Path) -> None:
        """There is nothing to go on with."""
        assert_fails(birthmark("scan", EXAMPLE, "--resume", cache=tmp_path), 2, "no ledger")

    def test_ledger_of_another_search(self, tmp_path: Path) -> None:
        """A ledger is only good for the search that wrote it."""
        ledger = tmp_path / "one.ledger"
        first = birthmark(
            "scan", EXAMPLE, *AROUND[:2], "--seeds", "0:1000", "-q", "--ledger", ledger, cache=tmp_path
        )
        assert first.returncode == 3
        second = birthmark("scan", EXAMPLE, *AROUND, "--ledger", ledger, "--resume", cache=tmp_path)

        assert_fails(second, 1, "belongs to another search")

    def test_nothing_to_search(self, tmp_path: Path) -> None:
        """No float tensors: a reading that says so, and its own exit code."""
        save_file({"ids": np.arange(64, dtype=np.int32)}, tmp_path / "model.safetensors")
        finished = birthmark("scan", tmp_path / "model.safetensors", "--json", cache=tmp_path)

        assert finished.returncode == 5
        assert json.loads(finished.stdout)["verdict"] == "not-searched"

    def test_fewer_survivors_than_a_reading_needs(self, tmp_path: Path) -> None:
        """A tensor that is too small says how many values would do."""
        save_file({"w": np.ones((2, 5), np.float32)}, tmp_path / "model.safetensors")
        finished = birthmark("scan", tmp_path / "model.safetensors", "--json", cache=tmp_path)

        assert finished.returncode == 5
        assert any(character.isdigit() for character in json.loads(finished.stdout)["notes"][0])


class TestCommands:
    """The commands, end to end."""

    def test_scan_pack_verify(self, tmp_path: Path) -> None:
        """A scan finds the example, its JSON says so, and its pack verifies until a byte is changed."""
        reading, pack = tmp_path / "reading.json", tmp_path / "example.bmk"
        finished = birthmark("scan", EXAMPLE, *AROUND, "-o", reading, "--pack", pack, cache=tmp_path)

        assert finished.returncode == 0, finished.stderr
        assert "MATCH" in finished.stdout
        assert "2893751046" in finished.stdout
        assert json.loads(reading.read_text())["findings"][0]["seed"] == 2_893_751_046
        assert birthmark("verify", pack, cache=tmp_path).returncode == 0
        assert birthmark("verify", pack, "--against", EXAMPLE, cache=tmp_path).returncode == 0
        damaged = bytearray(pack.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        pack.write_bytes(damaged)
        assert_fails(birthmark("verify", pack, cache=tmp_path), 1)

    def test_searched_and_not_found(self, tmp_path: Path) -> None:
        """An empty search has its own exit code and says what it searched."""
        finished = birthmark("scan", EXAMPLE, *AROUND[:2], "--seeds", "0:100000", "-q", cache=tmp_path)

        assert finished.returncode == 3
        assert "NOTHING FOUND" in finished.stdout
        assert "99,999" in finished.stdout
        assert list(tmp_path.rglob("*.ledger")) == []

    def test_inspect(self, tmp_path: Path) -> None:
        """Tensors and survivors, for people and as JSON."""
        shown = birthmark("inspect", EXAMPLE, cache=tmp_path)
        document = json.loads(birthmark("inspect", EXAMPLE, "--json", cache=tmp_path).stdout)
        embedding = next(each for each in document["tensors"] if "embed" in each["name"])

        assert "model.embed_tokens.weight" in shown.stdout
        assert set(range(3, 64)) <= set(embedding["survivors"]["ids"])
        assert "tokens that the tokenizer's makers set aside" in shown.stdout
        named = {row["id"]: row for row in embedding["stands_for"]["rows"]}
        assert named[3] == {"id": 3, "kind": "reserved", "text": "'<reserved_3>'", "script": None}

    def test_predict(self, tmp_path: Path) -> None:
        """Rows of a huge tensor, as an array file."""
        path = tmp_path / "rows.npz"
        finished = birthmark(
            "predict", "--seed", "42", "--device", "H100 SXM", "--shape", "128256,4096", "--dtype",
            "bfloat16", "--std", "1", "--rows", "0:2", "-o", path, cache=tmp_path,
        )  # fmt: skip
        with np.load(path) as file:
            values = file["values"]

        assert finished.returncode == 0
        assert values.shape == (2, 4096)
        # The first values that many people print for seed 42 on any GPU, in bfloat16.
        assert values[0, :3].tolist() == [0.1943359375, 2.15625, -0.171875]

    def test_predict_on_the_cpu(self, tmp_path: Path) -> None:
        """The CPU generator's numbers after some words, and no options of a GPU beside them."""
        path = tmp_path / "cpu.npz"
        call = ("predict", "--seed", "7", "--device", "cpu", "--shape", "4,16", "-o", path)
        shown = birthmark(*call, "--index", "64", cache=tmp_path).stdout
        torch = pytest.importorskip("torch")
        torch.manual_seed(7)
        torch.randn(64)
        with np.load(path) as file:
            assert file["values"].tolist() == torch.randn(4, 16).tolist()

        assert "64 words before" in shown
        assert_fails(birthmark(*call, "--offset", "4", cache=tmp_path), 2, "belong to a GPU")

    def test_devices(self, tmp_path: Path) -> None:
        """What shares one G stands together."""
        shown = birthmark("devices", "--threads", "270336", cache=tmp_path).stdout

        assert "H200" in shown
        assert "A100" not in shown

    def test_version_and_help(self, tmp_path: Path) -> None:
        """Help names the exit codes and needs no heavy module."""
        assert "5 nothing to search" in " ".join(birthmark("--help", cache=tmp_path).stdout.split())
        heavy = subprocess.run(
            [sys.executable, "-c", "import sys, birthmark.cli.app; print(*sys.modules)"],
            capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT / "src")},
        ).stdout.split()  # fmt: skip
        assert not {"numpy", "numba", "scipy", "pydantic", "rich"} & set(heavy)
