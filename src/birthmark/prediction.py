"""Another GPU's numbers: whole tensors or rows of one, in memory or as an array file.

The file is a numpy `.npz` with `values`, and `bits` for bfloat16, which numpy does not have; `metadata` is a
JSON text that says how the values came about.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from birthmark import __version__
from birthmark.devices.catalogue import Device, find
from birthmark.errors import OutputError, UsageError
from birthmark.hypothesis import Arithmetic, Distribution, Draw, Hypothesis, Values
from birthmark.recipes.sharding import WHOLE, Sharding

#: What `torch.manual_seed` accepts; negative seeds wrap modulo 2^64.
LEAST_SEED, SEED_END = -(1 << 63), 1 << 64


@dataclass(frozen=True, slots=True)
class Prediction:
    """Rows of a tensor as a device would draw them.

    Attributes:
        hypothesis: everything but the seed.
        seed: the seed of rank 0, as given.
        rows: first row, and the one after the last; a tensor with one dimension is one row.
        device: the device, where it was named; None where only its layout was.
    """

    hypothesis: Hypothesis
    seed: int
    rows: tuple[int, int]
    device: Device | None

    @property
    def exact(self) -> bool:
        """Whether every bit is known to be the device's.

        AMD's logarithm, sine and cosine, the double precision functions and two tables of the inverse error
        function are stand-ins: normals on AMD or in double, and truncated normals of torch up to 2.11, can be
        off in the last bits.
        """
        draw = self.hypothesis.draw
        if draw.distribution == "uniform":
            return True
        made_from_normals = draw.source == "normal"
        return made_from_normals and self.hypothesis.arithmetic != "amd" and draw.dtype != "float64"

    @property
    def end_offset(self) -> int | None:
        """The generator's offset after the draw.

        None where it depends on values that were not asked for, or differs from shard to shard: truncated
        normals of torch 2.12 and later, where bounds bite.
        """
        hypothesis = self.hypothesis
        if not hypothesis.draw.redraws:
            return hypothesis.end_offset
        whole = self.rows == (0, _matrix(hypothesis.draw.shape)[0])
        return hypothesis.end_offset_of(self.seed) if whole and hypothesis.sharding.ways == 1 else None

    def values(self) -> Values:
        """The values, decoded: float32, or float64 for a float64 draw.

        Returns:
            An array of shape (rows, *rest), or of the tensor's own shape where that has one dimension.
        """
        shape = self.hypothesis.draw.shape
        found = predict_rows(self.hypothesis, self.seed, *self.rows)
        return found.reshape(shape) if len(shape) < 2 else found.reshape(-1, *shape[1:])

    def metadata(self) -> dict[str, Any]:
        """How the values came about: JSON types only."""
        hypothesis = self.hypothesis
        draw = hypothesis.draw
        return {
            "birthmark": __version__,
            "seed": self.seed,
            "device": self.device.name if self.device else None,
            "device_confirmed": self.device.confirmed if self.device else None,
            "threads": hypothesis.threads,
            "arithmetic": hypothesis.arithmetic,
            "exact": self.exact,
            "generator": hypothesis.generator,
            "offset": hypothesis.offset,
            "end_offset": self.end_offset,
            "shards": hypothesis.sharding.ways,
            "seed_rule": hypothesis.sharding.rule,
            "distribution": draw.distribution,
            "parameters": list(draw.parameters),
            "version_rule": draw.version,
            "dtype": draw.dtype,
            "shape": list(draw.shape),
            "rows": list(self.rows),
        }


def prediction(
    seed: int,
    shape: tuple[int, ...],
    *,
    device: str | None = None,
    threads: int | None = None,
    arithmetic: Arithmetic | None = None,
    dtype: str = "float32",
    distribution: Distribution = "normal",
    parameters: tuple[float, ...] = (0.0, 1.0),
    rows: tuple[int, int] | None = None,
    offset: int = 0,
    sharding: Sharding = WHOLE,
    version: str = "2.1+",
) -> Prediction:
    """A checked request; `Prediction.values` computes it, `save` writes it.

    Args:
        seed: what the generator was seeded with, -2^63 to 2^64 - 1; with shards, that of rank 0.
        shape: extents of the whole tensor.
        device: a device of the table; gives the layout and the arithmetic.
        threads: G, instead of a device.
        arithmetic: overrides the device's; with `threads` the default is Volta and newer.
        dtype: the dtype at draw time.
        distribution: "normal", "uniform" or "truncated-normal".
        parameters: (mean, std) of a normal, (low, high) of a uniform, (mean, std, a, b) of a truncated one.
        rows: first row, and the one after the last; None for all.
        offset: the generator's offset before the draw, a multiple of 4.
        sharding: how the tensor is cut among processes; by default it is not.
        version: PyTorch's end-point rule of a uniform: "2.1+" or "2.0-"; of a truncated normal also
            "2.1+cuda13" or "2.12+" (see `birthmark.samplers.draw.Draw`).

    Raises:
        UsageError: something of it cannot be; the message says what.
        UnknownName: no such device, dtype, distribution or arithmetic.
    """
    if not LEAST_SEED <= seed < SEED_END:
        raise UsageError(f"seed {seed}: expected -2^63 to 2^64 - 1, as torch.manual_seed does.")
    if (device is None) == (threads is None):
        raise UsageError("a prediction needs a layout: give either a device or its number of threads.")
    card = find(device) if device is not None else None
    draw = Draw(distribution, parameters, tuple(shape), dtype, version)
    if draw.size == 0:
        raise UsageError(f"shape {draw.shape} has no elements: there is nothing to predict.")
    hypothesis = Hypothesis(
        draw,
        card.threads if card else threads or 0,
        arithmetic or (card.arithmetic if card else "nvidia-volta+"),
        offset,
        sharding,
    )
    count, _ = _matrix(draw.shape)
    start, stop = rows if rows is not None else (0, count)
    if not 0 <= start < stop <= count:
        raise UsageError(
            f"rows {start}:{stop} of a tensor of shape {draw.shape}: expected a range in 0:{count}."
        )
    return Prediction(hypothesis, seed, (start, stop), card)


def predict(seed: int, shape: tuple[int, ...], **request: Any) -> Values:  # noqa: ANN401 - those of `prediction`
    """The values that `prediction` of the same arguments stands for."""
    return prediction(seed, shape, **request).values()


def predict_rows(hypothesis: Hypothesis, seed: int, start: int, stop: int) -> Values:
    """Rows start <= i < stop of the tensor's matrix view, decoded; shape (stop - start, columns).

    Raises:
        UsageError: the rows do not lie in the tensor, or take more memory than this machine has.
    """
    count, columns = _matrix(hypothesis.draw.shape)
    if not 0 <= start <= stop <= count:
        raise UsageError(f"rows {start}:{stop}: the tensor has {count} rows; give a range in it.")
    width = 8 if hypothesis.draw.dtype == "float64" else 4
    _check_memory((stop - start) * columns * width)
    return hypothesis.run(seed, start * columns, stop * columns).reshape(stop - start, columns)


def save(path: str | Path, asked: Prediction) -> None:
    """Compute a prediction and write it; the file appears whole or not at all.

    Keys: `values` (float32, float16 or float64 as drawn; float32 for bfloat16), `bits` (uint16, for bfloat16
    only), `metadata` (JSON text).

    Raises:
        OutputError: the file cannot be written there.
        UsageError: the values take more memory than this machine has.
    """
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir():
        raise OutputError(f"cannot write {target}: expected a file name in an existing folder.")
    if target.exists() and not target.is_file():
        raise OutputError(f"cannot write {target}: it is no ordinary file.")
    values = asked.values()
    arrays: dict[str, Any] = {"values": values}
    if asked.hypothesis.draw.dtype == "float16":
        arrays["values"] = values.astype(np.float16)
    if asked.hypothesis.draw.dtype == "bfloat16":
        arrays["bits"] = (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    arrays["metadata"] = np.array(json.dumps(asked.metadata()))
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with partial.open("xb") as file:
            np.savez(file, **arrays)
        partial.replace(target)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}.") from error
    finally:
        partial.unlink(missing_ok=True)


def _matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    """(rows, columns) of the matrix view: a vector is one row."""
    if len(shape) < 2:
        return 1, int(np.prod(shape, dtype=np.int64))
    return shape[0], int(np.prod(shape[1:], dtype=np.int64))


def _check_memory(needed: int) -> None:
    """Refuse what would exhaust the machine; systems grant such requests and kill the process later."""
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if needed > available:
            raise UsageError(
                f"{needed / 2**30:.1f} GiB of values on a machine with {available / 2**30:.1f} GiB: "
                "ask for fewer rows."
            )
