"""Traces as files: strict JSON of the schema "birthmark.trace/1", written whole or not at all.

What follows from the calls (positions, launches, which call redraws) is written for readers, and checked when
a file is loaded: a trace that contradicts itself is refused.
"""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any, Final

from birthmark import __version__
from birthmark.errors import BirthmarkError, MalformedFile, OutputError, UsageError
from birthmark.recipes.trace import Trace, TracedDraw, TracedStream, TracedTensor
from birthmark.recipes.trace_costs import DISTRIBUTIONS, per_call
from birthmark.recipes.trace_json import document_of, extents, get, object_of, parameter, plain, value_of
from birthmark.recipes.trace_values import Value, draws_of

SCHEMA: Final = "birthmark.trace/1"
#: The largest file that is read.
MOST_BYTES: Final = 1 << 30


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
    positions, opened = trace.indices(), trace.opened
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
        position = positions[number] if number not in opened else None
        made = {
            "number": number,
            "tensor": draw.tensor,
            "kept": number in kept,
            "distribution": draw.distribution,
            "parameters": [plain(value) for value in draw.parameters],
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
            entry["value"] = object_of(tensor.value)
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
    document = document_of(text, what)
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
        TracedStream(get(each, "device", str), get(each, "seed", int, None))
        for each in get(document, "streams", list)
    )
    draws = tuple(_draw(each) for each in get(document, "draws", list))
    tensors: list[TracedTensor] = []
    values: dict[str, Value] = {}
    for each in get(document, "tensors", list):
        name = get(each, "name", str)
        tied = get(each, "tied", str, None)
        if tied is None:
            values[name] = value_of(get(each, "value", dict))
        elif tied not in values:
            raise MalformedFile(f"{name} is tied to {tied!r}, which does not stand before it")
        dtype = get(each, "dtype", str)
        shape = extents(get(each, "shape", list))
        tensors.append(
            TracedTensor(name, shape, dtype, values[tied or name], tied, get(each, "buffer", bool))
        )
    notes = get(document, "notes", list)
    if not all(isinstance(note, str) for note in notes):
        raise MalformedFile("a note is not text")
    return Trace(
        draws,
        tuple(tensors),
        streams,
        get(document, "torch", str),
        get(document, "model", str),
        tuple(notes),
    )


def _draw(entry: Any) -> TracedDraw:  # noqa: ANN401 - whatever JSON has there
    distribution = get(entry, "distribution", str)
    if distribution not in DISTRIBUTIONS:
        raise MalformedFile(f"a draw of distribution {distribution!r}; known: {', '.join(DISTRIBUTIONS)}")
    strides = get(entry, "strides", list, None)
    return TracedDraw(
        distribution,
        tuple(parameter(each) for each in get(entry, "parameters", list)),
        extents(get(entry, "shape", list)),
        get(entry, "dtype", str),
        get(entry, "stream", int),
        get(entry, "after", int, None),
        get(entry, "tensor", str, None),
        get(entry, "overwritten", str, None),
        None if strides is None else extents(strides),
        get(entry, "name", str, None),
    )


def _check_derived(trace: Trace, document: dict[str, Any]) -> None:
    """Positions that a reader of the file relies on must be those that the calls give."""
    positions, opened = trace.indices(), trace.opened
    for number, entry in enumerate(document["draws"]):
        if get(entry, "number", int) != number:
            raise MalformedFile(f"draw {number} is numbered {entry['number']}")
        position = None if number in opened else positions[number]
        expected = None if position is None else position.index
        if entry.get("index") != expected:
            raise MalformedFile(f"draw {number} is said to start at {entry.get('index')}: it is {expected}")
