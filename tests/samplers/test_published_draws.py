"""Whole draws of real GPUs, by hash, by published bits and by print, with twins that must fail.

The launch rule is written out here once more, from PyTorch's source: element j = call * 4G + lane * G +
thread.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.numerics.dtypes import encode, round_to
from birthmark.samplers.fill import standard_range, stored_range

VOLTA, PASCAL = "nvidia-volta+", "nvidia-pascal-"


def threads_of(n: int, cap: int) -> int:
    """G of a launch of n elements on a device with `cap` resident threads."""
    return min(-(-n // 256) * 256, cap)


def randn(seed: int, n: int, cap: int, arithmetic: str = VOLTA) -> NDArray[np.float32]:
    drawn: NDArray[np.float32] = standard_range("normal", seed, threads_of(n, cap), 0, n, arithmetic)
    return drawn


def sha256(values: NDArray[np.float32]) -> str:
    return hashlib.sha256(values.astype("<f4").tobytes()).hexdigest()


@numba.njit  # type: ignore[untyped-decorator]
def fnv1a(data: NDArray[np.uint8]) -> np.uint64:
    state = np.uint64(14695981039346656037)
    for byte in data:
        state = np.uint64(state ^ np.uint64(byte)) * np.uint64(1099511628211)
    return state


@pytest.fixture(scope="module")
def gb300() -> NDArray[np.float32]:
    """NVIDIA/TensorRT-Model-Connect efa9fa2931, test_wan2_2_cuda_rng.cpp: seed 42 on 152 x 2048 threads."""
    return randn(42, 48 * 31 * 44 * 80, 152 * 2048)


def test_gb300_hash(gb300: NDArray[np.float32]) -> None:
    """The FNV-1a hash over 5,237,760 float32 values that a GB300 drew."""
    assert hex(fnv1a(gb300.astype("<f4").view(np.uint8))) == "0x1f3097843fedc581"


def test_gb300_bits(gb300: NDArray[np.float32]) -> None:
    """The bit patterns that the same test prints."""
    first = "3e46acdd 400a53f2 be302def 3f595c01 bff652b5 3f272a0f bf2641c1 bf51494d"
    later = "3f878de6 4036cf23 3f2cc155 400398e2"
    assert [f"{bits:08x}" for bits in gb300[:8].view(np.uint32)] == first.split()
    assert [f"{bits:08x}" for bits in gb300[1020:1024].view(np.uint32)] == later.split()


def test_gb300_twins_fail(gb300: NDArray[np.float32]) -> None:
    """One SM less, the next seed and the older arithmetic each give another tensor, in the share expected."""
    n = gb300.size
    assert fnv1a(randn(42, n, 151 * 2048).view(np.uint8)) != fnv1a(gb300.view(np.uint8))
    assert 0.05 < np.mean(randn(42, n, 151 * 2048) == gb300) < 0.07  # the first wave only
    assert np.mean(randn(43, n, 152 * 2048) == gb300) < 1e-4
    assert 0.17 < np.mean(randn(42, n, 152 * 2048, PASCAL) != gb300) < 0.23


T4, L4 = "1e6b6814d99649e02d6d138455a99321692e8722e27386afca57b5d478842d85", "944733fd5370b130"


@pytest.mark.parametrize(("cap", "digest"), [(40 * 1024, T4), (58 * 1536, L4)], ids=["T4", "L4"])
def test_t4_and_l4_hashes(cap: int, digest: str) -> None:
    """pytorch issue 194676: the SHA-256 (a prefix of 16 digits was published) of 40,961 values, seed 1234."""
    assert sha256(randn(1234, 40_961, cap)).startswith(digest)
    assert not sha256(randn(1235, 40_961, cap)).startswith(digest)


def test_t4_and_l4_part_at_the_first_wave_of_the_smaller() -> None:
    """The issue's observation: both cards agree on 40,960 elements and differ from 40,961 on."""
    t4, l4 = (randn(1234, 40_961, cap) for cap in (40 * 1024, 58 * 1536))
    assert np.array_equal(t4[:-1], l4[:-1])
    assert t4[-1] != l4[-1]


def test_hopper_bfloat16_where_a_perfect_sine_fails() -> None:
    """HazyResearch/ThunderKittens 1caaf41a92, randn.txt: ten bfloat16 values of seed 42 on a Hopper."""
    where = [16630, 20865, 31562, 35431, 41309, 48342, 52044, 53528, 54638, 62573]
    printed = (
        "-0.00039100647 -0.00079345703 0.0020599365 0.031127930 -1.4921875 -0.00040245056 0.00035858154 "
    )
    printed += "1.4185905e-05 8.0108643e-05 -0.203125"
    n = 1024 * 64
    found = stored_range("normal", (0.0, 1.0), "bfloat16", 42, threads_of(n, 132 * 2048), 0, n, VOLTA)[where]
    expected = round_to(np.array(printed.split(), np.float64), "bfloat16")
    assert np.array_equal(encode(found, "bfloat16"), encode(expected, "bfloat16"))


PRINTS = {
    # pytorch issue 143086, torch 2.5.1: randn(1, 49 * 12 * 112 * 144)
    "H100": (
        1,
        49 * 12 * 112 * 144,
        132 * 2048,
        (0.0, 1.0),
        {0: "-0.2963 2.6764 -0.1408", -3: "-0.6970 -0.7780 0.3267"},
    ),
    "A100": (
        1,
        49 * 12 * 112 * 144,
        108 * 2048,
        (0.0, 1.0),
        {0: "-0.2963 2.6764 -0.1408", -3: "0.1549 -0.6797 -0.1656"},
    ),
    # pytorch issue 97097, torch 2.0.0: 1000 x 100 with mean 5 and std sqrt 5
    "RTX A4000": (
        14,
        100_000,
        48 * 1536,
        (5.0, 5**0.5),
        {0: "2.8731 5.2727 2.9889", -3: "8.2207 6.5395 4.2604"},
    ),
    # pytorch issue 158398, torch 2.7.1: [1, 64, 2048]
    "28 x 1536": (42, 64 * 2048, 28 * 1536, (0.0, 1.0), {0: "0.1940 2.1614 -0.1721", -3: "1.2850 -0.0282"}),
    # pytorch issue 79496, torch 1.11: randn(3), below one wave
    "any": (10, 3, 2048, (0.0, 1.0), {0: "-0.1029 1.6810 -0.2708"}),
}


@pytest.mark.parametrize("name", PRINTS)
def test_printed_values(name: str) -> None:
    """What users printed on named cards, to torch's four digits; the next seed prints otherwise."""
    seed, n, cap, parameters, prints = PRINTS[name]
    for at, text in prints.items():
        start = at % n
        stop = min(n, start + 3)
        for tried, same in ((seed, True), (seed + 1, False)):
            values = stored_range(
                "normal", parameters, "float32", tried, threads_of(n, cap), start, stop, VOLTA
            )
            shown = " ".join(f"{value:.4f}" for value in values)
            assert shown.endswith(text) == same


def test_printed_noise_of_an_a6000() -> None:
    """pytorch issue 62467: noise[..., 0, 0] of a 3 x 128 x 128 draw, seed 43."""
    noise = randn(43, 3 * 128 * 128, 84 * 1536).reshape(3, -1)
    assert [f"{value:.4f}" for value in noise[:, 0]] == ["1.9983", "0.8704", "2.1127"]


def test_printed_linear_layer() -> None:
    """mrdbourke/pytorch-deep-learning issue 759: nn.Linear(1, 1) on a GPU, seed 42, weight before bias."""
    weight, bias = (
        stored_range("uniform", (-1.0, 1.0), "float32", 42, 256, 0, 1, VOLTA, offset=o)[0] for o in (0, 4)
    )
    assert (f"{weight:.4f}", f"{bias:.4f}") == ("0.2259", "0.9754")


@pytest.mark.parametrize(
    ("file", "seed", "cap", "arithmetic"),
    [
        ("ggl_lottery_fc1_pp0x1_seed3_co2False_T4.pt", 3, 40_960, VOLTA),
        ("sparsenns_fc1_mnist_initial_lt.pth.tar", 42, 163_840, VOLTA),
        ("sparsenns_fc1_mnist_initial_magnitude.pth.tar", 42, 61_440, PASCAL),
    ],
    ids=["T4", "V100 class", "Pascal"],
)
def test_initial_networks_of_real_cards(cases: Path, file: str, seed: int, cap: int, arithmetic: str) -> None:
    """The bytes of all six predicted tensors, 266,610 values, stand in the files; the twins' do not."""
    data = (cases / "real" / file).read_bytes()
    other = PASCAL if arithmetic == VOLTA else VOLTA
    offset = total = 0
    for fan_in, fan_out in ((784, 300), (300, 100), (100, 10)):
        for n, std in ((fan_in * fan_out, math.sqrt(2 / (fan_in + fan_out))), (fan_out, 1.0)):
            threads = threads_of(n, cap)
            drawn, twin = (
                stored_range(
                    "normal", (0.0, std), "float32", seed, threads, 0, n, rule, offset=offset
                ).tobytes()
                for rule in (arithmetic, other)
            )
            assert drawn in data
            assert n < 100 or twin not in data
            offset += ((n - 1) // (4 * threads) + 1) * 4
            total += n
    assert total == 266_610


@pytest.mark.slow
def test_mean_and_std_of_a_hundred_million_values_of_a_v100() -> None:
    """Paddle's unit test of randn([32, 3, 1024, 1024]) on a V100, seed 2021: both to the last float32 bit."""
    n = 32 * 3 * 1024 * 1024
    values: NDArray[np.float32] = standard_range("normal", 2021, 80 * 2048, 0, n, VOLTA, offset=4 * 154)

    def total(of: NDArray[np.float32]) -> np.float32:
        result = np.float32(0)
        for chunk in of.reshape(-1, 8192):
            result += chunk.sum()
        return result

    mean = total(values) / np.float32(n)
    assert float(mean) == -4.7623590944567695e-05
    values -= mean
    values *= values
    assert float(np.sqrt(total(values) / np.float32(n))) == 0.9999756813049316
