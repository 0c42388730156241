"""Dropout masks: the kernel's loops written out for each vector length, builds, outputs, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.philox import words
from birthmark.samplers.dropout import Dropout, vector_of


def units(seed: int, call: int, thread: int) -> NDArray[np.float32]:
    block = words(seed, np.array([call]), np.array([thread]))[0]
    return np.asarray(block.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33), np.float32)


def by_kernel(size: int, threads: int, keep: float, vector: int, seed: int, offset: int) -> list[bool]:
    """fused_dropout_kernel_vec with vectors of 2 or more elements."""
    stride = min(-(-size // 256) * 256, threads)
    mask = [False] * size
    for thread in range(stride):
        call = offset // 4
        for linear in range(thread * vector, size, stride * vector):
            drawn: list[np.float32] = []
            for _ in range(max(vector // 4, 1)):
                drawn += units(seed, call, thread).tolist()
                call += 1
            for lane in range(vector):
                mask[linear + lane] = bool(np.float32(drawn[lane]) < np.float32(keep))
    return mask


@pytest.mark.parametrize("vector", [2, 4, 8])
def test_masks_follow_the_kernel(vector: int) -> None:
    """Every element of several rounds, against the loop; another seed, vector or layout gives another."""
    draw = Dropout(9000, 512, 0.7, "bfloat16", vector, offset=12)
    mask = draw.run(3)
    assert mask.tolist() == by_kernel(9000, 512, 0.7, vector, 3, 12)
    others = [
        draw.run(4),
        Dropout(9000, 768, 0.7, "bfloat16", vector, offset=12).run(3),
        Dropout(9000, 512, 0.7, "bfloat16", {2: 4, 4: 8, 8: 4}[vector], offset=12).run(3),
    ]
    for other in others:
        assert 0.4 < np.mean(other == mask) < 0.99


@pytest.mark.parametrize(("size", "taken"), [(9000, 8), (9004, 4), (9002, 2), (9001, 1)])
def test_vectors_divide_the_size(size: int, taken: int) -> None:
    """A size that a vector does not divide takes half of it, down to the usual layout."""
    draw = Dropout(size, 512, 0.7, vector=8)
    assert draw.taken == taken
    assert np.array_equal(draw.run(1), Dropout(size, 512, 0.7, vector=taken).run(1))


def test_offset_and_random_access(monkeypatch: pytest.MonkeyPatch) -> None:
    """The offset moves as for four values a call whatever the vector; any elements are a cut of the mask."""
    draw = Dropout(9000, 512, 0.5, offset=8)
    assert draw.end_offset == 8 + 20
    assert Dropout(9000, 512, 0.5, vector=8).end_offset == 20
    whole = draw.run(2)
    chosen = np.array([[0, 8999], [17, 4500]])
    assert np.array_equal(draw.values(2, chosen), whole[chosen])
    monkeypatch.setattr("birthmark.samplers.dropout.CHUNK", 1000)
    assert np.array_equal(draw.run(2), whole)
    assert Dropout(0, 512, 0.5).run(1).size == Dropout(0, 512, 0.5).end_offset == 0
    with pytest.raises(UsageError, match="the tensor has 9000 elements"):
        draw.values(2, np.array([9000]))


def test_outputs() -> None:
    """Kept values are scaled in float32 and rounded once; dropped ones are 0, with the sign of the value."""
    draw = Dropout(4, 256, 0.9, "bfloat16")
    values, mask = np.array([1.0, -1.0, 2.0, 0.5], np.float32), np.array([True, False, True, True])
    assert draw.applied(values, mask).tolist() == [1.109375, 0.0, 2.21875, 0.5546875]
    assert np.signbit(draw.applied(values, mask)[1])
    wide = Dropout(4, 256, 0.9, "float64").applied(values.astype(np.float64), mask)
    assert wide[0] == 1 / 0.9


def test_vectors_of_builds() -> None:
    """Four up to 2.6, then eight for 16 bits where CUDA is 12.8 or newer; what is not known is asked for."""
    volta = "nvidia-volta+"
    assert {vector_of(d, (2, 6), None, volta) for d in ("float16", "bfloat16", "float32", "float64")} == {4}
    assert vector_of("float32", (2, 13), None, volta) == 4
    assert vector_of("bfloat16", (2, 13), (12, 8), volta) == 8
    assert vector_of("bfloat16", (2, 13), (12, 6), volta) == 4
    assert vector_of("float16", (2, 8), None, "amd") == 8
    assert vector_of("float64", (2, 8), None, "amd") == 4
    for asked in (
        ("bfloat16", (2, 13), None, volta),
        ("bfloat16", (2, 7), (12, 8), volta),
        ("float64", (2, 9), (13, 0), volta),
        ("float16", (2, 6), None, "amd"),
    ):
        with pytest.raises(UsageError, match="give the number"):
            vector_of(*asked)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"size": -1}, UsageError),
        ({"keep": 1.1}, UsageError),
        ({"vector": 3}, UsageError),
        ({"offset": 2}, UsageError),
        ({"threads": 5}, UsageError),
        ({"dtype": "int8"}, UnknownName),
        ({"arithmetic": "intel"}, UnknownName),
    ],
)
def test_impossible_masks_are_refused(change: dict[str, Any], error: type[Exception]) -> None:
    """What cannot be is an error at once."""
    with pytest.raises(error):
        Dropout(**{"size": 8, "threads": 256, "keep": 0.5, **change})
