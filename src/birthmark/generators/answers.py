"""Reads the known answers of the neighbouring generators and their samplers: text files beside the code.

A line is `what arguments... | answers...`; `[...]` names the source of the lines below it, `#` a comment.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from birthmark.errors import SelfTestFailed


@dataclass(frozen=True, slots=True)
class Answer:
    """What somebody else's program gave.

    Attributes:
        source: whose.
        what: the name of the question.
        arguments: as they stand in the file.
        answers: likewise.
    """

    source: str
    what: str
    arguments: tuple[str, ...]
    answers: tuple[str, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The arguments as integers, decimal or 0x and hexadecimal."""
        return tuple(int(one, 0) for one in self.arguments)

    @property
    def floats(self) -> tuple[float, ...]:
        """The answers as C's hexadecimal floats."""
        return tuple(float.fromhex(one) for one in self.answers)


def answers(package: str, name: str, what: str) -> tuple[Answer, ...]:
    """The lines of a file that answer one question, in their order.

    Args:
        package: the room that holds the file, e.g. "birthmark.generators".
        name: the file's name.
        what: the question.

    Raises:
        SelfTestFailed: the file answers no such question.
    """
    found: list[Answer] = []
    source = ""
    for line in files(package).joinpath(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            source = line.strip("[]")
        elif line and not line.startswith("#"):
            asked, given = (part.split() for part in line.split("|"))
            if asked[0] == what:
                found.append(Answer(source, what, tuple(asked[1:]), tuple(given)))
    if not found:
        raise SelfTestFailed(f"{name} holds no known answers of {what!r}; the installation is damaged.")
    return tuple(found)
