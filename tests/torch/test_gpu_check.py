"""The check of a GPU, tried on birthmark's stand-in for one: right, and wrong in one value."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from birthmark.errors import MalformedFile, NothingToSearch, OutputError, UnknownName, UsageError
from birthmark.torch import gpu_check, gpu_record, virtual_device
from birthmark.torch.gpu_cases import CASES, Case, case_of, held, stored
from birthmark.torch.gpu_check import check_gpu, sizes
from birthmark.torch.gpu_record import GpuRecord, Slice, digest, read, recompute, write

KNOWN = sorted((Path(__file__).parents[1] / "known_gpus").glob("*.json"))
G = 1024


@pytest.fixture(scope="module")
def record() -> GpuRecord:
    """What the check says of a virtual GPU with few threads."""
    with virtual_device(G):
        return check_gpu(huge=False)


def test_a_gpu_that_draws_as_predicted_passes(record: GpuRecord) -> None:
    """Every case at every size; nothing differs in any bit, since it is birthmark itself that drew."""
    assert record.virtual
    assert (record.threads, record.arithmetic) == (G, "nvidia-volta+")
    assert len(record.checks) == len(CASES) * len(sizes(G))
    assert record.differences == ()
    assert {check.unequal for check in record.checks} == {0}
    assert all(check.slices[-1].stop == check.n for check in record.checks)


def test_the_generators_are_left_as_they_were() -> None:
    """The check seeds; afterwards the program's own draws go on."""
    with virtual_device(G):
        torch.manual_seed(5)
        before = torch.cuda.get_rng_state()
        check_gpu(cases=[case_of("normal float32")], huge=False)
        assert torch.equal(torch.cuda.get_rng_state(), before)


def broken(name: str, change: Callable[[torch.Tensor], object]) -> Case:
    """A case whose draws are changed after the GPU made them."""
    case = case_of(name)

    def draw(n: int, device: str) -> torch.Tensor:
        tensor = case.draw(n, device)
        change(tensor)
        return tensor

    return dataclasses.replace(case, draw=draw)


def test_one_wrong_value_is_found() -> None:
    """Where, by how much, and in which slice; an exact case forgives no last bit."""
    case = broken("normal float32", lambda t: t[700].copy_(torch.nextafter(t[700], t[700] + 1)))
    with virtual_device(G):
        checked = check_gpu(cases=[case], huge=False)
    right = gpu_record.recompute(checked, most=10**9)

    assert len(checked.differences) == len(sizes(G))
    worst = checked.differences[0]
    assert (worst.unequal, worst.first, worst.furthest, worst.agrees) == (1, 700, 1, False)
    assert right == []  # what differs is not held against birthmark again


def test_stand_ins_may_be_a_few_units_off() -> None:
    """And no more; where values are tiny, by what a GPU's logarithm is off anywhere."""
    with virtual_device(G):
        near = check_gpu(cases=[broken("exponential float32", lambda t: t[5].mul_(1 + 2**-22))], huge=False)
        tiny = check_gpu(
            cases=[broken("exponential float32", lambda t: t[t.argmin()].add_(2**-23))], huge=False
        )
        far = check_gpu(cases=[broken("exponential float32", lambda t: t[5].mul_(1.01))], huge=False)

    assert near.differences == tiny.differences == ()
    assert near.checks[0].unequal == tiny.checks[0].unequal == 1
    assert (tiny.checks[0].furthest or 0) > 4
    assert len(far.differences) == len(sizes(G))


def test_a_wrong_integer_or_offset_is_found() -> None:
    """Integers have no units; a generator that moved on further is no agreement either."""
    with virtual_device(G):
        wrong = check_gpu(cases=[broken("integers int32", lambda t: t[0].add_(1))], huge=False)
        moved = check_gpu(
            cases=[broken("uniform float32", lambda t: torch.rand(1, device=t.device))], huge=False
        )

    assert (wrong.differences[0].furthest, wrong.differences[0].first) == (None, 0)
    assert moved.differences[0].unequal == 0
    assert moved.differences[0].end_offset == moved.differences[0].predicted_offset + 4


def test_a_record_survives_its_file(record: GpuRecord, tmp_path: Path) -> None:
    """As JSON, one line a check, and every digest can be made again without a GPU."""
    path = tmp_path / "gpu.json"
    write(path, record)

    assert read(path) == record
    assert json.loads(path.read_text())["schema"] == "birthmark.gpu/1"
    assert sum('"case"' in line for line in path.read_text().splitlines()) == len(record.checks)
    assert recompute(read(path), most=10**9) == []
    assert path.stat().st_size < 200_000


def test_a_record_that_birthmark_contradicts(record: GpuRecord) -> None:
    """Another digest, another offset, another number of multiprocessors: each is told."""
    first = record.checks[0]
    digests = dataclasses.replace(first, slices=(Slice(0, 10, digest(np.zeros(10))),))
    offset = dataclasses.replace(first, end_offset=first.end_offset + 4)
    other = dataclasses.replace(record, sm_count=record.sm_count + 1)

    assert (
        "elements 0 to 10 differ" in recompute(dataclasses.replace(record, checks=(digests,)), most=10**9)[0]
    )
    assert "offset" in recompute(dataclasses.replace(record, checks=(offset,)), most=10**9)[0]
    assert recompute(other, most=10**9)
    assert recompute(other, most=10) == []


def test_the_tensor_that_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the smallest size at which something can go wrong here: windows at both ends of either half."""
    monkeypatch.setattr(gpu_check, "INDEX_LIMIT", 4 * 40_000 - 1)
    monkeypatch.setattr(gpu_check, "CHUNK", 1 << 12)
    with virtual_device(G):
        checked = check_gpu(cases=[], huge=True)
    (check,) = checked.checks

    assert (check.n, check.unequal, check.agrees) == (40_001, 0, True)
    assert [each.start for each in check.slices] == [0, 20_000 - 4096, 20_000, 40_001 - 4096]
    assert recompute(checked, most=0) == []
    wrong = dataclasses.replace(
        check, end_offset=0, slices=(dataclasses.replace(check.slices[0], sha256="0"),)
    )
    assert len(recompute(dataclasses.replace(checked, checks=(wrong,)), most=0)) == 2


def test_memory_is_compared_as_it_is() -> None:
    """Bit patterns of floats, integers of their own width, truth values as bytes."""
    values = np.array([1.5, -2.0], np.float32)
    for dtype, pattern in (("bfloat16", 0x3FC0), ("float16", 0x3E00), ("float32", 0x3FC00000)):
        tensor = torch.tensor(values, dtype=getattr(torch, dtype))
        assert stored(values, dtype).tolist() == held(tensor).tolist()
        assert held(tensor)[0] == pattern
    assert (
        held(torch.tensor([True, False])).tolist()
        == stored(np.array([True, False]), "bool").tolist()
        == [1, 0]
    )
    assert (
        held(torch.tensor([3], dtype=torch.uint8)).dtype == stored(np.array([3]), "uint8").dtype == np.uint8
    )


def test_without_a_gpu_there_is_nothing_to_check() -> None:
    """One line, with what to do; and GPUs have numbers."""
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(NothingToSearch, match="no GPU that PyTorch can use"):
        check_gpu()
    with virtual_device(G), pytest.raises(UsageError, match="expected 0 to 0"):
        check_gpu(1)


def test_damaged_records_are_refused(tmp_path: Path, record: GpuRecord) -> None:
    """And unknown cases list the nearest."""
    path = tmp_path / "gpu.json"
    for text in ("{", '{"schema": "other"}', '{"schema": "birthmark.gpu/1", "checks": []}'):
        path.write_text(text)
        with pytest.raises(MalformedFile):
            read(path)
    with pytest.raises(OutputError):
        write(tmp_path / "none" / "gpu.json", record)
    with pytest.raises(UnknownName, match="normal float32"):
        case_of("normal float3")


@pytest.mark.parametrize("path", KNOWN, ids=lambda path: path.stem)
def test_known_gpus(path: Path) -> None:
    """What real GPUs drew, slice by slice, is what birthmark predicts."""
    known = read(path)

    assert not known.virtual
    assert known.differences == ()
    assert recompute(known, most=5_000_000) == []


def test_no_stand_in_is_among_the_known() -> None:
    """The folder holds what GPUs drew and nothing else; so far nobody could run the check on one."""
    assert all(not read(path).virtual for path in KNOWN)
