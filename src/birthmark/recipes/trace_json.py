"""JSON of traces: strict reading with one error class, and values as nested objects."""

from __future__ import annotations

import base64
import binascii
import json
import math
import zlib
from typing import Any, Final

from birthmark.errors import MalformedFile
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
)

#: The most bytes that one table may hold.
MOST_TABLE: Final = 1 << 26
#: Nodes that a value may be nested in.
DEEPEST: Final = 64

_MISSING = object()


def document_of(text: str, what: str) -> dict[str, Any]:
    """One JSON object, every key once, no NaN.

    Args:
        text: the document.
        what: how messages call it.

    Raises:
        MalformedFile: it is none.
    """

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


def get(entry: Any, key: str, kind: type, default: Any = _MISSING) -> Any:  # noqa: ANN401 - JSON
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


def extents(values: list[Any]) -> tuple[int, ...]:
    """A shape, or strides."""
    if not all(isinstance(each, int) and not isinstance(each, bool) and each >= 0 for each in values):
        raise MalformedFile(f"extents {values}: expected whole numbers of 0 or more")
    return tuple(values)


def parameter(value: Any) -> float | int:  # noqa: ANN401 - whatever JSON has there
    """A number, or one of the infinities as text."""
    if value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MalformedFile(f"{value!r} where a number is expected")
    return value


def plain(value: float) -> float | int | str | bool:
    """A number as JSON has it: infinities, which it has not, as text."""
    return value if isinstance(value, int) or math.isfinite(value) else str(value)


def object_of(value: Value) -> dict[str, Any]:
    """A value as JSON has it."""
    match value:
        case Drawn(draw):
            return {"draw": draw}
        case Constant(number, dtype):
            return {"constant": plain(number), "dtype": dtype}
        case Table(dtype, data):
            return {"table": base64.b64encode(zlib.compress(data, 9)).decode(), "dtype": dtype}
        case Applied(operation, numbers, of, dtype):
            written = [plain(each) for each in numbers]
            return {"apply": operation, "numbers": written, "dtype": dtype, "of": object_of(of)}
        case Viewed(region, of):
            return {"view": _region(region), "of": object_of(of)}
        case Patched(of, patches):
            parts = [{"view": _region(region), "value": object_of(patch)} for region, patch in patches]
            return {"patched": parts, "of": object_of(of)}
        case Orthogonal(shape, of):
            return {"orthogonal": list(shape), "of": object_of(of)}
        case Unknown(reason):
            return {"unknown": reason}


def value_of(entry: Any, depth: int = 0) -> Value:  # noqa: ANN401 - whatever JSON has there
    """A value from JSON; `depth` counts the nodes around it."""
    if not isinstance(entry, dict):
        raise MalformedFile("a value that is no object")
    if depth > DEEPEST:
        raise MalformedFile(f"a value nested more than {DEEPEST} deep")
    if "draw" in entry:
        return Drawn(get(entry, "draw", int))
    if "constant" in entry:
        number = entry["constant"]
        kept = number if isinstance(number, bool) else parameter(number)
        return Constant(kept, _dtype(entry))
    if "table" in entry:
        return Table(_dtype(entry), _unpacked(get(entry, "table", str)))
    if "unknown" in entry:
        return Unknown(get(entry, "unknown", str))
    of = value_of(get(entry, "of", dict), depth + 1)
    if "apply" in entry:
        numbers = tuple(float(parameter(each)) for each in get(entry, "numbers", list))
        return Applied(get(entry, "apply", str), numbers, of, _dtype(entry))
    if "view" in entry:
        return Viewed(_region_of(entry["view"]), of)
    if "patched" in entry:
        found = [
            (_region_of(get(each, "view", dict)), value_of(get(each, "value", dict), depth + 1))
            for each in get(entry, "patched", list)
        ]
        return Patched(of, tuple(found))
    if "orthogonal" in entry:
        rows, columns = extents(get(entry, "orthogonal", list))
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
    shape, strides = extents(get(entry, "shape", list)), extents(get(entry, "strides", list))
    return Region(shape, strides, get(entry, "offset", int))


def _dtype(entry: dict[str, Any]) -> str:
    dtype: str = get(entry, "dtype", str)
    if dtype not in CARRIERS:
        raise MalformedFile(f"a value of dtype {dtype!r}; known: {', '.join(CARRIERS)}")
    return dtype
