"""Where the draws of a model's layers lie in one stream, if its constructor used PyTorch's defaults.

Linear, convolution and embedding layers draw their weight, then their bias, one word an element, in the
order of construction, which is the order of the parameters in a state dict. Normalisation layers draw
nothing, but up to PyTorch 1.1 batch normalisation filled its weight with uniforms (pytorch
`torch/nn/modules/batchnorm.py`, 0.4.1 to 1.1.0: `self.weight.data.uniform_()`). Models that redraw their
layers, or draw elsewhere in between, differ: then the equations of several tensors contradict each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

#: What state dicts hold beside parameters.
BUFFERS = ("running_mean", "running_var", "num_batches_tracked")


def starts(tensors: Iterable[tuple[str, tuple[int, ...]]], *, norms_draw: bool = False) -> dict[str, int]:
    """Words before each drawn tensor, counted from the first one.

    Args:
        tensors: (name, shape) of one state dict, in its order; names such as "layers.0.weight".
        norms_draw: whether normalisation layers fill their weight with uniforms, as up to PyTorch 1.1.

    Returns:
        The tensors that are drawn, with the position of each. Ragged normals (embeddings whose size is no
        multiple of 16) take 16 words more than is assumed here.
    """
    listed = list(tensors)
    matrices = {_layer(name) for name, shape in listed if len(shape) >= 2}
    positions: dict[str, int] = {}
    at = 0
    for name, shape in listed:
        kind = name.rsplit(".", 1)[-1]
        norm = _layer(name) not in matrices
        if kind in BUFFERS or not shape or (norm and not (norms_draw and kind == "weight")):
            continue
        positions[name] = at
        at += math.prod(shape)
    return positions


def _layer(name: str) -> str:
    return name.rpartition(".")[0]
