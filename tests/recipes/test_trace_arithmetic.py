"""Arithmetic on drawn values gives stock torch's bits, in every float dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.recipes.trace_arithmetic import applied, evaluate, inexact
from birthmark.recipes.trace_values import (
    Applied,
    Constant,
    Drawn,
    Orthogonal,
    Patched,
    Region,
    Table,
    Unknown,
)

torch = pytest.importorskip("torch")

STEPS: dict[str, tuple[tuple[float, ...], Callable[[Any], Any]]] = {
    "mul": ((0.37,), lambda x: x.mul_(0.37)),
    "div": ((3.0,), lambda x: x.div_(3.0)),
    "add": ((0.1,), lambda x: x.add_(0.1)),
    "clamp": ((-0.5, 0.7), lambda x: x.clamp_(-0.5, 0.7)),
    "neg": ((), lambda x: x.neg_()),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("operation", STEPS)
def test_a_step_is_torchs(operation: str, dtype: str) -> None:
    """In-place arithmetic with a Python number, value for value."""
    numbers, run = STEPS[operation]
    tensor = torch.randn(4000, generator=torch.Generator().manual_seed(1)).to(getattr(torch, dtype))
    wide = torch.float64 if dtype == "float64" else torch.float32
    before = tensor.to(wide).numpy().copy()

    assert np.array_equal(
        applied(Applied(operation, numbers, Drawn(0), dtype), before), run(tensor).to(wide).numpy()
    )


def test_division_on_a_gpu_multiplies_by_the_reciprocal() -> None:
    """One third of a float32 differs in the last bit in places."""
    values = np.arange(1, 100, dtype=np.float32)
    step = Applied("div", (3.0,), Drawn(0), "float32")
    there = applied(step, values, "cuda")

    assert np.array_equal(there, values * np.float32(1 / np.float32(3)))
    assert not np.array_equal(there, applied(step, values, "cpu"))


def drawn(number: int, indices: NDArray[np.int64]) -> NDArray[Any]:
    """Element i of draw n is 100 n + i."""
    return (100 * number + indices).astype(np.float32)


def test_patches_overwrite_in_order() -> None:
    """The last one wins where they overlap, whatever order the elements are asked in."""
    value = Patched(
        Drawn(1),
        (
            (Region((3,), (2,), 0), Constant(0.0, "float32")),
            (Region((2,), (1,), 3), Table("float32", np.array([7, 8], "<f4").tobytes())),
        ),
    )

    assert evaluate(value, np.array([5, 4, 3, 2, 1, 0]), drawn).tolist() == [105, 8, 7, 0, 101, 0]


def test_an_orthogonal_matrix_is_that_of_torch_up_to_its_last_bits() -> None:
    """QR with positive diagonal; the last bits are another LAPACK's, and said not to be known."""
    plain = torch.randn(12, 5, generator=torch.Generator().manual_seed(2))
    q, r = torch.linalg.qr(plain)
    expected = (q * torch.sign(torch.diag(r))).numpy().reshape(-1)
    value = Orthogonal((12, 5), Drawn(0))
    found = evaluate(value, np.arange(60), lambda _, indices: plain.numpy().reshape(-1)[indices])

    assert np.allclose(found, expected, atol=1e-6)
    assert inexact(value) == "QR is not known to the last bits"
    assert inexact(Drawn(0)) is None


def test_an_unknown_value_is_refused_with_its_reason() -> None:
    """Nothing is made up."""
    with pytest.raises(UsageError, match="a norm"):
        evaluate(Unknown("a norm"), np.arange(3), drawn)
