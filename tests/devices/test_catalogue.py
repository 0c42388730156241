"""The table of GPUs: every row, every collision, and what a user may call a device."""

from __future__ import annotations

import pytest

from birthmark.devices.catalogue import (
    all_devices,
    exhaustive_threads,
    find,
    sharing,
    table_threads,
)
from birthmark.errors import UnknownName

# name: (SMs, threads per SM, G)
ROWS = {
    "P100": (56, 2048, 114_688),
    "GTX 1080": (20, 2048, 40_960),
    "P4": (20, 2048, 40_960),
    "GTX 1080 Ti": (28, 2048, 57_344),
    "TITAN X Pascal": (28, 2048, 57_344),
    "TITAN Xp": (30, 2048, 61_440),
    "P40": (30, 2048, 61_440),
    "Quadro P6000": (30, 2048, 61_440),
    "TITAN V": (80, 2048, 163_840),
    "V100": (80, 2048, 163_840),
    "T4": (40, 1024, 40_960),
    "RTX 2070 Super": (40, 1024, 40_960),
    "RTX 2080 Ti": (68, 1024, 69_632),
    "TITAN RTX": (72, 1024, 73_728),
    "Quadro RTX 6000": (72, 1024, 73_728),
    "A100": (108, 2048, 221_184),
    "A800": (108, 2048, 221_184),
    "A30": (56, 2048, 114_688),
    "A10": (72, 1536, 110_592),
    "A10G": (80, 1536, 122_880),
    "A40": (84, 1536, 129_024),
    "RTX A6000": (84, 1536, 129_024),
    "RTX 3090 Ti": (84, 1536, 129_024),
    "RTX A5000": (64, 1536, 98_304),
    "RTX A4000": (48, 1536, 73_728),
    "RTX 3060": (28, 1536, 43_008),
    "RTX 3080": (68, 1536, 104_448),
    "RTX 3090": (82, 1536, 125_952),
    "L4": (58, 1536, 89_088),
    "L20": (92, 1536, 141_312),
    "L40": (142, 1536, 218_112),
    "L40S": (142, 1536, 218_112),
    "RTX 6000 Ada": (142, 1536, 218_112),
    "RTX 4070 Ti Super": (66, 1536, 101_376),
    "RTX 4080": (76, 1536, 116_736),
    "RTX 4090": (128, 1536, 196_608),
    "RTX 4090 D": (114, 1536, 175_104),
    "RTX 5070 Ti": (70, 1536, 107_520),
    "RTX 5080": (84, 1536, 129_024),
    "RTX 5090": (170, 1536, 261_120),
    "RTX PRO 6000 Blackwell": (188, 1536, 288_768),
    "H100 SXM5": (132, 2048, 270_336),
    "H100 NVL": (132, 2048, 270_336),
    "H200": (132, 2048, 270_336),
    "GH200": (132, 2048, 270_336),
    "H800 SXM": (132, 2048, 270_336),
    "H100 PCIe": (114, 2048, 233_472),
    "H800 PCIe": (114, 2048, 233_472),
    "H20": (78, 2048, 159_744),
    "B200": (148, 2048, 303_104),
    "B100": (148, 2048, 303_104),
    "B300": (148, 2048, 303_104),
    "GB200": (152, 2048, 311_296),
    "GB300": (152, 2048, 311_296),
    "MI100": (120, 2048, 245_760),
    "MI210": (104, 2048, 212_992),
    "MI250": (104, 2048, 212_992),
    "MI250X": (110, 2048, 225_280),
    "MI300A": (228, 2048, 466_944),
    "MI300X": (304, 2048, 622_592),
    "MI325X": (304, 2048, 622_592),
    "MI300X DPX": (152, 2048, 311_296),
    "MI300X QPX": (76, 2048, 155_648),
    "MI300X CPX": (38, 2048, 77_824),
    "MI308X": (80, 2048, 163_840),
    "MI350X": (256, 2048, 524_288),
    "MI355X": (256, 2048, 524_288),
    "MI350X CPX": (32, 2048, 65_536),
    "MI355X CPX": (32, 2048, 65_536),
    "A100 MIG 1g": (14, 2048, 28_672),
    "A100 MIG 2g": (28, 2048, 57_344),
    "A100 MIG 3g": (42, 2048, 86_016),
    "A100 MIG 4g": (56, 2048, 114_688),
    "A100 MIG 7g": (98, 2048, 200_704),
    "A30 MIG 1g": (14, 2048, 28_672),
    "A30 MIG 2g": (28, 2048, 57_344),
    "A30 MIG 4g": (56, 2048, 114_688),
    "H200 MIG 1g": (16, 2048, 32_768),
    "H200 MIG 1g double memory": (26, 2048, 53_248),
    "H200 MIG 2g": (32, 2048, 65_536),
    "H100 SXM MIG 3g": (60, 2048, 122_880),
    "GH200 MIG 4g": (64, 2048, 131_072),
    "H100 NVL MIG 7g": (132, 2048, 270_336),
    "H100 PCIe MIG 1g": (14, 2048, 28_672),
    "H100 PCIe MIG 2g": (30, 2048, 61_440),
    "H100 PCIe MIG 3g": (46, 2048, 94_208),
    "H100 PCIe MIG 4g": (62, 2048, 126_976),
    "H100 PCIe MIG 7g": (114, 2048, 233_472),
    "B200 MIG 1g": (18, 2048, 36_864),
    "B200 MIG 1g large memory": (30, 2048, 61_440),
    "B200 MIG 2g": (36, 2048, 73_728),
    "GB200 MIG 1g": (18, 2048, 36_864),
    "GB200 MIG 1g large memory": (32, 2048, 65_536),
    "GB200 MIG 2g": (38, 2048, 77_824),
    "RTX PRO 6000 MIG 1g": (46, 1536, 70_656),
    "RTX 3070": (46, 1536, 70_656),
    "Quadro M4000": (13, 2048, 26_624),
    "Quadro RTX 8000": (72, 1024, 73_728),
    "W7900": (48, 2048, 98_304),
    "W7800": (35, 2048, 71_680),
    "RX 9070 XT": (32, 2048, 65_536),
}

# G: devices that must all be named for it
COLLISIONS = {
    28_672: {"A100 MIG 1g", "A30 MIG 1g", "H100 PCIe MIG 1g"},
    36_864: {"B200 MIG 1g", "GB200 MIG 1g"},
    40_960: {"T4", "RTX 2070 Super", "GTX 1080", "P4"},
    57_344: {"A100 MIG 2g", "A30 MIG 2g", "GTX 1080 Ti", "TITAN X Pascal"},
    61_440: {"H100 PCIe MIG 2g", "B200 MIG 1g large memory", "TITAN Xp", "P40", "Quadro P6000"},
    70_656: {"RTX PRO 6000 Blackwell MIG 1g", "RTX 3070"},
    73_728: {"RTX A4000", "TITAN RTX", "Quadro RTX 6000", "Quadro RTX 8000", "B200 MIG 2g"},
    77_824: {"MI300X CPX", "GB200 MIG 2g"},
    114_688: {"P100", "A30", "A100 MIG 4g", "A30 MIG 4g"},
    129_024: {"A40", "RTX A6000", "RTX 3090 Ti", "RTX 5080"},
    163_840: {"V100", "TITAN V", "MI308X"},
    212_992: {"MI210", "MI250 (per GCD)"},
    218_112: {"L40", "L40S", "RTX 6000 Ada"},
    221_184: {"A100", "A800"},
    233_472: {"H100 PCIe", "H800 PCIe", "H100 PCIe MIG 7g"},
    303_104: {"B200", "B100", "B300"},
    311_296: {"GB200", "GB300", "MI300X DPX"},
    524_288: {"MI350X", "MI355X"},
    622_592: {"MI300X", "MI325X"},
}


@pytest.mark.parametrize("name", ROWS)
def test_every_row(name: str) -> None:
    """SM count, threads per SM and G of every known device are those of the public sources."""
    device = find(name)
    assert (device.sm_count, device.threads_per_sm, device.threads) == ROWS[name]


@pytest.mark.parametrize("threads", COLLISIONS)
def test_collisions_are_named_completely(threads: int) -> None:
    """All devices that share a G are listed together, and no other."""
    assert {device.name for device in sharing(threads)} == COLLISIONS[threads]


def test_arithmetic_narrows_a_collision() -> None:
    """Pascal cards leave the list when the arithmetic says Volta or newer, and only they stay otherwise."""
    assert {device.name for device in sharing(40_960, "nvidia-volta+")} == {"T4", "RTX 2070 Super"}
    assert {device.name for device in sharing(61_440, "nvidia-pascal-")} == {
        "TITAN Xp",
        "P40",
        "Quadro P6000",
    }
    assert {device.name for device in sharing(163_840, "amd")} == {"MI308X"}


def test_no_device_has_an_unknown_layout() -> None:
    """A G that no device has gives an empty list."""
    assert sharing(270_336 + 256) == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("H100 SXM", "H100 SXM5"),
        ("h100-sxm5", "H100 SXM5"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM5"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("a100", "A100"),
        ("Tesla T4", "T4"),
        ("Tesla V100-SXM2-16GB", "V100"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("rtx4090", "RTX 4090"),
        ("NVIDIA GB300", "GB300"),
        ("AMD Instinct MI300X", "MI300X"),
        ("H100 SXM MIG 1g.10gb", "H100 SXM5 MIG 1g"),
    ],
)
def test_find_knows_what_people_call_a_device(name: str, expected: str) -> None:
    """Case, spaces, makers' names and what torch prints all lead to the same row."""
    assert find(name).name == expected


@pytest.mark.parametrize("name", ["H100", "RTX 6000", "A1000", "", "TPU v5e"])
def test_find_does_not_guess(name: str) -> None:
    """A name that fits no device, or several with different layouts, is refused."""
    with pytest.raises(UnknownName, match="unknown device"):
        find(name)


def test_find_names_the_nearest() -> None:
    """The message of an unknown or ambiguous name lists devices that were probably meant."""
    with pytest.raises(UnknownName, match="H100 SXM5") as ambiguous:
        find("H100")
    assert "H100 PCIe" in str(ambiguous.value)
    with pytest.raises(UnknownName, match="RTX 4090"):
        find("RTX 4091")


def test_no_name_means_two_devices() -> None:
    """Names and aliases are unique once case and decoration are gone, so `find` never hides a row."""
    for device in all_devices():
        for name in (device.name, *device.aliases):
            assert find(name) is device


def test_every_row_has_a_source() -> None:
    """Each row says where it comes from; rows without a document are not called confirmed."""
    for device in all_devices():
        assert device.source
        if device.source == "general knowledge; no document was read for it":
            assert not device.confirmed
    b300 = find("B300")
    assert not b300.confirmed
    assert b300.note is not None
    assert "158" in b300.note


def test_arithmetic_follows_vendor_and_capability() -> None:
    """Volta began what every later NVIDIA device does; Pascal and AMD differ."""
    assert find("P100").arithmetic == "nvidia-pascal-"
    assert find("V100").arithmetic == "nvidia-volta+"
    assert find("RTX 5090").arithmetic == "nvidia-volta+"
    assert find("MI300X").arithmetic == "amd"


def test_layouts_to_search() -> None:
    """The table has about fifty distinct G, the exhaustive list 1,044, both ascending and in whole blocks."""
    table = table_threads()
    exhaustive = exhaustive_threads()
    assert len(table) == 51
    assert len(exhaustive) == 1044
    assert set(table) <= set(exhaustive)
    assert list(exhaustive) == sorted(set(exhaustive))
    assert all(threads % 256 == 0 for threads in exhaustive)
