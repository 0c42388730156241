"""Finding tensors in unpickled objects, and their names."""

from __future__ import annotations

from typing import Any

import pytest

from birthmark.checkpoints import walk
from birthmark.checkpoints.numpy_objects import ArrayRef, NumpyDtype
from birthmark.checkpoints.pickled import Flat, Global, Instance
from birthmark.checkpoints.torch_objects import Storage, TensorRef
from birthmark.checkpoints.walk import find_tensors
from birthmark.errors import MalformedFile

STORAGE = Storage("0", "float32", 0, 100)


def tensor(offset: int = 0, storage: Storage = STORAGE) -> TensorRef:
    return TensorRef(storage, "float32", offset, (2,), (1,))


def flat(**entries: object) -> Flat:
    return Flat([part for pair in entries.items() for part in pair])


def module(
    kind: str, parameters: Flat, modules: Flat, buffers: Flat | None = None, **others: object
) -> Instance:
    """A pickled torch.nn.Module; its dicts in an order that is not that of names."""
    return Instance(
        Global("torch.nn", kind),
        [flat(training=True, _buffers=buffers or Flat(), **others, _modules=modules, _parameters=parameters)],
    )


def names(root: object) -> list[str]:
    return list(find_tensors(root).leaves)


def test_keys_are_joined_with_dots() -> None:
    """Dicts give their keys, lists their positions, in order."""
    root = flat(model=flat(w=tensor(0), deep=[tensor(1), (tensor(2), 7)]), epoch=3, extra=[[tensor(3)]])

    assert names(root) == ["model.w", "model.deep.0", "model.deep.1.0", "extra.0.0"]


def test_a_pickled_module_has_the_names_of_its_state_dict() -> None:
    """Parameters come first, then buffers, then children, as torch names them; other attributes after."""
    child = module("Linear", flat(weight=tensor(1), bias=tensor(2)), Flat(), flat(mask=tensor(3)))
    root = module("Net", flat(scale=tensor(0)), flat(fc1=child), flat(mean=tensor(4)), extra=tensor(5))

    assert names(root) == ["scale", "mean", "fc1.weight", "fc1.bias", "fc1.mask", "extra"]


def test_a_single_tensor_has_a_name_too() -> None:
    """A file that holds one tensor names it."""
    assert names(tensor()) == ["tensor"]
    assert names(5) == []


def test_the_same_view_is_listed_once_and_its_other_names_are_known() -> None:
    """Tied tensors are one tensor; another view of the same storage is another."""
    shared = tensor(0)
    found = find_tensors(flat(a=shared, b=shared, c=tensor(0), d=tensor(1)))

    assert list(found.leaves) == ["a", "d"]
    assert found.aliases == [("b", "a"), ("c", "a")]


def test_equal_views_of_different_storages_are_different_tensors() -> None:
    """The storage belongs to a tensor's identity."""
    other = Storage("0", "float32", 0, 100)

    assert names(flat(a=tensor(0), b=tensor(0, other))) == ["a", "b"]


def test_equal_names_are_made_different() -> None:
    """A dotted key can collide with a nested one; both tensors stay."""
    found = find_tensors(Flat(["a.b", tensor(0), "a", flat(b=tensor(1)), "a.b#2", tensor(2)]))

    assert list(found.leaves) == ["a.b", "a.b#2", "a.b#2#2"]
    assert found.leaves["a.b#2"].offset == 1  # type: ignore[union-attr]
    assert set(found.repeats) == {"a.b", "a.b#2"}


def test_keys_that_are_no_names_give_positions() -> None:
    """Tuples and floats as keys are replaced by the entry's place; numbers and bytes are names."""
    root = Flat([(1, 2), tensor(0), 7, tensor(1), b"raw", tensor(2), True, tensor(3)])

    assert sorted(names(root)) == ["1", "7", "[0]", "raw"]


def test_unprintable_names_are_escaped() -> None:
    """A name cannot write to the terminal."""
    assert names(Flat(["a\x1b[31m\n", tensor()])) == [r"a\x1b[31m\n"]


def test_placeholders_are_looked_into() -> None:
    """Arguments, states, slots, items and entries of unknown objects are searched."""
    thing = Instance(Global("my", "Thing"), [flat(a=tensor(0)), (None, flat(b=tensor(1)))])
    thing.entries = flat(c=tensor(2))
    several = Instance(Global("my", "Pair"), [tensor(3), tensor(4)])

    assert names(flat(x=thing, y=several)) == ["x.c", "x.a", "x.b", "y.0", "y.1"]


def test_states_of_dicts_and_arrays_of_objects_are_looked_into() -> None:
    """Attributes of a dict's subclass and elements of an object array are searched."""
    ordered = flat(a=tensor(0))
    ordered.states = (flat(b=tensor(1)),)
    array = ArrayRef()
    array.fill((1,), NumpyDtype("O"), fortran=False, data=[tensor(2)])

    assert names([ordered, array]) == ["0.a", "0.b", "1.0"]


def test_cycles_and_repetitions_end() -> None:
    """An object is entered once, whatever refers to it: not 2^60 times."""
    root: list[Any] = [tensor()]
    for _ in range(60):
        root = [root, root]
    root.append(root)

    assert len(names(root)) == 1


def test_containers_nested_too_deeply_are_counted_and_left() -> None:
    """Depth is bounded, and what was left is known."""
    root: list[Any] = [tensor()]
    for _ in range(walk.MAX_DEPTH + 5):
        root = [root]
    found = find_tensors(root)

    assert dict(found.leaves) == {}
    assert found.too_deep == 1


def test_names_beyond_reason_are_refused() -> None:
    """Nested long keys cannot make names that fill the memory."""
    root = flat(x=tensor())
    for _ in range(20):
        root = Flat(["k" * 100, root])

    with pytest.raises(MalformedFile, match="1,024 characters"):
        find_tensors(root)
