"""Hold a real GPU against the predictions: stock PyTorch draws, and every bit is compared.

Sizes lie around one wave, several waves, and one tensor so large that PyTorch splits it. PyTorch makes all
values with its own kernels; nothing of birthmark runs on the GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from birthmark import __version__
from birthmark.devices.layout import INDEX_LIMIT
from birthmark.errors import NothingToSearch, UsageError
from birthmark.numerics.dtypes import decode, is_float, ulps
from birthmark.samplers.truncated import REDRAWING
from birthmark.torch.generators import GeneratorClass
from birthmark.torch.gpu_cases import CASES, Case, held, stored
from birthmark.torch.gpu_record import SPLIT, Check, GpuRecord, Slice, digest, split_draw

#: The seed of every draw.
SEED: Final = 20_241_212
#: Elements of a huge tensor that are compared at a time.
CHUNK: Final = 1 << 24
#: Elements at each end of a launch of a huge tensor whose digest is kept.
WINDOW: Final = 1 << 12


def check_gpu(
    device: int = 0,
    *,
    cases: Iterable[Case] = CASES,
    huge: bool = True,
    told: Callable[[Check], None] = lambda check: None,  # noqa: ARG005 - nobody listens
) -> GpuRecord:
    """Let a GPU draw, and compare.

    The state of PyTorch's generators is as before afterwards.

    Args:
        device: which GPU, as PyTorch numbers them.
        cases: the draws.
        huge: whether to draw a tensor above 2 GiB as well, which needs that much memory on the GPU.
        told: called after each draw.

    Raises:
        NothingToSearch: PyTorch finds no GPU here.
        UsageError: there is no GPU of this number.
    """
    if not torch.cuda.is_available():
        raise NothingToSearch(
            "no GPU that PyTorch can use was found here.",
            advice="Run gpu-check on a machine with one, under a PyTorch that is built for CUDA or ROCm.",
        )
    if not 0 <= device < torch.cuda.device_count():
        raise UsageError(f"GPU {device}: expected 0 to {torch.cuda.device_count() - 1}.")
    blank = _described(device)
    checks = []
    with torch.random.fork_rng(devices=[device]), torch.cuda.device(device):
        for case in cases:
            for n in sizes(blank.threads):
                checks.append(_checked(blank, case, n, device))
                told(checks[-1])
        if huge:
            checks.append(_huge(blank, device))
            told(checks[-1])
    return _with(blank, tuple(checks))


def sizes(threads: int) -> tuple[int, ...]:
    """Elements of the draws on a GPU of G threads: around one wave, around one call, and eight waves."""
    return (threads - 1, threads + 1, 4 * threads + 3, 8 * threads)


def _described(device: int) -> GpuRecord:
    """The record of a GPU before any check."""
    properties = torch.cuda.get_device_properties(device)
    virtual = isinstance(torch.Generator, GeneratorClass)
    capability = f"{properties.major}.{properties.minor}"
    arithmetic = "nvidia-volta+" if properties.major >= 7 else "nvidia-pascal-"
    return GpuRecord(
        device=properties.name,
        sm_count=properties.multi_processor_count,
        threads_per_sm=properties.max_threads_per_multi_processor,
        capability=capability,
        arithmetic="amd" if torch.version.hip else arithmetic,
        torch=torch.__version__,
        cuda=torch.version.cuda,
        hip=torch.version.hip,
        birthmark=__version__,
        virtual=virtual,
        checks=(),
    )


def _with(record: GpuRecord, checks: tuple[Check, ...]) -> GpuRecord:
    fields = {name: getattr(record, name) for name in GpuRecord.__slots__ if name != "checks"}
    return GpuRecord(**fields, checks=checks)


def _drawn(case: Case, n: int, device: int) -> tuple[torch.Tensor, int]:
    """What the GPU draws, and its offset afterwards."""
    torch.cuda.manual_seed(SEED)
    tensor = case.draw(n, f"cuda:{device}")
    torch.cuda.synchronize(device)
    return tensor, int(torch.cuda.default_generators[device].get_offset())


def _checked(record: GpuRecord, case: Case, n: int, device: int) -> Check:
    tensor, end = _drawn(case, n, device)
    got = held(tensor)
    source = record.stream(SEED)
    expected = stored(case.predict(source, n), case.dtype)
    different = np.flatnonzero(got != expected)
    furthest = _furthest(got[different], expected[different], case.dtype)
    waves = range(0, n, record.threads)
    return Check(
        case=case.name,
        n=n,
        seed=SEED,
        end_offset=end,
        predicted_offset=source.offset,
        unequal=int(different.size),
        first=int(different[0]) if different.size else None,
        furthest=furthest,
        agrees=end == source.offset and _forgiven(case, record, got[different], expected[different]),
        slices=tuple(
            Slice(start, min(start + record.threads, n), digest(got[start : start + record.threads]))
            for start in waves
        ),
    )


def _tolerance(case: Case, record: GpuRecord) -> int:
    """Units by which this GPU's values may differ; see `Case`."""
    if record.arithmetic == "amd" and "uniform" not in case.name and is_float(case.dtype):
        return max(case.tolerance, 4)
    if case.name.startswith("truncated") and record.stream(0).rules.truncated == REDRAWING:
        return 0
    return case.tolerance


def _forgiven(case: Case, record: GpuRecord, got: NDArray[Any], expected: NDArray[Any]) -> bool:
    """Whether bit patterns that differ do so by no more than the case allows."""
    if not got.size:
        return True
    if not is_float(case.dtype):
        return False
    values, predicted = decode(got, case.dtype), decode(expected, case.dtype)
    near = ulps(values, predicted, case.dtype) <= _tolerance(case, record)
    return bool((near | (np.abs(values - predicted) <= case.absolute)).all())


def _furthest(got: NDArray[Any], expected: NDArray[Any], dtype: str) -> int | None:
    """The most units in the last place between bit patterns; None for integers, and where all are equal."""
    if not is_float(dtype) or not got.size:
        return None
    return int(ulps(decode(got, dtype), decode(expected, dtype), dtype).max())


def _huge(record: GpuRecord, device: int) -> Check:
    """Normals in float32, one more than 32-bit indices reach, so that PyTorch draws them in two launches."""
    n = (INDEX_LIMIT + 1) // 4 + 1
    torch.cuda.manual_seed(SEED)
    tensor = torch.randn(n, device=f"cuda:{device}")
    torch.cuda.synchronize(device)
    end = int(torch.cuda.default_generators[device].get_offset())
    draw = split_draw(record, n)
    unequal, first, furthest = 0, None, None
    for start in range(0, n, CHUNK):
        got = held(tensor[start : start + CHUNK])
        expected = stored(draw.run(SEED, start, min(start + CHUNK, n)), "float32")
        different = np.flatnonzero(got != expected)
        if different.size:
            unequal += int(different.size)
            first = start + int(different[0]) if first is None else first
            furthest = max(_furthest(got[different], expected[different], "float32") or 0, furthest or 0)
    half = n // 2
    windows = (0, half - WINDOW, half, n - WINDOW)
    return Check(
        case=SPLIT,
        n=n,
        seed=SEED,
        end_offset=end,
        predicted_offset=draw.end_offset,
        unequal=unequal,
        first=first,
        furthest=furthest,
        agrees=end == draw.end_offset and not unequal,
        slices=tuple(
            Slice(start, start + WINDOW, digest(held(tensor[start : start + WINDOW]))) for start in windows
        ),
    )
