"""The known answers that everything which computes for birthmark must reproduce.

They lie beside this module as text, so that compiled loops, GPU kernels and tests read the same lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

#: One entry for each of a block's four lanes; None where the source does not give it.
Lanes = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """One block whose words or values somebody else published.

    Attributes:
        source: where the answer comes from.
        seed: 64-bit key.
        counter: offset / 4 plus earlier calls of the thread, 64 bits.
        thread: global thread index, 64 bits.
        words: the block's words.
        arithmetic: that of the normals; None for a line of words alone.
        std: float32 bits of the normals' standard deviation.
        normals: float32 bits of the four lanes, with mean 0.
    """

    source: str
    seed: int
    counter: int
    thread: int
    words: Lanes
    arithmetic: str | None
    std: int | None
    normals: Lanes


def known_answers() -> tuple[KnownAnswer, ...]:
    """All known answers, in the order of the file."""
    answers: list[KnownAnswer] = []
    source = ""
    text = files("birthmark.generators").joinpath("known_answers.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            source = line.strip("[]")
        elif line and not line.startswith("#"):
            position, words, draw, normals = (part.split() for part in line.split("|"))
            seed, counter, thread = position
            arithmetic, std = draw
            answers.append(
                KnownAnswer(
                    source,
                    int(seed, 16),
                    int(counter, 16),
                    int(thread, 0),
                    _lanes(words),
                    None if arithmetic == "-" else arithmetic,
                    _bits(std),
                    _lanes(normals),
                )
            )
    return tuple(answers)


def _bits(text: str) -> int | None:
    return None if text == "-" else int(text, 16)


def _lanes(texts: list[str]) -> Lanes:
    return tuple(_bits(text) for text in texts)
