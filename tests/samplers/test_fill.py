"""Many elements at once: runs against scattered positions, and both against a literal launch loop."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.philox import words
from birthmark.samplers.fill import finish, standard_at, standard_range, stored_range

VOLTA = "nvidia-volta+"
ARITHMETICS = (VOLTA, "nvidia-pascal-", "amd")


def scattered(
    distribution: str,
    seed: int,
    threads: int,
    indices: NDArray[np.int64],
    arithmetic: str,
    offset: int = 0,
    double: bool = False,
) -> NDArray[np.floating]:
    """The elements of one launch by their own positions: PyTorch's rule, literally."""
    lanes = 2 if double else 4
    call, rest = np.divmod(indices, lanes * threads)
    lane, thread = np.divmod(rest, threads)
    found: NDArray[np.floating] = standard_at(
        distribution,
        np.array([seed % 2**64], np.uint64),
        (call + offset // 4).astype(np.uint64),
        thread.astype(np.uint64),
        lane.astype(np.uint8),
        arithmetic,
        double,
    )
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["normal", "uniform"]),
    st.integers(0, 2**64 - 1),
    st.integers(1, 40).map(lambda n: 256 * n),
    st.integers(0, 200_000),
    st.integers(0, 60_000),
    st.sampled_from(ARITHMETICS),
    st.integers(0, 1000).map(lambda n: 4 * n),
    st.booleans(),
)
def test_a_run_equals_its_elements(
    distribution: str,
    seed: int,
    threads: int,
    start: int,
    size: int,
    arithmetic: str,
    offset: int,
    double: bool,
) -> None:
    """Any run of any launch gives what its elements give one by one."""
    run = standard_range(
        distribution, seed, threads, start, start + size, arithmetic, offset=offset, double=double
    )
    indices = np.arange(start, start + size)
    assert (
        run.tobytes() == scattered(distribution, seed, threads, indices, arithmetic, offset, double).tobytes()
    )


@pytest.mark.parametrize("distribution", ["normal", "uniform"])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_threads_change_nothing(distribution: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request above the size of one share is the same for any number of cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(workers)), raising=False)
    run = standard_range(distribution, 9, 40_960, 12_345, 700_001, VOLTA)
    assert run.tobytes() == scattered(distribution, 9, 40_960, np.arange(12_345, 700_001), VOLTA).tobytes()
    stored = stored_range(distribution, (-0.02, 0.03), "bfloat16", 9, 40_960, 12_345, 700_001, VOLTA)
    assert stored.tobytes() == finish(distribution, run, (-0.02, 0.03), "bfloat16").tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("version", ["2.1+", "2.0-"])
def test_stored_runs_are_finished_standard_runs(dtype: str, version: str) -> None:
    """One pass gives what two give, in every dtype and version."""
    for distribution in ("normal", "uniform"):
        standard = standard_range(distribution, 1, 1024, 100, 9000, VOLTA, double=dtype == "float64")
        found = stored_range(distribution, (-0.1, 0.3), dtype, 1, 1024, 100, 9000, VOLTA, version=version)
        assert found.tobytes() == finish(distribution, standard, (-0.1, 0.3), dtype, version).tobytes()


def test_far_positions() -> None:
    """Elements beyond 2^32, offsets beyond 2^34 and thread numbers keep all their bits."""
    start, threads, offset = 10**10, 270_336, 4 * (2**33 + 5)
    run = standard_range("normal", 3, threads, start, start + 5000, VOLTA, offset=offset)
    assert (
        run.tobytes()
        == scattered("normal", 3, threads, np.arange(start, start + 5000), VOLTA, offset).tobytes()
    )
    moved = standard_range("normal", 3, threads, start, start + 5000, VOLTA, offset=offset + 4)
    assert not np.any(moved == run)


def test_uniforms_are_the_words_lane_by_lane() -> None:
    """Each lane's uniform is its own word's, on NVIDIA half a step up."""
    block = words(42, np.array([7], np.uint64), np.array([99], np.uint64))[0]
    lanes = np.arange(4, dtype=np.uint8)
    found = standard_at(
        "uniform",
        np.array([42], np.uint64),
        np.full(4, 7, np.uint64),
        np.full(4, 99, np.uint64),
        lanes,
        VOLTA,
    )
    assert np.array_equal(found, block.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33))


def test_a_seed_for_each_element() -> None:
    """Different seeds in one request give what they give alone."""
    seeds, thread, lane = (
        np.array([1, 2**63, 2**64 - 1], np.uint64),
        np.array([5, 5, 6], np.uint64),
        np.array([0, 1, 3], np.uint8),
    )
    together = standard_at("normal", seeds, np.zeros(3, np.uint64), thread, lane, VOLTA)
    alone = [
        standard_at("normal", seeds[[i]], np.zeros(1, np.uint64), thread[[i]], lane[[i]], VOLTA)[0]
        for i in range(3)
    ]
    assert together.tolist() == alone


def test_shapes_are_kept_and_nothing_is_nothing() -> None:
    """Positions of any shape give values of that shape; empty requests give empty arrays."""
    grid = np.arange(6, dtype=np.uint64).reshape(2, 3)
    found = standard_at("normal", np.array([0], np.uint64), 0 * grid, grid, np.zeros((2, 3), np.uint8), VOLTA)
    assert found.shape == (2, 3)
    assert found.view(np.uint32)[0].tolist() == [0xBF6CB6AD, 0xBED9C6B8, 0xC02934C5]
    none = np.zeros(0, np.uint64)
    assert (
        standard_at("uniform", np.array([0], np.uint64), none, none, none.astype(np.uint8), VOLTA).size == 0
    )
    assert standard_range("normal", 0, 256, 5, 5, VOLTA).size == 0
    assert stored_range("uniform", (0.0, 1.0), "float64", 0, 256, 5, 5, VOLTA).size == 0


def test_read_only_positions_are_accepted() -> None:
    """Arrays that may not be written to, such as mapped ones, work and stay as they are."""
    thread = np.arange(4, dtype=np.uint64)
    thread.setflags(write=False)
    found = standard_at(
        "normal", np.array([42], np.uint64), np.zeros(4, np.uint64), thread, np.zeros(4, np.uint8), VOLTA
    )
    assert found.view(np.uint32).tolist() == [0x3E46ACDD, 0x400A53F2, 0xBE302DEF, 0x3F595C01]


def test_what_cannot_be_is_refused() -> None:
    """Unfit lengths, lanes, ranges, offsets and names are usage errors, each in one line."""
    one = np.zeros(1, np.uint64)
    lane = np.zeros(1, np.uint8)
    with pytest.raises(UsageError, match="do not fit together"):
        standard_at("normal", one, one, np.zeros(2, np.uint64), lane, VOLTA)
    with pytest.raises(UsageError, match="lane 4 is out of range"):
        standard_at("normal", one, one, one, lane + 4, VOLTA)
    with pytest.raises(UsageError, match="lane 2 is out of range"):
        standard_at("normal", one, one, one, lane + 2, VOLTA, double=True)
    with pytest.raises(UsageError, match="multiples of 4"):
        standard_range("normal", 0, 256, 0, 1, VOLTA, offset=2)
    with pytest.raises(UsageError, match="no range"):
        standard_range("normal", 0, 256, 2, 1, VOLTA)
    with pytest.raises(UsageError, match="positive"):
        stored_range("normal", (0.0, 1.0), "float32", 0, 0, 0, 1, VOLTA)
    with pytest.raises(UnknownName, match="distribution"):
        standard_range("gamma", 0, 256, 0, 1, VOLTA)
    with pytest.raises(UnknownName, match="arithmetic"):
        standard_range("normal", 0, 256, 0, 1, "volta")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_values_can_be_written_where_one_wants_them(dtype: str) -> None:
    """Into a part of an array, the same values as without, and nothing beside it."""
    carrier = np.float64 if dtype == "float64" else np.float32
    memory = np.full(2_010, 7, carrier)
    found = stored_range("normal", (0.5, 2.0), dtype, 3, 256, 100, 2_100, VOLTA, out=memory[5:2_005])

    assert np.shares_memory(found, memory)
    assert np.array_equal(found, stored_range("normal", (0.5, 2.0), dtype, 3, 256, 100, 2_100, VOLTA))
    assert np.all(memory[:5] == 7)
    assert np.all(memory[2_005:] == 7)
    with pytest.raises(UsageError, match="contiguous"):
        stored_range("normal", (0.0, 1.0), dtype, 3, 256, 0, 5, VOLTA, out=memory[0:10:2])
