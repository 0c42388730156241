"""CPU uniforms against stock torch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.mt19937 import words
from birthmark.samplers.cpu_uniform import uniform, uniform64

BOUND = 1.0 / math.sqrt(784)


def drawn(
    seed: int, size: int, low: float, high: float, dtype: torch.dtype = torch.float32
) -> NDArray[np.float64]:
    torch.manual_seed(seed)
    values: NDArray[np.float64] = torch.empty(size, dtype=dtype).uniform_(low, high).numpy()
    return values


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-0.1, 0.3), (-BOUND, BOUND), (1.0, 1.0 + 2**-20)])
def test_every_value_equals_torch(low: float, high: float) -> None:
    """100,000 values equal torch's bit for bit, also over a range so narrow that its end points round."""
    assert np.array_equal(uniform(words(3, 0, 100_000), low, high), drawn(3, 100_000, low, high))


def test_two_roundings_are_another_arithmetic() -> None:
    """Without fusing about half of the values of an odd bound differ from today's torch."""
    share = np.mean(
        uniform(words(3, 0, 100_000), -BOUND, BOUND, "cpu-unfused") == drawn(3, 100_000, -BOUND, BOUND)
    )

    assert 0.4 < share < 0.6


def test_the_upper_bound_stays_in_older_versions() -> None:
    """Without the rule of 2.12 the values that round up to the bound stay there."""
    narrow = uniform(words(3, 0, 10_000), 1.0, 1.0 + 2**-20, open_end=False)

    assert narrow.max() == np.float32(1.0 + 2**-20)


def test_doubles_take_two_words() -> None:
    """float64 values equal torch's, from pairs of words."""
    assert np.array_equal(
        uniform64(words(3, 0, 2_000).reshape(-1, 2), -0.1, 0.3), drawn(3, 1_000, -0.1, 0.3, torch.float64)
    )


def test_next_position_gives_other_values() -> None:
    """A stream read one word late agrees nowhere."""
    assert not np.any(uniform(words(3, 1, 1_000), 0.0, 1.0) == drawn(3, 1_000, 0.0, 1.0))


def test_bad_calls_are_refused() -> None:
    """An unknown arithmetic and words without pairs name themselves."""
    with pytest.raises(UnknownName, match="gpu"):
        uniform(words(1, 0, 4), 0.0, 1.0, "gpu")
    with pytest.raises(UsageError, match="two words"):
        uniform64(words(1, 0, 3), 0.0, 1.0)
