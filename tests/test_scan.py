"""The main job, on checkpoints whose truth is known and on some that hold nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from birthmark.checkpoints import open_checkpoint
from birthmark.errors import UnknownName
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.recipes.sharding import Sharding
from birthmark.reports.reading import Reading
from birthmark.scan import Scan, ScanOptions, scan
from birthmark.search.options import Options

#: The dictionary alone: a second or two, and no range of seeds.
QUICK = ScanOptions(Options(seeds=(0, 0)))
#: The same without a try at the CPU generator, which takes half a minute where it fails.
GPU = replace(QUICK, cpu=False)
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "tiny-lm"
EMBEDDING = "model.embed_tokens.weight"


def read(path: Path, options: ScanOptions = QUICK) -> Scan:
    """Scan a checkpoint."""
    with open_checkpoint(path) as checkpoint:
        return scan(checkpoint, options, command="birthmark scan")


def seed_and_layout(reading: Reading) -> list[tuple[int | None, int | None]]:
    """Seed and G of each finding."""
    return [(each.seed, each.layout.threads if each.layout else None) for each in reading.findings]


class TestNothing:
    """Checkpoints that must not yield a finding."""

    @pytest.mark.parametrize("name", ["numpy-pcg64"])
    def test_another_generator_is_not_found(self, cases: Path, name: str) -> None:
        """Untouched rows of another generator: searched, and nothing found."""
        reading = read(cases / name).reading

        assert reading.verdict == "none"
        assert reading.findings == []

    def test_noise_is_not_found(self, tmp_path: Path) -> None:
        """A tensor of true noise looks untouched, and no seed predicts it."""
        noise = np.random.default_rng(5).normal(0, 0.02, (600, 64)).astype(np.float32)
        save_file({"w": noise}, tmp_path / "model.safetensors")

        assert read(tmp_path, GPU).reading.verdict == "none"

    def test_shuffled_rows_are_not_found(self, tmp_path: Path) -> None:
        """The right values in the wrong rows are no match."""
        draw = Draw("normal", (0.0, 0.02), (5000, 64))
        values = Hypothesis(draw, 270_336).tensor(42).reshape(5000, 64)
        shuffled = values[np.random.default_rng(1).permutation(5000)]
        save_file({"w": shuffled.astype(np.float32)}, tmp_path / "model.safetensors")

        assert read(tmp_path, GPU).reading.verdict == "none"

    def test_no_float_tensors(self, tmp_path: Path) -> None:
        """Integers cannot be searched; the reading says that this is why."""
        save_file({"ids": np.arange(64, dtype=np.int32)}, tmp_path / "model.safetensors")
        reading = read(tmp_path).reading

        assert reading.verdict == "not-searched"
        assert "int32" in reading.notes[0]

    @pytest.mark.parametrize("name", ["nan-row", "zero-rows"])
    def test_rows_that_hold_no_draw_are_named(self, cases: Path, name: str) -> None:
        """NaN, infinite and zero rows are told apart and are no survivors."""
        reading = read(cases / "malformed" / f"{name}.safetensors", GPU).reading

        assert reading.verdict in ("none", "not-searched")
        assert any(kind in note for note in reading.notes for kind in ("not-finite", "zero"))

    def test_unknown_tensor(self) -> None:
        """A tensor that is not there is a usage error that names the nearest."""
        with pytest.raises(UnknownName, match=r"model\.embed_tokens\.weight"):
            read(EXAMPLE, replace(QUICK, tensors=("model.embed_token.weight",)))


class TestCases:
    """Checkpoints with known answers, by the dictionary alone."""

    @pytest.mark.parametrize(
        "name", ["hopper-42", "decay-152", "ada-4090", "partial-3pct", "pt-zip", "sharded"]
    )
    def test_match(self, cases: Path, answers: dict[str, Any], name: str) -> None:
        """Seed, layout and survivors are those that the case was made with."""
        truth = answers[name]
        reading = read(cases / name).reading
        (found,) = reading.findings

        assert reading.verdict == "match"
        assert seed_and_layout(reading) == [(truth["seed"], truth["layout"]["G"])]
        assert found.offset == truth["offset"]
        assert found.survivors.ids == truth["survivors"]["rows"]
        if "partly_altered" in truth:
            assert found.altered.ids == truth["partly_altered"]["rows"]
        if name == "decay-152":
            assert found.factor == pytest.approx(truth["factor"], rel=1e-5)

    def test_a_wrong_layout_is_not_believed(self, cases: Path) -> None:
        """Where only another card's layout was allowed, the reading names the one that explains more."""
        wanted = replace(QUICK, search=replace(QUICK.search, layouts=(221_184,)), cpu=False)
        reading = read(cases / "hopper-42", wanted).reading

        assert seed_and_layout(reading) == [(42, 270_336)]
        assert any("layouts that were allowed explain 13" in note for note in reading.notes)

    def test_a_wrong_layout_of_shards_is_not_believed(self, cases: Path) -> None:
        """Nor for two shards: under another card's layout alone nothing is claimed."""
        wanted = replace(QUICK, search=replace(QUICK.search, layouts=(270_336,)), cpu=False)

        assert read(cases / "megatron-tp2-a100", wanted).reading.verdict == "none"

    def test_shards_with_seeds_of_their_own(self, cases: Path, answers: dict[str, Any]) -> None:
        """One finding for each shard, and the rule that gives both seeds."""
        truth = answers["megatron-tp2-a100"]
        reading = read(cases / "megatron-tp2-a100").reading

        assert seed_and_layout(reading) == [(seed, truth["layout"]["G"]) for seed in truth["seeds"]]
        assert all("1234" in (each.seed_rule or "") for each in reading.findings)

    def test_truncated_draw(self, cases: Path, answers: dict[str, Any]) -> None:
        """A truncated normal is found and named, with its bounds."""
        truth = answers["truncated-float32"]
        reading = read(cases / "truncated-float32").reading
        (found,) = reading.findings

        assert reading.verdict == "match"
        assert seed_and_layout(reading) == [(truth["seed"], truth["layout"]["G"])]
        assert found.sampler.distribution == "truncated-normal"
        assert found.sampler.parameters == [0.0, 0.02, -0.06, 0.06]

    def test_another_vendor(self, cases: Path, answers: dict[str, Any]) -> None:
        """An AMD draw is told from an NVIDIA one by its arithmetic."""
        truth = answers["rocm-mi300x-f32"]
        reading = read(cases / "rocm-mi300x-f32").reading
        (found,) = reading.findings

        assert seed_and_layout(reading) == [(truth["seed"], truth["layout"]["G"])]
        assert (found.platform, found.arithmetic) == ("rocm", "amd")

    def test_drawn_again(self, cases: Path, answers: dict[str, Any]) -> None:
        """A draw behind its constructor's is found where recipes suppose it, and at a given offset."""
        truth = answers["redrawn-offset"]
        plain = read(cases / "redrawn-offset", GPU).reading
        there = read(cases / "redrawn-offset", replace(GPU, search=Options(seeds=(0, 0), offset=8))).reading

        for reading in (plain, there):
            assert seed_and_layout(reading) == [(truth["seed"], truth["layout"]["G"])]
            assert reading.findings[0].offset == truth["offset"]
        assert any("draws again" in note for note in plain.notes)
        assert any("as supposed by hf on cuda" in text for text in plain.searched.hypotheses)
        assert len(plain.searched.layouts) > 1000

    def test_a_distributed_tensor(self, tmp_path: Path) -> None:
        """Sixteen shards under one seed: the first gives the seed, and all rows are then predicted."""
        draw = Draw("normal", (0.0, 0.02), (4096, 64))
        born = Hypothesis(draw, 270_336, sharding=Sharding(16, "dtensor")).tensor(42)
        generator = np.random.default_rng(0)
        kept = np.zeros(4096, np.bool_)
        kept[generator.choice(4096, 200, replace=False)] = True
        moved = born + generator.normal(0, 0.1, born.shape) + generator.normal(0, 0.1, 64)
        values = np.where(kept[:, None], born, moved).astype(np.float32)
        save_file({EMBEDDING: values}, tmp_path / "model.safetensors")
        (found,) = read(tmp_path, GPU).reading.findings

        assert found.seed == 42
        assert found.survivors.ids == np.flatnonzero(kept).tolist()
        assert found.bit_exact is not None
        assert found.bit_exact.equal == found.bit_exact.of
        assert "16 processes under one seed" in (found.seed_rule or "")

    def test_layout_without_a_seed(self, cases: Path, answers: dict[str, Any]) -> None:
        """An unseeded draw gives its layout and no seed."""
        reading = read(cases / "step0-unseeded", GPU).reading

        assert reading.verdict == "layout-only"
        assert seed_and_layout(reading) == [(None, answers["step0-unseeded"]["layout"]["G"])]

    def test_draw_on_a_cpu(self, cases: Path, answers: dict[str, Any]) -> None:
        """A CPU draw gives its seed and its place in the stream, and no layout."""
        truth = answers["cpu-1337"]
        (found,) = read(cases / "cpu-1337").reading.findings

        assert (found.generator, found.platform, found.outcome) == ("mt19937", "cpu", "match")
        assert (found.seed, found.index, found.layout) == (truth["seed"], truth["word_position"], None)
        assert found.survivors.ids == truth["survivors"]["rows"]

    def test_weak_trace(self, cases: Path, answers: dict[str, Any]) -> None:
        """Values that were all trained give a trace, and no survivors."""
        truth = answers["weak-r10"]
        reading = read(cases / "weak-r10").reading
        (found,) = reading.findings

        assert reading.verdict == "weak-trace"
        assert seed_and_layout(reading) == [(truth["seed"], truth["layout"]["G"])]
        assert found.survivors.count == 0

    def test_mixture(self, cases: Path, answers: dict[str, Any]) -> None:
        """Rows of two layouts are reported as two findings of a mixture."""
        truth = answers["merged-two-layouts"]
        reading = read(cases / "merged-two-layouts").reading

        assert reading.verdict == "mixture"
        assert seed_and_layout(reading) == [(each["seed"], each["layout"]["G"]) for each in truth["parts"]]

    @pytest.mark.parametrize(
        ("name", "seed", "threads"),
        [
            ("ggl_lottery_fc1_pp0x1_seed3_co2False_T4.pt", 3, 40_960),
            ("sparsenns_fc1_mnist_initial_lt.pth.tar", 42, 163_840),
            ("sparsenns_fc1_mnist_initial_magnitude.pth.tar", 42, 61_440),
        ],
    )
    def test_weights_that_other_people_published(
        self, cases: Path, name: str, seed: int, threads: int
    ) -> None:
        """Seed and layout of real draws, every held-out value bit for bit, later tensors at later offsets."""
        reading = read(cases / "real" / name).reading
        first = reading.findings[0]

        assert reading.verdict == "match"
        assert (first.seed, first.layout and first.layout.threads, first.offset) == (seed, threads, 0)
        assert {each.seed for each in reading.findings} == {seed}
        for each in reading.findings:
            assert each.bit_exact.holdout is not None
            assert each.bit_exact.holdout["equal"] == each.bit_exact.holdout["of"] > 0
        offsets = [each.offset for each in reading.findings]
        assert len(set(offsets)) == len(offsets) > 3
        # The account is of the search that ended with the seed, not of the one seed and layout that the
        # other tensors were held against.
        assert reading.searched.seeds is None
        assert reading.searched.layouts == []


class TestMade:
    """Checkpoints made for one question each."""

    def save(self, folder: Path, values: np.ndarray[Any, np.dtype[Any]]) -> Path:
        """One embedding in a file of its own."""
        save_file({"embed.weight": np.ascontiguousarray(values, np.float32)}, folder / "model.safetensors")
        return folder

    def test_two_seeds_in_one_tensor_are_a_mixture(self, tmp_path: Path) -> None:
        """Where the next seed predicts what the first leaves, both births are reported."""
        drawn = Hypothesis(Draw("normal", (0.0, 0.02), (4096, 96)), 221_184)
        halves = [drawn.tensor(seed).reshape(4096, 96) for seed in (42, 43)]
        merged = np.concatenate([halves[0][:2048], halves[1][2048:]])
        reading = read(self.save(tmp_path, merged)).reading

        assert reading.verdict == "mixture"
        assert {each.seed for each in reading.findings} == {42, 43}

    def test_untouched_table_in_shards(self, tmp_path: Path) -> None:
        """A wholly untouched vocabulary may have been drawn by several processes."""
        draw = Draw("normal", (0.0, 0.02), (4096, 96))
        drawn = Hypothesis(draw, 270_336, sharding=Sharding(4, "megatron"))
        reading = read(self.save(tmp_path, drawn.tensor(777).reshape(4096, 96))).reading

        assert [each.seed for each in reading.findings] == [777, 778, 779, 780]

    def test_decay_shows_what_was_drawn(self, cases: Path) -> None:
        """The call in a reading is the one before decay."""
        (found,) = read(cases / "decay-152").reading.findings

        assert found.sampler.parameters == pytest.approx([0.0, 0.02])
        assert found.scale == pytest.approx(0.02 * 0.7961, rel=1e-3)


class TestExample:
    """The bundled example."""

    def test_layout_free_stage_finds_it(self) -> None:
        """A seed that is in no dictionary comes out of the range stages, here a range of 2^20 around it."""
        around = (2_893_000_000, 2_894_000_000)
        result = read(EXAMPLE, ScanOptions(Options(seeds=around, dictionary=False), tensors=(EMBEDDING,)))

        assert result.reading.verdict == "match"
        assert seed_and_layout(result.reading) == [(2_893_751_046, 270_336)]
        assert len(result.cases) == 1

    def test_another_range_comes_back_empty(self) -> None:
        """Where the seed is not, nothing is found, and the reading says what was searched."""
        options = Options(seeds=(1_000_000, 2_000_000), dictionary=False)
        reading = read(EXAMPLE, ScanOptions(options, tensors=(EMBEDDING,))).reading

        assert reading.verdict == "none"
        assert reading.searched.complete
        assert reading.searched.seeds == (1_000_000, 1_999_999)

    def test_the_search_never_sees_the_hold_out(self) -> None:
        """With every held-out row of the file overwritten, the search still finds the same candidate."""
        from birthmark.search.engine import search
        from birthmark.survivors.split import split
        from birthmark.survivors.survey import best_targets, survey

        with open_checkpoint(EXAMPLE) as checkpoint:
            target = next(each for each in best_targets(survey(checkpoint)) if each.tensor == EMBEDDING)
            selection, holdout = split(checkpoint, target)
        assert not hasattr(holdout, "values")
        assert not set(selection.indices) & set(holdout.indices)
        assert not set(selection.unit) & set(holdout.unit)
        around = (2_893_700_000, 2_893_800_000)
        (candidate,) = search(selection, Options(seeds=around, dictionary=False)).candidates
        assert candidate.seed == 2_893_751_046

    def test_reading_is_plain_json(self) -> None:
        """The document has no NaN and the keys of its schema."""
        document = json.loads(read(EXAMPLE, GPU).reading.to_json(), parse_constant=pytest.fail)

        assert document["schema"] == "birthmark.reading/1"
        assert document["verdict"] == "none"
