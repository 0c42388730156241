"""Published draws that decide the sine unit's table, and what a trial row makes of each of them.

A fact is one float32 weight that somebody published before training: it was drawn by `xavier_normal_` on a
known card under a known seed, so its words, its angle and its radius are known, and only the sine in it is
open. `sine_facts.json` keeps two to four of them for each row of the table, with their sources; the files
themselves are not part of birthmark. The steps are written in plain integers and share only the logarithm
with the samplers, so that the table does not rest on the code that uses it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from birthmark.numerics.logarithm import logf
from birthmark.numerics.sine_row import ROW_BITS, SCALE_BITS, SIGNIFICANT_BITS, outputs, squared

_FILE = Path(__file__).with_name("sine_facts.json")
_WORD = 0xFFFFFFFF

# Significands of the float32 constants of cuRAND 10.3.10 `curand_normal.h` and of the range reduction.
_TWO_PI = 0xC90FDB  # 2 pi / 2^32 = this * 2^-53
_INVERSE_TWO_PI = 0xA2F983  # 1 / (2 pi) = this * 2^-26


@dataclass(frozen=True)
class Source:
    """Where facts come from: one published tensor, the first draw of its run (offset 0)."""

    #: "owner/name" on GitHub, and the commit.
    repository: str
    commit: str
    #: The file there, and its SHA-256.
    file: str
    sha256: str
    #: The card that drew it, in words.
    card: str
    #: The seed of the draw and the total threads of the launch.
    seed: int
    threads: int
    #: Shape of the tensor; `xavier_normal_` gives it the standard deviation sqrt(2 / (rows + columns)).
    shape: tuple[int, int]


@dataclass(frozen=True)
class Fact:
    """One published value: element `element` of the source's tensor has the bit pattern `pattern`."""

    source: Source
    element: int
    pattern: int


@dataclass(frozen=True)
class Place:
    """What of a fact does not depend on the table: its input to the sine unit and its radius."""

    row: int
    x: int
    negative: bool
    radius: np.float32


def load(path: Path = _FILE) -> tuple[Fact, ...]:
    """The facts of a file, in its order."""
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    sources = {
        name: Source(**{**fields, "shape": tuple(fields["shape"])})
        for name, fields in document["sources"].items()
    }
    return tuple(
        Fact(sources[name], element, int(pattern, 16)) for name, element, pattern in document["facts"]
    )


def place(fact: Fact) -> Place:
    """Row, input, sign and radius of a fact: all steps of the draw but the sine."""
    call, rest = divmod(fact.element, 4 * fact.source.threads)
    lane, thread = divmod(rest, fact.source.threads)
    first, second = _words(fact.source.seed, call, thread)[lane & 2 : (lane & 2) + 2]

    # u in units of 2^-33, v in units of 2^-54, t in units of 2^-80: products are exact, roundings are named.
    u = _nearest(2 * _nearest(first) + 1)
    v = _nearest(_TWO_PI * (2 * _nearest(second) + 1))
    t = _toward_zero(v * _INVERSE_TWO_PI)
    radius = np.sqrt(np.float32(-2) * np.float32(logf(np.float32(math.ldexp(u, -33)))))

    # The unit takes 25 bits of the turn. Odd lanes are cosines; odd quadrants run backwards.
    quadrant, fraction = divmod((t >> 55) % (1 << 25), 1 << 23)
    quadrant += lane & 1
    if quadrant & 1:
        fraction ^= (1 << 23) - 1
    return Place(fraction >> ROW_BITS, fraction % (1 << ROW_BITS), bool(quadrant & 2), radius)


def predicted(fact: Fact, triple: tuple[int, int, int]) -> int:
    """The bit pattern of a fact's element if its row of the table were (C0, C1, magnitude of C2)."""
    there = place(fact)
    x = np.array([there.x], dtype=np.int64)
    sine = np.float32(
        math.ldexp(int(outputs(np.array([triple], np.int64), x, squared(x))[0, 0]), -SCALE_BITS)
    )
    deviation = np.float32(math.sqrt(2.0 / sum(fact.source.shape)))
    # The draw's own last step is fma(standard, deviation, 0): one rounding, as here.
    value = np.float32(-sine if there.negative else sine) * there.radius * deviation
    return int(value.view(np.uint32))


def _words(seed: int, call: int, thread: int) -> tuple[int, int, int, int]:
    """Philox4x32-10 (Salmon and others, SC 2011) with cuRAND's key and counter, in plain integers."""
    k0, k1 = seed & _WORD, seed >> 32
    c0, c1, c2, c3 = call & _WORD, call >> 32, thread & _WORD, thread >> 32
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = p1 >> 32 ^ c1 ^ k0, p1 & _WORD, p0 >> 32 ^ c3 ^ k1, p0 & _WORD
        k0, k1 = (k0 + 0x9E3779B9) & _WORD, (k1 + 0xBB67AE85) & _WORD
    return c0, c1, c2, c3


def _toward_zero(value: int) -> int:
    """A non-negative integer with all but its 24 leading bits cleared."""
    lost = max(value.bit_length() - SIGNIFICANT_BITS, 0)
    return value >> lost << lost


def _nearest(value: int) -> int:
    """A non-negative integer rounded to 24 significant bits, ties to even: float32's rounding."""
    lost = max(value.bit_length() - SIGNIFICANT_BITS, 0)
    if lost == 0:
        return value
    kept, rest = divmod(value, 1 << lost)
    half = 1 << (lost - 1)
    return (kept + (rest > half or (rest == half and kept & 1))) << lost
