"""What official PyTorch builds of many versions drew on CPUs, and whether this machine draws the same.

The answers lie beside this module as text; how they were taken is said there.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import numpy as np

from birthmark.errors import SelfTestFailed
from birthmark.samplers.cpu_call import CpuCall, Values
from birthmark.samplers.cpu_draw import CpuDraw

#: Where in which stream all of them start.
SEED: Final = 9
INDEX: Final = 3
#: Doubles of these go through the C library's functions and are stored as they are.
_LIBRARY: Final = ("normal", "exponential", "cauchy", "log-normal")
_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class CpuAnswer:
    """One draw that a build of PyTorch made.

    Attributes:
        draw: the draw, at the build's version and arithmetic.
        words: the words that it took.
        digest: the first 16 hexadecimal digits of the SHA-256 of its values.
        first: its first values.
        build: the exact version.
    """

    draw: CpuDraw
    words: int
    digest: str
    first: tuple[float, ...]
    build: str

    @property
    def portable(self) -> bool:
        """Whether the values are the same with any C library."""
        return self.draw.dtype != "float64" or self.draw.distribution not in _LIBRARY


def cpu_answers() -> tuple[CpuAnswer, ...]:
    """All known answers, in the order of the file, one for each build."""
    answers: list[CpuAnswer] = []
    text = files("birthmark.samplers").joinpath("cpu_known_answers.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            what, where, gave, builds = (part.split() for part in line.split("|"))
            parameters = tuple(_number(word) for word in what[1:])
            for build, arithmetic in _builds(builds):
                call = CpuCall(
                    what[0],
                    parameters,
                    int(where[1]),
                    where[0],
                    build,
                    arithmetic.removesuffix("+mkl"),
                    "strided" not in where,
                    arithmetic.endswith("+mkl"),
                )
                first = tuple(_number(word) for word in gave[2:])
                answers.append(CpuAnswer(CpuDraw.of(call, INDEX), int(gave[0]), gave[1], first, build))
    return tuple(answers)


def digest(values: Values) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of values as the file writes them."""
    wide = "<f8" if values.dtype.kind == "f" else "<i8"
    return hashlib.sha256(np.ascontiguousarray(values, wide).tobytes()).hexdigest()[:_DIGITS]


def check_cpu() -> None:
    """Draw the newest answer of each kind of draw and arithmetic, and compare.

    Draws whose last bits come from the machine's own C library are left out.

    Raises:
        SelfTestFailed: a draw differs; the message says which.
    """
    newest = {
        (answer.draw.distribution, answer.draw.dtype, answer.draw.arithmetic, answer.digest): answer
        for answer in cpu_answers()
        if answer.portable
    }
    for answer in newest.values():
        draw = answer.draw
        found = digest(draw.values(SEED, np.arange(draw.size, dtype=np.int64)))
        if found != answer.digest or draw.consumed != answer.words:
            raise SelfTestFailed(
                f"a {draw.distribution} draw of {draw.size} {draw.dtype} as PyTorch {answer.build} makes it "
                f"({draw.arithmetic}) has digest {found} on this machine, not {answer.digest}.",
                advice="Its results cannot be trusted; please report it with its processor and versions.",
            )


def _builds(words: list[str]) -> list[tuple[str, str]]:
    """(version, arithmetic) of each build of a line's last part."""
    found: list[tuple[str, str]] = []
    arithmetic = ""
    for word in words:
        if word[0].isdigit():
            found.append((word.removesuffix(";"), arithmetic))
        else:
            arithmetic = word
    return found


def _number(text: str) -> float:
    return float.fromhex(text) if "x" in text else int(text)
