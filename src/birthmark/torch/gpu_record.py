"""The record of a checked GPU: what it drew, as digests, so that anyone can hold birthmark against it.

A record is JSON. Those that real GPUs made lie in `tests/known_gpus/` and are known answers there:
`recompute` makes every digest again, without a GPU.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import MalformedFile, OutputError
from birthmark.samplers.cuda_draw import CudaDraw
from birthmark.samplers.cuda_stream import CudaStream
from birthmark.samplers.draw import Draw
from birthmark.torch.gpu_cases import case_of, stored

SCHEMA: Final = "birthmark.gpu/1"
#: The name of the check with a tensor above 2 GiB, of which only windows are kept.
SPLIT: Final = "normal float32, split"


@dataclass(frozen=True, slots=True)
class Slice:
    """Elements start to stop of a draw, and the SHA-256 of their bytes as the GPU held them."""

    start: int
    stop: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Check:
    """One draw of the GPU, held against the prediction.

    Attributes:
        case: the name of a `birthmark.torch.gpu_cases.Case`.
        n: elements.
        seed: of the generator, at offset 0.
        end_offset: where the GPU's generator stood afterwards.
        predicted_offset: where birthmark says it stands.
        unequal: how many elements differ in any bit.
        first: index of the first of them; None where there is none.
        furthest: by how many units in the last place the worst differs; None for integers.
        agrees: whether all of this is as it must be.
        slices: what the GPU drew.
    """

    case: str
    n: int
    seed: int
    end_offset: int
    predicted_offset: int
    unequal: int
    first: int | None
    furthest: int | None
    agrees: bool
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class GpuRecord:
    """A checked GPU.

    Attributes:
        device: as the driver names it.
        sm_count: multiprocessors that it reports.
        threads_per_sm: most resident threads of each.
        capability: its compute capability.
        arithmetic: which arithmetic its normals were held against.
        torch: the version of PyTorch.
        cuda: the CUDA version of its build; None for ROCm.
        hip: the ROCm version of its build; None for CUDA.
        birthmark: the version that checked.
        virtual: whether it was no GPU at all, but birthmark's stand-in for one.
        checks: one for each case and size.
    """

    device: str
    sm_count: int
    threads_per_sm: int
    capability: str
    arithmetic: str
    torch: str
    cuda: str | None
    hip: str | None
    birthmark: str
    virtual: bool
    checks: tuple[Check, ...]

    @property
    def threads(self) -> int:
        """G."""
        return self.sm_count * (self.threads_per_sm // 256) * 256

    @property
    def differences(self) -> tuple[Check, ...]:
        """The checks that do not agree."""
        return tuple(check for check in self.checks if not check.agrees)

    def stream(self, seed: int) -> CudaStream:
        """The GPU's generator, seeded, as birthmark predicts it."""
        return CudaStream(
            seed, threads=self.threads, arithmetic=self.arithmetic, version=self.torch, cuda=self.cuda
        )

    def to_json(self) -> str:
        """As text; one line a check, so that a diff shows what changed."""
        head = {"schema": SCHEMA, **{key: value for key, value in asdict(self).items() if key != "checks"}}
        lines = json.dumps(head, indent=1, allow_nan=False).removesuffix("\n}")
        checks = ",\n".join("  " + json.dumps(asdict(check), allow_nan=False) for check in self.checks)
        return f'{lines},\n "checks": [\n{checks}\n ]\n}}\n'


def read(path: Path) -> GpuRecord:
    """A record from its file.

    Raises:
        MalformedFile: it is none, or not of this schema.
    """
    try:
        raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if raw.pop("schema") != SCHEMA:
            raise MalformedFile(f"{path}: expected a record of schema {SCHEMA}.")
        checks = tuple(
            Check(**{**check, "slices": tuple(Slice(**each) for each in check["slices"])})
            for check in raw.pop("checks")
        )
        return GpuRecord(**raw, checks=checks)
    except (ValueError, KeyError, TypeError) as error:
        raise MalformedFile(f"{path} is no record of a checked GPU ({error}).") from error


def write(path: Path, record: GpuRecord) -> None:
    """Write a record.

    Raises:
        OutputError: it cannot be written there.
    """
    try:
        path.write_text(record.to_json(), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}.") from error


def digest(bits: NDArray[Any]) -> str:
    """The SHA-256 of bit patterns as they lie in memory, little endian."""
    return hashlib.sha256(np.ascontiguousarray(bits).tobytes()).hexdigest()


def split_draw(record: GpuRecord, n: int) -> CudaDraw:
    """The draw of the check with a tensor above 2 GiB."""
    return CudaDraw(Draw("normal", (0.0, 1.0), (n,)), n, record.threads, record.arithmetic)


def recompute(record: GpuRecord, *, most: int) -> list[str]:
    """What birthmark would say today of a record: one line for each disagreement with the GPU.

    Args:
        record: made by a GPU.
        most: elements up to which a draw is made again; larger ones are left out, but for the split tensor,
            whose windows are made by random access.
    """
    wrong = []
    for check in record.checks:
        if check.case == SPLIT:
            draw = split_draw(record, check.n)
            if draw.end_offset != check.end_offset:
                wrong.append(f"{SPLIT}: offset {draw.end_offset}, not {check.end_offset}")
            wrong += [
                f"{SPLIT}: elements {each.start} to {each.stop} differ"
                for each in check.slices
                if digest(stored(draw.run(check.seed, each.start, each.stop), "float32")) != each.sha256
            ]
            continue
        if check.n > most:
            continue
        case, source = case_of(check.case), record.stream(check.seed)
        bits = stored(case.predict(source, check.n), case.dtype)
        if source.offset != check.end_offset:
            wrong.append(f"{check.case}, n = {check.n}: offset {source.offset}, not {check.end_offset}")
        if check.unequal:  # its bits were not predicted then, within the tolerance of the case
            continue
        wrong += [
            f"{check.case}, n = {check.n}: elements {each.start} to {each.stop} differ"
            for each in check.slices
            if digest(bits[each.start : each.stop]) != each.sha256
        ]
    return wrong
