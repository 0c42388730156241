"""CPU draws as findings."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from birthmark.checkpoints import open_checkpoint
from birthmark.evidence.solved import HostLook, SolvedReading, held_against
from birthmark.reports.account import NOTHING_SEARCHED
from birthmark.reports.assemble import assemble
from birthmark.reports.reading import DeclaredModel, Finding, Reading, from_json
from birthmark.reports.solved import solved_claim, solved_finding, solved_notes, with_looks
from birthmark.reports.terminal import to_text
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.search.cpu_origin import CpuOrigin
from birthmark.search.known_seed import candidate_at
from birthmark.search.solve.recover import Tally
from birthmark.survivors.split import split
from birthmark.survivors.survivor import Survivors

SHAPE = (24, 48)
SURVIVORS = Survivors(
    tensor="embedding",
    shape=SHAPE,
    dtype="float32",
    axis="row",
    ids=np.arange(24),
    probability=np.full(24, 0.95),
    distribution="normal",
    scale=0.0201,
    scale_error=0.01,
)
LOOK = HostLook(
    ("embedding",), "CPU draw, by solving", 2, "the values give 7 equations; 19937 unknowns need more"
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of one tensor, drawn on a CPU with seed 1337; one row changed since."""
    path = tmp_path_factory.mktemp("solved") / "model.safetensors"
    values = CpuDraw("normal", (0.0, 0.02), 24 * 48).values(1337, np.arange(24 * 48)).reshape(SHAPE)
    values[3] += np.float32(0.01)
    values[8, 1] = 1.0
    save_file({"embedding": values}, path)
    return path


@pytest.fixture(scope="module")
def found(file: Path) -> SolvedReading:
    """What is read from it."""
    with open_checkpoint(file) as checkpoint:
        selection, holdout = split(checkpoint, SURVIVORS)
        candidate = candidate_at(selection, 1337, 0, how="found by hand", trials=1000)
        return held_against(checkpoint, SURVIVORS, selection, holdout, candidate)


def changed(found: SolvedReading, **changes: Any) -> SolvedReading:
    """The same with another candidate."""
    case = found.judgement.case
    return replace(
        found, judgement=replace(found.judgement, case=replace(case, found=replace(case.found, **changes)))
    )


def by_solution(found: SolvedReading, index: int = 7) -> SolvedReading:
    """The same as if it had been solved, at another position."""
    origin = found.judgement.origin
    assert isinstance(origin, CpuOrigin)
    return changed(
        found,
        method="solve",
        how="solved alone",
        origin=replace(origin, index=index),
        attempts=1,
        tally=Tally(rank=19937, satisfied=256),
        trials=1 << 64,
    )


def read(file: Path, *ones: SolvedReading, **changes: Any) -> Reading:
    """The reading of the checkpoint."""
    with open_checkpoint(file) as checkpoint:
        return assemble(
            checkpoint,
            [],
            NOTHING_SEARCHED,
            command="birthmark scan model.safetensors",
            tensors_read=["embedding"],
            solved=ones,
            **changes,
        )


def test_a_searched_draw_becomes_a_finding(found: SolvedReading) -> None:
    """Generator, platform, seed and index are told; layout, offset and solve are null."""
    finding = solved_finding(found)
    assert (finding.outcome, finding.method) == ("match", "search")
    assert (finding.generator, finding.platform, finding.arithmetic) == ("mt19937", "cpu", "cpu-fused")
    assert (finding.seed, finding.seed_hex, finding.index) == (1337, "0x539", 0)
    assert (finding.layout, finding.offset, finding.solve, finding.vendor) == (None, None, None, None)
    assert finding.sampler.parameters == [0.0, 0.02]
    assert finding.factor == 1.0
    assert finding.survivors.ids == [row for row in range(24) if row != 3]
    assert (finding.altered.ids, finding.altered.elements) == ([8], 1)
    assert finding.bit_exact.of - finding.bit_exact.equal == 49
    assert finding.controls.decoys.count >= 1000
    assert finding.controls.seed_plus_one.score.n == finding.holdout.n
    assert Finding.model_validate(json.loads(finding.model_dump_json())) == finding


def test_a_solved_draw_tells_its_equations(found: SolvedReading) -> None:
    """The tally, the position and the trials of a solution."""
    finding = solved_finding(by_solution(found))
    assert finding.solve is not None
    assert (finding.solve.equations, finding.solve.rank, finding.solve.redundant_satisfied) == (
        20193,
        19937,
        256,
    )
    assert (finding.method, finding.index, finding.trials) == ("solve", 7, 1 << 64)


def test_declared_seeds_are_compared_by_their_low_half(found: SolvedReading) -> None:
    """A declared seed agrees where its low 32 bits do."""
    for seed, agrees in ((1337, True), (1337 + 2**32, True), (1338, False)):
        declared = DeclaredModel(seed=seed, source="config.json", agrees=not agrees)
        finding = solved_finding(found, declared)
        assert finding.declared is not None
        assert finding.declared.agrees is agrees


def test_a_refuted_candidate_is_no_finding(found: SolvedReading) -> None:
    """Where a candidate does not hold there is no finding, and its claim is none."""
    refuted = replace(found, judgement=replace(found.judgement, outcome="none"), units=None)
    with pytest.raises(ValueError, match="no finding"):
        solved_finding(refuted)
    assert solved_claim(refuted).outcome == "none"


def test_notes_explain_index_and_seed(found: SolvedReading) -> None:
    """The position in words, the low 32 bits, and a first element from elsewhere."""
    text = " ".join(solved_notes([found], []))
    assert "first thing drawn" in text
    assert "low 32 bits" in text
    assert "found by hand" in text
    assert "first 16 values did not come" in " ".join(solved_notes([by_solution(found, -16)], []))
    assert "20,193 linear equations" in " ".join(solved_notes([by_solution(found)], []))


def test_a_changed_scale_is_noted(found: SolvedReading) -> None:
    """A scale that nobody writes leaves the factor open."""
    origin = found.judgement.origin
    assert isinstance(origin, CpuOrigin)
    other = changed(found, origin=replace(origin, scale=0.0198765), written=False)
    assert solved_finding(other).factor is None
    assert any("perhaps changed" in note for note in solved_notes([other], []))


def test_the_account_tells_what_was_tried() -> None:
    """Each look is a stage and counts as trials; without other searches the account is theirs alone."""
    searched = with_looks(NOTHING_SEARCHED, [LOOK, HostLook(("a", "b"), "CPU draw, dictionary", 40)], 1)
    assert searched.stages == ["embedding: CPU draw, by solving", "a, b: CPU draw, dictionary"]
    assert searched.trials == 42
    assert (searched.complete, searched.candidates_tested) == (True, 1)
    assert searched.hypotheses
    assert with_looks(NOTHING_SEARCHED, []) == NOTHING_SEARCHED


def test_a_cpu_draw_makes_the_reading_a_match(file: Path, found: SolvedReading) -> None:
    """The verdict is match, the JSON comes back alike, and the terminal names the CPU and the position."""
    reading = read(file, found)
    assert reading.verdict == "match"
    assert from_json(reading.to_json()) == reading
    text = to_text(reading)
    assert "MATCH  seed 1337 on a CPU predicts the surviving values." in text
    assert "index 0 of the stream" in text
    assert "Devices" not in text
    assert "threads" not in text
    assert any("names no machine" in limit for limit in reading.limits)
    assert max(map(len, text.splitlines())) <= 80


def test_the_terminal_shows_the_equations(file: Path, found: SolvedReading) -> None:
    """A solved draw has a line about its equations."""
    text = to_text(read(file, by_solution(found)))
    assert "20,193 equations of rank 19,937; 256 redundant ones hold" in text
    assert "index 7 of the stream" in text


def test_nothing_leaves_the_reading_without_a_finding(file: Path) -> None:
    """No CPU draw: no finding, the verdict none, and a note on each look."""
    reading = read(file, looks=[LOOK])
    assert (reading.verdict, reading.findings) == ("none", [])
    assert any("19937 unknowns" in note for note in reading.notes)
    assert reading.searched.complete


def test_two_seeds_in_one_tensor_are_a_mixture(file: Path, found: SolvedReading) -> None:
    """Two CPU draws with different positions in one tensor are two initialisations."""
    reading = read(file, found, by_solution(found))
    assert reading.verdict == "mixture"
    assert "2 different initialisations" in to_text(reading)
