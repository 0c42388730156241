"""A tensor on a virtual GPU prints as PyTorch prints one on a real one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from birthmark.torch import virtual_device

# Each as PyTorch's own documentation and threads show it, or with the device alone put in.
PRINTED: dict[str, tuple[Callable[[], object], str]] = {
    "vector": (lambda: torch.ones(2, device="cuda"), "tensor([1., 1.], device='cuda:0')"),
    "second GPU": (lambda: torch.ones(1, device="cuda:1"), "tensor([1.], device='cuda:1')"),
    "number": (lambda: torch.tensor(3.5, device="cuda"), "tensor(3.5000, device='cuda:0')"),
    "whole number": (lambda: torch.tensor(3, device="cuda"), "tensor(3, device='cuda:0')"),
    "complex number": (lambda: torch.tensor(1 + 2j, device="cuda"), "tensor(1.+2.j, device='cuda:0')"),
    "dtype": (
        lambda: torch.ones(1, dtype=torch.float64, device="cuda"),
        "tensor([1.], device='cuda:0', dtype=torch.float64)",
    ),
    "nothing": (lambda: torch.ones(0, 3, device="cuda"), "tensor([], device='cuda:0', size=(0, 3))"),
    "gradient": (
        lambda: torch.ones(1, device="cuda", requires_grad=True) * 2,
        "tensor([2.], device='cuda:0', grad_fn=<MulBackward0>)",
    ),
    "number with gradient": (
        lambda: torch.ones(1, device="cuda", requires_grad=True).sum(),
        "tensor(1., device='cuda:0', grad_fn=<SumBackward0>)",
    ),
    "parameter": (
        lambda: torch.nn.Parameter(torch.ones(1, device="cuda")),
        "Parameter containing:\ntensor([1.], device='cuda:0', requires_grad=True)",
    ),
    "long line": (
        lambda: torch.arange(15, device="cuda") + 1000,
        "tensor([1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010, 1011,\n"
        "        1012, 1013, 1014], device='cuda:0')",
    ),
    "full line": (
        lambda: torch.arange(12, device="cuda", dtype=torch.int32) + 1000,
        "tensor([1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010, 1011],\n"
        "       device='cuda:0', dtype=torch.int32)",
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_device_stands_first_after_the_values(name: str) -> None:
    """With `repr`, with `print`, and in a format string."""
    make, expected = PRINTED[name]
    with virtual_device(2048, 2048):
        made = make()
        assert (repr(made), str(made)) == (expected, expected)
        if made.dim() and not isinstance(made, torch.nn.Parameter):  # type: ignore[attr-defined]
            assert f"{made}" == expected


def test_tensors_of_the_cpu_print_as_ever() -> None:
    """Inside too; and a tensor of the GPU does so outside."""
    with virtual_device(2048):
        there = torch.ones(1, device="cuda")
        assert repr(torch.ones(1)) == "tensor([1.])"
        assert f"{torch.tensor(1.5):.3f}" == f"{torch.tensor(1.5, device='cuda'):.3f}" == "1.500"
    assert repr(there) == "tensor([1.])"
