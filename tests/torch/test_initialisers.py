"""`trunc_normal_` on a virtual GPU follows the version asked for, whatever is installed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from birthmark.errors import NotPredicted
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.torch import virtual_device

G = 2048


def drawn(version: str, dtype: str, *arguments: float, n: int = 9 * G) -> tuple[np.ndarray, int]:
    """The values, and the offset afterwards."""
    with virtual_device(G, version=version):
        torch.manual_seed(5)
        tensor = torch.empty(n, dtype=getattr(torch, dtype), device="cuda")
        torch.nn.init.trunc_normal_(tensor, *arguments)
        return tensor.float().cpu().numpy(), torch.cuda.default_generators[0].get_offset()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("version", "rule"),
    [("2.13", "2.12+"), ("2.11.0+cu128", "2.1+"), ("2.11.0+cu130", "2.1+cuda13"), ("2.0", "2.0-")],
)
def test_every_version_has_its_recipe(version: str, rule: str, dtype: str) -> None:
    """Normals with redraws since 2.12, the inverted error function before, its tail by CUDA's version."""
    if (rule, dtype) == ("2.0-", "bfloat16"):
        pytest.skip("torch 2.0 has no erfinv in bfloat16 on a GPU")
    hypothesis = Hypothesis(Draw("truncated-normal", (0.1, 0.5, -0.9, 1.1), (9 * G,), dtype, rule), G)
    found, offset = drawn(version, dtype, 0.1, 0.5, -0.9, 1.1)

    assert np.array_equal(found, hypothesis.tensor(5))
    assert offset == hypothesis.end_offset_of(5)
    assert not np.array_equal(found, hypothesis.tensor(6))


def test_the_bounds_bite() -> None:
    """With ±2 sigmas the redraws take several rounds of the whole tensor."""
    found, offset = drawn("2.13", "float32", 0.0, 1.0, -2.0, 2.0)

    assert np.abs(found).max() < 2
    assert offset > 12 * 3


def test_far_bounds_are_one_draw() -> None:
    """Nothing lies outside, so that it is `normal_`."""
    found, offset = drawn("2.13", "float32", 0.0, 0.02, -2.0, 2.0)

    assert np.array_equal(found, Hypothesis(Draw("normal", (0.0, 0.02), (9 * G,)), G).tensor(5))
    assert offset == 12


def test_narrow_bounds_are_refused_since_they_hang_on_logarithms() -> None:
    """Before 2.12 they are one draw like others."""
    with pytest.raises(NotPredicted, match="mass"):
        drawn("2.13", "float32", 0.0, 1.0, 2.0, 3.0)
    found, _ = drawn("2.11", "float32", 0.0, 1.0, 2.0, 3.0)
    assert 2 <= found.min() < found.max() <= 3


def test_a_tensor_of_the_cpu_is_stock() -> None:
    """With PyTorch's own function, also through a generator."""
    expected = torch.nn.init.trunc_normal_(torch.empty(50), generator=torch.Generator().manual_seed(1))
    with virtual_device(G, version="2.4"):
        found = torch.nn.init.trunc_normal_(torch.empty(50), generator=torch.Generator().manual_seed(1))

    assert torch.equal(found, expected)


def test_a_generator_is_passed_on() -> None:
    """Of the GPU, in both recipes."""
    for version in ("2.4", "2.13"):
        with virtual_device(G, version=version):
            drawn_twice = [
                torch.nn.init.trunc_normal_(
                    torch.empty(50, device="cuda"), generator=torch.Generator("cuda").manual_seed(1)
                ).cpu()
                for _ in range(2)
            ]
        assert torch.equal(*drawn_twice)
