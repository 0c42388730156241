"""Checkpoints in memory, and a small model whose birth is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint, TensorInfo, Values
from birthmark.hypothesis import Hypothesis
from birthmark.numerics.dtypes import round_to
from birthmark.recipes.trace import Trace, TracedDraw, TracedStream, TracedTensor
from birthmark.recipes.trace_values import Constant, Drawn
from birthmark.replay.matching import match_trace
from birthmark.replay.replaying import Birth, Replay
from birthmark.weak_map.births import Aim, FromTrace, Predicted, from_trace

G = 2048
SHAPES = {
    "embed.weight": (900, 64),
    "layers.0.self_attn.q_proj.weight": (64, 64),
    "layers.0.self_attn.o_proj.weight": (64, 64),
    "layers.0.mlp.up_proj.weight": (96, 64),
    "layers.0.mlp.up_proj.bias": (96,),
    "experts": (4, 32, 64),
}


class BySeed(Predicted):
    """Tensors that are each a draw of the seed that they are named by; no seed or layout stands beside it."""

    hypothesis: Hypothesis

    def run(self, aim: Aim, start: int, stop: int) -> NDArray[Any]:
        return self.hypothesis.run(int(aim.name), start, stop)

    def values(self, aim: Aim, indices: NDArray[np.int64]) -> NDArray[Any]:
        return self.hypothesis.values(int(aim.name), indices)

    def of_seed(self, seed: int) -> Predicted:
        raise AssertionError(seed)

    def of_layout(self, threads: int) -> Predicted:
        raise AssertionError(threads)


class Memory(Checkpoint):
    """A checkpoint of arrays; it counts the rows that are read of each tensor."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], dtype: str = "float32") -> None:
        self.source = "memory"
        self.files = ()
        self.notes = ()
        self.arrays = {name: np.asarray(round_to(each, dtype)) for name, each in tensors.items()}
        self.tensors = {
            name: TensorInfo(name, each.shape, dtype, "memory") for name, each in self.arrays.items()
        }
        self.taken: dict[str, int] = dict.fromkeys(self.arrays, 0)

    def _matrix(self, name: str) -> NDArray[Any]:
        return self.arrays[name].reshape(self.tensors[name].matrix_shape)

    def rows(self, name: str, start: int, stop: int) -> Values:
        self.taken[name] += stop - start
        return self._matrix(name)[start:stop].copy()

    def take(self, name: str, rows: NDArray[np.int64]) -> Values:
        return self._matrix(name)[rows]

    def elements(self, name: str, indices: NDArray[np.int64]) -> Values:
        return self.arrays[name].reshape(-1)[indices]

    @property
    def bytes_read(self) -> int:
        return 0

    def close(self) -> None:
        pass


def traced(order: tuple[str, ...] = tuple(SHAPES), device: str = "cuda") -> Trace:
    """The model's tensors, drawn in that order; a norm that nothing draws."""
    draws = tuple(
        TracedDraw(
            "uniform" if name.endswith("bias") else "normal",
            (-0.1, 0.1) if name.endswith("bias") else (0.0, 0.05),
            SHAPES[name],
            tensor=name,
            after=number - 1 if number else None,
        )
        for number, name in enumerate(order)
    )
    tensors = [
        TracedTensor(name, SHAPES[name], "float32", Drawn(number)) for number, name in enumerate(order)
    ]
    tensors.append(TracedTensor("norm.weight", (64,), "float32", Constant(1.0, "float32")))
    return Trace(draws, tuple(tensors), (TracedStream(device),))


def born(trace: Trace, birth: Birth) -> dict[str, NDArray[Any]]:
    """The model before training."""
    replay = Replay(trace, birth)
    return {each.name: replay.run(each.name, 0, each.size).reshape(each.shape) for each in trace.tensors}


def structured(shape: tuple[int, ...], seed: int) -> NDArray[np.float64]:
    """What training adds: a low rank, columns with means and sizes of their own, heavy tails."""
    generator = np.random.default_rng(seed)
    rows, columns = shape[0], int(np.prod(shape[1:], dtype=int)) if len(shape) > 1 else 1
    rank = generator.normal(size=(rows, 3)) @ generator.normal(size=(3, columns))
    sizes = generator.lognormal(0.0, 0.5, columns) * generator.lognormal(0.0, 0.5, (rows, 1))
    noise = generator.standard_t(3, (rows, columns)) * sizes + generator.normal(size=columns)
    return 0.05 * (rank + noise).reshape(shape)


def trained(start: Mapping[str, NDArray[Any]], amount: float = 1.0) -> dict[str, NDArray[Any]]:
    """The model after training, but for the last fifty rows of its embedding."""
    made = {
        name: values + amount * structured(values.shape, number)
        for number, (name, values) in enumerate(start.items())
    }
    made["embed.weight"][-50:] = start["embed.weight"][-50:]
    return made


def predicted(checkpoint: Checkpoint, trace: Trace, seed: int = 42, threads: int | None = G) -> FromTrace:
    """What a trace predicts of a checkpoint."""
    return from_trace(
        checkpoint, trace, Birth(seed, threads), match_trace(trace, checkpoint.tensors, partial=True)
    )


@pytest.fixture(scope="session")
def model() -> Memory:
    """The trained model, of seed 42 on G threads, in bfloat16."""
    return Memory(trained(born(traced(), Birth(42, G))), "bfloat16")


@pytest.fixture
def pool() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as made:
        yield made
