"""The table of GPUs: what a device contributes to a draw, and which devices cannot be told apart.

A device enters a draw through two numbers only, its SM count and the threads that one SM can hold; their
product is G, the threads of one full launch. The table itself is data (`table.json`, each row with its
sources). A MIG slice or an AMD partition is a device of its own: it reports its own SM count.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from birthmark.errors import UnknownName

Vendor = Literal["nvidia", "amd"]
Arithmetic = Literal["nvidia-volta+", "nvidia-pascal-", "amd"]

#: Threads per block of every draw (pytorch `aten/src/ATen/native/cuda/DistributionTemplates.h`).
BLOCK = 256

#: SM counts that an exhaustive search covers; the widest device known has 304.
EXHAUSTIVE_SMS = range(16, 513)
#: Threads per SM of every compute capability from 6.0 to 12.1 and of CDNA (CUDA programming guide).
THREADS_PER_SM = (2048, 1536, 1024)

#: Words that device names carry or leave out at will.
_DECORATION = re.compile(r"\b(nvidia|geforce|tesla|amd|instinct|graphics)\b|\(r\)|\(tm\)|[\s_\-]+")


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU model, a MIG slice of one, or a partition of one.

    Attributes:
        name: the name that birthmark prints.
        vendor: "nvidia" or "amd".
        sm_count: streaming multiprocessors, or compute units, that the visible device reports.
        threads_per_sm: most resident threads per multiprocessor.
        arithmetic: which sampler arithmetic its float32 normals follow (see `samplers`).
        capability: the CUDA compute capability, e.g. "9.0"; None where there is none.
        confirmed: whether a document or a published draw was read for both numbers.
        source: those documents, in words.
        aliases: other names under which `find` knows it.
        note: what is doubtful about the row; None where nothing is.
    """

    name: str
    vendor: Vendor
    sm_count: int
    threads_per_sm: int
    arithmetic: Arithmetic
    capability: str | None
    confirmed: bool
    source: str
    aliases: tuple[str, ...] = ()
    note: str | None = None

    @property
    def threads(self) -> int:
        """G: the threads of one full launch, in whole blocks of 256."""
        return self.sm_count * (self.threads_per_sm // BLOCK) * BLOCK


@cache
def all_devices() -> tuple[Device, ...]:
    """Every device of the table, in the table's order (old to new, whole devices before slices)."""
    table = json.loads((files("birthmark.devices") / "table.json").read_text(encoding="utf-8"))
    sources: dict[str, str] = table["sources"]
    return tuple(_device(row, sources) for row in table["devices"])


def _device(row: dict[str, Any], sources: dict[str, str]) -> Device:
    return Device(
        name=row["name"],
        vendor=row["vendor"],
        sm_count=row["sm_count"],
        threads_per_sm=row["threads_per_sm"],
        arithmetic=_arithmetic(row["vendor"], row["capability"]),
        capability=row["capability"],
        confirmed=row["confirmed"],
        source="; ".join(sources[key] for key in row["sources"]),
        aliases=tuple(row["aliases"]),
        note=row.get("note"),
    )


def _arithmetic(vendor: Vendor, capability: str | None) -> Arithmetic:
    """Volta (capability 7.0) changed how the sine unit gets its argument; AMD has its own constants."""
    if vendor == "amd" or capability is None:
        return "amd"
    return "nvidia-volta+" if int(capability.split(".")[0]) >= 7 else "nvidia-pascal-"


def _folded(name: str) -> str:
    return _DECORATION.sub("", name.casefold())


@cache
def _by_name() -> dict[str, Device]:
    names: dict[str, Device] = {}
    for device in all_devices():
        for name in (device.name, *device.aliases):
            names[_folded(name)] = device
    return names


def find(name: str) -> Device:
    """The device of this name.

    Case, spaces, hyphens and the makers' names do not matter: "NVIDIA A100-SXM4-80GB" (as
    `torch.cuda.get_device_name` prints it) finds the A100. A name that fits devices with different layouts,
    such as "H100", is not guessed.

    Raises:
        UnknownName: no device has this name; the message lists the nearest ones.
    """
    folded = _folded(name)
    if device := _by_name().get(folded):
        return device
    names = [device.name for device in all_devices()]
    longer = [candidate for candidate in names if folded and _folded(candidate).startswith(folded)]
    raise UnknownName("device", name, longer or names)


def sharing(threads: int, arithmetic: Arithmetic | None = None) -> tuple[Device, ...]:
    """The devices whose full launch has `threads` threads; their values cannot tell them apart.

    Args:
        threads: G.
        arithmetic: keep only devices of this arithmetic (float32 normals do separate these); None keeps all.
    """
    return tuple(
        device
        for device in all_devices()
        if device.threads == threads and arithmetic in (None, device.arithmetic)
    )


def table_threads() -> tuple[int, ...]:
    """Every distinct G of the table, ascending."""
    return tuple(sorted({device.threads for device in all_devices()}))


def exhaustive_threads() -> tuple[int, ...]:
    """Every distinct G of 16 to 512 SMs at 2,048, 1,536 and 1,024 threads, and of the table, ascending."""
    grid = {count * threads for count in EXHAUSTIVE_SMS for threads in THREADS_PER_SM}
    return tuple(sorted(grid.union(table_threads())))
