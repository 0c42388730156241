"""`torch.nn.init` and the defaults of plain layers as draws: one random call each, with its exact numbers.

Every initialiser is one call of `normal_`, `uniform_` or `trunc_normal_`, whose numbers follow from the
tensor's shape. They are computed in Python doubles, in torch's own order of operations, because the last bit
of a bound can change a value. Source: pytorch `torch/nn/init.py` and
`torch/nn/modules/{linear,conv,sparse}.py` (1.7 to 2.15.0).

A layer draws its weight before its bias. `orthogonal_` and `sparse_` go on from their draw: the first by a QR
decomposition, the second by permutations of rows; here only the draw itself is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from birthmark.errors import UnknownName, UsageError
from birthmark.samplers.draw import Draw

#: `torch.nn.init.calculate_gain`, but for "leaky_relu", which takes a slope.
GAINS: Final = {
    "linear": 1.0,
    "conv1d": 1.0,
    "conv2d": 1.0,
    "conv3d": 1.0,
    "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0,
    "conv_transpose3d": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}
_LEAKY: Final = "leaky_relu"
#: The slope that the constructors of linear and convolution layers pass.
DEFAULT_SLOPE: Final = math.sqrt(5)


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Inputs and outputs of a weight: the second and first extent, each times the size of the kernel.

    Raises:
        UsageError: fewer than two dimensions, or no elements.
    """
    if len(shape) < 2 or min(shape) < 1:
        raise UsageError(f"fans of a tensor of shape {shape}: expected two dimensions or more, none empty.")
    kernel = math.prod(shape[2:])
    return shape[1] * kernel, shape[0] * kernel


def gain(nonlinearity: str, slope: float | None = None) -> float:
    """`torch.nn.init.calculate_gain`.

    Args:
        nonlinearity: a name of `GAINS`, or "leaky_relu".
        slope: of leaky_relu; None for 0.01.

    Raises:
        UnknownName: no such nonlinearity.
    """
    if nonlinearity == _LEAKY:
        return math.sqrt(2.0 / (1 + (0.01 if slope is None else slope) ** 2))
    if nonlinearity not in GAINS:
        raise UnknownName("nonlinearity", nonlinearity, (*GAINS, _LEAKY))
    return GAINS[nonlinearity]


def uniform(shape: tuple[int, ...], low: float = 0.0, high: float = 1.0, *, dtype: str = "float32") -> Draw:
    """`uniform_(tensor, a, b)`."""
    return Draw("uniform", (low, high), shape, dtype)


def normal(shape: tuple[int, ...], mean: float = 0.0, std: float = 1.0, *, dtype: str = "float32") -> Draw:
    """`normal_(tensor, mean, std)`."""
    return Draw("normal", (mean, std), shape, dtype)


def truncated_normal(
    shape: tuple[int, ...],
    mean: float = 0.0,
    std: float = 1.0,
    low: float = -2.0,
    high: float = 2.0,
    *,
    dtype: str = "float32",
    version: str = "2.1+",
) -> Draw:
    """`trunc_normal_(tensor, mean, std, a, b)`; its bounds are absolute, and the release matters."""
    return Draw("truncated-normal", (mean, std, low, high), shape, dtype, version)


def xavier_uniform(shape: tuple[int, ...], scale: float = 1.0, *, dtype: str = "float32") -> Draw:
    """`xavier_uniform_(tensor, gain)`."""
    bound = math.sqrt(3.0) * _xavier(shape, scale)
    return uniform(shape, -bound, bound, dtype=dtype)


def xavier_normal(shape: tuple[int, ...], scale: float = 1.0, *, dtype: str = "float32") -> Draw:
    """`xavier_normal_(tensor, gain)`."""
    return normal(shape, 0.0, _xavier(shape, scale), dtype=dtype)


def kaiming_uniform(
    shape: tuple[int, ...],
    slope: float = 0.0,
    *,
    fan_out: bool = False,
    nonlinearity: str = _LEAKY,
    dtype: str = "float32",
) -> Draw:
    """`kaiming_uniform_(tensor, a, mode, nonlinearity)`; `fan_out` for the mode of that name."""
    bound = math.sqrt(3.0) * _kaiming(shape, slope, fan_out, nonlinearity)
    return uniform(shape, -bound, bound, dtype=dtype)


def kaiming_normal(
    shape: tuple[int, ...],
    slope: float = 0.0,
    *,
    fan_out: bool = False,
    nonlinearity: str = _LEAKY,
    dtype: str = "float32",
) -> Draw:
    """`kaiming_normal_(tensor, a, mode, nonlinearity)`; `fan_out` for the mode of that name."""
    return normal(shape, 0.0, _kaiming(shape, slope, fan_out, nonlinearity), dtype=dtype)


def orthogonal(shape: tuple[int, ...], *, dtype: str = "float32") -> Draw:
    """The draw that `orthogonal_` decomposes: standard normals of rows by all other extents.

    Raises:
        UsageError: fewer than two dimensions.
    """
    fans(shape)
    return normal((shape[0], math.prod(shape[1:])), dtype=dtype)


def sparse(shape: tuple[int, ...], std: float = 0.01, *, dtype: str = "float32") -> Draw:
    """The draw of `sparse_`, before it zeroes the first rows of a permutation in every column.

    Raises:
        UsageError: not two dimensions.
    """
    if len(shape) != 2:
        raise UsageError(f"sparse_ of a tensor of shape {shape}: expected two dimensions.")
    return normal(shape, 0.0, std, dtype=dtype)


#: The initialisers by torch's names.
INITIALISERS: Final[dict[str, Callable[..., Draw]]] = {
    "uniform_": uniform,
    "normal_": normal,
    "trunc_normal_": truncated_normal,
    "xavier_uniform_": xavier_uniform,
    "xavier_normal_": xavier_normal,
    "kaiming_uniform_": kaiming_uniform,
    "kaiming_normal_": kaiming_normal,
    "orthogonal_": orthogonal,
    "sparse_": sparse,
}


def linear(inputs: int, outputs: int, *, bias: bool = True, dtype: str = "float32") -> dict[str, Draw]:
    """What `torch.nn.Linear(inputs, outputs)` draws, in its order."""
    return _layer((outputs, inputs), outputs, bias, dtype)


def convolution(
    inputs: int,
    outputs: int,
    kernel: tuple[int, ...],
    *,
    groups: int = 1,
    transposed: bool = False,
    bias: bool = True,
    dtype: str = "float32",
) -> dict[str, Draw]:
    """What `torch.nn.Conv1d`, `Conv2d`, `Conv3d` or their transposed kinds draw, in their order.

    Raises:
        UsageError: the groups do not divide the channels.
    """
    if groups < 1 or inputs % groups or outputs % groups:
        raise UsageError(
            f"{inputs} and {outputs} channels in {groups} groups: expected groups that divide them."
        )
    sides = (inputs, outputs // groups) if transposed else (outputs, inputs // groups)
    return _layer((*sides, *kernel), outputs, bias, dtype)


def embedding(rows: int, columns: int, *, dtype: str = "float32") -> dict[str, Draw]:
    """What `torch.nn.Embedding(rows, columns)` draws; its padding row is drawn too, and zeroed after."""
    return {"weight": normal((rows, columns), dtype=dtype)}


def _layer(shape: tuple[int, ...], outputs: int, bias: bool, dtype: str) -> dict[str, Draw]:
    found = {"weight": kaiming_uniform(shape, DEFAULT_SLOPE, dtype=dtype)}
    if bias:
        inputs, _ = fans(shape)
        bound = 1 / math.sqrt(inputs)
        found["bias"] = uniform((outputs,), -bound, bound, dtype=dtype)
    return found


def _xavier(shape: tuple[int, ...], scale: float) -> float:
    inputs, outputs = fans(shape)
    return scale * math.sqrt(2.0 / float(inputs + outputs))


def _kaiming(shape: tuple[int, ...], slope: float, fan_out: bool, nonlinearity: str) -> float:
    inputs, outputs = fans(shape)
    return gain(nonlinearity, slope) / math.sqrt(outputs if fan_out else inputs)
