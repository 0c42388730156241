"""The layers of `torch.nn` as steps: what each constructor draws, in order, and what it fills.

Sources: pytorch `torch/nn/modules/` (`linear`, `conv`, `sparse`, `rnn`, `activation`, `transformer`,
`batchnorm`, `normalization`), 1.13.1 to 2.14.1. Every number is
computed in Python doubles in torch's own order of operations. Compared with stock torch 2.13.0, whole state
dicts bit for bit.
"""

from __future__ import annotations

import math
from typing import Final

from birthmark.errors import UsageError
from birthmark.recipes import torch_init
from birthmark.recipes.torch_steps import (
    Filled,
    Layer,
    Orthogonalised,
    Random,
    Sparsened,
    Step,
    ZeroRow,
)
from birthmark.samplers.draw import Draw

#: How many times its hidden size a recurrent layer's gates are.
GATES: Final = {"RNN": 1, "LSTM": 4, "GRU": 3}


def linear(inputs: int, outputs: int, *, bias: bool = True, dtype: str = "float32") -> Layer:
    """`torch.nn.Linear(inputs, outputs, bias)`."""
    return _plain(torch_init.linear(inputs, outputs, bias=bias, dtype=dtype))


def bilinear(first: int, second: int, outputs: int, *, bias: bool = True, dtype: str = "float32") -> Layer:
    """`torch.nn.Bilinear(first, second, outputs, bias)`."""
    bound = 1 / math.sqrt(first)
    draws = {"weight": torch_init.uniform((outputs, first, second), -bound, bound, dtype=dtype)}
    if bias:
        draws["bias"] = torch_init.uniform((outputs,), -bound, bound, dtype=dtype)
    return _plain(draws)


def convolution(
    inputs: int,
    outputs: int,
    kernel: tuple[int, ...],
    *,
    groups: int = 1,
    transposed: bool = False,
    bias: bool = True,
    dtype: str = "float32",
) -> Layer:
    """`torch.nn.Conv1d`, `Conv2d`, `Conv3d` and their transposed kinds, by the extents of the kernel."""
    return _plain(
        torch_init.convolution(
            inputs, outputs, kernel, groups=groups, transposed=transposed, bias=bias, dtype=dtype
        )
    )


def embedding(rows: int, columns: int, *, padding: int | None = None, dtype: str = "float32") -> Layer:
    """`torch.nn.Embedding` and `EmbeddingBag`: the padding row is drawn too, then set to zero.

    Raises:
        UsageError: a padding row that the table does not have.
    """
    if padding is not None and not -rows <= padding < rows:
        raise UsageError(f"padding row {padding} of {rows}: expected one of them.")
    then = () if padding is None else (ZeroRow(padding % rows),)
    return Layer((Random("weight", torch_init.normal((rows, columns), dtype=dtype), then),), ("weight",))


def recurrent(
    kind: str,
    inputs: int,
    hidden: int,
    *,
    layers: int = 1,
    bias: bool = True,
    bidirectional: bool = False,
    projection: int = 0,
    dtype: str = "float32",
) -> Layer:
    """`torch.nn.RNN`, `LSTM` or `GRU`: uniform draws over ± 1/sqrt(hidden), one parameter after another.

    Raises:
        UsageError: another kind, or a projection of one that has none.
    """
    if kind not in GATES:
        raise UsageError(f"a recurrent layer of kind {kind!r}: expected {', '.join(GATES)}.")
    if projection and kind != "LSTM":
        raise UsageError(f"a projection in {kind}: only LSTM has one.")
    gates, state = GATES[kind] * hidden, projection or hidden
    ways = 2 if bidirectional else 1
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in range(layers):
        for suffix in ("", "_reverse")[:ways]:
            seen = inputs if layer == 0 else state * ways
            shapes[f"weight_ih_l{layer}{suffix}"] = (gates, seen)
            shapes[f"weight_hh_l{layer}{suffix}"] = (gates, state)
            if bias:
                shapes[f"bias_ih_l{layer}{suffix}"] = (gates,)
                shapes[f"bias_hh_l{layer}{suffix}"] = (gates,)
            if projection:
                shapes[f"weight_hr_l{layer}{suffix}"] = (projection, hidden)
    return _recurring(shapes, hidden, dtype)


def recurrent_cell(
    kind: str, inputs: int, hidden: int, *, bias: bool = True, dtype: str = "float32"
) -> Layer:
    """`torch.nn.RNNCell`, `LSTMCell` or `GRUCell`.

    Raises:
        UsageError: another kind.
    """
    if kind not in GATES:
        raise UsageError(f"a recurrent cell of kind {kind!r}: expected {', '.join(GATES)}.")
    gates = GATES[kind] * hidden
    shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, inputs), "weight_hh": (gates, hidden)}
    if bias:
        shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
    return _recurring(shapes, hidden, dtype)


def attention(
    width: int,
    *,
    bias: bool = True,
    extra_bias: bool = False,
    keys: int | None = None,
    values: int | None = None,
    dtype: str = "float32",
) -> Layer:
    """`torch.nn.MultiheadAttention`: the output projection is built first, its bias drawn and then zeroed.

    Args:
        width: embed_dim.
        bias: as there.
        extra_bias: add_bias_kv.
        keys: kdim.
        values: vdim.
        dtype: of the parameters.
    """
    together = (keys or width) == width and (values or width) == width
    if together:
        inner: dict[str, tuple[int, ...]] = {"in_proj_weight": (3 * width, width)}
    else:
        inner = {
            "q_proj_weight": (width, width),
            "k_proj_weight": (width, keys or width),
            "v_proj_weight": (width, values or width),
        }
    output = linear(width, width, bias=bias, dtype=dtype).under("out_proj")
    steps: list[Step] = list(output.steps)
    steps += [Random(name, torch_init.xavier_uniform(shape, dtype=dtype)) for name, shape in inner.items()]
    names = list(inner)
    if bias:
        steps.append(Filled("in_proj_bias", (3 * width,), dtype=dtype))
        steps.append(Filled("out_proj.bias", (width,), dtype=dtype))
        names.append("in_proj_bias")
    if extra_bias:
        for name in ("bias_k", "bias_v"):
            steps.append(Random(name, torch_init.xavier_normal((1, 1, width), dtype=dtype)))
            names.append(name)
    return Layer(tuple(steps), (*names, *output.names))


def norm(
    *shape: int, bias: bool = True, running: bool = False, drawn: bool = False, dtype: str = "float32"
) -> Layer:
    """Layer, group, batch and RMS norms: weights one, biases zero, nothing drawn.

    Args:
        shape: of the weight.
        bias: whether there is one; RMS norms have none.
        running: whether there are a batch norm's running statistics.
        drawn: whether the weight is drawn uniformly, as in batch norms up to PyTorch 1.1.
        dtype: of the parameters.
    """
    weight: Step = Filled("weight", shape, 1.0, dtype)
    if drawn:
        weight = Random("weight", torch_init.uniform(shape, dtype=dtype))
    steps: list[Step] = [weight]
    if bias:
        steps.append(Filled("bias", shape, 0.0, dtype))
    if running:
        steps.append(Filled("running_mean", shape, 0.0, dtype))
        steps.append(Filled("running_var", shape, 1.0, dtype))
        steps.append(Filled("num_batches_tracked", (), 0, "int64"))
    return Layer(tuple(steps), tuple(step.name for step in steps))


def prelu(channels: int = 1, start: float = 0.25, *, dtype: str = "float32") -> Layer:
    """`torch.nn.PReLU`."""
    return Layer((Filled("weight", (channels,), start, dtype),), ("weight",))


def orthogonal(name: str, shape: tuple[int, ...], gain: float = 1.0, *, dtype: str = "float32") -> Random:
    """`torch.nn.init.orthogonal_(tensor, gain)` as a step."""
    return Random(name, torch_init.orthogonal(shape, dtype=dtype), (Orthogonalised(shape, gain),))


def sparse(
    name: str, shape: tuple[int, ...], share: float, std: float = 0.01, *, dtype: str = "float32"
) -> Random:
    """`torch.nn.init.sparse_(tensor, sparsity, std)` as a step.

    Raises:
        UsageError: not two dimensions, or a share beyond 0 to 1.
    """
    if not 0 <= share <= 1:
        raise UsageError(f"sparsity {share}: expected 0 to 1.")
    return Random(name, torch_init.sparse(shape, std, dtype=dtype), (Sparsened(share),))


def _plain(draws: dict[str, Draw]) -> Layer:
    return Layer(tuple(Random(name, draw) for name, draw in draws.items()), tuple(draws))


def _recurring(shapes: dict[str, tuple[int, ...]], hidden: int, dtype: str) -> Layer:
    bound = 1.0 / math.sqrt(hidden) if hidden > 0 else 0.0
    return _plain(
        {name: torch_init.uniform(shape, -bound, bound, dtype=dtype) for name, shape in shapes.items()}
    )
