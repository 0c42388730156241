"""JSON from strangers: bounded, every key once, no NaN, and one error class whatever is wrong.

Python's own parser lets the last of two equal keys win in silence; a header that names a tensor twice
would then be read one way here and another way elsewhere.
"""

from __future__ import annotations

import json
from typing import Any, Final

from birthmark.errors import MalformedFile

#: Most values that one document may hold: bounds the memory of the parsed objects (about 300 MB).
MAX_VALUES: Final = 4_000_000


def shown(text: object, limit: int = 80) -> str:
    """A stranger's text in one harmless line: escaped, quoted, cut to `limit` characters."""
    quoted = repr(text if len(text) <= limit else text[:limit]) if isinstance(text, str) else repr(text)
    quoted = quoted.encode("ascii", "backslashreplace").decode("ascii")
    cut = len(quoted) > limit + 2 or (isinstance(text, str) and len(text) > limit)
    return quoted[:limit] + "..." if cut else quoted


def parse_object(raw: bytes, what: str) -> dict[str, Any]:
    """Parse one JSON object.

    Args:
        raw: UTF-8 text.
        what: how messages call the document.

    Returns:
        The object; nested objects are dicts too.

    Raises:
        MalformedFile: not JSON, not an object, a key twice, NaN or Infinity, nested or large beyond reason.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    raise MalformedFile(
                        f"{what} holds the key {shown(key)} twice; which one is meant is not knowable."
                    )
                seen.add(key)
        return found

    def refuse(constant: str) -> float:
        raise MalformedFile(f"{what} holds {constant}, which JSON does not have.")

    values = 1 + sum(raw.count(mark) for mark in (b",", b"[", b"{", b":"))
    if values > MAX_VALUES:
        raise MalformedFile(f"{what} holds about {values:,} values; the limit is {MAX_VALUES:,}.")
    try:
        document = json.loads(raw.decode("utf-8"), object_pairs_hook=unique, parse_constant=refuse)
    except UnicodeDecodeError as error:
        raise MalformedFile(f"{what} is not UTF-8 text (byte {error.start}).") from None
    except json.JSONDecodeError as error:
        raise MalformedFile(f"{what} is not JSON: {error.msg} at character {error.pos}.") from None
    except RecursionError:
        raise MalformedFile(f"{what} is nested too deeply.") from None
    except ValueError:
        # The only other one: a number with thousands of digits.
        raise MalformedFile(f"{what} holds a number that is too long.") from None
    if not isinstance(document, dict):
        raise MalformedFile(f"{what} is not a JSON object.")
    return document
