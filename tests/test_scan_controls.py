"""Controls that every scan runs by itself, on draws whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from birthmark.checkpoints import open_checkpoint
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.recipes.sharding import Sharding
from birthmark.reports.reading import Reading
from birthmark.scan import ScanOptions, scan
from birthmark.search.options import Options

QUICK = replace(ScanOptions(Options(seeds=(0, 0))), cpu=False)
#: A Tesla T4's launch, and a table of three of its waves.
T4 = 40_960
SHAPE = (1920, 64)
TRUTH = Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), T4)


def _read(path: Path) -> Reading:
    with open_checkpoint(path) as checkpoint:
        return scan(checkpoint, QUICK, command="birthmark scan").reading


def test_a_match_in_float32_is_confirmed_without_its_seed(tmp_path: Path) -> None:
    """The pairs of the layout that was found, and of no other, lie on the generator's lattice."""
    save_file({"w": TRUTH.tensor(7).astype(np.float32)}, tmp_path / "model.safetensors")

    reading = _read(tmp_path)

    found = reading.findings[0]
    assert (reading.verdict, found.seed, found.layout and found.layout.threads) == ("match", 7, T4)
    again = found.without_seed
    assert again is not None
    assert again.asked
    assert (again.threads, again.agrees) == (T4, True)
    assert again.r is not None
    assert again.r > 20.0
    assert again.next_r is not None
    assert again.next_r < 4.5
    assert next(one for one in reading.questions if one.topic == "No seed").answer.startswith("Yes: ")


def test_trained_rows_speak_a_second_time(cases: Path) -> None:
    """Rows that no search looked at remember the draw; held against their neighbours' they do not."""
    found = _read(cases / "hopper-42").findings[0]

    assert found.trained is not None
    assert found.trained.lo is not None
    assert found.trained.lo > 0.4
    assert found.trained.moved is not None
    assert abs(found.trained.moved.sigma or 9.0) < 4.5
    assert found.controls.rows_moved is not None
    assert abs(found.controls.rows_moved.score.sigma or 9.0) < 4.5


def test_every_question_is_answered_or_says_why_not(cases: Path) -> None:
    """Bfloat16 cannot show a layout without the seed, and the reading says so."""
    questions = {one.topic: one for one in _read(cases / "hopper-42").questions}

    assert not questions["No seed"].asked
    assert "bfloat16" in questions["No seed"].answer
    assert [topic for topic, one in questions.items() if not one.asked] == ["No seed"]


def test_nothing_found_says_that_no_control_ran(tmp_path: Path) -> None:
    """Noise has no finding, so there is one line instead of eight."""
    noise = np.random.default_rng(5).normal(0.0, 0.02, (600, 64)).astype(np.float32)
    save_file({"w": noise}, tmp_path / "model.safetensors")

    reading = _read(tmp_path)

    assert reading.findings == []
    assert [one.asked for one in reading.questions] == [False]


def test_shards_are_confirmed_without_their_seeds(tmp_path: Path) -> None:
    """Each shard is a launch of its own; their pairs show the layout that they share."""
    shards = Hypothesis(Draw("normal", (0.0, 0.02), (3840, 64)), T4, sharding=Sharding(2, "megatron"))
    save_file({"w": shards.tensor(1234).astype(np.float32)}, tmp_path / "model.safetensors")

    reading = _read(tmp_path)

    again = reading.findings[0].without_seed
    assert again is not None
    assert (again.threads, again.agrees) == (T4, True)
    processes = next(one for one in reading.questions if one.topic == "Processes")
    assert "at least 2 separately seeded ones" in processes.answer
