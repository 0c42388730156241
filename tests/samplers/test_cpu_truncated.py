"""`trunc_normal_` on the CPU in both eras, against stock torch and its own steps."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.samplers import cpu_truncated
from birthmark.samplers.cpu_call import CpuCall
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.cpu_stream import CpuStream

DTYPES = ("float32", "float64", "bfloat16", "float16")
#: Bounds that cut off little, nothing, much on one side; and two that hold at most 0.3 of the mass.
REDRAWN = [(0.0, 1.0, -2.0, 2.0), (0.0, 0.02, -2.0, 2.0), (0.1, 1.0, -0.5, 0.9)]
REJECTED = [(0.0, 1.0, 2.0, 3.0), (0.3, 0.02, 0.31, 0.314)]


def drawn(seed: int, size: int, dtype: str, parameters: tuple[float, ...]) -> NDArray[np.float64]:
    torch.manual_seed(seed)
    tensor = torch.nn.init.trunc_normal_(torch.empty(size, dtype=getattr(torch, dtype)), *parameters)
    values: NDArray[np.float64] = tensor.double().numpy()
    return values


@pytest.mark.filterwarnings("ignore:mean is more than 2 std")
@pytest.mark.parametrize("parameters", [*REDRAWN, *REJECTED])
@pytest.mark.parametrize("size", [1, 7, 16, 1_003])
def test_every_value_equals_torch_and_so_does_what_follows(parameters: tuple[float, ...], size: int) -> None:
    """In every dtype, by random access and as a stream, with the words that the seed makes it take."""
    for dtype in DTYPES:
        truth = drawn(4, size, dtype, parameters)
        state = torch.get_rng_state().numpy().tobytes()
        draw = CpuDraw("truncated-normal", parameters, size, dtype=dtype)
        stream = CpuStream(4)

        assert np.array_equal(draw.values(4, np.arange(size)[::-1])[::-1], truth)
        assert np.array_equal(stream.run(draw.call), truth)
        assert stream.state_bytes() == state
        assert stream.index == draw.consumed_of(4)


def test_single_elements_need_only_their_own_rounds() -> None:
    """An element of a large tensor is found without the others, and is the same."""
    draw = CpuDraw("truncated-normal", (0.0, 1.0, -1.0, 1.0), 10**9, 77)
    some = np.array([0, 1, 5 * 10**8, 10**9 - 1])

    values = draw.values(1, some)

    assert np.array_equal(draw.values(1, some[2:]), values[2:])
    assert np.abs(values).max() <= 1.0


def test_the_normal_that_is_kept_passes_from_round_to_round() -> None:
    """A draw of three after one of one, both of scalar normals, equals torch's."""
    torch.manual_seed(2)
    torch.empty(1).normal_()
    truth = torch.nn.init.trunc_normal_(torch.empty(3), 0.0, 1.0, -0.5, 0.5).numpy()
    first = CpuDraw("normal", (0.0, 1.0), 1)
    place = first.after()
    second = CpuDraw.of(CpuCall("truncated-normal", (0.0, 1.0, -0.5, 0.5), 3), place.index, place.kept_at)

    assert np.array_equal(second.values(2, np.arange(3)), truth)
    forgetful = CpuDraw.of(second.call, place.index)
    assert not np.array_equal(forgetful.values(2, np.arange(3)), truth)


@pytest.mark.parametrize(
    "parameters", [(0.0, 1.0, -2.0, 2.0), (0.01, 0.02, -0.06, 0.06), (0.0, 0.02, -2.0, 2.0)]
)
def test_inversion_takes_the_five_steps(parameters: tuple[float, float, float, float]) -> None:
    """Up to 2.11: today's torch, taken through the old steps, gives the same within a unit or two."""
    mean, std, low, high = parameters
    below, up_to = ((1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0 for x in (low, high))
    for dtype, close in (("float32", 2.0**-22), ("float64", 2.0**-50)):
        torch.manual_seed(6)
        tensor = torch.empty(4_000, dtype=getattr(torch, dtype)).uniform_(2 * below - 1, 2 * up_to - 1)
        truth = tensor.erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(low, high).numpy()
        draw = CpuDraw("truncated-normal", parameters, 4_000, dtype=dtype, version="2.11")
        values = draw.values(6, np.arange(4_000))
        assert np.abs(values - truth).max() <= close * (std + abs(mean)) * 4
        assert not draw.exact
        assert draw.consumed == 4_000 * (2 if dtype == "float64" else 1)


def test_the_eras_have_nothing_in_common() -> None:
    """Values of 2.11 and 2.12 for one seed agree nowhere."""
    old, new = (
        CpuDraw("truncated-normal", (0.0, 1.0, -2.0, 2.0), 1_000, version=version).values(1, np.arange(1_000))
        for version in ("2.11", "2.12")
    )

    assert not np.any(old == new)


def test_how_many_words_is_asked_with_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one the question is refused, and bounds that take in almost nothing end in a message."""
    draw = CpuDraw("truncated-normal", (0.0, 1.0, -2.0, 2.0), 100)

    with pytest.raises(UsageError, match="consumed_of"):
        _ = draw.consumed
    monkeypatch.setattr(cpu_truncated, "MOST_ROUNDS", 50)
    with pytest.raises(UsageError, match="took in no value"):
        CpuDraw("truncated-normal", (0.0, 1.0, 0.6, 1e6), 1).values(1, np.zeros(1, np.int64))
