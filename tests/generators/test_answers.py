"""The text files of known answers, and what happens where they answer nothing."""

from __future__ import annotations

import pytest

from birthmark.errors import SelfTestFailed
from birthmark.generators.answers import answers


def test_lines_come_with_their_source() -> None:
    """Each line knows the source above it, its arguments and its answers."""
    first = answers("birthmark.generators", "neighbour_answers.txt", "threefry")[0]
    assert "random123" in first.source
    assert first.numbers == (0, 0, 0, 0)
    assert first.answers == ("6b200159", "99ba4efe")


def test_a_question_without_an_answer_is_refused() -> None:
    """A question that the file does not answer is a damaged installation, not an empty test."""
    with pytest.raises(SelfTestFailed, match="no known answers of 'nothing'"):
        answers("birthmark.generators", "neighbour_answers.txt", "nothing")
