"""The pickle machine: the same data as Python's own, nothing run, everything bounded."""

from __future__ import annotations

import pickle
import struct
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.checkpoints import machine as machine_module
from birthmark.checkpoints.containers import CONTAINERS
from birthmark.checkpoints.cursor import Cursor
from birthmark.checkpoints.numpy_objects import ARRAYS
from birthmark.checkpoints.pickled import Flat, Global, Instance, Span
from birthmark.checkpoints.sources import MemoryBytes
from birthmark.checkpoints.unpickler import Unpickled, unpickle
from birthmark.errors import BirthmarkError, MalformedFile, UnsafePickle, UnsupportedFormat

KEYS = st.text(max_size=5) | st.integers() | st.booleans() | st.none() | st.binary(max_size=5)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=40)
)
DATA = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=5).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(deadline=None)
@given(data=DATA, protocol=st.integers(0, 5))
def test_plain_data_of_every_protocol_come_out_unchanged(
    run: Any, plain: Callable[[object], object], data: object, protocol: int
) -> None:
    """Numbers, texts, bytes, tuples, lists and dicts equal what was pickled."""
    assert plain(run(pickle.dumps(data, protocol)).root) == data


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (OrderedDict(a=1, b=2), {"a": 1, "b": 2}),
        (defaultdict(list, a=[1]), {"a": [1]}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (deque([1, 2]), [1, 2]),
        ({7}, [7]),
        (frozenset([7]), [7]),
        (bytearray(b"abc"), b"abc"),
        (b"\x00\xff" * 9, b"\x00\xff" * 9),
    ],
)
def test_containers_of_the_standard_library_become_plain_ones(
    run: Any, plain: Callable[[object], object], data: object, expected: object, protocol: int
) -> None:
    """Dicts of any kind become dicts; sets and queues become lists; bytes stay bytes."""
    root = run(pickle.dumps(data, protocol)).root
    if isinstance(root, Flat) and isinstance(expected, dict):
        assert root.entries() == {key: root.entries()[key] for key in expected}
        assert {key: plain(value) for key, value in root.entries().items()} == expected
    else:
        assert plain(root) == expected


def test_shared_and_cyclic_objects_stay_one_object(run: Any) -> None:
    """What the pickle stores once and refers to twice is one object here too."""
    inner: list[object] = [1]
    cycle: list[object] = [inner, inner]
    cycle.append(cycle)

    root = run(pickle.dumps(cycle)).root

    assert root[0] is root[1]
    assert root[2] is root


def test_of_equal_keys_the_last_counts() -> None:
    """A key that is set twice has the later value, as in a dict."""
    flat = Flat(["a", 1, b"a", 2, 3, 4, (1,), 5])

    assert flat.entries() == {"a": 2, 3: 4}
    assert flat.unnamed() == [(3, 5)]


class Stranger:
    """A class that the reader does not know."""

    def __init__(self, value: object) -> None:
        self.value = value


class Dictlike(dict[str, object]):
    """A dict of a class that the reader does not know."""


class Listlike(list[object]):
    """A list of a class that the reader does not know."""


@pytest.mark.parametrize("protocol", range(6))
def test_objects_of_unknown_classes_become_placeholders_with_their_contents(run: Any, protocol: int) -> None:
    """State, items and entries of a placeholder are kept, and the class is noted."""
    made = run(pickle.dumps(Stranger([1, 2]), protocol))
    assert isinstance(made.root, Instance)
    assert made.root.kind.name == "Stranger"
    state = made.root.parts[-1]
    assert isinstance(state, Flat)
    assert state.entries() == {"value": [1, 2]}
    assert list(made.met.values()) == [1]
    assert next(iter(made.met)).endswith("test_unpickler.Stranger")

    made = run(pickle.dumps(Listlike([1, 2]), protocol))
    assert 1 in made.root.parts or [1, 2] in made.root.parts

    made = run(pickle.dumps(Dictlike(a=1), protocol))
    entries = made.root.entries or made.root.parts[0]
    assert entries.entries() == {"a": 1}


class Caller:
    """An object whose pickle calls something."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self.function = function
        self.arguments = arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self.function, self.arguments


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("function", [eval, exec, getattr, open, print, __import__, pickle.loads])
def test_pickles_that_call_something_are_refused_by_name(
    run: Any, capsys: pytest.CaptureFixture[str], function: Callable[..., object], protocol: int
) -> None:
    """Whatever the protocol, the name is in the message and nothing was called."""
    with pytest.raises(UnsafePickle, match=function.__name__):
        run(pickle.dumps(Caller(function, "print('PAYLOAD-WAS-EXECUTED')"), protocol))
    assert capsys.readouterr().out == ""


def test_a_dangerous_name_is_refused_although_nothing_calls_it(run: Any) -> None:
    """Merely naming os.system is enough."""
    with pytest.raises(UnsafePickle, match=r"'posix.system'"):
        run(b"\x80\x02}X\x01\x00\x00\x00acposix\nsystem\ns.")


def test_extension_codes_are_refused(run: Any) -> None:
    """A number in a registry of the writer could mean anything."""
    for raw in (b"\x82\x05.", b"\x83\x05\x01.", b"\x84\x05\x00\x00\x01."):
        with pytest.raises(UnsafePickle, match="extension"):
            run(raw)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "cut short"),
        (b"\x80\x02", "cut short"),
        (b".", "empty stack"),
        (b"0.", "empty stack"),
        (b"N1.", "empty stack"),
        (b"Na.", "empty stack|not a list"),
        (b"NNNt.", "empty stack"),
        (b"N\x86.", "empty stack"),
        (b"h\x05.", "never stored"),
        (b"g5\n.", "never stored"),
        (b"}(NNNu.", "without a value"),
        (b"]}b.", "something that has none"),
        (b"NNs.", "empty stack"),
        (b"N(NNu.", "not a dict"),
        (b"NNa.", "not a list"),
        (b"cabc\ndef\nNR.", "not a tuple"),
        (b"NN\x93.", "not text"),
        (b"X\x02\x00\x00\x00\xff\xfe.", "cannot be read"),
        (b"Ixyz\n.", "cannot be read"),
        (b"L" + b"9" * 6000 + b"\n.", "cannot be read"),
        (b"Fabc\n.", "cannot be read"),
        (b"Sabc\n.", "without quotes"),
        (b"\xff.", "no instruction"),
        (b"c" + b"a" * 1200 + b"\nb\n.", "beyond reason"),
        (b"X\xff\xff\xff\x7f.", "the limit is"),
        (b"\x8b\xff\xff\xff\x7f.", "cut short"),
        (b"B\xff\xff\xff\xff.", "cut short"),
        (b"\x8e" + b"\xff" * 8 + b".", "cut short"),
        (b"c_codecs\nencode\n)R.", "not text"),
        (b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x05\x00\x00\x00rot13tR.", "unexpected way"),
        (b"ccopy_reg\n_reconstructor\n)R.", "without a class"),
        (b"cbuiltins\ndict\n(]NatR.", "not pairs"),
    ],
)
def test_programs_that_make_no_sense_are_refused(run: Any, raw: bytes, reason: str) -> None:
    """Underflow, bad operands and bad text each give one error with a reason and a place."""
    with pytest.raises(MalformedFile, match=reason):
        run(raw)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\x80\x06.", "protocol 6"),
        (b"\x97.", "outside of the file"),
        (b"NQ.", "outside"),
        (b"Pabc\n.", "outside"),
    ],
)
def test_what_needs_something_else_is_refused_as_unsupported(run: Any, raw: bytes, reason: str) -> None:
    """Newer protocols, external buffers and persistent ids are not faults of the file."""
    with pytest.raises(UnsupportedFormat, match=reason):
        run(raw)


def test_long_bytes_stay_in_the_file(run: Any) -> None:
    """A long byte string is a span of the source, a short one is bytes."""
    raw = pickle.dumps([b"a" * 5000, b"b" * 50], 4)

    long, short = run(raw).root

    assert isinstance(long, Span)
    assert raw[long.start : long.start + long.size] == b"a" * 5000
    assert short == b"b" * 50


def test_escapes_of_python_2_strings_are_understood(run: Any) -> None:
    """Text pickles of Python 2 escape bytes in quotes."""
    assert run(rb"S'a\x41\101\n\t\\\'\"\q'" + b"\n.").root == b"aAA\n\t\\'\"q"


def test_plain_classes_of_python_are_not_worth_a_note(run: Any) -> None:
    """Complex numbers, ranges and slices are placeholders that nobody needs to hear of."""
    for value in (1 + 2j, range(3), slice(1, 2)):
        assert dict(run(pickle.dumps(value, 2)).met) == {}


def test_names_in_the_old_instructions_are_placeholders_too(run: Any) -> None:
    """INST and OBJ make placeholders as REDUCE and NEWOBJ do."""
    for raw in (b"(I1\nimod\nname\n.", b"(cmod\nname\nI1\no."):
        root = run(raw).root
        assert isinstance(root, Instance)
        assert (root.kind.path, root.parts) == ("mod.name", [1])


def test_calls_of_made_objects_keep_their_contents(run: Any) -> None:
    """Calling something that the pickle made itself runs nothing; what was in it can still be found."""
    root = run(b"cmod\nmake\n)R(I1\ntR.").root

    assert isinstance(root, Instance)
    assert isinstance(root.parts[0], Instance)
    assert root.parts[1:] == [1]


def test_classes_are_names_only(run: Any) -> None:
    """A class that is named without being used is a name."""
    assert isinstance(run(b"csubpackage\nThing\n.").root, Global)


@pytest.mark.parametrize(
    "raw",
    [
        b"N0" * 20_000 + b".",
        b"(" + b"}" * 20_000 + b"l.",
        b"]" + b"\x85" * 20_000 + b".",
        b"(" * 20_000 + b".",
        b"cbuiltins\nlist\n\x94(" + b"N" * 500 + b"l\x94(" + b"h\x00h\x01\x85R" * 1000 + b"l.",
        b"cbuiltins\ndict\n\x94}(" + b"NN" * 500 + b"u\x94(" + b"h\x00h\x01\x85R" * 1000 + b"l.",
        b"cmod\nthing\n\x94(" + b"N" * 500 + b"t\x94(" + b"h\x00h\x01R" * 1000 + b"l.",
    ],
)
def test_work_is_bounded(run: Any, monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    """Long programs, many containers and repeated copies end at the same limit."""
    monkeypatch.setattr(machine_module, "MAX_WORK", 15_000)
    monkeypatch.setattr("birthmark.checkpoints.unpickler.MAX_WORK", 15_000)

    with pytest.raises(MalformedFile, match="15,000 instructions, the limit"):
        run(b"\x80\x04" + raw)


def test_copied_text_is_bounded_by_the_file(run: Any) -> None:
    """Encoding one long text again and again is refused; once is not."""
    text = b"X" + struct.pack("<I", 2**20) + b"a" * 2**20 + b"\x94"
    once = b"c_codecs\nencode\n\x94" + text + b"h\x00h\x01\x85R"

    assert len(run(b"\x80\x04(" + once + b"l.").root[-1]) == 2**20
    with pytest.raises(MalformedFile, match="same text again"):
        run(b"\x80\x04(" + once + b"h\x00h\x01\x85R" * 3 + b"l.")


def test_deep_nesting_is_no_danger(run: Any) -> None:
    """A hundred thousand levels are built and let go without recursion."""
    root = run(b"\x80\x04]" + b"\x85" * 100_000 + b".").root
    depth = 0
    while isinstance(root, tuple):
        root = root[0]
        depth += 1

    assert depth == 100_000


@settings(max_examples=400, deadline=None)
@given(raw=st.binary(max_size=60))
def test_any_bytes_give_an_object_or_a_clear_error(raw: bytes) -> None:
    """Random programs never give another exception."""
    assert "\n" not in message(raw)


SAMPLE = pickle.dumps([OrderedDict(a=Stranger({1: b"x"}), b=(1, 2.5, "é")), {3}, [Listlike([1])] * 2])


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_damaged_pickles_give_an_object_or_a_clear_error(data: Any) -> None:
    """Flipped, removed or repeated bytes of a sound pickle never give another exception."""
    raw = bytearray(SAMPLE)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) - 1))
        action = data.draw(st.sampled_from(["flip", "cut", "repeat"]))
        if action == "flip":
            raw[place] = data.draw(st.integers(0, 255))
        elif action == "cut" and len(raw) > 10:
            del raw[place : place + data.draw(st.integers(1, 6))]
        else:
            raw[place:place] = raw[place : place + data.draw(st.integers(1, 30))]

    assert "\n" not in message(bytes(raw))


def message(raw: bytes) -> str:
    """What goes wrong, or the name of the class of what came out."""
    source = MemoryBytes("it", len(raw), lambda: raw)
    try:
        made: Unpickled = unpickle(Cursor(source), {**CONTAINERS, **ARRAYS})
    except BirthmarkError as error:
        return str(error)
    return type(made.root).__name__
