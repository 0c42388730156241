"""The state of the pickle machine: stack, marks, memo, what may be built, and how much work is left.

Nothing that a pickle names is imported or called. A named class becomes a `Global`, an object of it an
`Instance`, and only the builders that a reader registers (tensors, arrays, containers) make anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from birthmark.checkpoints.cursor import Cursor
from birthmark.checkpoints.pickle_globals import RENAMED, check_global
from birthmark.checkpoints.pickled import COMPUTED, Buildable, Flat, Global, Instance
from birthmark.errors import MalformedFile, UnsupportedFormat

#: Most work of one pickle, in instructions. A state dict takes about 40 a tensor.
MAX_WORK: Final = 3_000_000

#: What a new container costs more than another instruction.
CONTAINER: Final = 2

#: Longest dotted name of a class.
MAX_CLASS_NAME: Final = 1000

#: Makes an object of the arguments of a call.
Builder = Callable[["Machine", tuple[object, ...]], object]

#: Makes an object of a persistent id.
Persistent = Callable[[object], object]


class Machine:
    """What one running pickle has built so far.

    Args:
        cursor: the pickle's next instruction.
        builders: by dotted name, what is made when the pickle calls that name.
        persistent: makes the objects that the pickle refers to by persistent ids; None where it may not.
    """

    def __init__(
        self, cursor: Cursor, builders: Mapping[str, Builder], persistent: Persistent | None = None
    ) -> None:
        self.cursor = cursor
        self.stack: list[object] = []
        self.memo: dict[int, object] = {}
        #: How often each unknown class was met.
        self.met: dict[str, int] = {}
        self._builders = builders
        self._persistent = persistent
        #: The stacks below the marks, the lowest first.
        self._below: list[list[object]] = []
        self._globals: dict[tuple[str, str], Global] = {}
        #: What the pickle has cost so far: 1 an instruction, 2 more a container, 1 an item that is copied.
        self.work = 0
        self._copied = 0

    def fail(self, reason: str) -> NoReturn:
        """Raise MalformedFile: "the pickle in FILE <reason> (near byte N)"."""
        cursor = self.cursor
        raise MalformedFile(f"the pickle in {cursor.source.name} {reason} (near byte {cursor.position:,}).")

    def charge(self, items: int) -> None:
        """Account for items that a builder copies."""
        self.work += items
        if self.work > MAX_WORK:
            self.fail(f"takes more work than {MAX_WORK:,} instructions, the limit")

    def charge_bytes(self, count: int) -> None:
        """Account for bytes that a builder copies out of strings; as many as the file has are free."""
        self._copied += count
        if self._copied > self.cursor.source.size + 2**20:
            self.fail("copies the same text again and again")

    def mark(self) -> None:
        """Begin a new stack above this one."""
        self.work += CONTAINER
        self._below.append(self.stack)
        self.stack = []

    def to_mark(self) -> list[object]:
        """Everything above the last mark; the mark goes with it. IndexError where there is none."""
        below = self._below.pop()
        above, self.stack = self.stack, below
        return above

    def name(self, module: str, name: str) -> Global:
        """A class or function by its name; UnsafePickle where a pickle must not name it."""
        known = self._globals.get((module, name))
        if known is None:
            if len(module) + len(name) > MAX_CLASS_NAME:
                self.fail("names a class at a length beyond reason")
            check_global(module, name, self.cursor.source.name)
            known = self._globals[module, name] = Global(module, name)
        return known

    def call(self, function: object, arguments: object) -> object:
        """What a call of a named thing leaves behind: what its builder makes, or a placeholder."""
        if not isinstance(arguments, tuple):
            self.fail("calls something with arguments that are not a tuple")
        if not isinstance(function, Global):
            return self.placeholder(COMPUTED, (function, *arguments))
        builder = self._builders.get(f"{RENAMED.get(function.module, function.module)}.{function.name}")
        return builder(self, arguments) if builder else self.placeholder(function, arguments)

    def placeholder(self, kind: Global, parts: tuple[object, ...]) -> Instance:
        """An inert object of an unknown class."""
        self.charge(len(parts) + CONTAINER)
        if kind is not COMPUTED and RENAMED.get(kind.module, kind.module) != "builtins":
            self.met[kind.path] = self.met.get(kind.path, 0) + 1
        return Instance(kind, parts)

    def persistent(self, pid: object) -> object:
        """The object of a persistent id."""
        if self._persistent is None:
            raise UnsupportedFormat(
                f"the pickle in {self.cursor.source.name} refers to objects outside of it."
            )
        return self._persistent(pid)

    def extend(self, target: object, values: list[object]) -> None:
        """Append to a list, or to an object that stands for one."""
        if isinstance(target, Instance):
            target.parts.extend(values)
        elif isinstance(target, list) and not isinstance(target, Flat):
            target.extend(values)
        else:
            self.fail("appends to something that is not a list")

    def set_items(self, target: object, items: list[object]) -> None:
        """Set keys (key, value, key, value, ...) of a dict, or of an object that stands for one."""
        if len(items) % 2:
            self.fail("sets a key without a value")
        if isinstance(target, Instance):
            target.entries = Flat() if target.entries is None else target.entries
            target.entries.extend(items)
        elif isinstance(target, Flat):
            target.extend(items)
        else:
            self.fail("sets keys of something that is not a dict")

    def build(self, target: object, state: object) -> None:
        """Give an object its state."""
        if isinstance(target, Instance):
            target.parts.append(state)
        elif isinstance(target, Flat):
            given = target.given()
            self.charge(len(given))
            target.states = (*given, state)
        elif isinstance(target, Buildable):
            target.build(state)
        else:
            self.fail("gives a state to something that has none")
