"""`erfinv` on a virtual GPU: the one function without random numbers that initialisers need bit for bit.

Up to torch 2.11 truncated normals, and their copies in other libraries, are made by it. What the GPU
computes, and how far this is from it, says `birthmark.numerics.erfinv`. float64 is left to the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from birthmark.numerics.compiled import kernel
from birthmark.numerics.erfinv import FROM_CUDA_13, UP_TO_CUDA_12, erfinvf
from birthmark.torch.machine import Machine

#: The dtypes whose erfinv is computed in float32.
NARROW = (torch.float32, torch.float16, torch.bfloat16)
_CUDA_13 = (13, 0)


@kernel()
def _inverses(values: NDArray[np.float32], tail: np.uint32, out: NDArray[np.float32]) -> None:
    for i in range(values.size):
        out[i] = erfinvf(values[i], tail)


def erfinv(machine: Machine, tensor: torch.Tensor) -> torch.Tensor:
    """What `torch.erfinv` of a tensor of one of `NARROW` gives on the machine's GPUs, as a fresh tensor."""
    cuda = machine.rules.cuda
    tail = FROM_CUDA_13 if cuda is not None and cuda >= _CUDA_13 else UP_TO_CUDA_12
    wide = tensor.detach().to(torch.float32, copy=True, memory_format=torch.contiguous_format)
    line = wide.view(-1).numpy()
    _inverses(line, tail, line)
    machine.stand_ins["erfinv"] += 1
    return torch.empty_like(tensor).copy_(wide)


def erfinv_(machine: Machine, tensor: torch.Tensor) -> torch.Tensor:
    """`Tensor.erfinv_`."""
    tensor.detach().copy_(erfinv(machine, tensor))
    return tensor


def erfinv_out(machine: Machine, tensor: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    """`torch.erfinv(tensor, out=out)`."""
    out.resize_(tensor.shape).copy_(erfinv(machine, tensor))
    return out


#: The operations, by PyTorch's names.
INVERSES: Final[dict[str, Callable[..., torch.Tensor]]] = {
    "aten::erfinv": erfinv,
    "aten::erfinv_": erfinv_,
    "aten::erfinv.out": erfinv_out,
}
