"""Draws of many elements: at any positions, or over a run of one launch.

"Standard" values are what a generator's words alone give: standard normals, or uniforms in (0, 1], from which
truncated normals are made as well. "Stored" values are those after the draw's own parameters and rounding,
decoded. Both come as float32, or as float64 for double. Large requests are shared among a few threads, since
the loops hold no lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.philox import key_of
from birthmark.samplers.arithmetic import code_of
from birthmark.samplers.loops import doubles, halves, pairs, units, word_pairs, words_of_run
from birthmark.samplers.storing import NORMAL, UNIFORM, Store, source_of, store, stored_64

#: What words alone can give.
SOURCES: Final = (NORMAL, UNIFORM)

#: Elements below which the calling thread does all the work, and of one share of a larger request.
SMALL: Final = 1 << 17

#: Blocks of which a run computes the words at a time; words and values together stay in a core's own cache.
CHUNK: Final = 1 << 13

#: Words of one call for each thread of a launch: one float32 each, or half a float64.
LANES: Final = 4


def standard_at(
    distribution: str,
    seed_keys: NDArray[np.uint64],
    counter: NDArray[np.uint64],
    thread: NDArray[np.uint64],
    lane: NDArray[np.uint8],
    arithmetic: str,
    double: bool = False,
) -> NDArray[Any]:
    """Standard values at any positions of Philox streams.

    Args:
        distribution: "normal" or "uniform".
        seed_keys: 64-bit seeds, one for each element or a single one for all.
        counter: offset / 4 plus earlier calls of the thread, one for each element.
        thread: global thread index, one for each element.
        lane: which of the call's values: 0 to 3, or 0 to 1 for double.
        arithmetic: a name of `birthmark.samplers.arithmetic.ARITHMETICS`.
        double: whether the draw is a float64 one.

    Returns:
        float32, or float64 for double, of `counter`'s shape.

    Raises:
        UsageError: the arrays do not have one length, or a lane is out of range.
        UnknownName: no such distribution or arithmetic.
    """
    code = code_of(arithmetic)
    uniform = _is_uniform(distribution)
    keys = _flat(seed_keys, np.uint64)
    counters, threads, lanes = _flat(counter, np.uint64), _flat(thread, np.uint64), _flat(lane, np.uint8)
    n = counters.size
    if threads.size != n or lanes.size != n or keys.size not in (1, n):
        raise UsageError(
            f"{keys.size} seeds, {n} counters, {threads.size} threads and {lanes.size} lanes do not fit "
            "together; give one of each for every element, or a single seed for all."
        )
    if n and lanes.max() >= (LANES // 2 if double else LANES):
        raise UsageError(
            f"lane {lanes.max()} is out of range: a call gives {LANES // 2 if double else LANES} values."
        )
    out: NDArray[Any] = np.empty(n, np.float64 if double else np.float32)

    def fill(part: slice) -> None:
        own = np.ascontiguousarray(np.broadcast_to(keys, n)[part])
        if double:
            doubles(uniform, own, counters[part], threads[part], lanes[part], code, out[part])
            return
        packed = np.empty(own.size, np.uint64)
        word_pairs(own, counters[part], threads[part], lanes[part], packed)
        odd = (lanes[part] & 1).astype(np.uint32)
        if uniform:
            units((packed >> (odd * np.uint64(32))).astype(np.uint32), code, out[part])
        else:
            x, y = (np.ascontiguousarray(packed.view("<u4")[word::2]) for word in (0, 1))
            halves(x, y, odd, code, out[part])

    _shared(fill, _slices(n))
    return out.reshape(np.shape(counter))


def finish(
    distribution: str,
    standard: NDArray[Any],
    parameters: tuple[float, ...],
    dtype: str,
    version: str = "2.1+",
) -> NDArray[Any]:
    """Stored values of a draw from its standard values.

    Args:
        distribution: "normal", "uniform" or "truncated-normal".
        standard: standard values of any shape: float64 for a float64 draw, else float32. Those of a
            truncated normal are uniforms, but from torch 2.12 on normals that lie within its bounds.
        parameters: (mean, std), (low, high), or (mean, std, a, b), as the caller passed them.
        dtype: the dtype at draw time.
        version: one of `birthmark.samplers.storing.versions` of the distribution.

    Returns:
        Values that `dtype` holds exactly, of the same shape: float64 for "float64", else float32.

    Raises:
        UnknownName: no such distribution, dtype or version rule.
    """
    if dtype == "float64":
        values = _flat(standard, np.float64)
        return stored_64(distribution, parameters, values, version).reshape(np.shape(standard))
    finished = store(distribution, parameters, dtype, version)
    given = _flat(standard, np.float32)
    out = np.empty(given.size, np.float32)
    _shared(lambda part: finished(given[part], out[part]), _slices(given.size))
    return out.reshape(np.shape(standard))


def standard_range(
    distribution: str,
    seed: int,
    threads: int,
    start: int,
    stop: int,
    arithmetic: str,
    *,
    offset: int = 0,
    double: bool = False,
) -> NDArray[Any]:
    """Standard values of elements start to stop of one launch, each block computed once.

    Args:
        distribution: "normal" or "uniform".
        seed: the generator's seed, any integer; taken modulo 2^64.
        threads: total threads G of the launch.
        start: the first element, from 0 on.
        stop: the one after the last.
        arithmetic: a name of `birthmark.samplers.arithmetic.ARITHMETICS`.
        offset: the generator's offset when the launch starts, a multiple of 4.
        double: whether the draw is a float64 one.

    Returns:
        float32, or float64 for double, of shape (stop - start,).

    Raises:
        UsageError: a range, thread count or offset that cannot be.
        UnknownName: no such distribution or arithmetic.
    """
    _check_launch(threads, start, stop, offset)
    if double:
        return _double_range(distribution, seed, threads, start, stop, arithmetic, offset)
    return _range(distribution, seed, threads, start, stop, arithmetic, offset, None)


def stored_range(
    distribution: str,
    parameters: tuple[float, ...],
    dtype: str,
    seed: int,
    threads: int,
    start: int,
    stop: int,
    arithmetic: str,
    *,
    offset: int = 0,
    version: str = "2.1+",
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Stored values of elements start to stop of one launch: `finish` of `standard_range`, in one pass.

    The arguments, the result's shape and the errors are theirs. A truncated normal from torch 2.12 on is its
    first draw, whatever the bounds. `out`, where given, is filled and returned: one-dimensional, contiguous,
    of the result's size and type.
    """
    _check_launch(threads, start, stop, offset)
    carrier = np.dtype(np.float64 if dtype == "float64" else np.float32)
    if out is not None and (
        out.shape != (stop - start,) or out.dtype != carrier or not out.flags.c_contiguous
    ):
        raise UsageError(
            f"values {out.dtype} {out.shape} to fill: expected {stop - start} contiguous ones of {carrier}."
        )
    source = source_of(distribution, version)
    if dtype == "float64":
        standard = _double_range(source, seed, threads, start, stop, arithmetic, offset)
        wide = stored_64(distribution, parameters, standard, version)
        if out is None:
            return wide
        out[:] = wide
        return out
    finished = store(distribution, parameters, dtype, version)
    return _range(source, seed, threads, start, stop, arithmetic, offset, finished, out)


def _range(
    distribution: str,
    seed: int,
    threads: int,
    start: int,
    stop: int,
    arithmetic: str,
    offset: int,
    finished: Store | None,
    into: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """Elements start to stop: stored values with the last steps of a draw, else standard ones."""
    uniform, code, key = _is_uniform(distribution), code_of(arithmetic), key_of(seed)
    out = np.empty(stop - start, np.float32) if into is None else into
    per_call = LANES * threads

    def fill(part: slice) -> None:
        """Make what the threads of `part` make, chunk by chunk."""
        buffer, values = np.empty(LANES * CHUNK, np.uint32), np.empty((LANES, CHUNK), np.float32)
        for call in range(start // per_call, -(-stop // per_call)):
            for thread in range(part.start, part.stop, CHUNK):
                count = min(CHUNK, part.stop - thread)
                # Lane l of these threads makes the elements from `firsts[l]` on, relative to `out`.
                firsts = [call * per_call + lane * threads + thread - start for lane in range(LANES)]
                touched = [lane for lane, first in enumerate(firsts) if -count < first < out.size]
                if not touched:
                    continue
                counter = np.uint64(offset // LANES + call)
                words = buffer[: LANES * count].reshape(LANES, count)
                words_of_run(key, counter, np.uint64(thread), words)
                if uniform:
                    for lane in touched:
                        units(words[lane], code, values[lane, :count])
                else:
                    for even in {lane & 2 for lane in touched}:
                        pairs(
                            words[even], words[even + 1], code, values[even, :count], values[even + 1, :count]
                        )
                for lane in touched:
                    first = firsts[lane]
                    made = values[lane, max(0, -first) : min(count, out.size - first)]
                    target = out[max(0, first) : max(0, first) + made.size]
                    if finished is None:
                        target[:] = made
                    else:
                        finished(made, target)

    # Shares are runs of threads, not of elements, so that no block is computed by two of them.
    _shared(fill, _slices(threads, 4 * CHUNK) if out.size > SMALL else [slice(0, threads)])
    return out


def _double_range(
    distribution: str, seed: int, threads: int, start: int, stop: int, arithmetic: str, offset: int
) -> NDArray[np.float64]:
    keys = np.asarray([key_of(seed)])
    out = np.empty(stop - start, np.float64)
    lanes = LANES // 2
    for part in _slices(stop - start):
        call, rest = np.divmod(
            np.arange(start + part.start, start + part.stop, dtype=np.uint64), np.uint64(lanes * threads)
        )
        lane, thread = np.divmod(rest, np.uint64(threads))
        counter = call + np.uint64(offset // LANES)
        out[part] = standard_at(distribution, keys, counter, thread, lane.astype(np.uint8), arithmetic, True)
    return out


def _check_launch(threads: int, start: int, stop: int, offset: int) -> None:
    if not 0 <= start <= stop:
        raise UsageError(f"elements {start} to {stop} are no range; give 0 <= start <= stop.")
    if threads < 1:
        raise UsageError(f"a launch of {threads} threads makes nothing; give a positive number.")
    if offset < 0 or offset % LANES:
        raise UsageError(
            f"offset {offset} cannot be: torch's CUDA offsets are multiples of {LANES}, from 0 on."
        )


def _is_uniform(distribution: str) -> bool:
    if distribution not in SOURCES:
        raise UnknownName("distribution of standard values", distribution, SOURCES)
    return distribution == UNIFORM


def _flat(values: Any, dtype: type[np.generic]) -> NDArray[Any]:  # noqa: ANN401 - whatever numpy takes
    # Writable, because read-only arrays are another type to numba, and would be compiled for again.
    return np.require(np.reshape(values, -1), dtype, ["C", "A", "W"])


def _slices(n: int, size: int = SMALL) -> list[slice]:
    return [slice(begin, min(n, begin + size)) for begin in range(0, n, size)]


def _shared(work: Callable[[slice], None], parts: Iterable[slice]) -> None:
    """Do the work of every part, with a thread for each core where there is more than one part."""
    parts = list(parts)
    workers = min(
        len(parts), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if workers < 2:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(work, parts):
            pass
