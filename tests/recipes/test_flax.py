"""Flax's keys: those that flax 0.12.8 gave, the older ways, names in checkpoints, refusals."""

from __future__ import annotations

import hashlib

import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.threefry import key_of
from birthmark.recipes.flax import FOLDINGS, linen_key, module_path, nnx_key


def test_levels_fold_one_name_after_the_other() -> None:
    """Flax up to 0.4.0 folds each name's hash, then the count."""
    number = int.from_bytes(hashlib.sha1(b"Dense_0", usedforsecurity=False).digest()[:4], "big")
    assert linen_key(key_of(5), ("Dense_0",), 2, "levels") == key_of(5).fold_in(number).fold_in(2)


def test_later_ways_fold_once() -> None:
    """From 0.4.1 on names and count are hashed together; a separator keeps (ab, c) from (a, bc)."""
    number = int.from_bytes(hashlib.sha1(b"subDense_0\x02", usedforsecurity=False).digest()[:4], "big")
    assert linen_key(key_of(5), ("sub", "Dense_0"), 2) == key_of(5).fold_in(number)
    assert linen_key(key_of(5), ("ab", "c")) == linen_key(key_of(5), ("a", "bc"))
    apart = [linen_key(key_of(5), path, 1, "separated") for path in (("ab", "c"), ("a", "bc"))]
    assert apart[0] != apart[1]
    assert len({linen_key(key_of(5), ("ab",), 1, folding) for folding in FOLDINGS}) == 3


def test_nnx_counts_from_0() -> None:
    """The stream's first parameter folds 0, without any name."""
    assert nnx_key(key_of(5), 0) == key_of(5).fold_in(0) != nnx_key(key_of(5), 1)


@pytest.mark.parametrize(
    ("tensor", "path"),
    [
        ("network.params.Dense_0.kernel", ("Dense_0",)),
        ("params.params.encoder.Dense_1.bias", ("encoder", "Dense_1")),
        ("Dense_0.kernel", ("Dense_0",)),
        ("kernel", ()),
    ],
)
def test_names_in_checkpoints(tensor: str, path: tuple[str, ...]) -> None:
    """The module's path is what lies between the last "params" and the parameter's own name."""
    assert module_path(tensor) == path


def test_what_cannot_be_is_refused() -> None:
    """Counts below the first and unknown ways of folding are refused."""
    with pytest.raises(UsageError, match="count 0"):
        linen_key(key_of(0), (), 0)
    with pytest.raises(UsageError, match="count -1"):
        nnx_key(key_of(0), -1)
    with pytest.raises(UnknownName, match="levels"):
        linen_key(key_of(0), (), 1, "level")  # type: ignore[arg-type]
