"""Flax's keys: from the key given to `init` to the key that draws one parameter.

Sources: google/flax `flax/core/scope.py` 0.3.6 to 0.12.8, `flax/nnx/rnglib.py` 0.8.2 to 0.12.8. In linen each
module draws its parameters in the order in which it asks for them, the first with count 1, constant ones
(biases of zeros) included. Module names and counts reach the key through SHA-1:

- "levels" (to 0.4.0): one fold for each module name on the path, with the first 4 bytes of its SHA-1 as a
  big-endian number; then a fold of the count.
- "joined" (from 0.4.1 on): one fold for all; the SHA-1 is that of the names and the count's bytes together.
- "separated" (from 0.6.11 on, where `flax_fix_rng_separator` is set): the same with a zero byte before each.

nnx knows no names: the n-th parameter of a stream, from 0, has its key folded with n.
"""

from __future__ import annotations

import hashlib
from typing import Final, Literal

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.threefry import Key

Folding = Literal["levels", "joined", "separated"]

#: How linen folds a path, in the order in which the ways appeared, with the releases that do so.
FOLDINGS: Final[dict[Folding, str]] = {
    "levels": "flax up to 0.4.0",
    "joined": "flax from 0.4.1 on",
    "separated": "flax from 0.6.11 on with flax_fix_rng_separator",
}


def linen_key(root: Key, path: tuple[str, ...], count: int = 1, folding: Folding = "joined") -> Key:
    """The key that draws a parameter of a linen module.

    Args:
        root: the key of the "params" stream given to `init` (or the one key given to it).
        path: names of the modules from the outermost named one down, e.g. ("encoder", "Dense_0"); the
            module on which `init` was called has none.
        count: which random parameter of the module it is, from 1.
        folding: one of `FOLDINGS`.

    Raises:
        UsageError: a count below 1.
        UnknownName: an unknown folding.
    """
    if count < 1:
        raise UsageError(f"count {count} of a flax parameter; the first has 1.")
    if folding not in FOLDINGS:
        raise UnknownName("way of folding", folding, FOLDINGS)
    if folding == "levels":
        key = root
        for name in path:
            key = key.fold_in(_number(name.encode()))
        return key.fold_in(count)
    before = b"\0" if folding == "separated" else b""
    data = [name.encode() for name in path] + [count.to_bytes((count.bit_length() + 7) // 8, "big")]
    return root.fold_in(_number(b"".join(before + part for part in data)))


def nnx_key(root: Key, count: int) -> Key:
    """The key that draws the parameter number `count`, from 0, of an nnx stream with this key.

    Raises:
        UsageError: a negative count.
    """
    if count < 0:
        raise UsageError(f"count {count} of an nnx stream; the first has 0.")
    return root.fold_in(count)


def module_path(tensor: str) -> tuple[str, ...]:
    """The module path that a tensor's name in a checkpoint spells, e.g. ("Dense_0",).

    The last part is the parameter's own name; everything up to a part "params" is the container's.
    """
    parts = tensor.split(".")
    start = len(parts) - 1 - parts[::-1].index("params") + 1 if "params" in parts else 0
    return tuple(parts[start:-1])


def _number(data: bytes) -> int:
    return int.from_bytes(hashlib.sha1(data, usedforsecurity=False).digest()[:4], "big")
