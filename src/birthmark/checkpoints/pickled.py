"""What a pickle is turned into here: plain containers and inert objects, never anything that can act.

Numbers, strings, tuples and lists are Python's own. The rest are the classes below: none of them hashes or
compares its contents or calls anything, so no pickle can make building them slow, deep or dangerous.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """Bytes that were left in the file: where they start in the pickle's source, and how many there are."""

    start: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class Global:
    """A class or function that the pickle names; it was neither imported nor looked up."""

    module: str
    name: str

    @property
    def path(self) -> str:
        """The dotted name."""
        return f"{self.module}.{self.name}"


class Flat(list[object]):
    """A dict as the flat list key, value, key, value, ...: in order of writing, repeated keys included.

    A real dict would hash keys that a stranger chose.
    """

    __slots__ = ("states",)

    #: What BUILD gave: attributes of a dict's subclass. Not there until then; millions of dicts have none.
    states: tuple[object, ...]

    def given(self) -> tuple[object, ...]:
        """The states, or none."""
        return getattr(self, "states", ())

    def entries(self) -> dict[str | int, object]:
        """The entries whose keys are text or small integers; the last of equal keys counts, as in a dict."""
        found: dict[str | int, object] = {}
        for key, value in zip(self[::2], self[1::2], strict=True):
            name = plain_key(key)
            if name is not None:
                found[name] = value
        return found

    def unnamed(self) -> list[tuple[int, object]]:
        """(position, value) of the entries with any other key."""
        return [(i // 2, self[i + 1]) for i in range(0, len(self), 2) if plain_key(self[i]) is None]


class Instance:
    """An object of a class that is not known here: what it was made from and what was put into it.

    Attributes:
        kind: the class or function.
        parts: arguments, states and appended items, in order of arrival.
        entries: what was set by key.
    """

    __slots__ = ("entries", "kind", "parts")

    def __init__(self, kind: Global, parts: Iterable[object] = ()) -> None:
        self.kind = kind
        self.parts: list[object] = list(parts)
        self.entries: Flat | None = None


class Buildable(ABC):
    """An object that understands the BUILD opcode."""

    __slots__ = ()

    @abstractmethod
    def build(self, state: object) -> None:
        """Take in the state; MalformedFile where it does not fit."""


#: Stands for a callable that is not a global: the result of another call.
COMPUTED: Final = Global("", "an object made by the pickle itself")


def plain_key(key: object) -> str | int | None:
    """A key as text or a small integer; None where it is neither."""
    if isinstance(key, str):
        return key
    if isinstance(key, bytes):
        return key.decode("utf-8", "backslashreplace")
    if isinstance(key, int) and -(2**63) <= key < 2**63:
        return int(key)
    return None


def text(value: object) -> str | None:
    """A string of Python 2 or 3 as text; None for anything else."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value if isinstance(value, str) else None
