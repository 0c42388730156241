"""CPU draws in a scan: published weights whose seeds are known, and what must not be taken for one."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from birthmark.checkpoints import open_checkpoint
from birthmark.checkpoints.declarations import declarations
from birthmark.reports.reading import Finding, Reading
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.paddle_minstd import MinstdDraw
from birthmark.scan import ScanOptions, scan
from birthmark.scan.host import by_elimination, on_the_lattice, sights
from birthmark.scan.neighbours import by_neighbours
from birthmark.scan.orthogonal import by_every_seed
from birthmark.scan.state import State
from birthmark.search.options import Options
from birthmark.survivors.survey import best_targets, survey

QUICK = ScanOptions(Options(seeds=(0, 0)))


def read(path: Path) -> Reading:
    """Scan a checkpoint without a range of seeds."""
    with open_checkpoint(path) as checkpoint:
        return scan(checkpoint, QUICK, command="birthmark scan").reading


def by_tensor(reading: Reading) -> dict[str, Finding]:
    """The findings of a match, each bit-exact on its hold-out."""
    assert reading.verdict == "match"
    for each in reading.findings:
        assert each.bit_exact.holdout is not None
        assert each.bit_exact.holdout["of"] >= 64
        assert each.controls.seed_plus_one.score.sigma is not None
        assert abs(each.controls.seed_plus_one.score.sigma) < 5.0
    return {each.tensor: each for each in reading.findings}


@pytest.mark.parametrize(
    ("file", "tensor", "seed", "columns"),
    [
        pytest.param(
            "catniplab_music_50_final_state_dict.pt", "weights.weight", 168449886, 37, marks=pytest.mark.slow
        ),
        pytest.param("shagunuppal_mnist_vae.pth", "fc1.weight", 3126338948, 67, marks=pytest.mark.slow),
    ],
)
def test_dead_inputs_of_trained_nets(cases: Path, file: str, tensor: str, seed: int, columns: int) -> None:
    """Keys that never sounded, pixels that were always black: seed and place, drawn first, not fused."""
    reading = read(cases / "real" / file)
    found = by_tensor(reading)[tensor]

    assert (found.seed, found.index, found.survivors.count) == (seed, 0, columns)
    assert (found.arithmetic, found.arithmetics_not_excluded) == ("cpu-unfused", ["cpu-unfused"])
    assert found.bit_exact.equal == found.bit_exact.of
    assert reading.searched.complete
    assert reading.searched.candidates_tested >= 1


@pytest.mark.slow
def test_an_untrained_file_gives_its_bias_too(cases: Path) -> None:
    """The seed of the weights tells where the bias lies in the stream: right behind them."""
    found = by_tensor(read(cases / "real" / "catniplab_music_50_initial_state_dict.pt"))

    assert {name: (each.seed, each.index) for name, each in found.items()} == {
        "weights.weight": (168449886, 0),
    } | ({"weights.bias": (168449886, 7744)} if "weights.bias" in found else {})


@pytest.mark.slow
def test_tensors_that_are_too_few_alone_are_solved_together(cases: Path) -> None:
    """256 values of the embedding and 768 of each convolution, with batch norms that drew in between."""
    found = by_tensor(read(cases / "real" / "cgcnn_band-gap.pth.tar"))

    assert {each.seed for each in found.values()} == {95003306}
    assert found["state_dict.embedding.weight"].index == 0
    assert found["state_dict.convs.0.fc_full.weight"].index == 5952
    assert len(found) == 5


def test_a_known_seed_finds_rows_in_trained_tensors(tmp_path: Path) -> None:
    """Two of three untouched embeddings and a whole layer of one stream, with other draws in between."""
    rng = np.random.default_rng(1)
    table = CpuDraw("normal", (0.0, 1.0), 90 * 64, 94).values(7, np.arange(90 * 64)).reshape(90, 64)
    moved = (table + 1e-2 * rng.normal(size=table.shape)).astype(np.float32)
    moved[[81, 82, 83]] = table[[81, 82, 83]]
    bound = 1.0 / math.sqrt(96)
    layer = CpuDraw("uniform", (-bound, bound), 64 * 96, 40_000).values(7, np.arange(64 * 96))
    tensors = {"emb.weight": moved, "fc.weight": layer.reshape(64, 96)}
    save_file(tensors, tmp_path / "model.safetensors")
    found = by_tensor(read(tmp_path))

    assert (found["fc.weight"].seed, found["fc.weight"].index, found["fc.weight"].method) == (
        7,
        40_000,
        "solve",
    )
    assert (found["emb.weight"].seed, found["emb.weight"].index) == (7, 94)
    assert found["emb.weight"].survivors.ids == [81, 82, 83]


def test_rows_in_another_order_are_no_draw(tmp_path: Path) -> None:
    """The right rows in the wrong places lie on the lattice, and no seed draws them so."""
    bound = 1.0 / math.sqrt(96)
    layer = CpuDraw("uniform", (-bound, bound), 64 * 96).values(7, np.arange(64 * 96)).reshape(64, 96)
    shuffled: np.ndarray[Any, Any] = layer[np.random.default_rng(2).permutation(64)]
    save_file({"fc.weight": np.ascontiguousarray(shuffled)}, tmp_path / "model.safetensors")
    with open_checkpoint(tmp_path) as checkpoint:
        state = State(checkpoint, declarations(checkpoint), None)
        seen = sights(state, best_targets(survey(checkpoint)))
        on_the_lattice(state, seen)

    assert seen[0].lattice is not None
    assert state.solved == []
    assert "not solved" in state.looks[0].what


def test_an_orthogonal_agent(cases: Path) -> None:
    """The leading row gives the seed among those of a range, QR confirms, and the second net follows."""
    with open_checkpoint(cases / "real" / "sb3zoo_ppo_Ant-v3_policy.pth") as checkpoint:
        targets = best_targets(survey(checkpoint))
        state = State(checkpoint, declarations(checkpoint), None)
        by_every_seed(state, targets, (590_000, 600_000))
        found = {one.tensor: one for one in state.solved}

    first, second = (found[f"mlp_extractor.{net}_net.0.weight"] for net in ("policy", "value"))
    assert (first.judgement.origin.seed, first.judgement.origin.index) == (594_371, 23_369)
    assert (second.judgement.origin.seed, second.judgement.origin.index) == (594_371, 34_633)
    assert first.units is not None
    assert first.units.predicted.sum() == 84
    assert first.judgement.holdout.n > 5_000


def test_an_orthogonal_agent_of_another_seed_is_not_found(cases: Path) -> None:
    """A range without the seed ends without a candidate, and says what was tried."""
    with open_checkpoint(cases / "real" / "sb3zoo_ppo_Ant-v3_policy.pth") as checkpoint:
        state = State(checkpoint, declarations(checkpoint), None)
        by_every_seed(state, best_targets(survey(checkpoint)), (600_000, 610_000))

    assert state.solved == []
    assert state.looks[0].reason is not None
    assert "all seeds from 600,000 to 609,999" in state.looks[0].what


@pytest.mark.slow
def test_a_flax_agent(cases: Path) -> None:
    """PRNGKey(0) and flax's folding give half of both kernels' rows."""
    with open_checkpoint(cases / "real" / "gymnax_blines_FourRooms-misc_ppo.pkl") as checkpoint:
        state = State(checkpoint, declarations(checkpoint), None)
        by_neighbours(state, best_targets(survey(checkpoint)))

    assert {one.tensor for one in state.solved} == {
        "network.params.Dense_0.kernel",
        "network.params.critic_fc_1.kernel",
    }
    for one in state.solved:
        assert (one.judgement.origin.generator, one.judgement.origin.seed) == ("threefry", 0)
        assert one.units is not None
        assert one.units.predicted.sum() == 170


def test_a_table_of_paddle(tmp_path: Path) -> None:
    """Half the rows of a table of the minimal standard engine give its seed; shuffled ones do not."""
    drawn = MinstdDraw("uniform", (-0.1, 0.1), 400 * 64).values(1885516243, np.arange(400 * 64))
    table = drawn.reshape(400, 64)
    moved = (table + 1e-2 * np.random.default_rng(1).normal(size=table.shape)).astype(np.float32)
    moved[::2] = table[::2]
    for values, seeds in ((moved, [1885516243]), (moved[::-1], [])):
        save_file({"word_emb": np.ascontiguousarray(values)}, tmp_path / "model.safetensors")
        with open_checkpoint(tmp_path) as checkpoint:
            state = State(checkpoint, declarations(checkpoint), None)
            by_neighbours(state, best_targets(survey(checkpoint)))
            assert [one.judgement.origin.seed for one in state.solved] == seeds


def test_decayed_rows_of_a_trained_table(tmp_path: Path) -> None:
    """Rows that only weight decay touched are found, solved and judged again one by one."""
    rng = np.random.default_rng(4)
    table = CpuDraw("normal", (0.0, 0.02), 600 * 96, 5_000).values(11, np.arange(600 * 96)).reshape(600, 96)
    for _ in range(3_000):
        table *= np.float32(1.0 - 1e-5)
    moved = (table + 0.05 * rng.normal(size=table.shape)).astype(np.float32)
    moved[::6] = table[::6]
    save_file({"emb.weight": moved}, tmp_path / "model.safetensors")
    with open_checkpoint(tmp_path) as checkpoint:
        state = State(checkpoint, declarations(checkpoint), None)
        by_elimination(state, sights(state, best_targets(survey(checkpoint))))
    (one,) = state.solved

    assert (one.judgement.origin.seed, one.judgement.origin.index) == (11, 5_000)
    assert one.units is not None
    assert one.units.ids[one.units.predicted].tolist() == list(range(0, 600, 6))
    assert one.judgement.exact_holdout.equal < one.judgement.exact_holdout.of
