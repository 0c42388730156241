"""Seed and stream position from surviving values, against stock torch; and what must not be solved."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.philox import words as philox_words
from birthmark.samplers.cpu_uniform import uniform
from birthmark.search.solve.solve import Solved, Unsolved, solve

Values = NDArray[np.float64]
Indices = NDArray[np.int64]

BOUND = 1.0 / math.sqrt(784)
STD = (0.0194, 0.0206)


def normals(seed: int, before: int, shape: tuple[int, int], dtype: torch.dtype = torch.float32) -> Values:
    """A tensor that torch draws after `before` other words, flat; drawn in float32, then cast."""
    torch.manual_seed(seed)
    torch.rand(before)
    values: Values = torch.empty(shape).normal_(0.0, 0.02).to(dtype).double().numpy().ravel()
    return values


def uniforms(seed: int, before: int, shape: tuple[int, int]) -> Values:
    torch.manual_seed(seed)
    torch.rand(before)
    values: Values = torch.empty(shape).uniform_(-BOUND, BOUND).double().numpy().ravel()
    return values


def rows(ids: list[int] | NDArray[np.int64], width: int) -> Indices:
    return (np.asarray(ids)[:, None] * width + np.arange(width)).ravel()


def columns(ids: NDArray[np.int64], height: int, width: int) -> Indices:
    return (np.arange(height)[:, None] * width + ids).ravel()


def check(found: Solved | Unsolved, seed: int, index: int) -> Solved:
    """The claims that every solution must carry."""
    assert isinstance(found, Solved), found
    assert (found.seed, found.index) == (seed % 2**32, index)
    assert found.tally.rank == 19_937
    assert found.tally.violated == 0
    assert found.tally.satisfied >= 64
    assert found.holdout.of >= 64
    assert found.holdout.log10_p < -100.0
    return found


def test_columns_of_a_uniform_layer() -> None:
    """Six columns of a default linear layer give seed, position, bound and arithmetic."""
    ids = np.array([3, 90, 91, 400, 777, 783])
    values, where = uniforms(2**33 + 77, 1_234_567, (300, 784)), columns(ids, 300, 784)

    found = check(
        solve(values[where], where, (300, 784), "uniform", (0.998 * BOUND, 1.003 * BOUND)), 77, 1_234_567
    )

    assert (found.arithmetic, found.exact, found.scale) == ("cpu-fused", True, float(np.float32(BOUND)))
    assert found.equal.all()
    assert found.log10_p < -19.0


def test_unfused_uniforms_say_so() -> None:
    """Values of a build that rounds twice are solved, and their arithmetic is named."""
    from birthmark.generators.mt19937 import words

    values = uniform(words(95, 70_000, 1_500), -BOUND, BOUND, "cpu-unfused").astype(np.float64)

    found = check(
        solve(values, np.arange(1_500), (1_500,), "uniform", (0.998 * BOUND, 1.005 * BOUND)), 95, 70_000
    )

    assert (found.arithmetic, found.arithmetic_decided) == ("cpu-unfused", True)
    assert found.equal.all()


def test_a_bound_that_is_a_power_of_two_hides_the_arithmetic() -> None:
    """With exact products both arithmetics predict every value, and neither is claimed."""
    torch.manual_seed(6)
    values = torch.empty(1_600).uniform_(-0.0625, 0.0625).double().numpy()

    found = check(solve(values, np.arange(1_600), (1_600,), "uniform", (0.0624, 0.0626)), 6, 0)

    assert not found.arithmetic_decided
    assert found.equal.all()


def test_scattered_rows_of_normals_and_a_negative_seed() -> None:
    """Fourteen rows of an embedding, far apart, with a ragged tail at its end."""
    values = normals(-5, 999, (4_001, 129))
    ids = np.sort(np.random.default_rng(1).permutation(4_000)[:15])
    where = np.concatenate([rows(ids, 129), rows([4_000], 129)])

    found = check(solve(values[where], where, (4_001, 129), "normal", STD), -5, 999)

    assert (found.exact, found.scale) == (True, 0.02)
    assert found.equal.all()


@pytest.mark.parametrize(("count", "nominals"), [(24, ()), (18, (0.02,))])
def test_normals_cast_to_bfloat16(count: int, nominals: tuple[float, ...]) -> None:
    """3,072 bfloat16 values solve at a scale known to 3 %; 2,304 need the usual scale."""
    values = normals(1337, 0, (4_096, 128), torch.bfloat16)
    where = rows(np.sort(np.random.default_rng(2).permutation(4_096)[:count]), 128)

    found = check(
        solve(values[where], where, (4_096, 128), "normal", STD, dtype="bfloat16", nominals=nominals), 1337, 0
    )

    assert (found.exact, found.dtype, found.scale) == (False, "bfloat16", 0.02)
    assert found.equal.all()


def test_a_scaled_tensor_is_solved_by_its_angles() -> None:
    """Normals times a factor lie on no lattice; the angles alone give the seed, and the factor comes out."""
    values = (normals(8, 40, (64, 128)).astype(np.float32) * np.float32(0.977)).astype(np.float64)

    found = check(solve(values, np.arange(values.size), (64, 128), "normal", (0.0190, 0.0201)), 8, 40)

    assert not found.exact
    assert math.isclose(found.scale, 0.02 * 0.977, rel_tol=1e-6)


def test_a_fifth_of_wrong_values_is_survived_in_a_stretch() -> None:
    """With 20 % of the values slightly moved, those that vouch for each other still give the seed."""
    values = normals(21, 300, (64, 128))[:8_000]
    rng = np.random.default_rng(3)
    moved = rng.random(8_000) < 0.2
    values[moved] = np.float32(values[moved] * (1.0 + 1e-3 * rng.normal(size=int(moved.sum()))))

    found = solve(values, np.arange(8_000), (64, 128), "normal", STD)

    assert isinstance(found, Solved), found
    assert (found.seed, found.index) == (21, 300)
    assert found.tally.selected
    assert found.log10_p == 0.0
    assert found.holdout.log10_p < -100.0
    assert np.array_equal(found.equal, ~moved)


def test_wrong_rows_are_left_out_by_their_trust() -> None:
    """Rows that the survey trusts less do not spoil the solution, and show as unequal."""
    values = normals(9, 16, (200, 128), torch.bfloat16)
    where, noise = rows(np.arange(0, 200, 5), 128), rows([10, 150], 128)
    values[noise] = normals(10, 16, (2, 128), torch.bfloat16)
    trust = np.where(np.isin(where, noise), 0.6, 0.95)

    solved = solve(
        values[where], where, (200, 128), "normal", STD, dtype="bfloat16", unit=where // 128, trust=trust
    )

    found = check(solved, 9, 16)
    assert set(np.unique(found.indices[~found.equal] // 128)) == {10, 150}


def test_a_table_that_was_enlarged_later_has_a_negative_index() -> None:
    """New rows that were drawn by themselves give their own stream, which begins after the old rows."""
    values = np.concatenate([normals(6, 0, (16, 128)), normals(5, 0, (400, 128))])
    where = rows(np.arange(16, 416, 25), 128)

    found = check(solve(values[where], where, (416, 128), "normal", STD), 5, -16 * 128)

    assert found.equal.all()


def test_a_seeding_out_of_reach_is_said() -> None:
    """A state whose seeding lies further back than allowed is no seed."""
    values, where = normals(4, 5_000, (400, 128)), rows(np.arange(0, 400, 25), 128)

    found = solve(values[where], where, (400, 128), "normal", STD, furthest=4_999)

    assert isinstance(found, Unsolved)
    assert found.reason == "no-seed"


def philox_normals(count: int) -> Values:
    """Normals of equal words from another generator."""
    from birthmark.samplers.cpu_normal import fill

    stream = philox_words(42, np.arange(count // 4, dtype=np.uint64), np.zeros(count // 4, np.uint64))
    return fill(stream.ravel(), count, 0.0, 0.02).astype(np.float64)


def pcg_normals(count: int) -> Values:
    drawn = np.random.Generator(np.random.PCG64(42)).normal(0.0, 0.02, count)
    return drawn.astype(np.float32).astype(np.float64)


def shifted_normals(count: int) -> Values:
    """Values of torch whose second half was moved by one row."""
    values = normals(42, 0, (count // 128 + 1, 128))
    return np.concatenate([values[: count // 2], values[count // 2 + 128 : count + 128]])


@pytest.mark.parametrize("make", [philox_normals, pcg_normals, shifted_normals])
def test_what_is_not_one_stream_is_not_solved(make: Any) -> None:
    """Another generator's words, NumPy's normals and a row too many in between contradict themselves."""
    values = make(4_096)
    where = rows(np.sort(np.random.default_rng(4).permutation(32)[:20]), 128)

    found = solve(values[where], where, (32, 128), "normal", STD, attempts=1)

    assert isinstance(found, Unsolved), found
    assert found.reason == "inconsistent"


def test_noise_in_bfloat16_is_not_solved() -> None:
    """Rounded noise gives equations, and they contradict each other."""
    noise = torch.from_numpy(np.random.default_rng(5).normal(0.0, 0.02, 4_096)).bfloat16().double().numpy()

    found = solve(noise, np.arange(4_096), (32, 128), "normal", STD, dtype="bfloat16", attempts=1)

    assert isinstance(found, Unsolved)
    assert found.reason == "inconsistent"


def test_indices_off_by_one_are_not_solved() -> None:
    """A gap that is one element too wide in the middle of a uniform layer gives a contradiction."""
    values, where = uniforms(3, 0, (300, 784)), columns(np.array([3, 90, 400, 700]), 300, 784)
    wrong = np.where(where > 100_000, where + 1, where)

    found = solve(values[where], wrong, (300, 784), "uniform", (0.998 * BOUND, 1.003 * BOUND), attempts=1)

    assert isinstance(found, Unsolved)
    assert found.reason == "inconsistent"


def test_too_few_values_say_how_many_are_missing() -> None:
    """Four hundred values are too few; a thousand in one stretch have dependent equations."""
    values = normals(1, 0, (16, 128))

    few = solve(values[:400], np.arange(400), (16, 128), "normal", STD)
    dependent = solve(values[:1_000], np.arange(1_000), (16, 128), "normal", STD)

    assert isinstance(few, Unsolved)
    assert few.reason == "too-few"
    assert "19937" in few.message
    assert isinstance(dependent, Unsolved)
    assert dependent.reason == "under-determined"
    assert dependent.recurring
    assert dependent.tally.rank < 19_937


def test_small_and_double_tensors_are_told_apart() -> None:
    """Scalar draws and doubles are named as what they are."""
    small = solve(np.ones(8), np.arange(8), (8,), "normal", (0.9, 1.1))
    double = solve(np.full(40, 1 / 3), np.arange(40), (40,), "normal", (0.9, 1.1), dtype="float64")
    nothing = solve(np.full(40, np.nan), np.arange(40), (40,), "normal", (0.9, 1.1))

    assert [found.reason for found in (small, double, nothing) if isinstance(found, Unsolved)] == [
        "scalar-path", "unreadable", "too-few",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("indices", "scale", "message"),
    [
        (np.arange(3), (0.1, 0.2), "one of each"),
        (np.array([0, 0]), (0.1, 0.2), "unique"),
        (np.array([0, 99]), (0.1, 0.2), "within the tensor"),
        (np.array([0, 1]), (0.0, 0.2), "positive"),
        (np.array([0, 1]), (0.3, 0.2), "positive"),
    ],
)
def test_bad_calls_are_refused(indices: Indices, scale: tuple[float, float], message: str) -> None:
    """Lengths, indices and scales that cannot be are usage errors."""
    with pytest.raises(UsageError, match=message):
        solve(np.array([0.1, 0.2]), indices, (20,), "normal", scale)


def test_uniforms_of_fewer_bits_are_another_generator() -> None:
    """Values on every second point of the lattice are told from 24-bit ones without an elimination."""
    words = np.random.default_rng(6).integers(0, 2**23, 1_600, dtype=np.uint32) * np.uint32(2)
    values = uniform(words, -BOUND, BOUND).astype(np.float64)

    found = solve(values, np.arange(1_600), (1_600,), "uniform", (0.998 * BOUND, 1.005 * BOUND))

    assert isinstance(found, Unsolved)
    assert (found.reason, found.attempts) == ("coarser", 0)


def decayed(values: Values, steps: int, by: float) -> Values:
    """Values after so many steps of weight decay, each rounded to float32."""
    left = values.astype(np.float32)
    for _ in range(steps):
        left *= np.float32(1.0 - by)
    return left.astype(np.float64)


def test_values_that_decay_pulled_apart_are_solved() -> None:
    """Steps that float32 hardly resolves shrink each value by its own factor; leading bits still suffice."""
    values, where = normals(77, 1_000, (400, 128)), rows(np.arange(0, 400, 12), 128)
    worn = decayed(values[where], 20_000, 1e-6)
    factors = worn / values[where]

    found = solve(worn, where, (400, 128), "normal", (0.0193, 0.0199))

    assert np.ptp(factors) > 1e-4
    assert isinstance(found, Solved), found
    assert (found.seed, found.index, found.exact, found.scale_written) == (77, 1_000, False, False)
    assert found.worn > 0.0
    assert math.isclose(found.scale, 0.02 * float(np.median(factors)), rel_tol=1e-3)
