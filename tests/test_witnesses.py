"""Values that real GPUs drew and other people published, reproduced through hypotheses.

Each positive witness has twins that must fail: the next seed, the neighbouring layout, another arithmetic.
The sources are public threads and repositories; each test names its own.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.devices.catalogue import find
from birthmark.generators.philox import words
from birthmark.hypothesis import Draw, Hypothesis

SM = 2048
GB300 = find("GB300").threads


def randn(threads: int, shape: tuple[int, ...], **more: Any) -> Hypothesis:
    return Hypothesis(Draw("normal", (0.0, 1.0), shape), threads, **more)


def rand(threads: int, shape: tuple[int, ...]) -> Hypothesis:
    return Hypothesis(Draw("uniform", (0.0, 1.0), shape), threads)


def printed(values: NDArray[Any], digits: int = 4) -> list[str]:
    """Values as torch prints them."""
    return [f"{value:.{digits}f}" for value in values.ravel().tolist()]


def bits(values: NDArray[Any]) -> list[str]:
    return [f"{pattern:08x}" for pattern in values.view(np.uint32).tolist()]


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def fnv1a(data: NDArray[np.uint8]) -> np.uint64:
    """FNV-1a of 64 bits."""
    state = np.uint64(14695981039346656037)
    for byte in data:
        state = (state ^ np.uint64(byte)) * np.uint64(1099511628211)
    return state


# --- GB300: NVIDIA/TensorRT-Model-Connect, tests/cpp/models/wan2_2_ti2v/test_wan2_2_cuda_rng.cpp, efa9fa2931

WAN = (48, 31, 44, 80)
WAN_BITS = (
    "3e46acdd 400a53f2 be302def 3f595c01 bff652b5 3f272a0f bf2641c1 bf51494d "
    "3f0728ae bfa33eaa bfd4c08e be9b4bf0 bdbd9546 3e4c04d3 bf8f6a58 3fedc7c2"
)


def test_gb300_hash_of_five_million_values() -> None:
    """All 5,237,760 float32 values that a GB300 drew under seed 42 have the published FNV-1a hash."""
    values = randn(GB300, WAN).tensor(42).ravel()
    assert int(fnv1a(values.view(np.uint8))) == 0x1F3097843FEDC581
    digest = hashlib.sha256(values.tobytes()).hexdigest()
    assert digest == "3aa69f5e4d8da204d2a5d36883d0f26de3fd7ae8c58c95703e5d5beab7deca39"
    assert bits(values[:16]) == WAN_BITS.split()
    assert bits(values[1020:1024]) == ["3f878de6", "4036cf23", "3f2cc155", "400398e2"]


@pytest.mark.parametrize(
    ("seed", "threads", "arithmetic"),
    [
        (43, GB300, "nvidia-volta+"),
        (42, 151 * SM, "nvidia-volta+"),
        (42, GB300, "nvidia-pascal-"),
        (42, GB300, "amd"),
    ],
)
def test_gb300_hash_has_no_twin(seed: int, threads: int, arithmetic: Any) -> None:
    """The next seed, one SM less, Pascal's and AMD's arithmetic all give another hash."""
    values = randn(threads, WAN, arithmetic=arithmetic).tensor(seed).ravel()
    assert int(fnv1a(values.view(np.uint8))) != 0x1F3097843FEDC581


# --- T4 and L4: pytorch issue 194676

T4_HASH = "1e6b6814d99649e02d6d138455a99321692e8722e27386afca57b5d478842d85"
L4_HASH = "944733fd5370b1308976d60a278da8e3c1616a593081209ffb43ce29c214cbb3"


@pytest.mark.parametrize(("device", "digest"), [("T4", T4_HASH), ("L4", L4_HASH)])
def test_t4_and_l4_hashes(device: str, digest: str) -> None:
    """40,961 normals of a T4 and of an L4 have the SHA-256 whose first 16 digits were published."""
    card = find(device)
    shape = (40_961,)
    assert hashlib.sha256(randn(card.threads, shape).tensor(1234).tobytes()).hexdigest() == digest
    assert hashlib.sha256(randn(card.threads, shape).tensor(1235).tobytes()).hexdigest() != digest
    pascal = randn(card.threads, shape, arithmetic="nvidia-pascal-").tensor(1234)
    assert hashlib.sha256(pascal.tobytes()).hexdigest() != digest


def test_t4_and_l4_agree_for_one_wave_only() -> None:
    """At 40,960 elements, one wave of the T4, both draw the same; the next element tells them apart."""
    both = [randn(find(name).threads, (40_960,)).tensor(1234).tobytes() for name in ("T4", "L4")]
    assert both[0] == both[1]
    assert hashlib.sha256(both[0]).hexdigest().startswith("b6b67ebb834a27e4")
    longer = [randn(find(name).threads, (40_961,)).tensor(1234) for name in ("T4", "L4")]
    assert np.flatnonzero(longer[0] != longer[1]).tolist() == [40_960]


# --- Hopper, bfloat16: HazyResearch/ThunderKittens 1caaf41a92, examples/attn_fwd/randn.txt

HOPPER = {
    16630: -0.00039100647,
    20865: -0.00079345703,
    31562: 0.0020599365,
    35431: 0.031127930,
    41309: -1.4921875,
    48342: -0.00040245056,
    52044: 0.00035858154,
    53528: 1.4185905e-05,
    54638: 8.0108643e-05,
    62573: -0.203125,
}


def test_hopper_bfloat16_values() -> None:
    """Ten bfloat16 values at which an ideal sine would fail are those that a Hopper drew."""
    draw = Draw("normal", (0.0, 1.0), (1, 1, 1024, 64), "bfloat16")
    where = np.array(list(HOPPER), dtype=np.int64)
    published = np.array(list(HOPPER.values()), dtype=np.float32)
    drawn = Hypothesis(draw, find("H100 SXM").threads).values(42, where)
    assert [f"{value:.8g}" for value in drawn.tolist()] == [f"{value:.8g}" for value in published.tolist()]
    for twin in (
        Hypothesis(draw, find("H100 SXM").threads).values(43, where),
        Hypothesis(draw, find("H100 SXM").threads, offset=4).values(42, where),
        Hypothesis(draw, find("H100 SXM").threads, "amd").values(42, where),
    ):
        assert not np.array_equal(twin, drawn)


@pytest.mark.parametrize(("arithmetic", "differing"), [("nvidia-pascal-", 12), ("amd", 51)])
def test_hopper_bfloat16_excludes_other_arithmetics(arithmetic: Any, differing: int) -> None:
    """In the three draws Pascal's and AMD's arithmetic miss as many values as counted before."""
    draw = Draw("normal", (0.0, 1.0), (1, 1, 1024, 64), "bfloat16")
    missed = 0
    for offset in (0, 4, 8):
        volta = Hypothesis(draw, find("H100 SXM").threads, offset=offset).tensor(42)
        missed += int(np.sum(volta != Hypothesis(draw, 270_336, arithmetic, offset).tensor(42)))
    assert missed == differing


# --- Printed values whose tail depends on the SM count


@pytest.mark.parametrize(
    ("device", "tail"),
    [
        ("H100 SXM", ["-0.6970", "-0.7780", "0.3267"]),
        ("A100", ["0.1549", "-0.6797", "-0.1656"]),
        ("H100 PCIe", ["-0.5985", "-2.2326", "0.7645"]),
    ],
)
def test_issue_143086(device: str, tail: list[str]) -> None:
    """pytorch issue 143086, seed 1: one head, and the tails of an H100 SXM and an A100; a PCIe's differs."""
    hypothesis = randn(find(device).threads, (1, 49 * 12 * 112 * 144))
    size = hypothesis.draw.size
    assert printed(hypothesis.values(1, np.arange(3))) == ["-0.2963", "2.6764", "-0.1408"]
    assert printed(hypothesis.values(1, np.arange(size - 3, size))) == tail
    assert printed(hypothesis.values(2, np.arange(size - 3, size))) != tail


def test_issue_62467() -> None:
    """pytorch issue 62467, seed 43: noise[..., 0, 0] of an RTX A6000; a Quadro M4000 differs in the third."""
    shape = (1, 3, 128, 128)
    assert printed(randn(find("RTX A6000").threads, shape).tensor(43)[..., 0, 0]) == [
        "1.9983",
        "0.8704",
        "2.1127",
    ]
    older = randn(find("Quadro M4000").threads, shape, arithmetic="nvidia-pascal-").tensor(43)[..., 0, 0]
    assert printed(older) == ["1.9983", "0.8704", "0.1787"]


ISSUE_97097 = {
    0: "2.8731 5.2727 2.9889 1.6853 9.6331 6.6319",
    1: "3.9968 3.8097 5.7328 4.4029 3.9804 7.4698",
    2: "6.5552 4.0857 4.2315 2.7704 3.5479 3.3063",
    997: "8.6297 2.3137 6.2596 7.9358 4.4697 2.7475",
    998: "7.0551 7.8583 3.9990 4.1139 8.9315 4.2042",
    999: "2.7337 2.2106 7.7815 8.2207 6.5395 4.2604",
}
ISSUE_97097_TURING = {
    997: "2.7640 5.5319 3.2799 3.0997 2.1668 5.0841",
    998: "6.3256 8.4741 4.1051 2.6423 7.7107 3.3614",
    999: "3.0485 5.1392 0.5328 3.0785 4.5691 3.4167",
}


@pytest.mark.parametrize(
    ("device", "rows"), [("RTX A4000", ISSUE_97097), ("RTX 2070 Super", ISSUE_97097_TURING)]
)
def test_issue_97097(device: str, rows: dict[int, str]) -> None:
    """pytorch issue 97097, seed 14, normal_(5, sqrt 5): ends of rows, RTX A4000 and RTX 2070 Super."""
    draw = Draw("normal", (5.0, 5**0.5), (1000, 100))
    values = Hypothesis(draw, find(device).threads).tensor(14)
    for row, text in rows.items():
        assert printed(np.r_[values[row, :3], values[row, -3:]]) == text.split()
    neighbour = Hypothesis(draw, find(device).threads + 1024).tensor(14)
    assert printed(neighbour[999, :3]) != rows[999].split()[:3]


ISSUE_158398 = {
    0: "0.1940 2.1614 -0.1721 1.4540 -2.7733 -0.8932",
    1: "-0.4574 0.8063 0.1580 0.1124 0.2769 -1.2535",
    2: "1.1346 -0.6329 -0.9147 -1.0001 -1.1552 -0.6955",
    61: "-0.4861 0.3358 1.0578 -0.7282 0.5087 0.1318",
    62: "0.7881 0.8339 -1.1424 -0.6297 -1.1112 -0.4091",
    63: "-1.2356 -0.4083 -0.4695 -0.4841 1.2850 -0.0282",
}


def test_issue_158398() -> None:
    """pytorch issue 158398, seed 42: six rows of a device with 43,008 threads, and no other's last row."""
    values = randn(find("RTX 3060").threads, (1, 64, 2048)).tensor(42)[0]
    for row, text in ISSUE_158398.items():
        assert printed(np.r_[values[row, :3], values[row, -3:]]) == text.split()
    turing = randn(find("Quadro RTX 8000").threads, (1, 64, 2048)).tensor(42)[0, 63]
    assert printed(turing[:3]) == ["-0.7961", "0.6542", "-0.3535"]
    assert printed(turing[-3:]) == ["-0.6300", "0.9978", "-0.3799"]


@pytest.mark.parametrize(
    ("device", "total"),
    [
        ("TITAN RTX", 315_527.89787),
        ("V100", 315_688.75882),
        ("A100", 315_501.19840),
        ("T4", 315_428.10875),
    ],
)
def test_issue_87992_sums(device: str, total: float) -> None:
    """The call of pytorch issue 87992 has the sums that an independent emulation predicts per device."""
    values = rand(find(device).threads, (8, 77, 1024)).tensor(0)
    assert float(values.astype(np.float64).sum()) == pytest.approx(total, abs=6e-6)


# --- V100: a PaddlePaddle unit test, randn [32, 3, 1024, 1024] after a float64 draw of that shape, seed 2021


def test_v100_mean_and_deviation_of_a_hundred_million_values() -> None:
    """Mean and standard deviation that a V100 gave, to the last bit, summed as numpy summed them."""
    hypothesis = randn(find("V100").threads, (32, 3, 1024, 1024), offset=4 * 154)
    values = hypothesis.tensor(2021).ravel()

    def numpy_sum(data: NDArray[Any]) -> np.float32:
        total = np.float32(0)
        for part in data.reshape(-1, 8192).sum(axis=1):
            total = np.float32(total + part)
        return total

    mean = np.float32(numpy_sum(values) / np.float32(values.size))
    assert float(mean) == -4.7623590944567695e-05
    np.subtract(values, mean, out=values)
    np.multiply(values, values, out=values)
    assert float(np.sqrt(numpy_sum(values) / np.float32(values.size))) == 0.9999756813049316


# --- Below one wave: the same on every GPU


@pytest.mark.parametrize(
    ("seed", "patterns"),
    [
        (0, "bf6cb6ad bed9c6b8 c02934c5 3e14ab14 bdf788ce bf1468e8 bf1f732a bea82254"),
        (42, "3e46acdd 400a53f2 be302def 3f595c01 bff652b5 3f272a0f bf2641c1 bf51494d"),
        (1234, "bfcee929 3f118647 bf029e18 bf694d8a bf93e7f6 be679418 bfa5024c 3f885e70"),
    ],
)
def test_first_normals_bit_for_bit(seed: int, patterns: str) -> None:
    """The first eight normals of popular seeds have the bits that many posts round."""
    assert bits(randn(40_960, (8,)).tensor(seed)) == patterns.split()


def test_all_four_lanes_of_a_thread() -> None:
    """Thread 0 of seed 42 gives two sines and two cosines, a wave apart, with the known bits."""
    threads = 256
    values = randn(threads, (4 * threads,)).values(42, np.arange(4) * threads)
    assert bits(values) == ["3e46acdd", "bf785e5b", "3ff64339", "bf9e28d4"]


@pytest.mark.parametrize(
    ("seed", "shown"),
    [
        (42, ["0.61295986", "0.01005884", "0.39841369", "0.0403084"]),
        (0, ["0.39904648", "0.51667917", "0.02493039", "0.94007939"]),
    ],
)
def test_first_uniforms(seed: int, shown: list[str]) -> None:
    """torch.rand on any GPU: the float32 values that these eight digits stand for."""
    drawn = rand(40_960, (4,)).tensor(seed)
    assert [f"{value:.8f}".rstrip("0") for value in drawn.tolist()] == shown
    assert [f"{value:.8f}".rstrip("0") for value in rand(40_960, (4,)).tensor(seed + 1).tolist()] != shown


def test_issue_79496() -> None:
    """pytorch issue 79496: randn(3) on CUDA under seed 10, and not under 11."""
    assert printed(randn(40_960, (3,)).tensor(10)) == ["-0.1029", "1.6810", "-0.2708"]
    assert printed(randn(40_960, (3,)).tensor(11)) != ["-0.1029", "1.6810", "-0.2708"]


def test_linear_layer_on_a_gpu() -> None:
    """mrdbourke/pytorch-deep-learning issue 759: nn.Linear(1, 1), weight at offset 0, bias at offset 4."""
    weight = Hypothesis(Draw("uniform", (-1.0, 1.0), (1, 1)), 40_960)
    bias = Hypothesis(Draw("uniform", (-1.0, 1.0), (1,)), 40_960, offset=weight.end_offset)
    assert bias.offset == 4
    assert printed(weight.tensor(42)) == ["0.2259"]
    assert printed(bias.tensor(42)) == ["0.9754"]


def test_imitation_of_cuda_randn() -> None:
    """stable-diffusion-webui's rng_philox shows twelve values of seed 0, to about 1e-6."""
    shown = (
        "-0.92466259 -0.42534415 -2.6438457 0.14518388 -0.12086647 -0.57972564 "
        "-0.62285122 -0.32838709 -1.07454231 -0.36314407 -1.67105067 2.26550497"
    )
    np.testing.assert_allclose(
        randn(40_960, (3, 4)).tensor(0).ravel(), np.array(shown.split(), dtype=np.float64), atol=2e-6
    )


# --- AMD RDNA4, five values: ThiraSoft/golem, package krea2

GOLEM: dict[str, int] = {"3e46acec": 2, "400a53f3": 0, "be302e0c": 0, "3f595c04": 1, "bff652b6": 0}


def test_rdna4_values() -> None:
    """AMD's arithmetic is within two units of what an RX 9070 XT drew; NVIDIA's is up to 29 away."""
    published = np.array([int(pattern, 16) for pattern in GOLEM], dtype=np.int64)

    def distances(arithmetic: Literal["amd", "nvidia-volta+"]) -> list[int]:
        values = randn(65_536, (16, 64, 64), arithmetic=arithmetic).values(42, np.arange(5))
        found: list[int] = np.abs(values.view(np.uint32).astype(np.int64) - published).tolist()
        return found

    assert distances("amd") == list(GOLEM.values())
    assert distances("nvidia-volta+") == [15, 1, 29, 3, 1]


# --- The worked example of the launch rules: seed 1234, n = 3,000,000 on 132 SMs

WORKED: dict[int, tuple[str, str, float]] = {
    0: ("2090b348 da7cf0ab 4401906f cbca470e", "0x1.04859ap-3", -1.616490),
    1: ("d115a128 52fc7c75 c7f33f17 0f1539db", "0x1.a22b42p-1", 0.568455),
    270_335: ("a71d1451 9d21ad45 4c3d21e6 e56eecd2", "0x1.4e3a28p-1", -0.605515),
    270_336: ("2090b348 da7cf0ab 4401906f cbca470e", "0x1.b4f9e2p-1", 1.229155),
    540_672: ("2090b348 da7cf0ab 4401906f cbca470e", "0x1.100642p-2", -1.560540),
    811_008: ("2090b348 da7cf0ab 4401906f cbca470e", "0x1.97948ep-1", 0.464621),
    1_081_344: ("9eeede35 1cbe137c fa277093 147edd50", "0x1.3dddbcp-1", 0.633083),
    1_081_349: ("5c5cf6f4 3fc0ce58 32773955 72c26332", "0x1.7173dcp-2", 1.427874),
    2_162_688: ("3fc9c8d8 fc06fa38 cc170b27 891d3b11", "0x1.fe4e46p-3", -0.162294),
    2_999_999: ("25ea0481 687a2e5e 27b7b717 40234f12", "0x1.008d3cp-2", -0.006535),
}


def test_worked_example_of_three_million() -> None:
    """Words, uniforms and normals of ten elements far apart are those of the worked example."""
    where = np.array(list(WORKED), dtype=np.int64)
    normal, uniform = randn(132 * SM, (3_000_000,)), rand(132 * SM, (3_000_000,))
    place = normal.locate(where)
    drawn = words(1234, place.counter, place.thread)
    assert [" ".join(f"{word:08x}" for word in row) for row in drawn.tolist()] == [
        w for w, _, _ in WORKED.values()
    ]
    assert uniform.values(1234, where).tolist() == [float.fromhex(u) for _, u, _ in WORKED.values()]
    np.testing.assert_allclose(normal.values(1234, where), [z for _, _, z in WORKED.values()], atol=1.5e-6)
    assert normal.end_offset == 12


def test_double_draws() -> None:
    """Double draws of seed 42, two threads: derived from the rules, so to within a unit in the last place."""
    uniform = Hypothesis(Draw("uniform", (0.0, 1.0), (2,), "float64"), 256).tensor(42)
    normal = Hypothesis(Draw("normal", (0.0, 1.0), (2,), "float64"), 256).tensor(42)
    assert uniform.tolist() == [0.46858679418029187, 0.12624985156592777]
    np.testing.assert_array_max_ulp(normal, np.array([1.0360235505368471, -1.9755592233655759]), maxulp=1)
