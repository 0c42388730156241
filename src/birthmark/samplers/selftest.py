"""Whether this machine's compiled loops reproduce the known answers; asked before every search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import SelfTestFailed
from birthmark.generators.known_answers import KnownAnswer, known_answers
from birthmark.generators.philox import words
from birthmark.samplers.fill import LANES, finish, standard_at


def check() -> None:
    """Compute every known answer of `birthmark.generators.known_answers` and compare all bits.

    Takes milliseconds once the loops are compiled.

    Raises:
        SelfTestFailed: a word or value differs; the message says which.
    """
    answers = known_answers()
    for answer in answers:
        found = words(
            answer.seed, np.asarray([answer.counter], np.uint64), np.asarray([answer.thread], np.uint64)
        )
        _compare(answer, "word", answer.words, found[0])
    normals = [answer for answer in answers if answer.arithmetic is not None]
    for arithmetic, std in sorted({(str(answer.arithmetic), int(answer.std or 0)) for answer in normals}):
        same = [answer for answer in normals if (answer.arithmetic, answer.std) == (arithmetic, std)]
        seeds, counters, threads = (
            np.repeat(np.asarray([getattr(answer, name) for answer in same], np.uint64), LANES)
            for name in ("seed", "counter", "thread")
        )
        lanes = np.tile(np.arange(LANES, dtype=np.uint8), len(same))
        standard = standard_at("normal", seeds, counters, threads, lanes, arithmetic)
        scale = float(np.uint32(std).view(np.float32))
        stored = finish("normal", standard, (0.0, scale), "float32").view(np.uint32).reshape(-1, LANES)
        for answer, found in zip(same, stored, strict=True):
            _compare(answer, "normal", answer.normals, found)


def _compare(
    answer: KnownAnswer, kind: str, expected: tuple[int | None, ...], found: NDArray[np.uint32]
) -> None:
    for lane, (right, got) in enumerate(zip(expected, found.tolist(), strict=True)):
        if right is not None and right != got:
            raise SelfTestFailed(
                f"{kind} {lane} of seed {answer.seed}, counter {answer.counter}, thread {answer.thread} "
                f"is {got:08x} on this machine, not {right:08x} ({answer.source}).",
                advice="Its results cannot be trusted; please report it with its processor and versions.",
            )
