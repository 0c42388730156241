"""How fast this machine draws a GPU's numbers, beside torch's and numpy's own.

All are asked for fresh tensors in short turns, one after the other, over and over, and medians are compared.
"Per core" is the processor time of all threads together: torch and numpy draw on one. "On all cores" is the
time on the clock; a busy machine slows everybody then, and those who use more cores most.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from birthmark.samplers.loops import words_of_run

#: Values of one turn, and turns.
VALUES, TURNS = 1 << 22, 9
#: The GPU whose numbers are drawn; a faster or slower one costs the same.
GPU = "H100 SXM"
#: Threads whose words are made at a time; they stay in a core's own cache.
RUN = 1 << 13


@dataclass(frozen=True, slots=True)
class Speed:
    """Nanoseconds a value: processor time of all threads, and time on the clock."""

    core: float
    clock: float


@dataclass(frozen=True, slots=True)
class DrawSpeeds:
    """Figures of one run.

    Attributes:
        normals: float32 normals of a virtual GPU, exact, by `torch.randn(n, device="cuda")`.
        torch_normals: `torch.randn(n)` on the CPU.
        numpy_normals: `Generator(Philox).standard_normal(n, float32)`.
        words: 32-bit words of Philox4x32-10, on one core.
        numpy_words: those of numpy's Philox4x64-10, half of one of its 64-bit words.
    """

    normals: Speed
    torch_normals: Speed
    numpy_normals: Speed
    words: Speed
    numpy_words: Speed

    @property
    def to_torch(self) -> float:
        """Speed of the normals per core, that of torch's being 1."""
        return self.torch_normals.core / self.normals.core

    @property
    def to_numpy(self) -> float:
        """Speed of the normals per core, that of numpy's being 1."""
        return self.numpy_normals.core / self.normals.core

    @property
    def to_torch_on_all(self) -> float:
        """Speed of the normals on all cores, that of torch's being 1."""
        return self.torch_normals.clock / self.normals.clock

    @property
    def to_numpy_on_all(self) -> float:
        """Speed of the normals on all cores, that of numpy's being 1."""
        return self.numpy_normals.clock / self.normals.clock

    @property
    def words_to_numpy(self) -> float:
        """Speed of the words, that of numpy's being 1."""
        return self.numpy_words.core / self.words.core


def bench_draws() -> DrawSpeeds | None:
    """Measure; None where torch is not installed."""
    if find_spec("torch") is None:
        return None
    import torch

    from birthmark.torch import virtual_device

    generator = np.random.Generator(np.random.Philox(1))
    block = np.empty((4, RUN), np.uint32)

    def words() -> None:
        for call in range(VALUES // block.size):
            words_of_run(np.uint64(1), np.uint64(call), np.uint64(0), block)

    with virtual_device(GPU):
        speeds = _medians(
            {
                "normals": lambda: torch.randn(VALUES, device="cuda"),
                "torch_normals": lambda: torch.randn(VALUES),
                "numpy_normals": lambda: generator.standard_normal(VALUES, dtype=np.float32),
                "words": words,
                "numpy_words": lambda: generator.bit_generator.random_raw(VALUES // 2),
            }
        )
    return DrawSpeeds(**speeds)


def _medians(loops: dict[str, Callable[[], object]]) -> dict[str, Speed]:
    """Median times of each loop, each run once before."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in loops}
    for loop in loops.values():
        loop()
    for _ in range(TURNS):
        for name, loop in loops.items():
            core, clock = time.process_time(), time.perf_counter()
            loop()
            times[name].append((time.process_time() - core, time.perf_counter() - clock))
    return {
        name: Speed(*(statistics.median(each[which] for each in taken) / VALUES * 1e9 for which in (0, 1)))
        for name, taken in times.items()
    }
