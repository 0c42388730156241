"""How fast this machine searches, as ratios of loops that ran side by side.

Every loop is timed in short turns, one loop after the other, over and over, by the processor time of its
thread; what is compared are the medians. So a busy machine slows all of them alike. The C program that the
kernel is compared with lies in the repository (`benchmarks/philox_c.c`); the system's compiler builds it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from birthmark.errors import UsageError
from birthmark.search.kernel import constants, count_passing, scan
from birthmark.search.options import Options
from birthmark.search.selftest import check
from birthmark.search.windows import words_test

#: The C program, where birthmark runs from its repository.
SOURCE = Path(__file__).resolve().parents[3] / "benchmarks" / "philox_c.c"
#: Seeds of one turn, and turns.
SEEDS, TURNS = 1 << 21, 25
#: A probe that about one seed in 20,000 passes: a standard normal of 4.4 known to 5 %.
PROBE = (4.18, 4.62)
#: Call and thread of the block.
CALL, THREAD = 0, 5


@dataclass(frozen=True, slots=True)
class BenchResult:
    """Figures of one run, for one core.

    Attributes:
        kernel: nanoseconds a seed of the bare kernel: one Philox block, its words compared.
        search: nanoseconds a seed of the search's loop, hits collected.
        share: the share of seeds that passed.
        c_20: nanoseconds a seed of the C loop with a full block of 20 multiplications; None if not compared.
        c_16: the same with the 16 multiplications that depend on the seed.
        cores: cores that a search uses.
        compiler: which compiler made the C loops.
    """

    kernel: float
    search: float
    share: float
    c_20: float | None
    c_16: float | None
    cores: int
    compiler: str | None

    @property
    def search_to_kernel(self) -> float:
        """Speed of the search's loop, the kernel's being 1."""
        return self.kernel / self.search

    @property
    def kernel_to_c20(self) -> float | None:
        """Speed of the kernel, that of the C loop with 20 multiplications being 1."""
        return None if self.c_20 is None else self.c_20 / self.kernel

    @property
    def kernel_to_c16(self) -> float | None:
        """Speed of the kernel, that of the C loop with 16 multiplications being 1."""
        return None if self.c_16 is None else self.c_16 / self.kernel

    @property
    def whole_range_seconds(self) -> float:
        """Seconds for all 2^32 seeds and one block, if all cores are free and none slows another."""
        return self.search * 1e-9 * 2**32 / self.cores


def bench(*, compare_c: bool = False) -> BenchResult:
    """Measure.

    Args:
        compare_c: build and time the C loops as well.

    Raises:
        UsageError: the C program, a compiler or AVX2 is missing.
        SelfTestFailed: this machine does not compute the known answers.
    """
    check()
    test = words_test("normal", *PROBE, 0, double=False)
    assert test is not None
    fixed = constants(CALL, THREAD)
    hits = np.empty(SEEDS, np.uint64)
    loops: dict[str, Callable[[], int]] = {
        "kernel": lambda: count_passing(0, SEEDS, fixed, test),
        "search": lambda: scan(0, SEEDS, fixed, test, hits).passed,
    }
    with tempfile.TemporaryDirectory(prefix="birthmark-bench-") as folder:
        compiler = None
        if compare_c:
            compiler, c_loops = _c_loops(Path(folder), int(test.windows[1]))
            loops.update(c_loops)
        medians, results = _medians(loops)
    return BenchResult(
        kernel=medians["kernel"],
        search=medians["search"],
        share=results["search"] / SEEDS,
        c_20=medians.get("c_20"),
        c_16=medians.get("c_16"),
        cores=Options().threads,
        compiler=compiler,
    )


def _medians(loops: dict[str, Callable[[], int]]) -> tuple[dict[str, float], dict[str, int]]:
    """Median nanoseconds a seed of each loop, and what each returned."""
    results = {name: loop() for name, loop in loops.items()}
    times: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(TURNS):
        for name, loop in loops.items():
            begin = time.thread_time()
            loop()
            times[name].append(time.thread_time() - begin)
    return {name: statistics.median(each) / SEEDS * 1e9 for name, each in times.items()}, results


def _c_loops(folder: Path, limit: int) -> tuple[str, dict[str, Callable[[], int]]]:
    """Build the C program and wrap its loops; they count words that are at most `limit`."""
    compiler, library = _built(folder)
    return compiler, {f"c_{name}": _c_loop(library, f"philox_{name}", limit) for name in ("20", "16")}


def _c_loop(library: ctypes.CDLL, name: str, limit: int) -> Callable[[], int]:
    function = getattr(library, name)
    function.argtypes = [ctypes.c_uint32, *[ctypes.c_uint64] * 3, ctypes.c_uint32]
    function.restype = ctypes.c_uint64
    return lambda: int(function(0, SEEDS, CALL, THREAD, limit))


def _built(folder: Path) -> tuple[str, ctypes.CDLL]:
    if not SOURCE.is_file():
        raise UsageError(f"{SOURCE} is not there: the comparison with C runs from the repository only.")
    compiler = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if compiler is None:
        raise UsageError("no C compiler was found: install one, or name it in the variable CC.")
    target = folder / "philox_c.so"
    command = [compiler, "-O3", "-mavx2", "-shared", "-fPIC", "-o", str(target), str(SOURCE)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the user's own compiler
    if made.returncode:
        reason = (made.stderr.strip().splitlines() or ["no message"])[0]
        raise UsageError(f"{compiler} cannot build {SOURCE.name}: {reason}.")
    if not _has_avx2():
        raise UsageError("this processor has no AVX2, which the C loops need.")
    return _version(compiler), ctypes.CDLL(str(target))


def _has_avx2() -> bool:
    """Whether the processor says so; where nobody can be asked, yes."""
    listing = Path("/proc/cpuinfo")
    return "avx2" in listing.read_text() if listing.is_file() else True


def _version(compiler: str) -> str:
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    return (said.stdout.splitlines() or [compiler])[0]
