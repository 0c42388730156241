"""How fast this machine tries CPU seeds, and how that compares with C.

Loops take short turns, one after the other, over and over, timed by the processor time of their thread.
Rates are medians; ratios are medians of the ratios within a round, so that a busy machine slows both sides
alike. The C program lies in the repository (`benchmarks/cpu_seeding.c`). It is built for several block sizes:
a short race picks the two fastest loops of each kind, which are then measured anew, lest luck in the race
count.
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
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.search.cpu_positions.kernel import FIRST, scan, seeding_alone
from birthmark.search.cpu_positions.masks import state_masks
from birthmark.search.cpu_positions.selftest import check
from birthmark.search.options import Options

#: The C program, where birthmark runs from its repository.
SOURCE: Final = Path(__file__).resolve().parents[4] / "benchmarks" / "cpu_seeding.c"
#: Sizes that the C loops are built for: seeds in arrays, and vectors in registers.
BLOCKS: Final = ((64, 2), (128, 3), (256, 4), (512, 5), (1024, 6), (2048, 8), (4096, 10))
#: Seeds of one turn, which every block size divides.
SEEDS: Final = 122_880
#: Rounds of the measurement and of the race, and loops of each kind that the race leaves.
ROUNDS: Final = 35
RACE: Final = 5
LEFT: Final = 2
#: A far position, so that all words of the state count.
POSITION: Final = 1_000_003
#: Four sums to look for.
_WANTED: Final = 5

Loop = Callable[[], Any]


def cpu_search_rates(*, compare_c: bool = False) -> dict[str, float | int | str | None]:
    """Measure.

    Args:
        compare_c: build the C loops, and give the ratios.

    Returns:
        "seeding_per_second" and "four_bits_per_second": seeds a second and core, of the seeding alone and of
        the search's loop at four bits, hits collected. "threads": how many a search uses.
        "all_seeds_seconds": for 2^32 seeds at one position, if all cores are free. With `compare_c` also
        "c_seeding_per_second", "c_four_bits_per_second", "seeding_ratio", "four_bits_ratio" (speed of
        birthmark, the best C being 1) and "compiler"; None otherwise.

    Raises:
        UsageError: the C program or a compiler is missing.
        SelfTestFailed: this machine does not compute the known answers.
    """
    check()
    bits = np.uint32(1) << np.arange(FIRST, dtype=np.uint32)
    masks = state_masks(np.full(FIRST, POSITION, np.int64), bits)
    own: dict[str, Loop] = {
        "seeding": partial(seeding_alone, 0, SEEDS),
        "four": partial(scan, 0, SEEDS, masks, _WANTED),
    }
    compiler = _compiler() if compare_c else None
    with tempfile.TemporaryDirectory(prefix="birthmark-bench-") as folder:
        rivals = {} if compiler is None else _fastest(_c_loops(Path(folder), compiler, masks))
        times = _times({**own, **rivals}, ROUNDS)
    rates = {name: SEEDS / statistics.median(each) for name, each in times.items()}
    found: dict[str, float | int | str | None] = {
        "seeding_per_second": rates["seeding"],
        "four_bits_per_second": rates["four"],
        "threads": Options().threads,
        "all_seeds_seconds": 2**32 / rates["four"] / Options().threads,
        "compiler": compiler,
    }
    for kind, name in (("seeding", "seeding"), ("four", "four_bits")):
        others = [other for other in rivals if other.startswith(f"c_{kind}")]
        ratios = [statistics.median(np.divide(times[other], times[kind])) for other in others]
        found[f"c_{name}_per_second"] = max((rates[other] for other in others), default=None)
        found[f"{name}_ratio"] = min((float(each) for each in ratios), default=None)
    return found


def _times(loops: dict[str, Loop], rounds: int) -> dict[str, list[float]]:
    """Seconds of each loop in each round."""
    for loop in loops.values():
        loop()
    times: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(rounds):
        for name, loop in loops.items():
            begin = time.thread_time()
            loop()
            times[name].append(time.thread_time() - begin)
    return times


def _fastest(loops: dict[str, Loop]) -> dict[str, Loop]:
    """The fastest loops of each kind in a short race."""
    times = _times(loops, RACE)
    order = sorted(loops, key=lambda name: statistics.median(times[name]))
    kinds = ("c_seeding", "c_four")
    left = [name for kind in kinds for name in [each for each in order if each.startswith(kind)][:LEFT]]
    return {name: loops[name] for name in left}


def _c_loops(folder: Path, compiler: str, masks: NDArray[np.uint32]) -> dict[str, Loop]:
    """Both loops of each build, each written in two ways."""
    loops: dict[str, Loop] = {}
    for block, vectors in BLOCKS:
        library = _built(folder / f"{block}.so", compiler, block, vectors)
        for way in ("lanes", "vectors"):
            seeding, four = getattr(library, f"seeding_{way}"), getattr(library, f"four_{way}")
            seeding.argtypes, seeding.restype = [ctypes.c_uint32, ctypes.c_uint64], ctypes.c_uint32
            four.argtypes = [ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint32]
            four.restype = ctypes.c_uint64
            loops[f"c_seeding_{way}_{block}"] = partial(seeding, 0, SEEDS)
            loops[f"c_four_{way}_{block}"] = partial(four, 0, SEEDS, masks.ctypes.data, _WANTED)
    return loops


def _compiler() -> str:
    if not SOURCE.is_file():
        raise UsageError(f"{SOURCE} is not there: the comparison with C runs from the repository only.")
    found = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if found is None:
        raise UsageError("no C compiler was found: install one, or name it in the variable CC.")
    return found


def _built(target: Path, compiler: str, block: int, vectors: int) -> ctypes.CDLL:
    flags = ["-O3", "-march=native", f"-DBLOCK={block}", f"-DVECTORS={vectors}", "-shared", "-fPIC"]
    command = [compiler, *flags, "-o", str(target), str(SOURCE)]
    reason = ""
    for more in (["-mprefer-vector-width=512"], []):  # which only compilers for x86 know
        try:
            made = subprocess.run([*command, *more], capture_output=True, text=True, check=False)  # noqa: S603 - the user's own compiler
        except OSError as error:
            raise UsageError(f"the compiler {compiler} does not run: {error.strerror or error}.") from error
        if made.returncode == 0:
            return ctypes.CDLL(str(target))
        reason = (made.stderr.strip().splitlines() or ["no message"])[0]
    raise UsageError(f"{compiler} cannot build {SOURCE.name}: {reason}.")
