"""Scans that have a trace: later tensors, one seed over the whole model, and traces that do not fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from birthmark.checkpoints import open_checkpoint
from birthmark.checkpoints.safetensors_writing import Entry, SafetensorsWriter
from birthmark.errors import UsageError
from birthmark.recipes.trace import Trace, TracedDraw, TracedStream, TracedTensor
from birthmark.recipes.trace_values import Drawn
from birthmark.replay.replaying import Birth, Replay
from birthmark.scan import Scan, ScanOptions, scan
from birthmark.search.options import Options

G = 40_960
NAMES = ("first.weight", "table.weight", "head.weight")


def traced(device: str, first: tuple[int, ...] = (300, 784)) -> Trace:
    """Three normals in a row; the second is a table of which many rows are never used."""
    shapes = (first, (900, 64), (40, 300))
    draws = tuple(
        TracedDraw("normal", (0.0, 0.05), shape, tensor=name, after=number - 1 if number else None)
        for number, (name, shape) in enumerate(zip(NAMES, shapes, strict=True))
    )
    tensors = tuple(
        TracedTensor(name, draw.shape, "float32", Drawn(number))
        for number, (name, draw) in enumerate(zip(NAMES, draws, strict=True))
    )
    return Trace(draws, tensors, (TracedStream(device),))


def published(path: Path, trace: Trace, birth: Birth, dtype: str = "float32") -> Path:
    """A checkpoint of which only the table's last 600 rows were left alone."""
    replay, generator = Replay(trace, birth), np.random.default_rng(3)
    entries = [Entry(each.name, each.shape, dtype) for each in trace.tensors]
    with SafetensorsWriter(path / "model.safetensors", entries, {}) as writer:
        for each in trace.tensors:
            values = replay.run(each.name, 0, each.size).reshape(each.shape)
            touched = values + generator.normal(0, 0.15, each.shape)
            if each.name == "table.weight":
                touched[300:] = values[300:]
            writer.add(touched.astype(np.float32), dtype)
        writer.finish()
    return path / "model.safetensors"


def read(path: Path, trace: Trace | None, *, cpu: bool = True, **search: object) -> Scan:
    options = Options(seeds=(0, 0), **search)  # type: ignore[arg-type]
    with open_checkpoint(path) as checkpoint:
        wanted = ScanOptions(options, ("table.weight",), cpu=cpu, trace=trace)
        return scan(checkpoint, wanted, command="birthmark scan")


def test_a_gpu_tensor_behind_others_is_found_at_its_traced_offset(tmp_path: Path) -> None:
    """Seed and layout of the untouched table, and how many drawn tensors the seed shows in."""
    trace = traced("cuda")
    path = published(tmp_path, trace, Birth(42, G))
    result = read(path, trace)

    assert result.reading.verdict == "match"
    assert result.reading.findings[0].tensor == "table.weight"
    assert (result.reading.findings[0].seed, result.reading.findings[0].offset) == (42, 8)
    assert result.reading.findings[0].without_seed is not None  # asked here, too
    assert result.reading.findings[0].trained is not None
    assert result.reading.findings[0].trained.score.r == pytest.approx(0.32, abs=0.05)
    notes = " ".join(result.reading.notes)
    assert "seed 42 on G = 40,960 shows in 3 of 3 drawn tensors" in notes
    assert "By the trace's offsets G = 40,960 explains the model best" in notes
    assert read(path, None, cpu=False).reading.verdict == "none"


def test_a_cpu_seed_explains_the_whole_model(tmp_path: Path) -> None:
    """Seed and index as the trace has them."""
    trace = traced("cpu")
    path = published(tmp_path, trace, Birth(1234))
    result = read(path, trace)

    assert (result.reading.findings[0].seed, result.reading.findings[0].index) == (1234, 300 * 784)
    assert "seed 1234 on the CPU shows in 3 of 3" in " ".join(result.reading.notes)


@pytest.mark.slow
def test_a_trace_in_another_order_is_told(tmp_path: Path) -> None:
    """The solved index is not the trace's, and the seed shows in the one tensor whose place is the same."""
    trace = traced("cpu")
    path = published(tmp_path, trace, Birth(1234))
    swapped = replace(trace.draws[0], after=1), replace(trace.draws[1], after=None), trace.draws[2]
    other = Trace(
        (swapped[1], replace(swapped[0], after=0), replace(swapped[2], after=1)),
        tuple(
            replace(each, value=Drawn(number)) for each, number in zip(trace.tensors, (1, 0, 2), strict=True)
        ),
    )
    notes = " ".join(read(path, other).reading.notes)
    assert "the model was built otherwise than it was traced" in notes
    assert "shows in 1 of 3" in notes


@pytest.mark.parametrize(("device", "birth"), [("cpu", Birth(187_654)), ("cuda", Birth(187_654, G))])
def test_a_seed_that_nobody_uses_is_found_where_the_trace_has_the_tensor(
    tmp_path: Path, device: str, birth: Birth
) -> None:
    """A range of seeds on 16-bit values, too coarse to solve: at the traced index, or the traced offsets."""
    trace = traced(device)
    path = published(tmp_path, trace, birth, "bfloat16")
    options = Options(seeds=(180_000, 190_000), dictionary=False)
    with open_checkpoint(path) as checkpoint:
        wanted = ScanOptions(options, ("table.weight",), trace=trace)
        found = scan(checkpoint, wanted, command="birthmark scan").reading.findings[0]

    assert found.seed == 187_654
    assert (found.index, found.offset) == ((300 * 784, None) if device == "cpu" else (None, 8))


def test_a_wrong_seed_is_not_explained(tmp_path: Path) -> None:
    """Noise in the shape of the model: nothing is found with a trace either."""
    trace = traced("cuda")
    generator = np.random.default_rng(5)
    save_file(
        {each.name: generator.normal(0, 0.05, each.shape).astype(np.float32) for each in trace.tensors},
        tmp_path / "model.safetensors",
    )
    result = read(tmp_path / "model.safetensors", trace)

    assert result.reading.verdict == "none"
    assert result.reading.findings == []


def test_a_trace_of_another_model_is_refused(tmp_path: Path) -> None:
    """Before anything is read, with the first tensor that differs."""
    path = published(tmp_path, traced("cuda"), Birth(42, G))
    with pytest.raises(UsageError, match=r"first.weight has the shape \(300, 785\)"):
        read(path, traced("cuda", (300, 785)))
