"""A generator's running state: published draws in a row, offsets by release, every method, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.samplers.cuda_draw import CudaDraw
from birthmark.samplers.cuda_stream import CudaStream
from birthmark.samplers.draw import Draw

H100 = 132 * 2048


def test_a_published_layer_in_a_row() -> None:
    """mrdbourke/pytorch-deep-learning issue 759: a layer's weight and then its bias, seed 42, torch 2.1."""
    stream = CudaStream(42, threads=H100, version="2.1.0+cu121")
    weight, bias = stream.uniform(1, -1.0, 1.0), stream.uniform(1, -1.0, 1.0)
    assert (f"{weight[0]:.4f}", f"{bias[0]:.4f}", stream.offset) == ("0.2259", "0.9754", 8)


def test_a_published_prefix() -> None:
    """pytorch issue 79496: three normals of seed 10; the next three come from the next call."""
    stream = CudaStream(10, threads=40_960, version="1.11.0+cu113")
    assert [f"{value:.4f}" for value in stream.normal(3)] == ["-0.1029", "1.6810", "-0.2708"]
    assert [f"{value:.4f}" for value in stream.normal(3)] != ["-0.1029", "1.6810", "-0.2708"]


METHODS: dict[str, Callable[[CudaStream, int], Any]] = {
    "normal": lambda stream, n: stream.normal(n, 0.5, 2.0),
    "uniform": lambda stream, n: stream.uniform(n, -1.0, 1.0),
    "exponential": lambda stream, n: stream.exponential(n, 2.0),
    "log_normal": lambda stream, n: stream.log_normal(n),
    "cauchy": lambda stream, n: stream.cauchy(n),
    "geometric": lambda stream, n: stream.geometric(n, 0.5),
    "truncated_normal": lambda stream, n: stream.truncated_normal(n, 0.0, 0.02, -2.0, 2.0),
    "random": lambda stream, n: stream.random(n, 0, 100),
    "bernoulli": lambda stream, n: stream.bernoulli(n, 0.5),
    "dropout": lambda stream, n: stream.dropout(n, 0.5),
}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_starts_where_the_last_ended(method: str) -> None:
    """Two draws in a row are each the first draw of a stream that stands there; one seed on, they are not."""
    draw = METHODS[method]
    for n in (100, 3000):
        stream = CudaStream(7, threads=512)
        draw(stream, n)
        middle = stream.offset
        assert middle == ((n - 1) // (4 * min(-(-n // 256) * 256, 512)) + 1) * 4
        second = draw(stream, n)
        again = CudaStream(7, threads=512, offset=middle)
        assert np.array_equal(draw(again, n), second)
        assert again.offset == stream.offset == 2 * middle
        assert not np.array_equal(draw(CudaStream(8, threads=512, offset=middle), n), second)
        assert draw(stream, 0).size == 0
        assert stream.offset == 2 * middle


def test_values_are_of_the_dtypes_asked_for() -> None:
    """Doubles are float64, narrow floats float32, whole numbers int64, flips bool."""
    stream = CudaStream(1, threads=512)
    assert stream.normal(5, dtype="float64").dtype == stream.uniform(5, dtype="float64").dtype == np.float64
    assert (
        stream.normal(5, dtype="bfloat16").dtype == stream.exponential(5, dtype="float16").dtype == np.float32
    )
    assert stream.random(5).dtype == stream.permutation(5).dtype == stream.geometric(5, 0.5, "int32").dtype
    assert (
        stream.bernoulli(5).dtype
        == stream.dropout(5).dtype
        == stream.random(5, dtype="bool").dtype
        == np.bool_
    )


def test_double_draws_move_the_offset_by_the_release() -> None:
    """Up to 2.4 the draw after a double one met half of its words again."""
    newer, older = (CudaStream(3, threads=512, version=version) for version in ("2.5", "2.4.1"))
    assert np.array_equal(newer.normal(3000, dtype="float64"), older.normal(3000, dtype="float64"))
    assert (newer.offset, older.offset) == (12, 8)
    assert not np.array_equal(newer.normal(10), older.normal(10))


def test_releases_differ_where_their_rules_do() -> None:
    """Large integers, permutations and truncated normals change with the release, plain normals never."""

    def drawn(version: str, draw: Callable[[CudaStream], Any]) -> list[Any]:
        return list(draw(CudaStream(5, threads=512, version=version)).tolist())

    for draw, old, new, same in (
        (lambda s: s.random(9, 0, 2**30), "2.6", "2.7", False),
        (lambda s: s.random(9, 0, 2**20), "2.6", "2.7", True),
        (lambda s: s.permutation(50), "2.6", "2.7", False),
        (lambda s: s.truncated_normal(9, 0.0, 1.0, -2.0, 2.0), "2.11", "2.12", False),
        (lambda s: s.normal(9), "1.7", "2.15", True),
    ):
        assert (drawn(old, draw) == drawn(new, draw)) == same


def test_truncated_normals_draw_again_as_often_as_it_takes() -> None:
    """From 2.12 on every round costs a full draw; values are those of `Draw`, in bounds."""
    stream = CudaStream(42, threads=512)
    values = stream.truncated_normal(5000, 0.0, 1.0, -1.5, 1.5)
    assert np.abs(values).max() <= 1.5
    rounds, left = divmod(stream.offset, 12)
    assert left == 0
    assert rounds > 3
    plain = CudaStream(42, threads=512).normal(5000)
    inside = np.abs(plain) <= 1.5
    assert np.array_equal(values[inside], plain[inside])
    old = CudaStream(42, threads=512, version="2.11")
    expected = Draw("truncated-normal", (0.0, 1.0, -1.5, 1.5), (5000,))
    assert np.array_equal(
        old.truncated_normal(5000, 0.0, 1.0, -1.5, 1.5), CudaDraw(expected, 5000, 512).run(42)
    )
    assert old.offset == 12


def test_a_probability_each() -> None:
    """Twelve further for any size, but nothing for an empty tensor from 2.1 on."""
    chances = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    stream = CudaStream(1, threads=512)
    assert stream.bernoulli(5, chances).tolist() == [False, True, True, False, True]
    assert stream.offset == 12
    assert stream.bernoulli(0, np.empty(0)).size == 0
    assert stream.offset == 12
    older = CudaStream(1, threads=512, version="2.0")
    older.bernoulli(0, np.empty(0))
    assert older.offset == 12
    with pytest.raises(UsageError, match="expected one for each"):
        stream.bernoulli(4, chances)


def test_permutations_and_dropout_move_the_offset() -> None:
    """By the launches of each; what torch does not draw for moves nothing."""
    stream = CudaStream(1, threads=512)
    assert sorted(stream.permutation(10).tolist()) == list(range(10))
    assert stream.offset == 4 + 12
    assert stream.permutation(0).size == 0
    assert not stream.dropout(10, 1.0).any()
    assert stream.offset == 16
    assert stream.dropout(10, 0.0).all()
    assert stream.offset == 20
    wide = stream.dropout(16, 0.5, "bfloat16", vector=8)
    again = CudaStream(1, threads=512, version="2.13.0+cu130", offset=20)
    assert np.array_equal(again.dropout(16, 0.5, "bfloat16"), wide)


@pytest.mark.parametrize(
    ("version", "call", "since"),
    [
        ("1.9", lambda stream: stream.permutation(5), "1.10"),
        ("1.7", lambda stream: stream.bernoulli(1, np.array([0.5])), "1.8"),
        ("1.13", lambda stream: stream.cauchy(5), "2.0"),
        ("2.13", lambda stream: stream.dropout(8, dtype="bfloat16"), "give the number"),
    ],
)
def test_what_a_release_did_otherwise_is_refused(
    version: str, call: Callable[[CudaStream], Any], since: str
) -> None:
    """A method that is not known for a release says from which on it is; the offset stays."""
    stream = CudaStream(1, threads=512, version=version)
    with pytest.raises(UsageError, match=since):
        call(stream)
    assert stream.offset == 0


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"threads": 100}, UsageError),
        ({"arithmetic": "intel"}, UnknownName),
        ({"version": "2.99"}, UsageError),
        ({"offset": 3}, UsageError),
        ({"offset": -4}, UsageError),
    ],
)
def test_impossible_streams_are_refused(change: dict[str, Any], error: type[Exception]) -> None:
    """A layout, arithmetic, release or offset that cannot be is an error at once."""
    with pytest.raises(error):
        CudaStream(1, **{"threads": 512, **change})


def test_amd_streams_have_their_own_uniforms_and_the_same_integers() -> None:
    """rocRAND's uniforms are a step higher where they are small; words and layouts are the same."""
    amd, nvidia = (CudaStream(3, threads=512, arithmetic=name) for name in ("amd", "nvidia-volta+"))
    ours, theirs = amd.uniform(20_000), nvidia.uniform(20_000)
    small = theirs < 2.0**-7
    assert np.array_equal(ours[~small], theirs[~small])
    assert 0 < np.max(np.abs(ours.astype(np.float64) - theirs)) <= 2.0**-31
    assert np.array_equal(amd.random(1000, 0, 50), nvidia.random(1000, 0, 50))
    assert np.allclose(amd.normal(1000), nvidia.normal(1000), atol=3e-5)
