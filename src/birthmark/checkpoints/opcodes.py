"""The instructions of pickle protocols 0 to 5: what each one does to the machine.

An instruction that finds the stack or the memo empty raises IndexError or KeyError, one that cannot read its
text or number ValueError; `unpickler` turns these into one error for the user.

Source: CPython, `Lib/pickletools.py`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from birthmark.checkpoints.machine import CONTAINER, Machine
from birthmark.checkpoints.pickled import Flat, Instance, text
from birthmark.errors import UnsafePickle, UnsupportedFormat

Handler = Callable[[Machine], None]
V = TypeVar("V")

#: Byte strings longer than this stay in the file.
INLINE_BYTES: Final = 4096

#: Longest text, in bytes.
MAX_TEXT: Final = 2**28

STOP: Final = ord(".")


def _unknown(machine: Machine) -> None:
    machine.fail("holds a byte that is no instruction")


#: What each of the 256 bytes does.
HANDLERS: Final[list[Handler]] = [_unknown] * 256


def _on(*codes: bytes) -> Callable[[Handler], Handler]:
    """Register a handler for instructions."""

    def register(handler: Handler) -> Handler:
        for code in codes:
            HANDLERS[code[0]] = handler
        return handler

    return register


def _on_each(values: Mapping[bytes, V]) -> Callable[[Callable[[Machine, V], None]], None]:
    """Register a handler for instructions that differ in one value: a width, a count, a constant."""

    def bind(handler: Callable[[Machine, V], None], value: V) -> Handler:
        return lambda machine: handler(machine, value)

    def register(handler: Callable[[Machine, V], None]) -> None:
        for code, value in values.items():
            HANDLERS[code[0]] = bind(handler, value)

    return register


@_on(b"\x80")
def _protocol(machine: Machine) -> None:
    if (version := machine.cursor.byte()) > 5:
        raise UnsupportedFormat(
            f"{machine.cursor.source.name} is a pickle of protocol {version}; 0 to 5 are read."
        )


@_on(b"\x95")
def _frame(machine: Machine) -> None:
    machine.cursor.take(8)


@_on(b"I")
def _integer_line(machine: Machine) -> None:
    line = machine.cursor.line()
    machine.stack.append(line == b"01" if line in (b"00", b"01") else int(line))


@_on(b"L")
def _long_line(machine: Machine) -> None:
    machine.stack.append(int(machine.cursor.line().rstrip(b"L")))


@_on(b"F")
def _float_line(machine: Machine) -> None:
    machine.stack.append(float(machine.cursor.line()))


@_on(b"J")
def _signed(machine: Machine) -> None:
    machine.stack.append(int.from_bytes(machine.cursor.take(4), "little", signed=True))


@_on_each({b"K": 1, b"M": 2})
def _unsigned(machine: Machine, width: int) -> None:
    machine.stack.append(machine.cursor.number(width))


@_on_each({b"\x8a": 1, b"\x8b": 4})
def _long(machine: Machine, width: int) -> None:
    size = machine.cursor.number(width)
    machine.stack.append(int.from_bytes(machine.cursor.take(size), "little", signed=True))


@_on(b"G")
def _float(machine: Machine) -> None:
    machine.stack.append(struct.unpack(">d", machine.cursor.take(8))[0])


_ESCAPE: Final = re.compile(rb"\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|[^0-7x])", re.DOTALL)
_LETTERS: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def _unescaped(match: re.Match[bytes]) -> bytes:
    """One escape of a string literal of Python 2."""
    code: bytes = match[1]
    if code[:1] == b"x":
        return bytes([int(code[1:], 16)])
    if code.isdigit():
        return bytes([int(code, 8) & 0xFF])
    return _LETTERS.get(code, code)


@_on(b"S")
def _quoted_line(machine: Machine) -> None:
    line = machine.cursor.line().strip()
    if len(line) < 2 or line[:1] not in (b"'", b'"') or line[-1:] != line[:1]:
        machine.fail("holds a string without quotes")
    machine.stack.append(_ESCAPE.sub(_unescaped, line[1:-1]))


@_on(b"V")
def _text_line(machine: Machine) -> None:
    machine.stack.append(machine.cursor.line().decode("raw-unicode-escape"))


@_on_each({b"\x8c": 1, b"X": 4, b"\x8d": 8})
def _text(machine: Machine, width: int) -> None:
    size = machine.cursor.number(width)
    if size > MAX_TEXT:
        machine.fail(f"holds a text of {size:,} bytes; the limit is {MAX_TEXT:,}")
    machine.stack.append(machine.cursor.take(size).decode("utf-8", "surrogatepass"))


@_on_each({b"U": 1, b"T": 4, b"C": 1, b"B": 4, b"\x8e": 8, b"\x96": 8})
def _bytes(machine: Machine, width: int) -> None:
    size = machine.cursor.number(width)
    cursor = machine.cursor
    machine.stack.append(cursor.take(size) if size <= INLINE_BYTES else cursor.skip(size))


@_on_each({b"N": None, b"\x88": True, b"\x89": False, b")": ()})
def _constant(machine: Machine, value: object) -> None:
    machine.stack.append(value)


@_on(b"(")
def _mark(machine: Machine) -> None:
    machine.mark()


@_on(b"0")
def _pop(machine: Machine) -> None:
    if machine.stack:
        machine.stack.pop()
    else:
        machine.to_mark()


@_on(b"1")
def _pop_to_mark(machine: Machine) -> None:
    machine.to_mark()


@_on(b"2")
def _duplicate(machine: Machine) -> None:
    machine.stack.append(machine.stack[-1])


@_on(b"t")
def _tuple(machine: Machine) -> None:
    above = tuple(machine.to_mark())
    machine.stack.append(above)


@_on_each({b"\x85": 1, b"\x86": 2, b"\x87": 3})
def _short_tuple(machine: Machine, count: int) -> None:
    if len(machine.stack) < count:
        raise IndexError
    machine.work += CONTAINER
    machine.stack[-count:] = [tuple(machine.stack[-count:])]


@_on(b"]", b"\x8f")
def _empty_list(machine: Machine) -> None:
    machine.work += CONTAINER
    machine.stack.append([])


@_on(b"l", b"\x91")
def _list(machine: Machine) -> None:
    above = machine.to_mark()
    machine.stack.append(above)


@_on(b"}")
def _empty_dict(machine: Machine) -> None:
    machine.work += CONTAINER
    machine.stack.append(Flat())


@_on(b"d")
def _dict(machine: Machine) -> None:
    above = machine.to_mark()
    machine.set_items(made := Flat(), above)
    machine.stack.append(made)


@_on(b"a")
def _append(machine: Machine) -> None:
    value = machine.stack.pop()
    machine.extend(machine.stack[-1], [value])


@_on(b"e", b"\x90")
def _appends(machine: Machine) -> None:
    above = machine.to_mark()
    machine.extend(machine.stack[-1], above)


@_on(b"s")
def _set_item(machine: Machine) -> None:
    value = machine.stack.pop()
    key = machine.stack.pop()
    machine.set_items(machine.stack[-1], [key, value])


@_on(b"u")
def _set_items(machine: Machine) -> None:
    above = machine.to_mark()
    machine.set_items(machine.stack[-1], above)


@_on_each({b"q": 1, b"r": 4})
def _put(machine: Machine, width: int) -> None:
    machine.memo[machine.cursor.number(width)] = machine.stack[-1]


@_on(b"p")
def _put_line(machine: Machine) -> None:
    machine.memo[int(machine.cursor.line())] = machine.stack[-1]


@_on(b"\x94")
def _memoize(machine: Machine) -> None:
    machine.memo[len(machine.memo)] = machine.stack[-1]


@_on_each({b"h": 1, b"j": 4})
def _get(machine: Machine, width: int) -> None:
    machine.stack.append(machine.memo[machine.cursor.number(width)])


@_on(b"g")
def _get_line(machine: Machine) -> None:
    machine.stack.append(machine.memo[int(machine.cursor.line())])


@_on(b"c")
def _global(machine: Machine) -> None:
    module = machine.cursor.line().decode("utf-8")
    machine.stack.append(machine.name(module, machine.cursor.line().decode("utf-8")))


@_on(b"\x93")
def _global_from_stack(machine: Machine) -> None:
    name, module = text(machine.stack.pop()), text(machine.stack.pop())
    if name is None or module is None:
        machine.fail("names a class by something that is not text")
    machine.stack.append(machine.name(module, name))


@_on_each({b"\x82": 1, b"\x83": 2, b"\x84": 4})
def _extension(machine: Machine, width: int) -> None:
    code = machine.cursor.number(width)
    raise UnsafePickle(
        f"the pickle in {machine.cursor.source.name} asks for the extension {code} of a registry "
        "that could hold anything; nothing was run."
    )


@_on(b"R", b"\x81")
def _reduce(machine: Machine) -> None:
    arguments = machine.stack.pop()
    machine.stack.append(machine.call(machine.stack.pop(), arguments))


@_on(b"b")
def _build(machine: Machine) -> None:
    state = machine.stack.pop()
    machine.build(machine.stack[-1], state)


@_on(b"i")
def _instance_line(machine: Machine) -> None:
    module = machine.cursor.line().decode("utf-8")
    kind = machine.name(module, machine.cursor.line().decode("utf-8"))
    arguments = tuple(machine.to_mark())
    machine.stack.append(machine.call(kind, arguments))


@_on(b"o")
def _object(machine: Machine) -> None:
    above = machine.to_mark()
    machine.stack.append(machine.call(above[0], tuple(above[1:])))


@_on(b"\x92")
def _object_with_keywords(machine: Machine) -> None:
    keywords, arguments, kind = machine.stack.pop(), machine.stack.pop(), machine.stack.pop()
    made = machine.call(kind, arguments)
    if isinstance(made, Instance):
        made.parts.append(keywords)
    machine.stack.append(made)


@_on(b"Q")
def _persistent(machine: Machine) -> None:
    machine.stack.append(machine.persistent(machine.stack.pop()))


@_on(b"P")
def _persistent_line(machine: Machine) -> None:
    machine.stack.append(machine.persistent(machine.cursor.line()))


@_on(b"\x97", b"\x98")
def _outside_buffer(machine: Machine) -> None:
    raise UnsupportedFormat(
        f"the pickle in {machine.cursor.source.name} keeps its buffers outside of the file."
    )
