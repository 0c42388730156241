"""How the plain containers of Python are rebuilt from a pickle: as lists, flat dicts, tuples and bytes."""

from __future__ import annotations

from typing import Final

from birthmark.checkpoints.machine import Builder, Machine
from birthmark.checkpoints.pickled import Flat, Global, Instance, Span


def _sequence(machine: Machine, arguments: tuple[object, ...]) -> object:
    """list, set, frozenset, deque: nothing, or a sequence to copy."""
    given = arguments[0] if arguments else ()
    if isinstance(given, Flat) or not isinstance(given, (list, tuple)):
        return machine.placeholder(Global("builtins", "list"), arguments)
    machine.charge(len(given))
    return list(given)


def _tuple(machine: Machine, arguments: tuple[object, ...]) -> object:
    """tuple, torch.Size."""
    made = _sequence(machine, arguments)
    return made if isinstance(made, Instance) else tuple(made)  # type: ignore[arg-type]


def _mapping(machine: Machine, arguments: tuple[object, ...]) -> object:
    """dict, OrderedDict, Counter: nothing, a dict, or pairs."""
    given = arguments[0] if arguments else ()
    if isinstance(given, Flat):
        machine.charge(len(given))
        return Flat(given)
    if not isinstance(given, (list, tuple)):
        return machine.placeholder(Global("builtins", "dict"), arguments)
    machine.charge(2 * len(given))
    made = Flat()
    for pair in given:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            machine.fail("makes a dict of something that is not pairs")
        made.extend(pair)
    return made


def _default_mapping(machine: Machine, arguments: tuple[object, ...]) -> object:
    """defaultdict: the factory is of no interest."""
    return _mapping(machine, arguments[1:])


def _encode(machine: Machine, arguments: tuple[object, ...]) -> object:
    """_codecs.encode: how protocols 0 to 2 write bytes."""
    if not 1 <= len(arguments) <= 3 or not isinstance(arguments[0], str):
        machine.fail("encodes something that is not text")
    machine.charge_bytes(len(arguments[0]))
    encoding = arguments[1] if len(arguments) > 1 else "utf-8"
    if encoding not in ("latin1", "latin-1", "utf-8", "utf8", "ascii"):
        machine.fail("encodes text in an unexpected way")
    return arguments[0].encode("latin-1" if encoding in ("latin1", "latin-1") else "utf-8")


def _bytes(machine: Machine, arguments: tuple[object, ...]) -> object:
    """bytes, bytearray: nothing, bytes, or text with an encoding."""
    if not arguments:
        return b""
    if isinstance(arguments[0], (bytes, Span)):
        return arguments[0]
    if isinstance(arguments[0], str):
        return _encode(machine, arguments)
    return machine.placeholder(Global("builtins", "bytes"), arguments)


def _object(machine: Machine, arguments: tuple[object, ...]) -> object:
    """copyreg._reconstructor(class, base, state): an object of protocols 0 and 1."""
    if len(arguments) != 3 or not isinstance(arguments[0], Global):
        machine.fail("reconstructs an object without a class")
    kind, base, state = arguments
    if isinstance(base, Global) and base.name == "object":
        return machine.call(kind, ())
    return machine.call(kind, (state,))


def _new(machine: Machine, arguments: tuple[object, ...]) -> object:
    """copyreg.__newobj__(class, *arguments)."""
    if not arguments:
        machine.fail("makes an object without a class")
    machine.charge(len(arguments))
    return machine.call(arguments[0], arguments[1:])


#: What each name makes.
CONTAINERS: Final[dict[str, Builder]] = {
    "builtins.list": _sequence,
    "builtins.set": _sequence,
    "builtins.frozenset": _sequence,
    "builtins.tuple": _tuple,
    "builtins.dict": _mapping,
    "builtins.bytes": _bytes,
    "builtins.bytearray": _bytes,
    "collections.deque": _sequence,
    "collections.OrderedDict": _mapping,
    "collections.Counter": _mapping,
    "collections.defaultdict": _default_mapping,
    "_codecs.encode": _encode,
    "codecs.encode": _encode,
    "copyreg._reconstructor": _object,
    "copyreg.__newobj__": _new,
}
