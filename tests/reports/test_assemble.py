"""From judgements to a reading."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from birthmark.checkpoints import open_checkpoint
from birthmark.evidence.judge import Judgements, judge
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.recipes.sharding import Sharding
from birthmark.reports.account import NOTHING_SEARCHED, account
from birthmark.reports.assemble import assemble, not_searched
from birthmark.reports.digests import digested
from birthmark.reports.reading import DeclaredModel, Reading, from_json
from birthmark.search.outcome import Searched, StageReport
from birthmark.survivors.split import Holdout, Selection, held_out
from birthmark.survivors.survivor import Survivors

SHAPE = (1024, 128)
TRUTH = Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), 40960)
ROWS = np.arange(3, 1024, 20)


@dataclass(frozen=True)
class Found:
    """A candidate."""

    hypothesis: Hypothesis
    seed: int


SEARCHED = Searched(
    seeds=(0, 2**32),
    layouts=(40960, 270336),
    at_least=None,
    at_least_miss=1.0,
    hypotheses=("one normal draw",),
    candidates_tested=3,
    complete=True,
    trials=10**11,
    probes=3,
    miss_chance=1e-5,
    stages=(
        StageReport("dictionary", 250_000, 51, (40960, 270336), None, 4, 1e-6, (1, 1), True, 12_750_000, 9),
        StageReport("layout-free", 2**32, 1, (), 65536, 1, 1e-5, (40, 64), False, 2**31, 70),
    ),
    seconds=9.0,
)


def _read(
    folder: Path,
    *,
    truth: Hypothesis = TRUTH,
    claimed: Hypothesis = TRUTH,
    seed: int = 5,
    rows: np.ndarray = ROWS,
    change: float = 0.0,
    declared: DeclaredModel | None = None,
) -> Reading:
    """The reading of a checkpoint with one tensor, whose given rows are untouched."""
    rng = np.random.default_rng(0)
    values = truth.tensor(5).astype(np.float64)
    values = np.where(np.isin(np.arange(1024), rows)[:, None], values, 0.02 * rng.normal(size=SHAPE))
    values = values + change * rng.normal(size=SHAPE)
    path = folder / "model.safetensors"
    save_file({"w": values.astype(np.float32)}, str(path))
    hidden = held_out("w", rows)
    places = [(rows[side][:, None] * 128 + np.arange(128)).ravel() for side in (~hidden, hidden)]
    with open_checkpoint(path) as checkpoint:
        stored = checkpoint.elements("w", places[0]).astype(np.float64)
        selection = Selection(
            "w",
            SHAPE,
            "float32",
            "row",
            "normal",
            0.02,
            0.01,
            places[0],
            stored,
            places[0] // 128,
            np.ones(stored.size),
        )
        survivors = Survivors("w", SHAPE, "float32", "row", rows, np.ones(rows.size), "normal", 0.02, 0.01)
        holdout = Holdout("w", "row", places[1], places[1] // 128)
        judged = judge(checkpoint, survivors, selection, holdout, [Found(claimed, seed)], trials=10**11)
        return assemble(
            checkpoint,
            [judged],
            account([("w", SEARCHED)]),
            command="birthmark scan model.safetensors",
            tensors_read=["w"],
            declared=declared,
        )


def test_a_match_becomes_a_reading(tmp_path: Path) -> None:
    """Seed, layout, devices, survivors, digests and limits are all there, and the JSON has no NaN."""
    reading = _read(tmp_path)

    assert reading.verdict == "match"
    (finding,) = reading.findings
    assert finding.seed == 5
    assert finding.seed_hex == "0x5"
    assert finding.layout is not None
    assert finding.layout.threads == 40960
    assert {device.name for device in finding.layout.devices} == {"T4", "RTX 2070 Super"}
    assert finding.arithmetic == "nvidia-volta+"
    assert finding.platform == "cuda"
    assert finding.survivors.ids == ROWS.tolist()
    assert finding.bit_exact.equal == finding.bit_exact.of
    assert finding.sampler.parameters == [0.0, 0.02]
    assert finding.index is None
    digest = hashlib.sha256((tmp_path / "model.safetensors").read_bytes()).hexdigest()
    assert reading.checkpoint.files[0].sha256 == digest
    assert reading.limits
    assert from_json(reading.to_json()) == reading
    assert "NaN" not in reading.to_json()


def test_a_false_candidate_becomes_a_reading_that_found_nothing(tmp_path: Path) -> None:
    """The candidate is not reported; what was searched is, with the reason in the notes."""
    reading = _read(tmp_path, seed=6)

    assert reading.verdict == "none"
    assert reading.findings == []
    assert reading.searched.candidates_tested == 3
    assert any("none, because" in note for note in reading.notes)


def test_a_seed_without_a_layout_lists_every_layout(tmp_path: Path) -> None:
    """threads is null, the set not excluded is given, and so are all its devices."""
    reading = _read(tmp_path, rows=np.arange(0, 200, 5))

    assert reading.verdict == "seed-only"
    layout = reading.findings[0].layout
    assert layout is not None
    assert layout.threads is None
    assert {40960, 270336, 622592} <= set(layout.not_excluded)
    assert len(layout.devices) > 40
    assert any("cannot separate the layouts" in note for note in reading.notes)


def test_a_weak_trace_claims_no_survivors(tmp_path: Path) -> None:
    """Changed values keep a seed and a layout, but no survivor, factor or arithmetic."""
    reading = _read(tmp_path, change=0.02)

    assert reading.verdict == "weak-trace"
    (finding,) = reading.findings
    assert finding.survivors.count == 0
    assert (finding.factor, finding.arithmetic, finding.vendor) == (None, None, None)


def test_shards_share_a_rule(tmp_path: Path) -> None:
    """Each shard is a finding with its own seed; the rule that links them is in both."""
    sharded = replace(TRUTH, sharding=Sharding(2, "megatron"), threads=28672)

    reading = _read(tmp_path, truth=sharded, claimed=sharded)

    assert [finding.seed for finding in reading.findings] == [5, 6]
    assert len({finding.seed_rule for finding in reading.findings}) == 1
    assert reading.findings[0].seed_rule is not None


def test_a_declared_seed_is_carried(tmp_path: Path) -> None:
    """What the files declare stands beside what was found."""
    declared = DeclaredModel(seed=5, source="config.json", agrees=True)

    assert _read(tmp_path, declared=declared).findings[0].declared == declared


def test_every_null_of_a_finding_has_a_reason(tmp_path: Path) -> None:
    """Each key that is null is named in the notes."""
    reading = _read(tmp_path)
    notes = " ".join(reading.notes)

    for key, value in json.loads(reading.to_json())["findings"][0].items():
        if value is None and key not in ("seed_rule",):
            assert key in notes


def test_an_account_has_inclusive_seeds_and_stages_in_words() -> None:
    """The range names its last seed; each stage says what it covered and how far it went."""
    one = account([("w", SEARCHED)])

    assert one.seeds == (0, 2**32 - 1)
    assert one.layouts == [40960, 270336]
    assert one.stages[0] == "dictionary: 250,000 seeds, 2 layouts, 4 probes, complete"
    assert one.stages[1].endswith("every layout of at least 65,536 threads, 1 probe, 40 of 64 work units")


def test_a_quick_look_at_other_tensors_takes_nothing_from_the_main_search() -> None:
    """Seeds and layouts are those of the widest search; trials and candidates are everyone's."""
    quick = replace(
        SEARCHED, seeds=(0, 0), layouts=(270336,), complete=False, at_least=512, miss_chance=0.1, trials=5
    )

    both = account([("v", quick), ("w", SEARCHED)])

    assert both.seeds == (0, 2**32 - 1)
    assert both.layouts == [40960, 270336]
    assert both.miss_chance == 1e-5
    assert both.at_least is None
    assert both.trials == 10**11 + 5
    assert both.candidates_tested == 6
    assert not both.complete
    assert both.stages[0].startswith("v: ")
    assert account([("v", quick)]).seeds is None
    assert account([]).seeds is None


def test_searches_as_wide_claim_what_all_of_them_did() -> None:
    """Two full searches have covered the layouts that both have covered."""
    other = replace(SEARCHED, layouts=(270336,), miss_chance=0.1, at_least=512)

    both = account([("w", replace(SEARCHED, at_least=1024)), ("v", other)])

    assert both.layouts == [270336]
    assert both.miss_chance == 0.1
    assert both.at_least == 1024


def test_two_searches_make_one_reading(tmp_path: Path) -> None:
    """A search without candidates beside one with a match does not change the verdict."""
    save_file({"w": np.zeros((2, 2), np.float32)}, str(tmp_path / "m.safetensors"))
    with open_checkpoint(tmp_path / "m.safetensors") as checkpoint:
        reading = assemble(
            checkpoint,
            [Judgements((), ()), Judgements((), ())],
            NOTHING_SEARCHED,
            command="x",
            tensors_read=[],
        )

    assert reading.verdict == "none"


def test_not_searched_gives_its_reason_first(tmp_path: Path) -> None:
    """A checkpoint with nothing to search has a reading, too."""
    save_file({"w": np.zeros((2, 2), np.int32)}, str(tmp_path / "m.safetensors"))
    with open_checkpoint(tmp_path / "m.safetensors") as checkpoint:
        reading = not_searched(checkpoint, "No tensor of floating-point numbers.", command="birthmark scan m")

    assert reading.verdict == "not-searched"
    assert reading.notes[0] == "No tensor of floating-point numbers."
    assert reading.searched.seeds is None
    assert from_json(reading.to_json()) == reading


@pytest.mark.parametrize("most", [10, 10**9])
def test_large_files_get_no_digest_but_a_reason(tmp_path: Path, most: int) -> None:
    """A digest reads a file whole, so beyond a limit there is none."""
    path = tmp_path / "m.safetensors"
    save_file({"w": np.zeros((64, 64), np.float32)}, str(path))

    with open_checkpoint(path) as checkpoint:
        files, notes = digested(checkpoint, most)

    assert (files[0].sha256 is None) == (most == 10)
    assert any("No SHA-256" in note for note in notes) == (most == 10)


def test_a_file_that_is_gone_gets_no_digest(tmp_path: Path) -> None:
    """A source that is not a local file costs the digest, not the reading."""

    class Gone:
        source = str(tmp_path / "gone.safetensors")
        files: Any = (type("Info", (), {"name": "gone.safetensors", "size": 5})(),)

    files, notes = digested(Gone())  # type: ignore[arg-type]

    assert files[0].sha256 is None
    assert len(notes) == 1
