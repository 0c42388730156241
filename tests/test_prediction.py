"""Predictions: rows and whole tensors of every named draw, releases, shards, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.errors import BirthmarkError, UnknownName, UsageError
from birthmark.numerics.dtypes import round_to
from birthmark.prediction import predict, predict_rows, prediction
from birthmark.recipes.dtensor import Shard
from birthmark.recipes.sharding import Sharding
from birthmark.samplers.cuda_stream import CudaStream

SHAPE = (300, 1000)


def test_rows_are_a_cut_of_the_whole() -> None:
    """Asking for rows gives those rows of the whole tensor, on a device by name or by its thread count."""
    whole = predict(7, SHAPE, device="T4")
    assert whole.shape == SHAPE
    assert np.array_equal(predict(7, SHAPE, device="T4", rows=(120, 140)), whole[120:140])
    assert np.array_equal(predict(7, SHAPE, threads=40_960), whole)
    assert not np.array_equal(predict(7, SHAPE, device="L4"), whole)
    asked = prediction(7, SHAPE, device="T4")
    assert np.array_equal(predict_rows(asked, 5, 6), whole[5:6])


def test_shapes_come_back_as_asked() -> None:
    """More dimensions stay, a vector is one row, a scalar is a scalar."""
    assert predict(1, (6, 3, 2), device="A100", rows=(2, 4)).shape == (2, 3, 2)
    assert predict(1, (10,), device="A100").shape == (10,)
    assert predict(1, (), device="A100").shape == ()


def test_device_brings_its_arithmetic() -> None:
    """A Pascal card's name selects Pascal's arithmetic; it can be overridden."""
    pascal = prediction(1, SHAPE, device="TITAN Xp")
    assert pascal.metadata()["arithmetic"] == "nvidia-pascal-"
    forced = predict(1, SHAPE, device="TITAN Xp", arithmetic="nvidia-volta+")
    assert np.array_equal(forced, predict(1, SHAPE, threads=61_440))
    assert not np.array_equal(forced, pascal.values())


def test_a_huge_embedding_gives_its_last_rows() -> None:
    """The last eight rows of a 128,256 x 8,192 float32 embedding come from the second of two launches."""
    shape = (128_256, 8192)
    rows = predict(42, shape, device="H100 SXM", rows=(128_248, 128_256), parameters=(0.0, 0.02))
    half = (64_128, 8192)
    second = predict(42, half, device="H100 SXM", rows=(64_120, 64_128), parameters=(0.0, 0.02), offset=5832)
    assert np.array_equal(rows, second)


def test_shards_follow_their_seed_rule() -> None:
    """Each half of a two-way vocabulary is a tensor of its own, drawn under the next seed."""
    both = predict(3952, SHAPE, device="A100", sharding=Sharding(2, "megatron"))
    first, second = (predict(seed, (150, 1000), device="A100") for seed in (3952, 3953))
    assert np.array_equal(both, np.concatenate([first, second]))


@pytest.mark.parametrize(
    ("request_", "exact"),
    [
        ({"device": "H200"}, True),
        ({"device": "H200", "dtype": "bfloat16"}, True),
        ({"device": "P100"}, True),
        ({"device": "H200", "dtype": "float64"}, False),
        ({"device": "MI300X"}, False),
        ({"device": "MI300X", "distribution": "uniform"}, True),
        ({"device": "MI300X", "distribution": "integers", "dtype": "int64"}, True),
        ({"device": "H200", "distribution": "bernoulli"}, True),
        ({"device": "H200", "distribution": "exponential"}, False),
        ({"device": "H200", "distribution": "truncated-normal"}, False),
        ({"device": "H200", "distribution": "truncated-normal", "torch": "2.13"}, True),
        ({"device": "H200", "mesh": (3,), "placements": (Shard(0),)}, True),
    ],
)
def test_stand_ins_are_labelled(request_: dict[str, Any], exact: bool) -> None:
    """Only what words decide by known arithmetic is called exact."""
    assert prediction(1, SHAPE, **request_).exact is exact


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"rows": (0, 301)}, UsageError, "0:300"),
        ({"rows": (-1, 5)}, UsageError, "0:300"),
        ({"rows": (5, 5)}, UsageError, "0:300"),
        ({"rows": (9, 5)}, UsageError, "0:300"),
        ({"shape": (10,), "rows": (0, 8)}, UsageError, "0:1"),
        ({"shape": (-3, 4)}, UsageError, "extents"),
        ({"shape": (0, 4)}, UsageError, "no elements"),
        ({"dtype": "bf16"}, UnknownName, "bfloat16"),
        ({"device": "H300"}, UnknownName, "H200"),
        ({"device": None}, UsageError, "either a device"),
        ({"threads": 256}, UsageError, "either a device"),
        ({"device": None, "threads": 0}, UsageError, "multiple of 256"),
        ({"device": None, "threads": 1000}, UsageError, "multiple of 256"),
        ({"offset": 2}, UsageError, "multiple of 4"),
        ({"seed": 2**64}, UsageError, "-2^63"),
        ({"seed": -(2**63) - 1}, UsageError, "-2^63"),
        ({"distribution": "gamma"}, UnknownName, "normal"),
        ({"arithmetic": "intel"}, UnknownName, "amd"),
        ({"parameters": (0.0, -0.02)}, UsageError, "standard deviation"),
        ({"sharding": Sharding(7, "megatron")}, UsageError, "7 equal runs"),
        ({"parameters": (0.0, 1.0, 2.0)}, UsageError, "expected 2 at most"),
        ({"parameters": {"rate": 1.0}}, UsageError, "expected mean, std"),
        ({"distribution": "geometric"}, UsageError, "needs the number 'p'"),
        ({"distribution": "exponential", "sharding": Sharding(2, "megatron")}, UsageError, "shards"),
        (
            {"mesh": (2,), "placements": (None,), "sharding": Sharding(2, "megatron")},
            UsageError,
            "one of them",
        ),
        ({"mesh": (2,)}, UsageError, "one for each dimension"),
        ({"distribution": "permutation"}, UsageError, "one extent"),
        ({"distribution": "integers", "parameters": (0.5, 2)}, UsageError, "whole number"),
        ({"distribution": "integers", "parameters": (5, 2)}, UsageError, "5 up to 2"),
        ({"torch": "2.1", "version": "2.1+"}, UsageError, "not both"),
        ({"torch": "9.9"}, UsageError, "1.7 to 2.15"),
        ({"cast": "int8"}, UnknownName, "float dtype"),
        ({"cast": "bfloat16", "dtype": "float16"}, UsageError, "drawn in float32"),
    ],
)
def test_bad_requests_are_one_clear_line(
    change: dict[str, Any], error: type[BirthmarkError], words: str
) -> None:
    """Whatever cannot be is refused before anything is computed, and the message says what would do."""
    request_: dict[str, Any] = {"seed": 1, "shape": SHAPE, "device": "T4", **change}
    with pytest.raises(error) as refused:
        prediction(**request_)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_more_than_the_memory_is_refused() -> None:
    """A whole tensor that no machine holds is refused with advice, where its rows are not."""
    asked = prediction(1, (1 << 40, 4096), device="H200")
    with pytest.raises(UsageError, match="ask for fewer rows"):
        asked.values()
    assert predict(1, (1 << 20, 4096), device="H200", rows=(0, 1)).shape == (1, 4096)


@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (4, 3), (0, 301)])
def test_rows_are_checked(start: int, stop: int) -> None:
    """`predict_rows` refuses rows outside the tensor."""
    with pytest.raises(UsageError, match="300 rows"):
        predict_rows(prediction(1, SHAPE, device="T4"), start, stop)


def test_every_named_draw_is_predicted() -> None:
    """Each comes as its stream gives it, rows as a cut, and none as another seed's."""
    stream = CudaStream(3, threads=512)
    cases: list[tuple[str, dict[str, Any], str, NDArray[Any]]] = [
        ("exponential", {"rate": 2}, "float32", stream.exponential(3000, 2.0)),
        ("log-normal", {}, "bfloat16", CudaStream(3, threads=512).log_normal(3000, dtype="bfloat16")),
        ("cauchy", {"sigma": 3}, "float32", CudaStream(3, threads=512).cauchy(3000, 0.0, 3.0)),
        ("geometric", {"p": 0.25}, "int64", CudaStream(3, threads=512).geometric(3000, 0.25, "int64")),
        (
            "integers",
            {"low": -5, "high": 5},
            "int32",
            CudaStream(3, threads=512).random(3000, -5, 5, "int32"),
        ),
        ("integers", {}, "float16", CudaStream(3, threads=512).random(3000, dtype="float16")),
        ("bernoulli", {"p": 0.1}, "bool", CudaStream(3, threads=512).bernoulli(3000, 0.1, "bool")),
    ]
    for name, parameters, dtype, expected in cases:
        given_: dict[str, Any] = {
            "distribution": name,
            "parameters": parameters,
            "dtype": dtype,
            "threads": 512,
        }
        whole = predict(3, (30, 100), **given_)
        assert whole.dtype == expected.dtype
        assert np.array_equal(whole.reshape(-1), expected)
        assert np.array_equal(predict(3, (30, 100), rows=(7, 9), **given_), whole[7:9])
        assert not np.array_equal(predict(4, (30, 100), **given_), whole)
    order = predict(3, (3000,), distribution="permutation", threads=512)
    assert np.array_equal(order, CudaStream(3, threads=512).permutation(3000))
    assert prediction(3, (9,), distribution="permutation", threads=512).metadata()["dtype"] == "int64"


def test_releases_bring_their_rules() -> None:
    """A release decides end points, truncated normals, integers, permutations and offsets of doubles."""
    for torch, distribution, dtype, rule, offsets in (
        ("2.0.1", "uniform", "float32", "2.0-", "2.4-"),
        ("2.4", "truncated-normal", "float32", "2.1+", "2.4-"),
        ("2.11.0+cu130", "truncated-normal", "float32", "2.1+cuda13", "2.5+"),
        ("2.13", "truncated-normal", "float32", "2.12+", "2.5+"),
        ("2.6", "integers", "int64", "2.6-", "2.5+"),
        ("1.9", "exponential", "float32", "1.9-", "2.4-"),
    ):
        facts = prediction(
            1, (4, 4), threads=512, torch=torch, distribution=distribution, dtype=dtype
        ).metadata()
        assert (facts["version_rule"], facts["offset_rule"], facts["torch"]) == (rule, offsets, torch)
    older, newer = (
        prediction(1, (100, 100), threads=256, dtype="float64", torch=torch).end_offset
        for torch in ("2.4", "2.5")
    )
    assert (older, newer) == (40, 80)
    assert prediction(1, (9,), threads=256, torch="2.6", distribution="permutation").metadata()[
        "version_rule"
    ] == ("2.6-")


def test_a_cast_rounds_once_after_the_draw() -> None:
    """Drawn in float32 and cast is one rounding of those values; for normals that is drawn in bfloat16."""
    request_: dict[str, Any] = {"threads": 512, "parameters": (0.0, 0.02)}
    single = predict(5, SHAPE, **request_)
    cast = predict(5, SHAPE, cast="bfloat16", **request_)
    assert np.array_equal(cast, round_to(single, "bfloat16"))
    assert np.array_equal(cast, predict(5, SHAPE, dtype="bfloat16", **request_))
    bounds: dict[str, Any] = {"threads": 512, "distribution": "uniform", "parameters": (-0.1, 0.3)}
    drawn = predict(5, SHAPE, dtype="bfloat16", **bounds)
    assert 0.1 < np.mean(predict(5, SHAPE, cast="bfloat16", **bounds) != drawn) < 0.9


def test_distributed_tensors() -> None:
    """Each process's rows come from its own offset; the whole moves by the elements of the tensor."""
    whole = prediction(5, (64, 32), threads=512, mesh=(4,), placements=(Shard(0),), offset=8)
    values = whole.values()
    local = [predict(5, (16, 32), threads=512, offset=8 + 512 * rank) for rank in range(4)]
    assert np.array_equal(values, np.concatenate(local))
    assert whole.end_offset == 8 + 64 * 32
    facts = whole.metadata()
    assert (facts["mesh"], facts["placements"]) == ([4], [[0, 1]])
    assert np.array_equal(
        predict(5, (64, 32), threads=512, mesh=(4,), placements=(Shard(0),), offset=8, rows=(15, 17)),
        values[15:17],
    )


def test_offsets_after_truncated_normals_need_the_whole() -> None:
    """Where bounds bite, the end is known for a whole tensor of one seed rule only."""
    bites: dict[str, Any] = {
        "threads": 512,
        "distribution": "truncated-normal",
        "parameters": (0.0, 1.0, -1.0, 1.0),
        "torch": "2.13",
    }
    assert prediction(1, SHAPE, rows=(0, 1), **bites).end_offset is None
    stream = CudaStream(1, threads=512)
    stream.truncated_normal(64, 0.0, 1.0, -1.0, 1.0)
    assert prediction(1, (8, 8), **bites).end_offset == stream.offset > 4
    assert prediction(1, (8, 8), sharding=Sharding(2, "megatron"), **bites).end_offset is None
    meshed: dict[str, Any] = {**bites, "mesh": (2,), "placements": (Shard(0),)}
    assert prediction(1, (8, 8), rows=(0, 1), **meshed).end_offset is None
    assert (prediction(1, (8, 8), **meshed).end_offset or 0) % 64 == 0
