"""Unpickling as reading: a pickle becomes data, within bounds, and nothing of it runs.

A pickle is a program for a small stack machine. Here that program can only build inert objects (`pickled`);
its length, its copying and its text are bounded: it ends within seconds and a few hundred megabytes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from birthmark.checkpoints.cursor import Cursor
from birthmark.checkpoints.machine import MAX_WORK, Builder, Machine, Persistent
from birthmark.checkpoints.opcodes import HANDLERS, STOP


@dataclass(frozen=True, slots=True, eq=False)
class Unpickled:
    """What a pickle built.

    Attributes:
        root: the object.
        met: the unknown classes that became placeholders, and how often each was met.
    """

    root: object
    met: Mapping[str, int]


def unpickle(
    cursor: Cursor, builders: Mapping[str, Builder], persistent: Persistent | None = None
) -> Unpickled:
    """Run one pickle to its STOP.

    Args:
        cursor: where the pickle starts; afterwards it stands behind the pickle's end.
        builders: by dotted name, what is made when the pickle calls that name.
        persistent: makes the objects that the pickle refers to by persistent ids; None where it may not.

    Raises:
        MalformedFile: the pickle makes no sense, is cut short, or is too long.
        UnsafePickle: it names something that could run.
        UnsupportedFormat: it needs something that is kept outside of the file.
    """
    machine = Machine(cursor, builders, persistent)
    try:
        while (code := cursor.byte()) != STOP:
            HANDLERS[code](machine)
            machine.work += 1
            if machine.work > MAX_WORK:
                machine.charge(0)
        return Unpickled(machine.stack.pop(), machine.met)
    except (IndexError, KeyError):
        machine.fail("takes from an empty stack, or an object that it never stored")
    except (ValueError, OverflowError, struct.error):
        machine.fail("holds text or a number that cannot be read")
