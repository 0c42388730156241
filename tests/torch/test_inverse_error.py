"""`erfinv` of a tensor on a virtual GPU is the GPU's, as far as that is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import erfinv as exact

from birthmark.torch import virtual_device

GRID = torch.linspace(-1, 1, 4001)


def inverses(version: str, tensor: torch.Tensor) -> torch.Tensor:
    with virtual_device(2048, version=version):
        return torch.erfinv(tensor.cuda()).cpu()


def test_it_lies_within_three_units_of_the_exact_function() -> None:
    """And is not what the CPU computes, bit for bit; infinite at the ends, NaN beyond."""
    found = inverses("2.11+cu128", GRID).numpy()[1:-1]
    ideal = exact(GRID.double().numpy()[1:-1])
    units = np.abs(found - ideal) / np.spacing(np.abs(ideal).astype(np.float32))

    assert units.max() < 3
    assert not np.array_equal(found, torch.erfinv(GRID).numpy()[1:-1])
    ends = inverses("2.11+cu128", torch.tensor([-1.0, 0.0, 1.0, 1.5]))
    assert ends.tolist()[:3] == [-float("inf"), 0.0, float("inf")]
    assert bool(ends[3].isnan())


def test_the_tail_changed_with_cuda_13() -> None:
    """Only where |a| > 0.9983."""
    grid = torch.linspace(0.99, 1, 2001)
    old, new = inverses("2.11+cu128", grid), inverses("2.11+cu130", grid)

    assert grid[old != new].min() > 0.998
    assert bool((old != new).any())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_tensors_are_rounded_once(dtype: torch.dtype) -> None:
    """float32 inside."""
    assert torch.equal(inverses("2.11", GRID.to(dtype)), inverses("2.11", GRID.to(dtype).float()).to(dtype))


def test_all_forms_give_the_same() -> None:
    """As a function, in place on a transposed view, into a given tensor; doubles are the CPU's."""
    expected = inverses("2.11", GRID)
    with virtual_device(2048, version="2.11"):
        there = GRID.cuda()
        out = torch.empty(0, device="cuda")
        torch.erfinv(there, out=out)
        square = GRID[:4000].cuda().view(40, 100).t()
        square.erfinv_()
        special = torch.special.erfinv(there)
        double = torch.erfinv(GRID.double().cuda())
        assert all(tensor.is_cuda for tensor in (out, square, special, double))

    assert torch.equal(out, expected)
    assert torch.equal(special, expected)
    assert torch.equal(square.t().reshape(-1), expected[:4000])
    assert torch.equal(double, torch.erfinv(GRID.double()))
