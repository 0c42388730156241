"""Draws of neighbouring generators as origins: judged, packed and reported like any other."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.minstd import MODULUS
from birthmark.generators.threefry import COUNTERS, Counters, Key, key_of
from birthmark.numerics.dtypes import round_to
from birthmark.samplers.jax_draw import Distribution, JaxDraw
from birthmark.samplers.paddle_minstd import MinstdDraw
from birthmark.search.neighbours.finding import NeighbourFinding
from birthmark.search.neighbours.jax_bits import turned
from birthmark.search.neighbours.jax_paths import KeyPath, Step, all_paths, short_paths
from birthmark.search.neighbours.observed import Observed
from birthmark.search.origin import DECOYS, Found, Origin

#: What JAX draws.
KINDS: Final[tuple[Distribution, ...]] = ("normal", "uniform", "truncated-normal")
#: JAX's seeds are tried as false ones so often: each is led to its key and drawn anew.
DECOYS_JAX: Final = 256


@dataclass(frozen=True, slots=True)
class MinstdOrigin:
    """A draw of PaddlePaddle's minimal standard engine.

    Attributes:
        distribution: "normal" or "uniform".
        parameters: (mean, std) or (low, high).
        size: elements of the tensor.
        seed: of the operator, modulo 2^31 - 1.
        dtype: the stored dtype.
    """

    distribution: Literal["normal", "uniform"]
    parameters: tuple[float, float]
    size: int
    seed: int
    dtype: str

    @property
    def generator(self) -> str:
        """Its name in a reading."""
        return "minstd"

    @property
    def platform(self) -> str:
        """Where it runs."""
        return "paddle"

    @property
    def arithmetic(self) -> None:
        """There is one."""

    @property
    def scale(self) -> float:
        """The standard deviation or the upper bound."""
        return abs(self.parameters[1])

    @property
    def index(self) -> int:
        """Outputs before the first element: each operator has an engine of its own."""
        return 0

    def tolerance(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Draws are predicted bit for bit, or nearly."""
        return np.zeros_like(predicted)

    def next_seed(self) -> MinstdOrigin:
        """The same with the next seed."""
        return replace(self, seed=self.seed % (MODULUS - 1) + 1)

    def next_place(self) -> None:
        """A draw has one place."""

    def others(self) -> tuple[Origin, ...]:
        """There is no other arithmetic."""
        return ()

    def words(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Each element has an output of its own."""
        return indices

    def standard(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """The drawn values."""
        return self._draw.values(self.seed, indices).astype(np.float64)

    def stored(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """The values as they would be stored."""
        return round_to(self._draw.values(self.seed, indices), self.dtype).astype(np.float64)

    def decoys(self, seeds: NDArray[np.uint64], indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """What other seeds draw."""
        draw = self._draw
        return np.stack([draw.values(int(seed), indices).astype(np.float64) for seed in seeds])

    def affordable(self, indices: NDArray[np.int64]) -> tuple[int, bool]:
        """All of the decoys, on any elements."""
        del indices
        return DECOYS, False

    @property
    def _draw(self) -> MinstdDraw:
        return MinstdDraw(self.distribution, self.parameters, self.size)


@dataclass(frozen=True, slots=True)
class JaxOrigin:
    """A draw of JAX's threefry generator.

    Attributes:
        draw: the call.
        shape: the tensor's extents as stored.
        transposed: whether the matrix was drawn transposed.
        steps: the splits and folds from the seed's key to the draw's.
        text: the same in words.
        seed: of the first key.
        dtype: the stored dtype.
    """

    draw: JaxDraw
    shape: tuple[int, ...]
    transposed: bool
    steps: tuple[Step, ...]
    text: str
    seed: int
    dtype: str

    @property
    def generator(self) -> str:
        """Its name in a reading."""
        return "threefry"

    @property
    def platform(self) -> str:
        """Where it runs."""
        return "jax"

    @property
    def arithmetic(self) -> str:
        """How XLA computed."""
        return self.draw.arithmetic

    @property
    def distribution(self) -> str:
        """The draw's."""
        return self.draw.distribution

    @property
    def parameters(self) -> tuple[float, ...]:
        """The factor, and the bounds where there are any."""
        return (1.0 if self.draw.factor is None else self.draw.factor, *(self.draw.bounds or ()))

    @property
    def scale(self) -> float:
        """The factor, or a uniform's upper bound."""
        if self.draw.factor is not None:
            return abs(self.draw.factor)
        return abs(self.draw.bounds[1]) if self.draw.bounds and self.draw.distribution == "uniform" else 1.0

    @property
    def index(self) -> None:
        """Keys are not places."""
        return None

    def tolerance(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Draws are predicted bit for bit, or nearly."""
        return np.zeros_like(predicted)

    def next_seed(self) -> JaxOrigin:
        """The same with the next seed."""
        return replace(self, seed=(self.seed + 1) % (1 << 32))

    def next_place(self) -> None:
        """A key has no place."""

    def others(self) -> tuple[Origin, ...]:
        """The same on the other kinds of hardware that compute otherwise."""
        names = ("xla-cpu", "xla-cuda")
        return tuple(
            replace(self, draw=replace(self.draw, arithmetic=name))
            for name in names
            if name != self.draw.arithmetic
        )

    def words(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Each element has bits of its own."""
        return indices

    def standard(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """The drawn values."""
        return self._values(self.key(self.seed), indices)

    def stored(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """The values as they would be stored."""
        return round_to(self._values(self.key(self.seed), indices), self.dtype).astype(np.float64)

    def decoys(self, seeds: NDArray[np.uint64], indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """What other seeds draw by the same way to the key."""
        return np.stack([self._values(self.key(int(seed)), indices) for seed in seeds])

    def affordable(self, indices: NDArray[np.int64]) -> tuple[int, bool]:
        """Some of the decoys, on any elements."""
        del indices
        return DECOYS_JAX, False

    def key(self, seed: int) -> Key:
        """The draw's key that a seed leads to."""
        return KeyPath(self.steps, self.text).key(key_of(seed), self.draw.counters)

    def _values(self, key: Key, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        places = turned(indices, self.shape) if self.transposed else indices
        return self.draw.values(key, places).astype(np.float64)


def minstd_found(observed: Observed, finding: NeighbourFinding) -> Found:
    """What `solve_minstd` found, as a candidate."""
    first, second = finding.parameters
    distribution: Literal["normal", "uniform"] = "uniform" if finding.distribution == "uniform" else "normal"
    origin = MinstdOrigin(distribution, (first, second), observed.size, finding.seed, observed.dtype)
    return Found(
        observed.tensor,
        origin,
        "solve",
        f"solved from a few values: {finding.rule}",
        True,
        True,
        finding.trials,
    )


def jax_found(observed: Observed, finding: NeighbourFinding) -> Found | None:
    """What `search_jax` found, as a candidate; None where its way to the key has no name here."""
    path, counters, transposed = _way(observed.tensor, finding)
    if path is None:
        return None
    bounds = finding.parameters[1:]
    uniform = finding.distribution == "uniform"
    factor = finding.parameters[0]
    draw = JaxDraw(
        next(kind for kind in KINDS if kind == finding.distribution),
        math.prod(observed.shape),
        (bounds[0], bounds[1]) if len(bounds) == 2 else None,
        None if uniform and factor == 1.0 else factor,
        finding.dtype,
        counters,
        finding.arithmetic,
        "compiled with its scaling" in finding.sampler,
    )
    origin = JaxOrigin(draw, observed.shape, transposed, path.steps, path.text, finding.seed, observed.dtype)
    how = f"found among the keys that programs make: {finding.rule} ({finding.sampler})"
    return Found(observed.tensor, origin, "search", how, True, True, finding.trials)


def _way(tensor: str, finding: NeighbourFinding) -> tuple[KeyPath | None, Counters, bool]:
    """The way from seed to key that a finding's rule names in words."""
    for counters in COUNTERS:
        for transposed in (False, True):
            for path in (*short_paths(tensor), *all_paths(tensor)):
                parts = (
                    f"PRNGKey({finding.seed})",
                    path.text,
                    f"counters {counters}",
                    "the matrix transposed" if transposed else "",
                )
                if ", ".join(part for part in parts if part) == finding.rule:
                    return path, counters, transposed
    return None, "partitionable", False
