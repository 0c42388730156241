"""Finding the tensors in what a pickle built, and naming them as their authors would.

Names are the keys on the way, joined with dots. A pickled module is named as its state dict would be: the way
leads through `_parameters`, `_buffers` and `_modules` without naming them. Every object is visited once,
whatever refers to it, and the walk keeps its own stack: neither cycles nor depth nor repetition can hurt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from birthmark.checkpoints.numpy_objects import ArrayRef
from birthmark.checkpoints.pickled import Flat, Instance
from birthmark.checkpoints.torch_objects import TensorRef
from birthmark.errors import MalformedFile

#: Containers nested deeper than this are not looked into.
MAX_DEPTH: Final = 256

#: Longest name of a tensor.
MAX_NAME: Final = 1024

#: What a file is called that holds nothing but one tensor.
ROOT_NAME: Final = "tensor"

#: The dicts of a torch.nn.Module that its names pass through, in the order of its state dict.
MODULE_DICTS: Final = ("_parameters", "_buffers", "_modules")

Leaf = TensorRef | ArrayRef
Key = str | int | None


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A way from the root to an object, as a chain.

    Attributes:
        parent: the way to the container; None at the root.
        key: the object's key there; None where the way passes through unnamed.
        depth: containers passed.
        length: length of the name so far.
    """

    parent: Place | None
    key: Key
    depth: int
    length: int

    def step(self, key: Key) -> Place:
        """The way to something inside."""
        added = 0 if key is None else len(str(key)) + 1
        return Place(self, key, self.depth + 1, self.length + added)

    def name(self) -> str:
        """The keys joined with dots; characters that cannot be printed are escaped."""
        keys = []
        place: Place | None = self
        while place is not None:
            if place.key is not None:
                keys.append(str(place.key))
            place = place.parent
        name = ".".join(reversed(keys)) or ROOT_NAME
        return name if name.isprintable() else name.encode("unicode_escape").decode("ascii")


@dataclass(slots=True)
class Found:
    """What a walk found.

    Attributes:
        leaves: tensors and arrays by name, in the order of the file.
        aliases: (another name, the listed name) of tensors that are the same view of the same numbers.
        too_deep: containers that were not looked into.
        repeats: names that several tensors have, and how many; all but the first end in "#2", "#3", ...
    """

    leaves: dict[str, Leaf] = field(default_factory=dict)
    aliases: list[tuple[str, str]] = field(default_factory=list)
    too_deep: int = 0
    repeats: dict[str, int] = field(default_factory=dict)


def find_tensors(root: object) -> Found:
    """All tensors and arrays that can be reached from an unpickled object.

    Raises:
        MalformedFile: a tensor's name is longer than any real one.
    """
    found = Found()
    names: dict[object, str] = {}
    visited: set[int] = set()
    waiting: list[tuple[object, Place]] = [(root, Place(None, None, 0, 0))]
    while waiting:
        value, place = waiting.pop()
        if isinstance(value, TensorRef) or (isinstance(value, ArrayRef) and not isinstance(value.data, list)):
            _add(found, names, value, place)
        elif id(value) in visited:
            continue
        elif place.depth >= MAX_DEPTH:
            found.too_deep += 1
        else:
            visited.add(id(value))
            inside = [(each, place.step(key)) for key, each in children(value) if _holds_something(each)]
            waiting.extend(reversed(inside))
    return found


def _add(found: Found, names: dict[object, str], leaf: Leaf, place: Place) -> None:
    if place.length > MAX_NAME:
        raise MalformedFile(f"a tensor in the pickle has a name of more than {MAX_NAME:,} characters.")
    name = place.name()
    identity = _identity(leaf)
    if identity in names:
        found.aliases.append((name, names[identity]))
        return
    unique = name
    while unique in found.leaves:
        found.repeats[name] = found.repeats.get(name, 1) + 1
        unique = f"{name}#{found.repeats[name]}"
    names[identity] = unique
    found.leaves[unique] = leaf


def _identity(leaf: Leaf) -> object:
    """Equal for two tensors that are the same view of the same numbers."""
    if isinstance(leaf, TensorRef):
        return (id(leaf.storage), leaf.dtype, leaf.offset, leaf.shape, leaf.strides)
    return id(leaf)


def _holds_something(value: object) -> bool:
    """Whether the walk must look at an object; numbers, text and empty containers are left at once."""
    if isinstance(value, (list, tuple)):
        return bool(value) or (isinstance(value, Flat) and bool(value.given()))
    return isinstance(value, (TensorRef, ArrayRef, Instance))


def children(value: object) -> Iterator[tuple[Key, object]]:
    """(key, object) of what a container holds; key None where the name passes through."""
    if isinstance(value, Flat):
        yield from _entries(value)
        for state in value.given():
            yield from _state(state)
    elif isinstance(value, (list, tuple)):
        yield from enumerate(value)
    elif isinstance(value, ArrayRef) and isinstance(value.data, list):
        # An array of objects.
        yield from enumerate(value.data)
    elif isinstance(value, Instance):
        if value.entries is not None:
            yield None, value.entries
        for position, part in enumerate(value.parts):
            if isinstance(part, (Flat, Instance)) or _is_slots(part):
                yield from _state(part)
            else:
                yield position if len(value.parts) > 1 else None, part


def _entries(mapping: Flat) -> Iterator[tuple[Key, object]]:
    """The entries of a dict; the three dicts of a module come first and unnamed, in their order."""
    entries = mapping.entries()
    module = "_parameters" in entries and "_modules" in entries
    if module:
        for key in MODULE_DICTS:
            if key in entries:
                yield None, entries[key]
    for name, value in entries.items():
        if not (module and name in MODULE_DICTS):
            yield name, value
    for position, value in mapping.unnamed():
        yield f"[{position}]", value


def _is_slots(part: object) -> bool:
    """Whether a state is the pair (dict or None, dict of slots)."""
    return (
        isinstance(part, tuple)
        and len(part) == 2
        and isinstance(part[1], Flat)
        and (part[0] is None or isinstance(part[0], Flat))
    )


def _state(state: object) -> Iterator[tuple[Key, object]]:
    """What BUILD or a constructor gave, walked without a name of its own."""
    if _is_slots(state):
        assert isinstance(state, tuple)
        yield from ((None, each) for each in state)
    else:
        yield None, state
