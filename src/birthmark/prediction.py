"""Another GPU's numbers: whole tensors or rows of one.

A request says what is drawn, on which device, by which release of PyTorch and from which seed and offset on;
it is checked as a whole before anything is computed. `birthmark.prediction_file` writes what it stands for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark import __version__
from birthmark.devices.catalogue import Device, find
from birthmark.distributed import Distributed
from birthmark.drawn import Drawn, Parameters, named, sampler_of, stand_for, version_of
from birthmark.errors import UsageError
from birthmark.hypothesis import Arithmetic, Hypothesis
from birthmark.numerics.dtypes import format_of, round_to
from birthmark.recipes.dtensor import Placement
from birthmark.recipes.sharding import WHOLE, Sharding
from birthmark.samplers.cuda_draw import CudaDraw
from birthmark.samplers.naming import PERMUTATION, exact
from birthmark.samplers.permutation import Permutation
from birthmark.samplers.torch_rules import LAST, rules

#: What `torch.manual_seed` accepts; negative seeds wrap modulo 2^64.
LEAST_SEED, SEED_END = -(1 << 63), 1 << 64
#: The release that is taken where none is named.
NEWEST = f"{LAST[0]}.{LAST[1]}"


def checked_seed(seed: int) -> int:
    """The same seed, if `torch.manual_seed` takes it.

    Raises:
        UsageError: it lies outside -2^63 to 2^64 - 1.
    """
    if not LEAST_SEED <= seed < SEED_END:
        raise UsageError(f"seed {seed}: expected -2^63 to 2^64 - 1, as torch.manual_seed does.")
    return seed


@dataclass(frozen=True, slots=True)
class Prediction:
    """Rows of a tensor as a device would draw them.

    Attributes:
        drawn: everything but the seed.
        distribution: the draw's name.
        parameters: its numbers, by name, in order.
        shape: extents of the whole tensor.
        dtype: the dtype at draw time.
        seed: the seed of rank 0, as given.
        rows: first row, and the one after the last; a tensor with one dimension is one row.
        device: the device, where it was named; None where only its layout was.
        torch: the release whose rules are followed, where one was named.
        cast: the dtype that the values were rounded to after the draw; None where they were not.
    """

    drawn: Drawn
    distribution: str
    parameters: Mapping[str, float | int | None]
    shape: tuple[int, ...]
    dtype: str
    seed: int
    rows: tuple[int, int]
    device: Device | None
    torch: str | None = None
    cast: str | None = None

    @property
    def exact(self) -> bool:
        """Whether every bit is known to be the device's; see `birthmark.samplers.naming.exact`."""
        drawn = self.drawn
        return isinstance(drawn, Permutation) or exact(sampler_of(drawn), drawn.arithmetic)

    @property
    def end_offset(self) -> int | None:
        """The generator's offset after the draw.

        None where it depends on values that were not asked for, or differs from shard to shard: truncated
        normals of torch 2.12 and later, where bounds bite.
        """
        drawn = self.drawn
        if isinstance(drawn, CudaDraw | Permutation):
            return drawn.end_offset
        whole = self.rows == (0, matrix(self.shape)[0])
        if isinstance(drawn, Distributed):
            return drawn.end_offset_of(self.seed) if whole or not drawn.draw.redraws else None
        if not drawn.draw.redraws:
            return drawn.end_offset
        return drawn.end_offset_of(self.seed) if whole and drawn.sharding.ways == 1 else None

    def values(self) -> NDArray[Any]:
        """The values, decoded: float32 or float64, int64, or bool.

        Returns:
            An array of shape (rows, *rest), or of the tensor's own shape where that has one dimension.

        Raises:
            UsageError: the values take more memory than this machine has.
        """
        found = predict_rows(self, *self.rows)
        return found.reshape(self.shape) if len(self.shape) < 2 else found.reshape(-1, *self.shape[1:])

    def metadata(self) -> dict[str, Any]:
        """How the values came about: JSON types only."""
        drawn = self.drawn
        facts: dict[str, Any] = {
            "birthmark": __version__,
            "seed": self.seed,
            "device": self.device.name if self.device else None,
            "device_confirmed": self.device.confirmed if self.device else None,
            "threads": drawn.threads,
            "arithmetic": None if isinstance(drawn, Permutation) else drawn.arithmetic,
            "exact": self.exact,
            "generator": "philox",
            "offset": drawn.offset,
            "end_offset": self.end_offset,
            "distribution": self.distribution,
            "parameters": dict(self.parameters),
            "torch": self.torch,
            "version_rule": version_of(drawn),
            "offset_rule": drawn.offsets,
            "dtype": self.dtype,
            "cast": self.cast,
            "shape": list(self.shape),
            "rows": list(self.rows),
        }
        if isinstance(drawn, Distributed):
            cuts = [None if cut is None else [cut.dimension, cut.split] for cut in drawn.placements]
            facts |= {"mesh": list(drawn.mesh), "placements": cuts}
        elif isinstance(drawn, Hypothesis):
            facts |= {"shards": drawn.sharding.ways, "seed_rule": drawn.sharding.rule}
        return facts


def prediction(
    seed: int,
    shape: tuple[int, ...],
    *,
    device: str | None = None,
    threads: int | None = None,
    arithmetic: Arithmetic | None = None,
    dtype: str = "float32",
    distribution: str = "normal",
    parameters: Parameters = (),
    rows: tuple[int, int] | None = None,
    offset: int = 0,
    sharding: Sharding = WHOLE,
    mesh: tuple[int, ...] | None = None,
    placements: tuple[Placement, ...] = (),
    torch: str | None = None,
    cuda: str | None = None,
    version: str | None = None,
    cast: str | None = None,
) -> Prediction:
    """A checked request; `Prediction.values` computes it.

    Args:
        seed: what the generator was seeded with, -2^63 to 2^64 - 1; with shards, that of rank 0.
        shape: extents of the whole tensor.
        device: a device of the table; gives the layout and the arithmetic.
        threads: G, instead of a device.
        arithmetic: overrides the device's; with `threads` the default is Volta and newer.
        dtype: the dtype at draw time; that of a permutation changes nothing and is called int64.
        distribution: a name of `birthmark.samplers.naming.KINDS`, or "permutation".
        parameters: its numbers, in order or by name; PyTorch's defaults stand for those left out.
        rows: first row, and the one after the last; None for all.
        offset: the generator's offset before the draw, a multiple of 4.
        sharding: how Megatron cuts the tensor among processes; by default it does not.
        mesh: extents of the mesh of processes of a distributed tensor; None for a tensor of one process.
        placements: what each dimension of the mesh does to it.
        torch: the release of PyTorch, such as "2.4.1"; None for the newest that is known.
        cuda: the CUDA version of that build, where `torch` does not name it.
        version: instead of a release, the rule of a uniform's end points ("2.1+", "2.0-") or of truncated
            normals (also "2.1+cuda13", "2.12+"; without either, "2.1+").
        cast: a float dtype that the values were rounded to after the draw.

    Raises:
        UsageError: something of it cannot be; the message says what.
        UnknownName: no such device, dtype, distribution or arithmetic.
    """
    checked_seed(seed)
    if (device is None) == (threads is None):
        raise UsageError("a prediction needs a layout: give either a device or its number of threads.")
    if torch is not None and version is not None:
        raise UsageError(f"torch {torch} and the rule {version!r}: name a release or a rule, not both.")
    card = find(device) if device is not None else None
    rule = rules(torch or NEWEST, cuda)
    if torch is None:
        rule = replace(rule, uniform=version or "2.1+", truncated=version or "2.1+")
    given = named(distribution, parameters)
    dtype = "int64" if distribution == PERMUTATION else dtype
    if cast is not None:
        format_of(cast)
        if dtype not in ("float32", "float64"):
            raise UsageError(
                f"a cast of {dtype} values to {cast}: expected values drawn in float32 or float64."
            )
    drawn = stand_for(
        distribution,
        given,
        tuple(shape),
        dtype,
        rule,
        card.threads if card else threads or 0,
        arithmetic or (card.arithmetic if card else "nvidia-volta+"),
        offset,
        sharding,
        mesh,
        placements,
    )
    if int(np.prod(shape, dtype=object)) == 0:
        raise UsageError(f"shape {tuple(shape)} has no elements: there is nothing to predict.")
    count, _ = matrix(tuple(shape))
    start, stop = rows if rows is not None else (0, count)
    if not 0 <= start < stop <= count:
        raise UsageError(
            f"rows {start}:{stop} of a tensor of shape {tuple(shape)}: expected a range in 0:{count}."
        )
    return Prediction(drawn, distribution, given, tuple(shape), dtype, seed, (start, stop), card, torch, cast)


def predict(seed: int, shape: tuple[int, ...], **request: Any) -> NDArray[Any]:  # noqa: ANN401 - those of `prediction`
    """The values that `prediction` of the same arguments stands for."""
    return prediction(seed, shape, **request).values()


def predict_rows(asked: Prediction, start: int, stop: int) -> NDArray[Any]:
    """Rows start <= i < stop of the tensor's matrix view, decoded; shape (stop - start, columns).

    Raises:
        UsageError: the rows do not lie in the tensor, or take more memory than this machine has.
    """
    count, columns = matrix(asked.shape)
    if not 0 <= start <= stop <= count:
        raise UsageError(f"rows {start}:{stop}: the tensor has {count} rows; give a range in it.")
    check_memory((stop - start) * columns * (8 if asked.dtype in ("float64", "int64") else 4))
    first, last, drawn = start * columns, stop * columns, asked.drawn
    found: NDArray[Any] = drawn.run(asked.seed, first, last)
    if asked.cast is not None:
        found = round_to(found, asked.cast)
    return found.reshape(stop - start, columns)


def matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    """(rows, columns) of the matrix view: a vector is one row."""
    if len(shape) < 2:
        return 1, int(np.prod(shape, dtype=np.int64))
    return shape[0], int(np.prod(shape[1:], dtype=np.int64))


def check_memory(needed: int) -> None:
    """Refuse what would exhaust the machine; systems grant such requests and kill the process later."""
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if needed > available:
            raise UsageError(
                f"{needed / 2**30:.1f} GiB of values on a machine with {available / 2**30:.1f} GiB: "
                "ask for fewer rows."
            )
