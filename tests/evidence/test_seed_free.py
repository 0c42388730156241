"""Layouts and generator families without seeds: real and simulated draws, and what is none."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.checkpoints import open_checkpoint
from birthmark.devices.catalogue import exhaustive_threads
from birthmark.evidence.elements import Elements
from birthmark.evidence.lattices import WIDE
from birthmark.evidence.seed_free import SeedFree, read_layout, seed_free
from birthmark.evidence.seed_free_values import LEAST_PAIRS
from birthmark.evidence.suppositions import held_out
from birthmark.hypothesis import Arithmetic, Draw, Hypothesis
from birthmark.survivors.survivor import Survivors

UNSEEDED = 5870214893347715
#: The layouts of the simulated draws, with close neighbours.
SOME = (16384, 18432, 20480, 20736, 22528, 40960)


def read(values: NDArray[Any], dtype: str = "float32", layouts: tuple[int, ...] | None = SOME) -> SeedFree:
    """A whole tensor of survivors, read."""
    flat = np.asarray(values, np.float64).ravel()
    indices = np.arange(flat.size)
    return read_layout(
        Elements(indices, flat, indices // values.shape[-1]), values.shape, dtype, layouts=layouts
    )


def drawn(threads: int = 20480, arithmetic: Arithmetic = "nvidia-volta+", std: float = 0.02) -> NDArray[Any]:
    """An unseeded draw of some 200,000 values."""
    tensor: NDArray[Any] = Hypothesis(Draw("normal", (0.0, std), (800, 256)), threads, arithmetic).tensor(
        UNSEEDED
    )
    return tensor


def survivors_of(name: str, values: NDArray[Any], **changes: Any) -> Survivors:
    """Every row as a survivor."""
    facts: dict[str, Any] = {
        "tensor": name,
        "shape": values.shape,
        "dtype": "float32",
        "axis": "row",
        "ids": np.arange(values.shape[0]),
        "probability": np.ones(values.shape[0]),
        "distribution": "normal",
        "scale": float(values.std()),
        "scale_error": 0.002,
        **changes,
    }
    return Survivors(**facts)


@pytest.mark.parametrize(
    ("file", "tensor", "threads", "arithmetic"),
    [
        (
            "ggl_lottery_fc1_pp0x1_seed3_co2False_T4.pt",
            "initial_state_dict.classifier.0.weight",
            40960,
            "nvidia-volta+",
        ),
        ("sparsenns_fc1_mnist_initial_lt.pth.tar", "classifier.0.weight", 163840, "nvidia-volta+"),
        ("sparsenns_fc1_mnist_initial_magnitude.pth.tar", "classifier.0.weight", 61440, "nvidia-pascal-"),
    ],
)
def test_real_gpus_show_their_layout_and_generation(
    cases: Path, file: str, tensor: str, threads: int, arithmetic: str
) -> None:
    """Published T4, V100-class and Pascal draws: R of 36 and above at the true G, below 4 at every other."""
    with open_checkpoint(cases / "real" / file) as checkpoint:
        values = checkpoint.rows(tensor, 0, 300)
        found = seed_free(checkpoint, survivors_of(tensor, values))
    assert found.result == "layout"
    assert found.threads == threads
    assert found.together is not None
    assert found.together.r >= 36.0
    assert found.background is not None
    others = [G for G in exhaustive_threads() if G < 235200 - LEAST_PAIRS and threads != G]
    assert set(found.background.layouts) == set(others) & set(found.layouts)
    assert len(found.background.layouts) > 250
    assert max(found.background.r) < 4.0
    assert found.holdout is not None
    assert found.holdout.log10_p_global < -200
    assert found.trials > len(found.layouts)
    assert found.nominal is not None
    assert found.nominal.value == pytest.approx(math.sqrt(2 / (300 + 784)))
    assert found.arithmetic is not None
    assert found.arithmetic.nvidia == found.arithmetic.pairs
    assert found.arithmetic.arithmetic == arithmetic


def test_an_unseeded_checkpoint_shows_its_layout(cases: Path) -> None:
    """The case of an unseeded 114-SM run: G = 233,472 and std 0.02, with nothing said about a seed."""
    name = "model.embed_tokens.weight"
    with open_checkpoint(cases / "step0-unseeded") as checkpoint:
        shape = checkpoint.tensors[name].shape
        values = checkpoint.rows(name, 0, shape[0])
        found = seed_free(checkpoint, survivors_of(name, values))
    assert (found.result, found.threads) == ("layout", 233472)
    assert found.scale == float(np.float32(0.02))
    assert found.together is not None
    assert found.together.r > 60
    assert found.odd_waves is not None
    assert found.odd_waves.r < 4


@pytest.mark.parametrize("arithmetic", ["nvidia-volta+", "amd"])
def test_a_simulated_layout_is_found_among_its_neighbours(arithmetic: Arithmetic) -> None:
    """G is found, one block of 256 threads more is not it, and odd waves are no partners."""
    found = read(drawn(arithmetic=arithmetic))
    assert (found.result, found.threads) == ("layout", 20480)
    assert found.background is not None
    assert max(found.background.r) < 4.0
    assert found.odd_waves is not None
    assert found.odd_waves.r < 4.0
    assert found.arithmetic is not None
    assert found.arithmetic.arithmetic == arithmetic


def test_a_layout_that_is_not_offered_is_not_replaced_by_a_neighbour() -> None:
    """Without the true G among the layouts nothing is found."""
    found = read(drawn(), layouts=tuple(threads for threads in SOME if threads != 20480))
    assert found.result == "none"
    assert found.threads is None
    assert "no layout" in found.reason


@pytest.mark.parametrize("steps", [1, 1500])
def test_decay_changes_the_scale_and_blurs_the_lattice(steps: int) -> None:
    """A common factor moves the scale; rounding after every step costs R, but not the layout."""
    values = drawn().copy()
    for _ in range(steps):
        values *= np.float32(0.79531 if steps == 1 else 1.0 - 1e-4)
    found = read(values)
    assert (found.result, found.threads) == ("layout", 20480)
    assert found.scale == pytest.approx(0.02 * (0.79531 if steps == 1 else (1.0 - 1e-4) ** steps), rel=1e-3)
    assert found.nominal is None
    assert found.arithmetic is None


def test_altered_rows_among_the_survivors_do_not_hide_the_layout() -> None:
    """A tenth of the rows replaced by others of a similar scale costs R only."""
    values = drawn().copy()
    values[::10] = np.random.default_rng(3).standard_normal((80, 256)) * 0.021
    assert read(values).threads == 20480


def test_a_tensor_of_several_launches_shows_the_same_layout() -> None:
    """Parts drawn one after the other, joined at no whole wave, are told, and every pair counts."""
    draw = Draw("normal", (0.0, 0.02), (410, 256))
    parts = [Hypothesis(draw, 20480, offset=offset).tensor(UNSEEDED) for offset in (0, 8)]
    found = read(np.concatenate(parts))
    assert (found.result, found.threads) == ("layout", 20480)
    assert found.together is not None
    assert found.together.length > 0.95
    assert found.arrangement.ways == 2
    assert found.odd_waves is not None
    assert found.odd_waves.r < 4.0


@pytest.mark.parametrize("beyond", [1280, 1536])
def test_little_more_than_a_thousand_pairs_are_enough_at_a_written_scale(beyond: int) -> None:
    """A tensor hardly longer than one wave shows its layout; a shuffled one does not."""
    shape = ((20480 + beyond) // 256, 256)
    values = Hypothesis(Draw("normal", (0.0, 0.02), shape), 20480).tensor(UNSEEDED)
    found = read(values)
    assert (found.result, found.threads, found.window) == ("layout", 20480, WIDE)
    assert found.pairs == beyond
    assert found.trials < 1000
    assert read(values[np.random.default_rng(2).permutation(shape[0])]).result == "none"


def test_a_tensor_within_one_wave_says_what_it_cannot_show() -> None:
    """No pairs, no layout: the reason counts the layouts that could have shown."""
    values = Hypothesis(Draw("normal", (0.0, 0.02), (80, 256)), 20480).tensor(UNSEEDED)
    found = read(values)
    assert found.result == "none"
    assert "only 2 of 6 layouts, up to 18,432 threads" in found.reason
    assert "leave no mark" in found.reason


def test_another_mean_is_named_as_the_reason() -> None:
    """Values around 0.5 lie on lattices that are not read, and are not called too few."""
    found = read(drawn() + np.float32(0.5))
    assert found.result == "refused"
    assert "another mean" in found.reason


@pytest.mark.parametrize(("cut", "version"), [(2.0, "2.12+"), (3.0, "2.12+")])
def test_normals_that_are_drawn_again_beyond_a_cut_show_their_layout(cut: float, version: str) -> None:
    """trunc_normal_ from torch 2.12 on is made of pairs, however much the cut narrows the spread."""
    draw = Draw("truncated-normal", (0.0, 0.02, -cut * 0.02, cut * 0.02), (800, 256), version=version)
    found = read(Hypothesis(draw, 20480).tensor(UNSEEDED))
    assert (found.result, found.threads) == ("layout", 20480)
    assert found.scale == float(np.float32(0.02))
    assert found.arithmetic is not None
    assert found.arithmetic.arithmetic == "nvidia-volta+"


@pytest.mark.parametrize("cut", [2.0, 100.0])
@pytest.mark.parametrize("gpu", [False, True])
def test_normals_by_the_inverse_error_function_are_named(cut: float, gpu: bool) -> None:
    """trunc_normal_ up to torch 2.11 leaves the steps of its uniforms on either device, and no layout."""
    shape = (400, 256)
    if gpu:
        draw = Draw("truncated-normal", (0.0, 0.02, -cut * 0.02, cut * 0.02), shape, version="2.1+")
        values = Hypothesis(draw, 20480).tensor(UNSEEDED)
    else:
        torch = pytest.importorskip("torch")
        edge = math.erf(cut / math.sqrt(2.0))
        tensor = torch.empty(shape).uniform_(-edge, edge, generator=torch.Generator().manual_seed(UNSEEDED))
        values = tensor.erfinv_().mul_(0.02 * math.sqrt(2.0)).numpy()
    found = read(values)
    assert found.result == "family"
    assert found.threads is None
    assert found.family is not None
    assert "trunc_normal_ up to 2.11" in found.family.name
    assert found.scale == float(np.float32(0.02))


def test_half_of_the_rows_are_enough_where_their_partners_survive() -> None:
    """Scattered rows give fewer pairs, and the number that was there is told."""
    values = drawn()
    rows = np.flatnonzero(np.random.default_rng(1).random(800) < 0.6)
    indices = (rows[:, None] * 256 + np.arange(256)).ravel()
    found = read_layout(
        Elements(indices, values.ravel()[indices].astype(np.float64), indices // 256),
        values.shape,
        "float32",
        layouts=SOME,
    )
    assert (found.result, found.threads) == ("layout", 20480)
    assert 0.25 < found.pairs / (values.size / 2) < 0.5


def test_few_pairs_are_refused_with_their_number() -> None:
    """A single row, or rows without partners, are not read at all."""
    values = drawn()
    assert "too few" in read(values[:1]).reason
    indices = np.arange(10 * 256)
    lonely = Elements(indices, values.ravel()[indices].astype(np.float64), indices // 256)
    found = read_layout(lonely, values.shape, "float32", layouts=SOME)
    assert found.threads is None
    assert found.pairs == 0
    assert "1,000" in found.reason


def test_shuffled_values_and_noise_show_nothing() -> None:
    """The same values in another order, normal noise and uniform noise: no layout, no family."""
    rng = np.random.default_rng(11)
    values = drawn()
    for other in (
        rng.permutation(values.ravel()).reshape(values.shape),
        (rng.standard_normal(values.shape) * 0.02).astype(np.float32),
        rng.uniform(-0.05, 0.05, values.shape).astype(np.float32),
    ):
        found = read(other)
        assert found.result == "none"
        assert found.scale is None
        assert found.selection is not None
        assert found.selection.r < 5.5


def test_coarse_values_are_refused() -> None:
    """Sixteen-bit values, said so or hidden in float32, and values on a short grid are refused."""
    values = drawn()
    hidden = (values.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    gridded = np.rint(values / 1e-4).astype(np.float32) * np.float32(1e-4)
    assert read(values, "bfloat16").result == "refused"
    assert read(values, "float16").result == "refused"
    assert read(hidden).result == "refused"
    assert read(gridded).result == "refused"


def test_repeated_values_are_no_layout() -> None:
    """A tensor that repeats itself has no layout, however coherent its copies are."""
    half = drawn()[:80]
    found = read(np.tile(half, (10, 1)))
    assert found.result in ("refused", "none")


def test_cpu_draws_are_named_and_have_no_layout(cases: Path) -> None:
    """PyTorch's CPU generator is known by its pairs k, k + 8; no layout is claimed for it."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(1337)
    values = torch.empty(400, 511).normal_(0.0, 0.02).numpy()
    found = read(values)
    assert found.result == "family"
    assert found.threads is None
    assert found.family is not None
    assert (found.family.generator, found.family.platform) == ("mt19937", "cpu")
    name = "model.embed_tokens.weight"
    with open_checkpoint(cases / "cpu-1337") as checkpoint:
        whole = checkpoint.rows(name, 0, checkpoint.tensors[name].shape[0])
        coarse = seed_free(checkpoint, survivors_of(name, whole, dtype=checkpoint.tensors[name].dtype))
    assert coarse.result == "refused"


def test_a_real_jax_draw_is_named(cases: Path) -> None:
    """Rows that a GPU run of JAX left alone: a normal cut off at two standard deviations."""
    name = "network.params.Dense_0.kernel"
    with open_checkpoint(cases / "real" / "gymnax_blines_FourRooms-misc_ppo.pkl") as checkpoint:
        values = checkpoint.rows(name, 0, 338)
        std = math.sqrt(1.0 / 338.0) / 0.87962566103423978
        rows = np.flatnonzero(
            (np.abs(values).max(axis=1) <= 2.0 * std) & (values.std(axis=1) < 1.3 / math.sqrt(338.0))
        )
        found = seed_free(checkpoint, survivors_of(name, values, ids=rows, probability=np.ones(rows.size)))
    assert found.result == "family"
    assert found.family is not None
    assert found.family.platform == "jax"
    assert found.scale == pytest.approx(std, rel=1e-6)


def test_adjacent_pairs_of_23_bits_are_named() -> None:
    """Pairs of neighbours from 23-bit uniforms are TensorFlow's or MindSpore's."""
    rng = np.random.default_rng(6)
    radius = np.sqrt(-2.0 * np.log(rng.integers(1, 2**23, 100_000) * 2.0**-23))
    angle = rng.random(100_000) * 2.0 * np.pi
    pairs = np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=1)
    found = read((pairs.reshape(500, 400) * 0.05).astype(np.float32))
    assert found.result == "family"
    assert found.family is not None
    assert "TensorFlow" in found.family.name


def test_columns_and_missing_values_are_read(in_memory: Any) -> None:
    """Surviving columns are enough, and values that are not finite, or zero, are left out."""
    values = Hypothesis(Draw("normal", (0.0, 0.02), (256, 1024)), 16384).tensor(UNSEEDED).copy()
    values[3, 5], values[4, 7] = np.nan, 0.0
    columns = np.flatnonzero(np.arange(1024) % 3 > 0)
    checkpoint = in_memory("w", values, "float32")
    survivors = survivors_of(
        "w", values, axis="column", ids=columns, probability=np.ones(columns.size), scale=0.02
    )
    found = seed_free(checkpoint, survivors)
    assert (found.result, found.threads) == ("layout", 16384)
    assert found.survivors == 256 * columns.size - 2


def test_uniform_survivors_are_refused(in_memory: Any) -> None:
    """Only normals come in pairs."""
    values = np.random.default_rng(1).uniform(-1, 1, (100, 100)).astype(np.float32)
    found = seed_free(in_memory("w", values, "float32"), survivors_of("w", values, distribution="uniform"))
    assert found.result == "refused"
    assert "uniform" in found.reason


def test_half_of_all_pairs_are_held_out() -> None:
    """The hash splits evenly, and the same way every time."""
    held = held_out(np.arange(100_000))
    assert abs(held.mean() - 0.5) < 0.01
    assert np.array_equal(held[500:700], held_out(np.arange(500, 700)))
