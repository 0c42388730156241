"""Traces as files: strict JSON of the schema "birthmark.trace/1", written whole or not at all.

What follows from the calls (positions, launches, which call redraws) is written for readers, and checked when
a file is loaded: a trace that contradicts itself is refused.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import os
import secrets
import zlib
from pathlib import Path
from typing import Any, Final

from birthmark import __version__
from birthmark.errors import BirthmarkError, MalformedFile, OutputError, UsageError
from birthmark.recipes.trace import Trace, TracedDraw, TracedStream, TracedTensor
from birthmark.recipes.trace_costs import DISTRIBUTIONS, per_call
from birthmark.recipes.trace_values import (
    CARRIERS,
    Applied,
    Constant,
    Drawn,
    Orthogonal,
    Patched,
    Region,
    Table,
    Unknown,
    Value,
    Viewed,
    draws_of,
)

SCHEMA: Final = "birthmark.trace/1"
#: The largest file that is read, and the most bytes that one table may hold.
MOST_BYTES: Final = 1 << 30
MOST_TABLE: Final = 1 << 26
#: Nodes that a value may be nested in.
DEEPEST: Final = 64

_MISSING = object()


def save(path: str | Path, trace: Trace) -> None:
    """Write a trace; the file appears whole or not at all.

    Raises:
        OutputError: it cannot be written there.
    """
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir() or (target.exists() and not target.is_file()):
        raise OutputError(f"cannot write {target}: expected a file name in an existing folder.")
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with partial.open("x", encoding="utf-8") as file:
            file.write(dumps(trace))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}.") from error
    finally:
        partial.unlink(missing_ok=True)


def load(path: str | Path) -> Trace:
    """Read a trace.

    Raises:
        UsageError: there is no such file.
        MalformedFile: it is no trace, or contradicts itself.
    """
    source = Path(path)
    try:
        if source.stat().st_size > MOST_BYTES:
            raise MalformedFile(f"{source} has {source.stat().st_size} bytes: no trace is that large.")
        text = source.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read the trace {source}: {error.strerror or error}.") from error
    except UnicodeDecodeError:
        raise MalformedFile(f"{source} is not UTF-8 text: no trace.") from None
    return loads(text, str(source))


def dumps(trace: Trace) -> str:
    """A trace as JSON, one line a draw and a tensor."""
    positions = trace.indices()
    kept = {draw for tensor in trace.tensors if tensor.tied is None for draw in draws_of(tensor.value)}
    head = {
        "schema": SCHEMA,
        "version": __version__,
        "model": trace.model,
        "torch": trace.torch,
        "notes": list(trace.notes),
        "streams": [{"device": each.device, "seed": each.seed} for each in trace.streams],
    }
    lines = [json.dumps(head, allow_nan=False)[:-1], ', "draws": [']
    draws = []
    for number, draw in enumerate(trace.draws):
        settled = not trace.open_before(number)
        position = positions[number] if settled else None
        made = {
            "number": number,
            "tensor": draw.tensor,
            "kept": number in kept,
            "distribution": draw.distribution,
            "parameters": [_number(value) for value in draw.parameters],
            "shape": list(draw.shape),
            "dtype": draw.dtype,
            "device": trace.streams[draw.stream].device,
            "stream": draw.stream,
            "after": draw.after,
            "index": None if position is None else position.index,
            "kept_at": None if position is None else position.kept_at,
            "launch": {"elements": draw.size, "per_call": per_call(draw.call, trace.rules)},
        }
        if draw.strides is not None:
            made["strides"] = list(draw.strides)
        if draw.overwritten is not None:
            made["overwritten"] = draw.overwritten
        if draw.name is not None:
            made["name"] = draw.name
        if trace.redraws(number):
            made["redraws"] = True
        draws.append(json.dumps(made, allow_nan=False))
    lines.append(",\n".join(draws))
    lines.append('], "tensors": [')
    tensors = []
    for tensor in trace.tensors:
        entry: dict[str, Any] = {
            "name": tensor.name,
            "shape": list(tensor.shape),
            "dtype": tensor.dtype,
            "buffer": tensor.buffer,
        }
        if tensor.tied is not None:
            entry["tied"] = tensor.tied
        else:
            entry["value"] = _written(tensor.value)
        tensors.append(json.dumps(entry, allow_nan=False))
    lines.append(",\n".join(tensors))
    lines.append("]}\n")
    return "\n".join(lines)


def loads(text: str, what: str = "the trace") -> Trace:
    """A trace from JSON.

    Args:
        text: the document.
        what: how messages call it.

    Raises:
        MalformedFile: it is no trace, or contradicts itself.
    """
    document = _document(text, what)
    if document.get("schema") != SCHEMA:
        raise MalformedFile(
            f"{what} has the schema {document.get('schema')!r}, not {SCHEMA!r}; make one with "
            "birthmark trace."
        )
    try:
        trace = _trace(document)
        _check_derived(trace, document)
    except MalformedFile as error:
        raise MalformedFile(f"{what}: {error}") from None
    except RecursionError:
        raise MalformedFile(f"{what} is nested too deeply.") from None
    except BirthmarkError as error:
        raise MalformedFile(f"{what} contradicts itself: {error}") from None
    return trace


def _trace(document: dict[str, Any]) -> Trace:
    streams = tuple(
        TracedStream(_get(each, "device", str), _get(each, "seed", int, None))
        for each in _get(document, "streams", list)
    )
    draws = tuple(_draw(each) for each in _get(document, "draws", list))
    tensors: list[TracedTensor] = []
    values: dict[str, Value] = {}
    for each in _get(document, "tensors", list):
        name = _get(each, "name", str)
        tied = _get(each, "tied", str, None)
        if tied is None:
            values[name] = _value(_get(each, "value", dict))
        elif tied not in values:
            raise MalformedFile(f"{name} is tied to {tied!r}, which does not stand before it")
        dtype = _get(each, "dtype", str)
        shape = _extents(_get(each, "shape", list))
        tensors.append(
            TracedTensor(name, shape, dtype, values[tied or name], tied, _get(each, "buffer", bool))
        )
    notes = _get(document, "notes", list)
    if not all(isinstance(note, str) for note in notes):
        raise MalformedFile("a note is not text")
    return Trace(
        draws,
        tuple(tensors),
        streams,
        _get(document, "torch", str),
        _get(document, "model", str),
        tuple(notes),
    )


def _draw(entry: Any) -> TracedDraw:  # noqa: ANN401 - whatever JSON has there
    distribution = _get(entry, "distribution", str)
    if distribution not in DISTRIBUTIONS:
        raise MalformedFile(f"a draw of distribution {distribution!r}; known: {', '.join(DISTRIBUTIONS)}")
    strides = _get(entry, "strides", list, None)
    return TracedDraw(
        distribution,
        tuple(_parameter(each) for each in _get(entry, "parameters", list)),
        _extents(_get(entry, "shape", list)),
        _get(entry, "dtype", str),
        _get(entry, "stream", int),
        _get(entry, "after", int, None),
        _get(entry, "tensor", str, None),
        _get(entry, "overwritten", str, None),
        None if strides is None else _extents(strides),
        _get(entry, "name", str, None),
    )


def _check_derived(trace: Trace, document: dict[str, Any]) -> None:
    """Positions that a reader of the file relies on must be those that the calls give."""
    positions = trace.indices()
    for number, entry in enumerate(document["draws"]):
        if _get(entry, "number", int) != number:
            raise MalformedFile(f"draw {number} is numbered {entry['number']}")
        position = None if trace.open_before(number) else positions[number]
        expected = None if position is None else position.index
        if entry.get("index") != expected:
            raise MalformedFile(f"draw {number} is said to start at {entry.get('index')}: it is {expected}")


def _written(value: Value) -> dict[str, Any]:
    match value:
        case Drawn(draw):
            return {"draw": draw}
        case Constant(number, dtype):
            return {"constant": _number(number), "dtype": dtype}
        case Table(dtype, data):
            return {"table": base64.b64encode(zlib.compress(data, 9)).decode(), "dtype": dtype}
        case Applied(operation, numbers, of, dtype):
            written = [_number(each) for each in numbers]
            return {"apply": operation, "numbers": written, "dtype": dtype, "of": _written(of)}
        case Viewed(region, of):
            return {"view": _region(region), "of": _written(of)}
        case Patched(of, patches):
            parts = [{"view": _region(region), "value": _written(patch)} for region, patch in patches]
            return {"patched": parts, "of": _written(of)}
        case Orthogonal(shape, of):
            return {"orthogonal": list(shape), "of": _written(of)}
        case Unknown(reason):
            return {"unknown": reason}


def _value(entry: Any, depth: int = 0) -> Value:  # noqa: ANN401 - whatever JSON has there
    if not isinstance(entry, dict):
        raise MalformedFile("a value that is no object")
    if depth > DEEPEST:
        raise MalformedFile(f"a value nested more than {DEEPEST} deep")
    if "draw" in entry:
        return Drawn(_get(entry, "draw", int))
    if "constant" in entry:
        number = entry["constant"]
        kept = number if isinstance(number, bool) else _parameter(number)
        return Constant(kept, _dtype(entry))
    if "table" in entry:
        return Table(_dtype(entry), _unpacked(_get(entry, "table", str)))
    if "unknown" in entry:
        return Unknown(_get(entry, "unknown", str))
    of = _value(_get(entry, "of", dict), depth + 1)
    if "apply" in entry:
        numbers = tuple(float(_parameter(each)) for each in _get(entry, "numbers", list))
        return Applied(_get(entry, "apply", str), numbers, of, _dtype(entry))
    if "view" in entry:
        return Viewed(_region_of(entry["view"]), of)
    if "patched" in entry:
        found = [
            (_region_of(_get(each, "view", dict)), _value(_get(each, "value", dict), depth + 1))
            for each in _get(entry, "patched", list)
        ]
        return Patched(of, tuple(found))
    if "orthogonal" in entry:
        rows, columns = _extents(_get(entry, "orthogonal", list))
        return Orthogonal((rows, columns), of)
    raise MalformedFile(f"a value of unknown kind: {', '.join(sorted(entry))}")


def _unpacked(text: str) -> bytes:
    try:
        stretcher = zlib.decompressobj()
        data = stretcher.decompress(base64.b64decode(text, validate=True), MOST_TABLE)
    except (binascii.Error, zlib.error, ValueError):
        raise MalformedFile("a table that does not unpack") from None
    if not stretcher.eof or stretcher.unused_data:
        raise MalformedFile(f"a table that does not end where it should, or of more than {MOST_TABLE} bytes")
    return data


def _region(region: Region) -> dict[str, Any]:
    return {"shape": list(region.shape), "strides": list(region.strides), "offset": region.offset}


def _region_of(entry: Any) -> Region:  # noqa: ANN401 - whatever JSON has there
    shape, strides = _extents(_get(entry, "shape", list)), _extents(_get(entry, "strides", list))
    return Region(shape, strides, _get(entry, "offset", int))


def _dtype(entry: dict[str, Any]) -> str:
    dtype: str = _get(entry, "dtype", str)
    if dtype not in CARRIERS:
        raise MalformedFile(f"a value of dtype {dtype!r}; known: {', '.join(CARRIERS)}")
    return dtype


def _number(value: float) -> float | int | str | bool:
    """A number as JSON has it: infinities, which it has not, as text."""
    return value if isinstance(value, int) or math.isfinite(value) else str(value)


def _parameter(value: Any) -> float | int:  # noqa: ANN401 - whatever JSON has there
    if value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MalformedFile(f"{value!r} where a number is expected")
    return value


def _extents(values: list[Any]) -> tuple[int, ...]:
    if not all(isinstance(each, int) and not isinstance(each, bool) and each >= 0 for each in values):
        raise MalformedFile(f"extents {values}: expected whole numbers of 0 or more")
    return tuple(values)


def _get(entry: Any, key: str, kind: type, default: Any = _MISSING) -> Any:  # noqa: ANN401 - JSON
    """A field of an object, of the right type; `default` where it is null or missing, if there is one."""
    if not isinstance(entry, dict):
        raise MalformedFile(f"{entry!r:.40} where an object is expected")
    value = entry.get(key, default)
    if value is _MISSING:
        raise MalformedFile(f"an object without {key!r}")
    if value is None and default is not _MISSING:
        return default
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise MalformedFile(f"{key} is {value!r:.40}: expected {kind.__name__}")
    return value


def _document(text: str, what: str) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise MalformedFile(f"{what} holds a key twice.")
        return found

    def refuse(constant: str) -> float:
        raise MalformedFile(f"{what} holds {constant}, which JSON does not have.")

    try:
        document = json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise MalformedFile(f"{what} is not JSON: {error.msg} at character {error.pos}.") from None
    except RecursionError:
        raise MalformedFile(f"{what} is nested too deeply.") from None
    except ValueError:
        raise MalformedFile(f"{what} holds a number that is too long.") from None
    if not isinstance(document, dict):
        raise MalformedFile(f"{what} is not a JSON object.")
    return document
