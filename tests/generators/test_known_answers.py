"""The text of known answers is read completely and says what it is."""

from __future__ import annotations

from importlib.resources import files

from birthmark.generators.known_answers import known_answers


def test_every_line_is_read() -> None:
    """Each line that is neither comment, heading nor empty is one answer with a source."""
    text = files("birthmark.generators").joinpath("known_answers.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and line[0] not in "#["]
    answers = known_answers()
    assert len(answers) == len(lines)
    assert all(answer.source for answer in answers)
    assert all(len(answer.words) == len(answer.normals) == 4 for answer in answers)


def test_something_is_known_of_each_kind() -> None:
    """Words, every arithmetic, every lane and a later call have an answer; normals come with their scale."""
    answers = known_answers()
    assert sum(None not in answer.words for answer in answers) >= 15
    assert {answer.arithmetic for answer in answers} == {None, "nvidia-volta+", "nvidia-pascal-", "amd"}
    assert all((answer.arithmetic is None) == (answer.std is None) for answer in answers)
    assert all(
        any(answer.normals[lane] is not None and answer.counter for answer in answers) for lane in range(4)
    )


def test_random123_comes_first() -> None:
    """The first line is the vector of zeros, read exactly."""
    first = known_answers()[0]
    assert "random123" in first.source
    assert (first.seed, first.counter, first.thread) == (0, 0, 0)
    assert first.words == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    assert first.normals == (None, None, None, None)
