"""What a trace predicts is what the constructor makes, bit for bit, whole state dict."""

from __future__ import annotations

import copy
import math
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from birthmark.errors import UsageError
from birthmark.recipes.trace import Trace
from birthmark.recipes.trace_values import Drawn, why_unknown
from birthmark.replay.replaying import Birth, Replay
from birthmark.torch.tracing import trace

SEED = 5


class Model(nn.Module):  # type: ignore[misc]  # torch is not needed for checking types
    """A module that takes any tensor as a parameter."""

    def keep(self, **tensors: torch.Tensor) -> None:
        for name, tensor in tensors.items():
            self.register_parameter(name, nn.Parameter(tensor, requires_grad=tensor.is_floating_point()))


def layers() -> nn.Module:
    """Layers with their default initialisation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
    return nn.ModuleList(
        [
            nn.Linear(30, 40), nn.Conv2d(3, 8, 3), nn.ConvTranspose1d(3, 8, 3), nn.LSTM(5, 6, 2),
            nn.Embedding(20, 10, padding_idx=3), nn.GRUCell(3, 4), nn.MultiheadAttention(8, 2),
            nn.BatchNorm2d(4), nn.Bilinear(3, 4, 5), nn.LayerNorm(4), nn.PReLU(), encoder,
        ]
    )  # fmt: skip


def initialised() -> nn.Module:
    """Every initialiser of torch.nn.init whose bits are known."""
    model, init = Model(), nn.init
    for name in (
        "xavier_uniform_",
        "xavier_normal_",
        "kaiming_uniform_",
        "kaiming_normal_",
        "eye_",
        "zeros_",
    ):
        model.keep(**{name: getattr(init, name)(torch.empty(20, 30))})
    model.keep(
        bites=init.trunc_normal_(torch.empty(500), 0.0, 1.0, -1.0, 1.5),
        far=init.trunc_normal_(torch.empty(50), std=0.02),
        tail=init.trunc_normal_(torch.empty(50), 0.0, 1.0, 2.0, 3.0),
        dirac=init.dirac_(torch.empty(4, 4, 3)),
        behind=torch.randn(20),
    )
    return model


def overwritten() -> nn.Module:
    """Slices, transposed memory, parts joined, values scaled and cast."""
    model = Model()
    w = torch.Tensor(20, 30).uniform_(-1, 1)
    w[3] = 0
    w[:, :2].mul_(3)
    w[5:7].normal_()
    transposed = nn.init.normal_(torch.empty(30, 20).t())
    transposed[2].fill_(7)
    model.keep(
        w=w,
        transposed=transposed,
        gaps=torch.empty(20, 10)[:, :5].normal_(),
        joined=torch.cat([torch.randn(5, 4), torch.rand(5, 4) * 2 - 1], 1),
        stacked=torch.stack([torch.randn(20), torch.zeros(20)]),
        expanded=torch.randn(1, 20).expand(3, 20).clone(),
        last=torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        cast=torch.randn(100).bfloat16(),
        halved=nn.Linear(30, 7).half().weight.data,
    )
    return model


def dtypes() -> nn.Module:
    """Draws and arithmetic in 16 and 64 bits, small ones that leave a normal behind among them."""
    model = Model()
    for name, dtype in (("h", torch.float16), ("b", torch.bfloat16), ("d", torch.float64)):
        model.keep(
            **{
                f"{name}_normal": nn.init.normal_(torch.empty(50, 7, dtype=dtype), 0.1, 0.3),
                f"{name}_uniform": torch.empty(50, 7, dtype=dtype).uniform_(-0.3, 0.2),
                f"{name}_scaled": torch.randn(40, dtype=dtype) * 0.37 + 0.1,
                f"{name}_small": torch.randn(5, dtype=dtype),
                f"{name}_cut": nn.init.trunc_normal_(torch.empty(300, dtype=dtype), 0.0, 1.0, -1.0, 1.5),
            }
        )
    return model


def others() -> nn.Module:
    """Distributions beside normal and uniform, and what they leave in the stream."""
    model = Model()
    model.keep(
        exponential=torch.empty(40).exponential_(2.0),
        bernoulli=torch.empty(40).bernoulli_(0.3),
        cauchy=torch.empty(40).cauchy_(),
        log=torch.empty(9).log_normal_(),
        geometric=torch.empty(40).geometric_(0.2),
        permutation=torch.randperm(30),
        integers=torch.randint(0, 100, (30,)),
        normal=torch.normal(0.0, 2.0, (7,)),
        like=torch.rand_like(torch.empty(20, 4).t()),
        behind=torch.randn(20),
    )
    return model


def streams() -> nn.Module:
    """Seeds that the program sets, states that it puts back, a generator of its own."""
    model = Model()
    model.keep(first=torch.randn(20))
    state = torch.get_rng_state()
    model.keep(again=torch.randn(20))
    torch.set_rng_state(state)
    model.keep(same=torch.randn(20))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(77)
        model.keep(forked=torch.randn(20))
    own = torch.Generator().manual_seed(99)
    model.keep(own=torch.empty(20).normal_(generator=own), after=torch.randn(20))
    return model


def tied() -> nn.Module:
    """Two names of one parameter, and a copy of a layer."""
    embedding, head = nn.Embedding(30, 20), nn.Linear(20, 30, bias=False)
    head.weight = embedding.weight
    nn.init.normal_(head.weight, 0.0, 0.02)
    return nn.ModuleList([embedding, head, copy.deepcopy(head), nn.Linear(4, 4)])


def tables() -> nn.Module:
    """Numbers that no draw decides, from numpy and back, and a loop over them."""
    model = Model()
    model.register_buffer("positions", torch.arange(10))
    model.register_buffer("sines", torch.from_numpy(np.sin(np.arange(50.0))))
    rates = [x.item() for x in torch.linspace(0, 1, 4)]
    model.register_buffer("twice", torch.tensor(torch.arange(4.0).numpy() * 2) + rates[1])
    model.keep(w=torch.randn(20))
    return model


def plain(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    wide = tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor
    return np.asarray(wide.detach().contiguous().reshape(-1).numpy())


def traced(build: Callable[[], Any]) -> Trace:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return trace(build)


def differing(found: Trace, state: dict[str, torch.Tensor], seed: int = SEED) -> list[str]:
    """The tensors whose prediction is not what was constructed, bit for bit."""
    replay = Replay(found, Birth(seed))
    assert [each.name for each in found.tensors] == list(state)
    assert all(each.shape == tuple(state[each.name].shape) for each in found.tensors)
    return [
        each.name
        for each in found.tensors
        if not np.array_equal(replay.run(each.name, 0, each.size), plain(state[each.name]))
    ]


BUILDS = [layers, initialised, overwritten, dtypes, others, streams, tied, tables]


@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.__name__)
def test_a_traced_model_is_predicted_bit_for_bit(build: Callable[[], nn.Module]) -> None:
    """The whole state dict of the model that is really built, and none with another seed."""
    found = traced(build)
    torch.manual_seed(SEED)
    state = build().state_dict()

    assert differing(found, state) == []
    assert differing(found, state, SEED + 1) != []


def test_recording_leaves_the_generator_as_it_was() -> None:
    """A traced program draws nothing."""
    torch.manual_seed(1)
    before = torch.get_rng_state()
    traced(layers)

    assert torch.equal(before, torch.get_rng_state())


def test_nothing_is_allocated() -> None:
    """A layer of a terabyte is traced like any other."""
    found = traced(lambda: nn.Linear(2**19, 2**19))

    assert found.draws[0].size == 2**38
    assert found.tensors[0].value == Drawn(0)


def test_draws_say_whether_they_are_kept() -> None:
    """What is drawn again later is discarded, with the tensor that held it; a zeroed row is not."""

    def build() -> nn.Module:
        model = nn.ModuleDict({"a": nn.Linear(4, 5), "e": nn.Embedding(6, 4, padding_idx=0)})
        nn.init.normal_(model["a"].weight)
        torch.randn(3)
        return model

    draws = traced(build).draws

    assert [each.tensor for each in draws] == [None, "a.bias", "e.weight", "a.weight", None]
    assert [each.overwritten for each in draws] == ["a.weight", None, None, None, None]


def test_the_orders_of_two_layers_are_told_apart() -> None:
    """A trace of the same layers in another order predicts something else."""
    torch.manual_seed(SEED)
    state = nn.ModuleDict({"a": nn.Linear(8, 8), "b": nn.Linear(8, 8)}).state_dict()

    def swapped() -> nn.Module:
        b, a = nn.Linear(8, 8), nn.Linear(8, 8)
        return nn.ModuleDict({"a": a, "b": b})

    assert differing(traced(swapped), state) == list(state)


def test_another_dtype_is_another_prediction() -> None:
    """Drawn in bfloat16 and drawn in float32 then cast agree; drawn in double does not."""

    def build(dtype: torch.dtype) -> Callable[[], dict[str, torch.Tensor]]:
        return lambda: {"w": torch.empty(100, 3, dtype=dtype).uniform_(-0.1, 0.3)}

    torch.manual_seed(SEED)
    state = build(torch.float32)()

    assert differing(traced(build(torch.float32)), state) == []
    assert differing(traced(build(torch.float64)), state) == ["w"]
    assert differing(traced(build(torch.bfloat16)), state) == ["w"]


def old_truncated(tensor: torch.Tensor, std: float, bound: float) -> torch.Tensor:
    """The recipe of torch up to 2.11, as libraries carry it."""
    low, high = (math.erf(sign * bound / std / math.sqrt(2)) for sign in (-1, 1))
    return tensor.uniform_(low, high).erfinv_().mul_(std * math.sqrt(2)).add_(0.0).clamp_(-bound, bound)


def test_a_copy_of_the_old_truncated_normal_is_followed() -> None:
    """Step by step, and as exact as the inverse error function is known."""

    def build() -> dict[str, torch.Tensor]:
        return {"w": old_truncated(torch.empty(300, 10), 0.02, 0.04)}

    found = traced(build)
    torch.manual_seed(SEED)
    stored = plain(build()["w"])
    replay = Replay(found, Birth(SEED))

    assert replay.inexact("w") == "erfinv is not known to the last bit"
    assert np.allclose(replay.run("w", 0, 3000), stored, atol=4e-9)
    assert np.mean(replay.run("w", 0, 3000) == stored) > 0.9


def test_orthogonal_matrices_are_predicted_up_to_their_last_bits() -> None:
    """Tall, wide and scaled ones."""

    def build() -> dict[str, torch.Tensor]:
        orthogonal = nn.init.orthogonal_
        return {
            "wide": orthogonal(torch.empty(20, 30), gain=2.0),
            "tall": orthogonal(torch.empty(30, 4, 5)),
            "behind": torch.randn(20),
        }

    found = traced(build)
    torch.manual_seed(SEED)
    state = build()
    replay = Replay(found, Birth(SEED))

    for name in ("wide", "tall"):
        assert np.allclose(replay.run(name, 0, 600), plain(state[name]), atol=2e-6)
    assert np.array_equal(replay.run("behind", 0, 20), plain(state["behind"]))


def test_what_is_not_followed_says_so() -> None:
    """A norm of drawn values, indices that were drawn, memory never written: each with its reason."""

    def build() -> dict[str, torch.Tensor]:
        return {
            "norm": torch.randn(20).norm().reshape(1),
            "sparse": nn.init.sparse_(torch.empty(20, 5), 0.3),
            "empty": torch.empty(3),
        }

    reasons = {each.name: why_unknown(each.value) for each in traced(build).tensors}

    assert "norm" in str(reasons["norm"])
    assert "index_put" in str(reasons["sparse"])
    assert reasons["empty"] == "memory that was never written"


@pytest.mark.parametrize("use", [np.random.rand, random.random])
def test_other_generators_make_tables_unknown(use: Callable[[], float]) -> None:
    """Numbers that numpy or Python may have drawn are not taken for constants."""

    def build() -> dict[str, torch.Tensor]:
        return {"table": torch.tensor([use(), use(), 1.0]), "w": torch.randn(20)}

    found = traced(build)

    assert "own generator" in str(why_unknown(found.tensor("table").value))
    assert why_unknown(found.tensor("w").value) is None
    assert any("numpy" in note for note in found.notes)


def test_a_program_that_asks_for_drawn_numbers_is_told_so() -> None:
    """A branch on a drawn value has no trace."""

    def build() -> dict[str, torch.Tensor]:
        w = torch.randn(5)
        return {"w": w if w.sum() > 0 else -w}

    with pytest.raises(UsageError, match="numbers that a trace does not have"):
        traced(build)
    with pytest.raises(UsageError, match="numpy array"):
        traced(lambda: {"w": torch.tensor(torch.randn(3).numpy())})


@pytest.mark.parametrize("built", [None, 3, {}, nn.ReLU()])
def test_what_is_no_model_is_refused(built: object) -> None:
    """A module or a mapping of names to tensors, with at least one."""
    with pytest.raises(UsageError, match=r"expected a torch\.nn\.Module|no tensors"):
        traced(lambda: built)


def test_an_unknown_release_is_refused_before_anything_runs() -> None:
    """A trace for a release that nobody knows would be wrong in silence."""
    with pytest.raises(UsageError, match="99"):
        trace(lambda: pytest.fail("it ran"), release="99.1")
