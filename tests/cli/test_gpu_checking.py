"""`birthmark gpu-check` writes a record and says in one line what it found."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from birthmark.cli import gpu_checking
from birthmark.errors import NothingToSearch, SelfTestFailed
from birthmark.torch import gpu_check, gpu_units, virtual_device
from birthmark.torch.gpu_cases import case_of
from birthmark.torch.gpu_record import GpuRecord, read

G = 1024


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> GpuRecord:
    """What a stand-in for a GPU drew; the command is given it as if a GPU had."""
    with virtual_device(G):
        made = gpu_check.check_gpu(cases=[case_of("normal float32"), case_of("integers int32")], huge=False)
    real = dataclasses.replace(made, virtual=False, device="NVIDIA Test-1 (8 GB)")
    monkeypatch.setattr(gpu_check, "check_gpu", lambda device, huge, told: _told(real, told))  # noqa: ARG005
    return real


def _told(record: GpuRecord, told: object) -> GpuRecord:
    for check in record.checks:
        told(check)  # type: ignore[operator]
    return record


def test_a_gpu_as_predicted(
    record: GpuRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line a draw, and a file named after the GPU."""
    monkeypatch.chdir(tmp_path)
    gpu_checking.run(output=None, device=0, huge=False, capture=False, json=False)
    lines = capsys.readouterr().out.splitlines()

    assert read(tmp_path / "nvidia-test-1-8-gb.json") == record
    assert len(lines) == len(record.checks) + 1
    assert all(line.endswith("equal, bit for bit") for line in lines[:-1])
    assert "G = 1,024" in lines[-1]


def test_json_alone(record: GpuRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The record itself on stdout."""
    gpu_checking.run(output=tmp_path / "x.json", device=0, huge=False, capture=False, json=True)

    assert json.loads(capsys.readouterr().out)["device"] == record.device


def test_a_gpu_that_differs(
    record: GpuRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The record and a capture of its units are written, and the command ends as a failed self-test."""
    first = dataclasses.replace(record.checks[0], unequal=3, first=7, furthest=2, agrees=False)
    near = dataclasses.replace(record.checks[1], unequal=1, first=9, furthest=1)
    moved = dataclasses.replace(record.checks[2], end_offset=96, agrees=False)
    wrong = dataclasses.replace(record, checks=(first, near, moved, *record.checks[3:]))
    monkeypatch.setattr(gpu_check, "check_gpu", lambda device, huge, told: _told(wrong, told))  # noqa: ARG005
    monkeypatch.setattr(gpu_units, "on_gpu", lambda device: gpu_units.model)  # noqa: ARG005
    whole = gpu_units.capture
    monkeypatch.setattr(gpu_units, "capture", lambda units: whole(units, 1 << 10))
    path = tmp_path / "x.json"
    with pytest.raises(SelfTestFailed, match=r"2 of 8 draws .* the first normal float32 of 1,023") as failed:
        gpu_checking.run(output=path, device=0, huge=False, capture=False, json=False)
    out = capsys.readouterr().out

    assert failed.value.exit_code == 6
    assert read(path).differences == (first, moved)
    with np.load(tmp_path / "x.units.npz") as file:
        assert set(file) == {"about", *gpu_units.FUNCTIONS}
    assert "3 differ, by up to 2 units in the last place, from element 7 on" in out
    assert "1 differ, by up to 1 units in the last place, as expected of stand-ins" in out
    assert "offset 96, predicted " in out
    assert "table units" in out


def test_without_a_gpu() -> None:
    """Nothing to check, exit code 5."""
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(NothingToSearch) as refused:
        gpu_checking.run(output=None, device=0, huge=False, capture=False, json=False)
    assert refused.value.exit_code == 5
