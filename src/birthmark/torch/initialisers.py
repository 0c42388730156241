"""`torch.nn.init.trunc_normal_` on a virtual GPU, by the rules of any release.

The other initialisers are one draw each, and which one has not changed between releases. This one has: up to
2.11 it inverted the error function, since then it draws normals until all lie within the bounds. So the
recipe follows the version of the virtual device, not that of the PyTorch that is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from birthmark.errors import NotPredicted
from birthmark.samplers.draw import Draw
from birthmark.samplers.truncated import LEAST_MASS, REDRAWING, masses
from birthmark.torch.draws import fill
from birthmark.torch.machine import Machine
from birthmark.torch.storage import index_of


def truncated_normal(machine: Machine, plain: Callable[..., Any]) -> Callable[..., Any]:
    """What stands for `torch.nn.init._no_grad_trunc_normal_`.

    Args:
        machine: the computer.
        plain: PyTorch's own function, for tensors that are not on its GPUs.
    """

    def _no_grad_trunc_normal_(
        tensor: torch.Tensor,
        mean: float,
        std: float,
        a: float,
        b: float,
        generator: Any = None,  # noqa: ANN401
    ) -> torch.Tensor:
        if index_of(tensor, machine) is None:
            made: torch.Tensor = plain(tensor, mean, std, a, b, generator=generator)
            return made
        with torch.no_grad():
            if machine.rules.truncated == REDRAWING:
                return _redrawn(tensor, mean, std, a, b, generator)
            name = str(tensor.dtype).removeprefix("torch.")
            parameters = (float(mean), float(std), float(a), float(b))
            drawn = Draw("truncated-normal", parameters, (tensor.numel(),), name, machine.rules.truncated)
            return fill(machine, tensor, drawn, generator)

    return _no_grad_trunc_normal_


def _redrawn(
    tensor: torch.Tensor,
    mean: float,
    std: float,
    low: float,
    high: float,
    generator: Any,  # noqa: ANN401
) -> torch.Tensor:
    """Torch from 2.12 on: whole draws, again and again, each for the elements that are not settled yet."""
    below, up_to = masses((mean, std, low, high))
    if up_to - below <= LEAST_MASS:
        raise NotPredicted(
            f"trunc_normal_ from {low} to {high} holds {up_to - below:.2g} of the normal's mass: there torch "
            f"from 2.12 on decides by the GPU's logarithms; above {LEAST_MASS} it is predicted."
        )
    least, greatest = (torch.tensor(bound, dtype=tensor.dtype, device="cpu").item() for bound in (low, high))
    result = tensor.normal_(mean, std, generator=generator)
    while bool((outside := (result < least) | (result > greatest)).any()):
        again = torch.empty_like(result).normal_(mean, std, generator=generator)
        result = torch.where(outside, again, result)
    return tensor if result is tensor else tensor.copy_(result)
