"""Traces of programs that build on a GPU, held against the same programs on a virtual one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from birthmark.errors import UsageError
from birthmark.recipes.trace import TracedStream
from birthmark.replay.replaying import Birth, Replay
from birthmark.torch import virtual_device
from birthmark.torch.tracing import trace

G = 2048


def net() -> nn.Module:
    """Built on the CPU, moved, and initialised there."""
    model = nn.Sequential(nn.Linear(30, 200), nn.Embedding(60, 70, padding_idx=1)).to("cuda")
    nn.init.xavier_normal_(model[0].weight)
    nn.init.normal_(model[0].bias, 0.1, 0.2)
    return model


def there() -> nn.Module:
    """Built on the GPU, with draws that are thrown away, redraws, and another dtype."""
    with torch.device("cuda"):
        model = nn.Sequential(nn.Conv1d(8, 100, 5), nn.LSTM(20, 30))
        model.cut = nn.Parameter(nn.init.trunc_normal_(torch.empty(9000), 0.0, 1.0, -1.0, 1.0))
        model.halved = nn.Parameter(torch.empty(9000, dtype=torch.bfloat16).uniform_(-0.3, 0.2))
        model.behind = nn.Parameter(torch.randn(9000))
    return model


def both() -> nn.Module:
    """Draws on both devices, each with its own stream."""
    model = nn.Linear(20, 300)
    model.there = nn.Parameter(torch.rand(5000, device="cuda"))
    model.here = nn.Parameter(torch.randn(40))
    model.like = nn.Parameter(torch.randn_like(model.there))
    return model


def traced(build: Callable[[], Any], **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return trace(build, **more)


@pytest.mark.parametrize("build", [net, there, both], ids=lambda build: build.__name__)
def test_a_traced_model_is_that_of_a_virtual_gpu(build: Callable[[], nn.Module]) -> None:
    """Every tensor, bit for bit, at the offsets that the layout gives; another layout gives others."""
    found = traced(build)
    with warnings.catch_warnings(), virtual_device(G):
        warnings.simplefilter("ignore")
        torch.manual_seed(5)
        state = {
            name: np.asarray(tensor.detach().cpu().float().reshape(-1).tolist(), np.float32)
            for name, tensor in build().state_dict().items()
        }
    replay, other = Replay(found, Birth(5, G)), Replay(found, Birth(5, 2 * G))

    assert [each.name for each in found.tensors] == list(state)
    for each in found.tensors:
        assert np.array_equal(replay.run(each.name, 0, each.size), state[each.name]), each.name
    assert any(
        not np.array_equal(other.run(each.name, 0, each.size), state[each.name]) for each in found.tensors
    )


def test_a_program_is_told_of_a_gpu_only_where_it_is_asked_for() -> None:
    """`cuda.is_available` decides many constructors."""

    def build() -> nn.Module:
        return nn.Linear(3, 4).to("cuda" if torch.cuda.is_available() else "cpu")

    assert traced(build).streams == (TracedStream("cpu"),)
    on_gpu = traced(build, device="cuda")
    assert on_gpu.streams == (TracedStream("cuda"),)
    assert not torch.cuda.is_available() or torch.cuda.device_count() > 0


def test_tensors_say_where_they_lie() -> None:
    """Device, is_cuda and get_device of tensors and of what is made of them."""
    seen: list[object] = []

    def build() -> dict[str, torch.Tensor]:
        w = torch.randn(4, device="cuda")
        made = (w * 2)[1:]
        seen.extend(
            [made.device, made.is_cuda, made.get_device(), made.cpu().is_cuda, made.to(torch.float64).device]
        )
        return {"w": made, "v": torch.zeros(3, device=w.device), "u": torch.ones(3).cuda()}

    traced(build)

    assert seen == [torch.device("cuda", 0), True, 0, False, torch.device("cuda", 0)]


def test_seeds_and_states_of_the_gpu_are_followed() -> None:
    """A program that seeds starts a stream; a state that it puts back continues the old one."""

    def build() -> dict[str, torch.Tensor]:
        first = torch.randn(9, device="cuda")
        state = torch.cuda.get_rng_state()
        second = torch.randn(9, device="cuda")
        torch.cuda.set_rng_state(state)
        third = torch.randn(9, device="cuda")
        torch.manual_seed(8)
        return {"a": first, "b": second, "c": third, "d": torch.randn(9, device="cuda")}

    found = traced(build)

    assert found.streams == (TracedStream("cuda"), TracedStream("cuda", 8))
    assert [each.after for each in found.draws] == [None, 0, 0, None]
    assert [each.stream for each in found.draws] == [0, 0, 0, 1]


def test_a_birth_without_a_layout_cannot_replay_a_gpu() -> None:
    """The layout is asked for."""
    with pytest.raises(UsageError, match="draws on a GPU"):
        Replay(traced(net), Birth(5))
