"""Seed-free readings as findings."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from birthmark.checkpoints import open_checkpoint
from birthmark.evidence.coherence import Coherence
from birthmark.evidence.elements import Elements
from birthmark.evidence.seed_free import SeedFree, read_layout
from birthmark.evidence.verdict import overall
from birthmark.hypothesis import Arithmetic, Draw, Hypothesis
from birthmark.reports.account import NOTHING_SEARCHED
from birthmark.reports.assemble import assemble
from birthmark.reports.reading import Finding, Reading, from_json
from birthmark.reports.seed_free import (
    coherence_model,
    layout_claim,
    layout_finding,
    searched_text,
    seed_free_notes,
)
from birthmark.reports.terminal import to_text
from birthmark.survivors.survivor import Survivors

SHAPE = (1600, 200)
SURVIVORS = Survivors(
    tensor="embedding",
    shape=SHAPE,
    dtype="float32",
    axis="row",
    ids=np.arange(1600),
    probability=np.ones(1600),
    distribution="normal",
    scale=0.02,
    scale_error=0.001,
)


def read(arithmetic: Arithmetic = "nvidia-volta+", std: float = 0.02, threads: int = 40960) -> SeedFree:
    """A draw without a known seed, read."""
    values = Hypothesis(Draw("normal", (0.0, std), SHAPE), threads, arithmetic).tensor(5870214893347715)
    indices = np.arange(values.size)
    elements = Elements(indices, values.ravel().astype(np.float64), indices // SHAPE[1])
    return read_layout(elements, SHAPE, "float32", layouts=(20480, 40960, 41216, 81920))


def nothing(result: str = "none") -> SeedFree:
    """A reading without a layout."""
    return SeedFree(result, "there is nothing", 1000, 500)  # type: ignore[arg-type]


def test_a_layout_becomes_a_finding_without_a_seed() -> None:
    """Layout and devices are told, the seed and the offset are null, and the scores are coherences."""
    found = read()
    finding = layout_finding(found, SURVIVORS)
    assert finding.outcome == "layout-only"
    assert finding.method == "seed-free"
    assert (finding.seed, finding.seed_hex, finding.offset) == (None, None, None)
    assert finding.layout is not None
    assert finding.layout.threads == 40960
    assert [one.name for one in finding.layout.devices][:1] == ["T4"]
    assert (finding.platform, finding.arithmetic) == ("cuda", "nvidia-volta+")
    assert finding.survivors.count == 1600
    assert finding.sampler.parameters == [0.0, float(np.float32(0.02))]
    for score in (finding.selection, finding.holdout):
        assert score.r is not None
        assert score.sigma is not None
        assert score.log10_p_local is not None
        assert 0.9 < score.r <= 1.0
        assert score.sigma == pytest.approx(score.r * math.sqrt(score.n))
        assert score.log10_p_local == pytest.approx(-(score.sigma**2) / math.log(10.0))
    assert finding.vendor is not None
    assert finding.vendor.discriminating == finding.vendor.nvidia
    assert Finding.model_validate(json.loads(finding.model_dump_json())) == finding


def test_the_other_layouts_are_the_decoys() -> None:
    """The background is that of the other layouts, the next best of them is shown with its trials."""
    found = read()
    controls = layout_finding(found, SURVIVORS).controls
    assert controls.decoys.count == 3
    assert sum(controls.decoys.histogram) == 3
    assert controls.decoys.max_sigma is not None
    assert controls.decoys.max_sigma < 4.0
    assert controls.next_layout is not None
    assert controls.next_layout.threads in (20480, 41216, 81920)
    assert controls.next_layout.score.sigma == controls.decoys.max_sigma
    assert controls.seed_plus_one.score.n == 0


def test_amd_draws_are_of_rocm() -> None:
    """Where the pairs are those of AMD's stand-in tables the platform follows."""
    finding = layout_finding(read("amd"), SURVIVORS)
    assert (finding.platform, finding.arithmetic) == ("rocm", "amd")
    assert finding.layout is not None
    assert finding.layout.devices == []


def test_an_inexact_scale_leaves_the_arithmetic_open() -> None:
    """After a decay nothing is inverted: no vendor, every device of the layout, and a note why."""
    values = Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), 40960).tensor(9) * np.float32(0.79531)
    indices = np.arange(values.size)
    elements = Elements(indices, values.ravel().astype(np.float64), indices // SHAPE[1])
    found = read_layout(elements, SHAPE, "float32", layouts=(20480, 40960))
    finding = layout_finding(found, SURVIVORS)
    assert finding.vendor is None
    assert finding.arithmetic is None
    assert any("vendor is null" in note for note in seed_free_notes(found, "embedding"))
    assert any("perhaps changed" in note for note in seed_free_notes(found, "embedding"))


def test_changed_values_are_noted() -> None:
    """Where a part of the pairs lies on no lattice the note says so; an untouched draw has no such note."""
    values = Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), 40960).tensor(9).copy()
    values[::5] = np.random.default_rng(1).standard_normal((320, 200)) * 0.02
    indices = np.arange(values.size)
    elements = Elements(indices, values.ravel().astype(np.float64), indices // SHAPE[1])
    found = read_layout(elements, SHAPE, "float32", layouts=(20480, 40960))
    assert found.threads == 40960
    assert any("mean phase" in note for note in seed_free_notes(found, "embedding"))
    assert not any("mean phase" in note for note in seed_free_notes(read(), "embedding"))


def test_shards_are_told_and_odd_waves_are_not_called_chance() -> None:
    """Shards are in the notes; where odd waves are coherent the note does not call that chance."""
    draw = Draw("normal", (0.0, 0.02), (800, 200))
    values = np.concatenate([Hypothesis(draw, 40960).tensor(seed) for seed in (5870214893347715, 3)])
    indices = np.arange(values.size)
    elements = Elements(indices, values.ravel().astype(np.float64), indices // 200)
    found = read_layout(elements, values.shape, "float32", layouts=(20480, 40960))
    text = " ".join(seed_free_notes(found, "embedding"))
    assert "drawn in 2 shards of rows" in text
    assert "as chance does" in text
    coherent = replace(found, odd_waves=Coherence(4000, 45.0))
    text = " ".join(seed_free_notes(coherent, "embedding"))
    assert "more than chance does" in text
    assert "as chance does" not in text


def test_a_short_scale_without_the_bits_is_doubted() -> None:
    """0.02 decayed by 0.3 is 0.006, which looks drawn; the pairs do not have its bits, and that is said."""
    values = Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), 40960).tensor(9) * np.float32(0.3)
    indices = np.arange(values.size)
    elements = Elements(indices, values.ravel().astype(np.float64), indices // SHAPE[1])
    found = read_layout(elements, SHAPE, "float32", layouts=(20480, 40960))
    text = " ".join(seed_free_notes(found, "embedding"))
    assert "drawn with another one and scaled since" in text
    assert "scaled since" not in " ".join(seed_free_notes(read(), "embedding"))


def test_layouts_of_columns_that_look_alike_are_named() -> None:
    """Where G is a whole number of rows, shards of columns with smaller layouts are named beside it."""
    text = " ".join(seed_free_notes(replace(read(), alike=((2, 57344),)), "embedding"))
    assert "57,344 in 2 shards" in text
    assert "cannot tell these apart" in text
    assert "cannot tell these apart" not in " ".join(seed_free_notes(read(), "embedding"))


@pytest.mark.parametrize(
    ("survivors", "largest", "words"),
    [
        (320_000, 4.9, "says nothing"),
        (200_000_000, 5.3, "without JAX's bound so many would stay below it"),
        (320_000, 5.9, "beyond what JAX or TensorFlow or MindSpore or PyTorch on a CPU can draw"),
    ],
)
def test_the_largest_value_speaks_only_where_it_can(survivors: int, largest: float, words: str) -> None:
    """Its bound is compared with how often as many normals stay below it anyway."""
    found = replace(read(), survivors=survivors, largest=largest)
    assert words in seed_free_notes(found, "embedding")[-1]


def test_notes_explain_every_null_and_every_number() -> None:
    """The notes name R, the pairs that were there, the controls and what is null."""
    found = read()
    text = " ".join(seed_free_notes(found, "embedding"))
    assert f"{found.pairs:,} surviving pairs" in text
    for words in (
        "layout-only",
        "seed, offset and seed_hex are null",
        "bit_exact is empty",
        "Decoys",
        "odd waves",
    ):
        assert words in text
    assert searched_text(found, "embedding") is not None
    assert "4 layouts" in str(searched_text(found, "embedding"))


@pytest.mark.parametrize(("result", "words"), [("none", "nothing found"), ("refused", "not tried")])
def test_what_was_not_found_is_told_and_is_no_finding(result: str, words: str) -> None:
    """A reading without a layout gives a note, and refuses to be a finding."""
    notes = seed_free_notes(nothing(result), "embedding")
    assert len(notes) == 1
    assert words in notes[0]
    with pytest.raises(ValueError, match="no finding"):
        layout_finding(nothing(result), SURVIVORS)
    assert (searched_text(nothing(result), "embedding") is None) == (result == "refused")


def test_a_family_is_no_finding_and_is_named(tmp_path: Path) -> None:
    """A generator without layouts is named in the headline, in `families` and in a note."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    values = torch.empty(SHAPE).normal_(0.0, 0.02).numpy()
    indices = np.arange(values.size)
    elements = Elements(indices, values.ravel().astype(np.float64), indices // SHAPE[1])
    found = read_layout(elements, SHAPE, "float32", layouts=(20480,))
    notes = seed_free_notes(found, "embedding")
    assert "PyTorch's CPU generator" in notes[0]
    assert "log10 p" in notes[0]
    reading = whole(tmp_path, [found])
    assert reading.verdict == "none"
    assert [(one.generator, one.platform) for one in reading.families] == [("mt19937", "cpu")]
    assert reading.families[0].scale == found.scale
    assert from_json(reading.to_json()) == reading
    assert "drawn by PyTorch's CPU generator" in " ".join(to_text(reading).split())
    assert whole(tmp_path, [nothing()]).families == []


def test_the_verdict_of_such_a_finding_is_layout_only() -> None:
    """By itself it makes the reading's verdict, and two tensors of one layout are no mixture."""
    found = read()
    claims = [layout_claim(found, SURVIVORS), layout_claim(found, SURVIVORS)]
    assert overall(claims) == "layout-only"


def whole(folder: Path, found: list[SeedFree]) -> Reading:
    """A reading of a checkpoint that was searched in vain and read without seeds."""
    save_file({"embedding": np.zeros(SHAPE, np.float32)}, folder / "model.safetensors")
    with open_checkpoint(folder) as checkpoint:
        return assemble(
            checkpoint,
            [],
            NOTHING_SEARCHED.model_copy(update={"trials": 5, "complete": True, "stages": ["table: done"]}),
            command="birthmark scan here",
            tensors_read=["embedding"],
            layouts=[(SURVIVORS, one) for one in found],
        )


def test_a_reading_takes_layouts_beside_searches(tmp_path: Path) -> None:
    """The verdict is layout-only, the account names what was tried, and the JSON is the schema's."""
    found = read()
    reading = whole(tmp_path, [found])
    assert reading.verdict == "layout-only"
    assert len(reading.findings) == 1
    assert reading.searched.trials == 5 + found.trials
    assert reading.searched.stages[0] == "table: done"
    assert "seed-free" in reading.searched.stages[1]
    assert any("none is known or claimed" in limit for limit in reading.limits)
    assert any("Significant means" in note for note in reading.notes)
    assert from_json(reading.to_json()) == reading


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_speaks_of_pairs_and_layouts(tmp_path: Path, width: int) -> None:
    """No seed, no bits and no false seeds are shown: pairs, R and other layouts are."""
    text = to_text(whole(tmp_path, [read()]), width)
    for words in (
        "LAYOUT ONLY",
        "G = 40,960",
        "T4",
        "pairs",
        "other layouts",
        "an unknown offset",
        "Volta or",
    ):
        assert words in text
    for words in ("seed + 1", "Bit-exact", "false seeds", "None"):
        assert words not in text
    assert all(len(line) <= width for line in text.splitlines())


def test_a_reading_without_a_layout_says_what_was_tried(tmp_path: Path) -> None:
    """Where nothing is found without seeds either, the verdict is none and the reason is a note."""
    reading = whole(tmp_path, [nothing("none"), nothing("refused")])
    assert reading.verdict == "none"
    assert reading.findings == []
    assert len(reading.searched.stages) == 2
    assert sum("layout without the seed" in note for note in reading.notes) == 2


def test_no_numbers_give_no_score() -> None:
    """A coherence of nothing is null in the schema, not NaN."""
    empty: Any = coherence_model(Coherence(0, 0.0))
    assert (empty.n, empty.r, empty.sigma, empty.log10_p_local) == (0, None, None, None)
