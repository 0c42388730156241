"""Packs of draws without a launch layout, and of layouts without a seed: written, verified, and altered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from birthmark.checkpoints import open_checkpoint
from birthmark.errors import PackError
from birthmark.evidence.elements import Elements
from birthmark.evidence.layout_case import layout_case
from birthmark.evidence.origin_case import OriginCase, weigh_origin
from birthmark.evidence.seed_free import seed_free
from birthmark.evidence.solved import SolvedReading, held_against
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.packs.container import build, parse
from birthmark.packs.format import MANIFEST, READING, manifest_of
from birthmark.packs.origins import pack_any, unpack_any
from birthmark.packs.parts import canonical
from birthmark.packs.verifier import verify_bytes
from birthmark.packs.writer import pack_bytes
from birthmark.reports.account import NOTHING_SEARCHED
from birthmark.reports.assemble import assemble
from birthmark.reports.reading import Reading
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.jax_draw import JaxDraw
from birthmark.search.known_seed import candidate_at
from birthmark.search.neighbour_origins import JaxOrigin, MinstdOrigin
from birthmark.search.neighbours.jax_paths import Step
from birthmark.search.origin import Found, Origin
from birthmark.search.orthogonal_origin import OrthogonalOrigin
from birthmark.survivors.nearly_all import nearly_all
from birthmark.survivors.survivor import Survivors

SHAPE = (30, 64)
SURVIVORS = Survivors("w", SHAPE, "float32", "row", np.arange(30), np.full(30, 0.95), "normal", 0.0201, 0.01)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CPU draw of seed 1337, one row of it changed since."""
    path = tmp_path_factory.mktemp("origins") / "model.safetensors"
    values = CpuDraw("normal", (0.0, 0.02), 30 * 64, 11).values(1337, np.arange(30 * 64)).reshape(SHAPE)
    values[3] += np.float32(0.01)
    save_file({"w": values}, path)
    return path


@pytest.fixture(scope="module")
def solved(file: Path) -> tuple[SolvedReading, Reading]:
    """The judgement of the right seed, and its reading."""
    with open_checkpoint(file) as checkpoint:
        selection, holdout = nearly_all(checkpoint, SURVIVORS)
        found = candidate_at(selection, 1337, 11, how="found by hand", trials=1000)
        one = held_against(checkpoint, SURVIVORS, selection, holdout, found)
        reading = assemble(
            checkpoint, [], NOTHING_SEARCHED, command="birthmark scan", tensors_read=["w"], solved=[one]
        )
    return one, reading


def forged(data: bytes, name: str, member: bytes) -> bytes:
    """A pack with one member replaced and all digests made anew."""
    members = {**parse(data), name: member}
    version = verify_bytes(data).version
    members.pop(MANIFEST)
    manifest = canonical(manifest_of(members, version, 1))
    return build({MANIFEST: manifest, **members})


def test_a_cpu_draw_is_verified_from_its_pack(file: Path, solved: tuple[SolvedReading, Reading]) -> None:
    """Scores, bits, controls and survivors are computed again, with and without the checkpoint."""
    one, reading = solved
    data = pack_bytes(reading, [one.judgement.case])
    report = verify_bytes(data)
    assert report.reading == reading
    assert {"finding 1, scores", "finding 1, bits", "finding 1, controls", "finding 1, survivors"} <= {
        check.what for check in report.checks
    }
    with open_checkpoint(file) as checkpoint:
        verify_bytes(data, checkpoint)


def test_a_case_comes_back_as_it_was(solved: tuple[SolvedReading, Reading]) -> None:
    """Origin, way and values survive the round trip."""
    case = solved[0].judgement.case
    back = unpack_any(0, pack_any(0, case))
    assert isinstance(back, OriginCase)
    assert back.found == case.found
    assert np.array_equal(back.holdout.values, case.holdout.values)
    assert np.array_equal(back.selection.unit, case.selection.unit)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"seed":1337', b'"seed":1338', "do not support it"),
        (b'"index":11', b'"index":12', "do not support it"),
        (b'"trials":1000', b'"trials":1001', "log10_p_global"),
        (b'"arithmetic":"cpu-fused"', b'"arithmetic":"cpu-unfused"', "cannot be"),
        (b'"size":1920', b'"size":1921', "cannot be"),
        (b'"kind":"origin"', b'"kind":"oracle"', "kind"),
        (b'"dtype":"float32"', b'"dtype":"float31"', "dtype"),
    ],
)
def test_another_claim_does_not_follow_from_the_rows(
    solved: tuple[SolvedReading, Reading], old: bytes, new: bytes, message: str
) -> None:
    """A case that claims something else is refused, though all digests are right."""
    one, reading = solved
    data = pack_bytes(reading, [one.judgement.case])
    member = parse(data)["case-0.json"]
    assert old in member
    with pytest.raises(PackError, match=message):
        verify_bytes(forged(data, "case-0.json", member.replace(old, new)))


def test_another_reading_does_not_follow_from_the_rows(solved: tuple[SolvedReading, Reading]) -> None:
    """A reading that claims another seed, or a survivor that is none, is refused."""
    one, reading = solved
    data = pack_bytes(reading, [one.judgement.case])
    (finding,) = reading.findings
    ids = [*range(30)]
    survivors = finding.survivors.model_copy(update={"ids": ids, "count": 30})
    for changed, message in (
        (finding.model_copy(update={"seed": 7}), "seed"),
        (finding.model_copy(update={"survivors": survivors}), "row 3 is listed"),
    ):
        other = reading.model_copy(update={"findings": [changed]})
        with pytest.raises(PackError, match=message):
            verify_bytes(forged(data, READING, other.to_json().encode()))


def test_values_of_another_checkpoint_are_noticed(
    tmp_path: Path, solved: tuple[SolvedReading, Reading]
) -> None:
    """Rows of the pack that are not the checkpoint's are named."""
    one, reading = solved
    save_file({"w": np.zeros(SHAPE, np.float32)}, tmp_path / "other.safetensors")
    with (
        open_checkpoint(tmp_path / "other.safetensors") as checkpoint,
        pytest.raises(PackError, match="are not those of"),
    ):
        verify_bytes(pack_bytes(reading, [one.judgement.case]), checkpoint)


def test_a_layout_without_a_seed_is_verified_from_its_pack(tmp_path: Path) -> None:
    """The values give the layout again; shuffled ones do not."""
    drawn = Hypothesis(Draw("normal", (0.0, 0.02), (1500, 256)), 40_960).tensor(2**40 + 3)
    survivors = Survivors(
        "w", (1500, 256), "float32", "tensor", np.arange(1500), np.ones(1500), "normal", 0.02, 0.001
    )
    save_file({"w": drawn.reshape(1500, 256).astype(np.float32)}, tmp_path / "model.safetensors")
    with open_checkpoint(tmp_path / "model.safetensors") as checkpoint:
        found = seed_free(checkpoint, survivors)
        assert found.result == "layout"
        case = layout_case(checkpoint, survivors)
        reading = assemble(
            checkpoint,
            [],
            NOTHING_SEARCHED,
            command="birthmark scan",
            tensors_read=["w"],
            layouts=[(survivors, found)],
        )
        data = pack_bytes(reading, [case])
        report = verify_bytes(data, checkpoint)
    assert report.reading.verdict == "layout-only"
    assert "finding 1, layout" in {check.what for check in report.checks}
    order = np.random.default_rng(1).permutation(len(case.selection))
    shuffled = replace(case, selection=replace(case.selection, values=case.selection.values[order]))
    members = {**parse(data), **pack_any(0, shuffled)}
    members.pop(MANIFEST)
    false = build({MANIFEST: canonical(manifest_of(members, report.version, 1)), **members})
    with pytest.raises(PackError):
        verify_bytes(false)


def neighbour_case(origin: Origin, shape: tuple[int, ...]) -> OriginCase:
    """A case whose values are what an origin predicts."""
    indices = np.arange(shape[0] * shape[1])
    values = origin.stored(indices)
    first = indices < len(indices) // 2
    every = Elements(indices, values, indices // shape[1])
    found = Found("w", origin, "search", "made by hand", True, True, 1000)
    return OriginCase(found, shape, "float32", "row", every.keep(first), every.keep(~first))


@pytest.mark.parametrize(
    "origin",
    [
        MinstdOrigin("uniform", (-0.1, 0.1), 40 * 32, 1885516243, "float32"),
        JaxOrigin(
            JaxDraw("truncated-normal", 40 * 32, (-2.0, 2.0), 0.05, counters="original"),
            (40, 32),
            False,
            (Step(2, 1), Step(0, 77)),
            "split(2)[1], fold_in(77)",
            0,
            "float32",
        ),
        JaxOrigin(JaxDraw("normal", 40 * 32), (40, 32), True, (), "", 42, "float32"),
        OrthogonalOrigin((40, 32), 1.5, 77, 1_000, "float32"),
    ],
)
def test_neighbours_come_back_as_they_were_and_hold(origin: Origin) -> None:
    """Draws of other generators survive the round trip, and are judged alike."""
    case = neighbour_case(origin, (40, 32))
    back = unpack_any(0, pack_any(0, case))
    assert isinstance(back, OriginCase)
    assert back.found == case.found
    judgement = weigh_origin(back)
    assert judgement.outcome == "match"
    assert judgement.exact.equal == judgement.exact.of == 40 * 32
    assert judgement.seed_plus_one.sigma is not None
    assert abs(judgement.seed_plus_one.sigma) < 5.0
    assert judgement.decoys.max_sigma is not None
    assert judgement.decoys.max_sigma < 5.0
    false = replace(case, found=replace(case.found, origin=origin.next_seed()))
    assert weigh_origin(false).outcome == "none"


def test_keys_that_cannot_be_are_refused() -> None:
    """A key beyond its split is no step that JAX makes."""
    origin = JaxOrigin(JaxDraw("normal", 40 * 32), (40, 32), False, (Step(2, 1),), "", 42, "float32")
    members = pack_any(0, neighbour_case(origin, (40, 32)))
    members["case-0.json"] = members["case-0.json"].replace(b'"which":1', b'"which":2')
    with pytest.raises(PackError, match="cannot be"):
        unpack_any(0, members)
