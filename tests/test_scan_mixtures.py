"""Scans of tensors in which several births came together, and of those that only look like it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from birthmark.calibration.made import SCALE, SHAPE, MadeCheckpoint, trained
from birthmark.checkpoints import open_checkpoint
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.packs.verifier import verify_bytes
from birthmark.packs.writer import pack_bytes
from birthmark.recipes.sharding import Sharding
from birthmark.reports.reading import Reading
from birthmark.reports.terminal import to_text
from birthmark.scan import Scan, ScanOptions, scan
from birthmark.search.cpu_origin import CpuOrigin
from birthmark.search.options import Options

A100, H100, B200 = 221184, 270336, 303104
KEPT = np.sort(np.random.default_rng(3).choice(SHAPE[0], 80, replace=False)).astype(np.int64)
#: The dictionary under three layouts, without the CPU's generator unless a test asks for it.
QUICK = Options(seeds=(0, 0), layouts=(A100, H100, B200))


def drawn(seed: int, threads: int, offset: int = 0) -> NDArray[np.float64]:
    """The whole table as one launch draws it."""
    hypothesis = Hypothesis(Draw("normal", (0.0, SCALE), SHAPE), threads, offset=offset)
    table: NDArray[np.float64] = hypothesis.tensor(seed).astype(np.float64).reshape(SHAPE)
    return table


def read(
    initial: NDArray[Any], options: Options = QUICK, *, dtype: str = "float32", cpu: bool = False
) -> Scan:
    """The scan of a table whose rows were trained, but for `KEPT`."""
    made = trained(np.random.default_rng(1), initial.astype(np.float32), KEPT, dtype)
    return scan(MadeCheckpoint(made), ScanOptions(options, cpu=cpu), command="birthmark scan")


def rows_of(reading: Reading, part: int) -> list[int]:
    """The map of one part of the only mixture, as single rows."""
    (mixture,) = reading.mixtures
    return [row for first, last in mixture.parts[part].runs for row in range(first, last + 1)]


def origins(reading: Reading) -> list[tuple[int | None, int | None, int | None]]:
    """Seed, G and offset of each finding."""
    return [(one.seed, one.layout.threads if one.layout else None, one.offset) for one in reading.findings]


def test_rows_of_three_births() -> None:
    """Each row goes to its birth, rows of one seed's first wave to several; shares count the others."""
    initial = drawn(42, H100)
    initial[1::3], initial[2::3] = drawn(43, B200)[1::3], drawn(42, A100)[2::3]
    result = read(initial)
    reading = result.reading

    assert reading.verdict == "mixture"
    assert set(origins(reading)) == {(42, H100, 0), (42, A100, 0), (43, B200, 0)}
    (mixture,) = reading.mixtures
    either = {row for first, last in mixture.either.runs for row in range(first, last + 1)}
    assert either == {row for row in KEPT.tolist() if row % 3 != 1 and row < A100 // SHAPE[1]}
    for number, part in enumerate(mixture.parts):
        seed, threads, _ = origins(reading)[part.finding]
        third = {(42, H100): 0, (43, B200): 1, (42, A100): 2}[seed, threads]  # type: ignore[index]
        own = {row for row in KEPT.tolist() if row % 3 == third} - either
        assert set(rows_of(reading, number)) == own
        assert part.share is not None and part.least_log10 is not None  # noqa: PT018
        assert part.share.value == len(own) / (80 - len(either))
        assert part.share.lo < part.share.value < part.share.hi
        assert part.least_log10 > 50
        assert reading.findings[part.finding].share == part.share
    assert "several predict alike" in to_text(reading)
    checks = verify_bytes(pack_bytes(reading, result.cases)).checks
    assert any(check.what == "mixture 1" and check.how == "recomputed" for check in checks)


@pytest.mark.slow
def test_rows_of_one_seed_at_two_offsets() -> None:
    """Two models of one seed and device that were built otherwise: told apart by the offset alone."""
    initial = drawn(42, H100)
    initial[1::2] = drawn(42, H100, offset=12)[1::2]
    reading = read(initial).reading

    assert reading.verdict == "mixture"
    assert set(origins(reading)) == {(42, H100, 0), (42, H100, 12)}
    assert "at offset 12" in reading.mixtures[0].statement


@pytest.mark.slow
def test_rows_of_a_cpu_beside_those_of_a_gpu() -> None:
    """A CPU's draw and a GPU's in one table: both are named."""
    indices = np.arange(SHAPE[0] * SHAPE[1], dtype=np.int64)
    origin = CpuOrigin("normal", indices.size, SCALE, "cpu-fused", 1234, 0, "float32")
    initial = drawn(42, H100)
    initial[1::2] = origin.stored(indices).reshape(SHAPE)[1::2]
    reading = read(initial, Options(seeds=(0, 0)), cpu=True).reading

    assert reading.verdict == "mixture"
    assert {(one.generator, one.seed) for one in reading.findings} == {("philox", 42), ("mt19937", 1234)}
    assert sum(part.count for part in reading.mixtures[0].parts) == 80


def test_touched_rows_are_no_other_birth() -> None:
    """Rows that were trained a little resemble their own birth, and no second one is looked for."""
    initial = drawn(42, H100)
    touched = KEPT[::2]
    initial[touched] += 0.3 * SCALE * np.random.default_rng(2).standard_normal((touched.size, SHAPE[1]))
    reading = read(initial).reading

    assert reading.verdict == "match"
    assert reading.mixtures == []
    assert all(one.share is None for one in reading.findings)
    assert not any("offsets" in stage for stage in reading.searched.stages)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("bfloat16", marks=pytest.mark.slow)])
def test_a_linear_merge(dtype: str) -> None:
    """Two models merged: both seeds, layouts and shares; the pack gives the same."""
    result = read(0.7 * drawn(42, H100) + 0.3 * drawn(1234, B200), dtype=dtype)
    reading = result.reading
    (mixture,) = reading.mixtures

    assert reading.verdict == "mixture"
    assert origins(reading) == [(42, H100, 0), (1234, B200, 0)]
    assert mixture.kind == "merge"
    for one, share in zip(reading.findings, (0.7, 0.3), strict=True):
        assert one.share is not None and one.merge is not None  # noqa: PT018
        assert one.share.value == pytest.approx(share, abs=1e-3)
        assert one.survivors.ids == KEPT.tolist()
        assert one.sampler.parameters == [0.0, 0.02]
        assert (one.arithmetic, one.factor, one.vendor) == (None, None, None)
    assert any(stage.startswith("merges") or ": merges" in stage for stage in reading.searched.stages)
    assert "weighted sum of 2" in to_text(reading)
    assert verify_bytes(pack_bytes(reading, result.cases)).reading == reading


@pytest.mark.slow
def test_a_merge_of_two_launches_of_one_seed() -> None:
    """Rows of the first wave are the seed's own; what lies beyond tells that there were two launches."""
    reading = read(0.6 * drawn(42, H100) + 0.4 * drawn(42, A100)).reading

    assert reading.verdict == "mixture"
    assert set(origins(reading)) == {(42, H100, 0), (42, A100, 0)}
    assert all(one.merge is not None for one in reading.findings)


@pytest.mark.slow
def test_a_merge_of_three() -> None:
    """Three models merged are three findings."""
    reading = read((drawn(42, H100) + drawn(7, B200) + drawn(1234, A100)) / 3.0).reading

    assert reading.verdict == "mixture"
    assert set(origins(reading)) == {(42, H100, 0), (7, B200, 0), (1234, A100, 0)}
    assert [round(part.share.value, 3) for part in reading.mixtures[0].parts if part.share] == [0.333] * 3


def test_one_draw_and_noise_is_a_weak_trace() -> None:
    """Noise added to one draw leaves its trace; there is no second draw, and no mixture."""
    noise = SCALE * np.random.default_rng(4).standard_normal(SHAPE)
    reading = read(0.7 * drawn(42, H100) + 0.3 * noise).reading

    assert reading.verdict == "weak-trace"
    assert origins(reading) == [(42, H100, 0)]
    assert reading.mixtures == []


@pytest.mark.slow
def test_a_merge_with_shuffled_rows_is_nothing() -> None:
    """The right sums in the wrong rows are none."""
    merged = 0.7 * drawn(42, H100) + 0.3 * drawn(1234, B200)
    reading = read(merged[np.random.default_rng(5).permutation(SHAPE[0])]).reading

    assert reading.verdict == "none"


def cut(sharding: Sharding, seed: int, threads: int = A100) -> NDArray[np.float64]:
    """The whole table as the processes of a sharding draw it."""
    hypothesis = Hypothesis(Draw("normal", (0.0, SCALE), SHAPE), threads, sharding=sharding)
    table: NDArray[np.float64] = hypothesis.tensor(seed).astype(np.float64).reshape(SHAPE)
    return table


def test_a_third_of_the_rows_is_looked_into() -> None:
    """A block of another model's rows is found with its share; rows of neither have none, and are counted."""
    initial = drawn(42, H100)
    edge = SHAPE[0] * 3 // 4
    initial[edge:] = drawn(1234, H100)[edge:]
    strange = KEPT[::8]
    initial[strange] = SCALE * np.random.default_rng(4).standard_normal((strange.size, SHAPE[1]))
    reading = read(initial).reading

    assert set(origins(reading)) == {(42, H100, 0), (1234, H100, 0)}
    (mixture,) = reading.mixtures
    for number, part in enumerate(mixture.parts):
        late = origins(reading)[part.finding][0] == 1234
        own = np.setdiff1d(KEPT, strange)
        assert rows_of(reading, number) == [row for row in own.tolist() if (row >= edge) == late]
    assert any("predicted by none of its origins" in note for note in reading.notes)


def test_shards_of_one_seed_are_one_seeding() -> None:
    """Every process drew with the same seed: no mixture, and no second seeding is claimed."""
    reading = read(cut(Sharding(4, "stepped", 0), 42)).reading

    assert reading.verdict in ("match", "seed-only")  # the shards are smaller than one wave
    assert {(one.seed, one.layout.threads if one.layout else None) for one in reading.findings} <= {
        (42, A100),
        (42, None),
    }
    assert sum(one.survivors.count for one in reading.findings) == len(KEPT)
    assert any("count as one seeding" in note for note in reading.notes)
    assert not any("separately seeded" in note for note in reading.notes)


@pytest.mark.slow
def test_shards_a_thousand_apart() -> None:
    """Seeds 1,000 a rank: one rule for all shards, and a pack that carries it."""
    result = read(cut(Sharding(4, "stepped", 1000), 1234))

    assert result.reading.verdict in ("match", "seed-only")
    assert [one.seed for one in result.reading.findings] == [1234, 2234, 3234, 4234]
    assert any("1234 plus 1000 a rank" in note for note in result.reading.notes)
    assert verify_bytes(pack_bytes(result.reading, result.cases)).reading == result.reading


@pytest.mark.slow
def test_a_sum_of_a_known_and_an_unknown_draw_is_no_distributed_tensor() -> None:
    """Nine tenths of a known draw are a trace of it as it was drawn, not of shards that begin as it does."""
    strange = drawn(5_870_214_893_347_715, H100)
    reading = read(0.9 * drawn(42, H100) + 0.1 * strange, Options(seeds=(0, 0))).reading

    assert reading.verdict == "weak-trace"
    assert origins(reading) == [(42, H100, 0)]
    assert reading.findings[0].seed_rule is None


@pytest.mark.slow
def test_each_tensor_may_have_a_birth_of_its_own(tmp_path: Path) -> None:
    """An embedding of one model beside the head of another, or of another device: both are named."""
    tables = {
        name: trained(
            np.random.default_rng(seed), drawn(seed, threads).astype(np.float32), KEPT, "float32"
        ).values
        for name, seed, threads in (("model.embed_tokens.weight", 42, A100), ("lm_head.weight", 1234, H100))
    }
    save_file(tables, tmp_path / "model.safetensors")
    with open_checkpoint(tmp_path) as checkpoint:
        reading = scan(checkpoint, ScanOptions(QUICK, cpu=False), command="birthmark scan").reading

    assert reading.verdict == "match"
    assert {(one.seed, one.layout.threads if one.layout else None) for one in reading.findings} == {
        (42, A100),
        (1234, H100),
    }
