"""A GPU's table units, input by input: what it takes to derive their tables where a prediction fails.

Float32 normals hang on the sine unit, exponentials and inverted error functions on those for log2 and for the
reciprocal root. Sine and cosine are modelled to the bit (`birthmark.numerics.sine`); for the other two
correctly rounded functions stand in. A capture feeds every input that makes a difference and keeps, for each,
by how many units in the last place the GPU is off the model. With that, tables can be derived.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from birthmark.errors import OutputError
from birthmark.numerics.compiled import kernel
from birthmark.numerics.erfinv import log2, reciprocal_root
from birthmark.numerics.sine import cosine, sine
from birthmark.samplers.arithmetic import VOLTA
from birthmark.samplers.normal import steps

#: Float32 values in, what the unit of this name makes of them out.
Units = Callable[[str, NDArray[np.float32]], NDArray[np.float32]]

#: CUDA's names of the functions that compile to one use of a unit.
FUNCTIONS: Final = {"sine": "__sinf", "cosine": "__cosf", "log2": "__log2f", "reciprocal_root": "rsqrtf"}
#: Inputs of the first quarter turn that the sine unit tells apart, and of a binade for the others.
INPUTS: Final = 1 << 23
#: Inputs of each other quarter turn that confirm the folding.
FOLDED: Final = 1 << 16
_TURN: Final = 1 << 25
_INVERSE_TURN: Final = np.float64(np.uint32(0x3E22F983).view(np.float32))


@kernel()
def _modelled(which: int, values: NDArray[np.float32], code: np.uint32, out: NDArray[np.float32]) -> None:
    for i in range(values.size):
        if which == 0:
            out[i] = sine(steps(values[i], code))
        elif which == 1:
            out[i] = cosine(steps(values[i], code))
        elif which == 2:
            out[i] = log2(values[i])
        else:
            out[i] = reciprocal_root(values[i])


def model(name: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """What birthmark supposes that a unit of FUNCTIONS makes of values, on Volta and newer."""
    out = np.empty(values.size, np.float32)
    _modelled(list(FUNCTIONS).index(name), np.ascontiguousarray(values, np.float32), VOLTA, out)
    return out


def angles(first: int, count: int, step: int = 1) -> NDArray[np.float32]:
    """The least angles that the sine unit takes as first, first + step, ... in 2^-25 turns."""
    turns = np.arange(first, first + count * step, step, dtype=np.float64)
    least = turns / (_INVERSE_TURN * _TURN)
    near = least.astype(np.float32)
    below = near.astype(np.float64) * _INVERSE_TURN * _TURN < turns
    return np.where(below, np.nextafter(near, np.float32(np.inf)), near)


def inputs(name: str, count: int = INPUTS) -> NDArray[np.float32]:
    """What a unit is asked: all that it tells apart, or `count` of them spread evenly.

    Args:
        name: of FUNCTIONS.
        count: at most INPUTS, a power of two.
    """
    spread = INPUTS // count
    if name in ("sine", "cosine"):
        folded = max(1, min(FOLDED, count))
        quarters = [angles(quarter * INPUTS, folded, INPUTS // folded) for quarter in (1, 2, 3)]
        return np.concatenate([angles(0, count, spread), *quarters])
    mantissas = np.float32(1) + np.arange(0, INPUTS, spread, dtype=np.float32) * np.float32(2.0**-23)
    return mantissas if name == "log2" else np.concatenate([mantissas, mantissas * np.float32(2)])


def on_gpu(device: int) -> Units:
    """The units of a GPU, through functions that PyTorch compiles at run time (NVIDIA only)."""

    def ask(name: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
        code = f"template <typename T> T unit(T x) {{ return {FUNCTIONS[name]}(x); }}"
        function = torch.cuda.jiterator._create_jit_fn(code)  # noqa: SLF001 - there is no public name
        asked = torch.from_numpy(values).to(f"cuda:{device}")
        return np.asarray(function(asked).cpu().numpy(), np.float32)

    return ask


def capture(units: Units, count: int = INPUTS) -> dict[str, NDArray[np.int32]]:
    """By how many units in the last place a GPU's table units are off the model, input by input.

    Args:
        units: of a GPU, or a stand-in.
        count: inputs of each; all of them unless a test says otherwise.

    Returns:
        For each name of FUNCTIONS, one number for each of `inputs`.
    """
    off = {}
    for name in FUNCTIONS:
        asked = inputs(name, count)
        got, expected = units(name, asked), model(name, asked)
        off[name] = (_ordered(got) - _ordered(expected)).astype(np.int32)
    return off


def save(path: Path, off: dict[str, NDArray[np.int32]], about: dict[str, Any]) -> None:
    """Write a capture: one array a unit, and `about` as JSON text.

    Raises:
        OutputError: it cannot be written there.
    """
    try:
        with path.open("wb") as file:
            np.savez_compressed(file, about=np.array(json.dumps(about)), **off)  # type: ignore[arg-type]
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}.") from error


def _ordered(values: NDArray[np.float32]) -> NDArray[np.int64]:
    """Numbers that count float32 values upwards, so that neighbours differ by one; both zeros are 0."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.int64)
    return np.where(bits >> 31, -(bits & 0x7FFFFFFF), bits)
