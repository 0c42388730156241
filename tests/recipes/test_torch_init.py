"""Initialisers and layers: the very numbers that torch's own code passes to its random calls."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from birthmark.errors import UnknownName, UsageError
from birthmark.hypothesis import Hypothesis
from birthmark.recipes import torch_init
from birthmark.samplers.draw import Draw

Calls = list[tuple[str, tuple[float, ...], tuple[int, ...]]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Every normal_ and uniform_ that torch makes: name, numbers, shape."""
    made: Calls = []
    for name, defaults in (("normal_", (0.0, 1.0)), ("uniform_", (0.0, 1.0))):
        plain = getattr(torch.Tensor, name)

        @functools.wraps(plain)
        def recorded(
            tensor: torch.Tensor,
            *numbers: float,
            _plain: Callable[..., Any] = plain,
            _name: str = name,
            _defaults: tuple[float, float] = defaults,
            **options: Any,
        ) -> Any:
            given = {"normal_": ("mean", "std"), "uniform_": ("from", "to")}[_name]
            named = [float(options[word]) for word in given if word in options]
            made.append(
                (
                    _name,
                    (*numbers, *named, *_defaults[len(numbers) + len(named) :]),
                    tuple(tensor.shape),
                )
            )
            return _plain(tensor, *numbers, **options)

        monkeypatch.setattr(torch.Tensor, name, recorded)
    return made


def as_calls(*draws: Draw) -> Calls:
    return [(f"{draw.distribution}_", draw.parameters, draw.shape) for draw in draws]


SHAPES = ((7, 5), (64, 3, 3, 3), (11, 1, 4))
CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("xavier_uniform_", {}, {}),
    ("xavier_uniform_", {"gain": 1.7}, {"scale": 1.7}),
    ("xavier_normal_", {"gain": 5 / 3}, {"scale": 5 / 3}),
    ("kaiming_uniform_", {}, {}),
    ("kaiming_uniform_", {"a": 0.3, "mode": "fan_out"}, {"slope": 0.3, "fan_out": True}),
    ("kaiming_uniform_", {"nonlinearity": "relu"}, {"nonlinearity": "relu"}),
    ("kaiming_normal_", {"nonlinearity": "tanh"}, {"nonlinearity": "tanh"}),
    (
        "kaiming_normal_",
        {"mode": "fan_out", "nonlinearity": "selu"},
        {"fan_out": True, "nonlinearity": "selu"},
    ),
    ("uniform_", {"a": -0.1, "b": 0.3}, {"low": -0.1, "high": 0.3}),
    ("normal_", {"mean": 0.1, "std": 0.02}, {"mean": 0.1, "std": 0.02}),
    ("orthogonal_", {}, {}),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("name", "given", "options"), CASES)
def test_initialisers_pass_torchs_numbers(
    calls: Calls, shape: tuple[int, ...], name: str, given: dict[str, Any], options: dict[str, Any]
) -> None:
    """Distribution, shape and both doubles, to the last bit."""
    getattr(torch.nn.init, name)(torch.empty(shape), **given)
    assert as_calls(torch_init.INITIALISERS[name](shape, **options)) == calls


def test_sparse_and_truncated_draws(calls: Calls) -> None:
    """The draw of sparse_, and the numbers of trunc_normal_, whose bounds are absolute."""
    torch.nn.init.sparse_(torch.empty(6, 4), 0.5, std=0.02)
    assert as_calls(torch_init.sparse((6, 4), 0.02)) == calls[:1]
    draw = torch_init.truncated_normal((6, 4), std=0.02, version="2.12+")
    assert draw == Draw("truncated-normal", (0.0, 0.02, -2.0, 2.0), (6, 4), version="2.12+")
    calls.clear()
    torch.nn.init.trunc_normal_(torch.empty(6, 4), std=0.02)
    assert calls == [("normal_", (0.0, 0.02), (6, 4))]


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda: torch.nn.Linear(48, 7), torch_init.linear(48, 7)),
        (lambda: torch.nn.Linear(3, 5, bias=False), torch_init.linear(3, 5, bias=False)),
        (lambda: torch.nn.Conv1d(4, 6, 5), torch_init.convolution(4, 6, (5,))),
        (lambda: torch.nn.Conv2d(4, 6, 3, groups=2), torch_init.convolution(4, 6, (3, 3), groups=2)),
        (
            lambda: torch.nn.ConvTranspose2d(4, 6, (2, 3), groups=2),
            torch_init.convolution(4, 6, (2, 3), groups=2, transposed=True),
        ),
        (lambda: torch.nn.Conv3d(2, 3, 2, bias=False), torch_init.convolution(2, 3, (2, 2, 2), bias=False)),
        (lambda: torch.nn.Embedding(10, 4, padding_idx=2), torch_init.embedding(10, 4)),
    ],
)
def test_layers_draw_what_torch_draws(
    calls: Calls, build: Callable[[], torch.nn.Module], expected: dict[str, Draw]
) -> None:
    """Weight before bias, with torch's shapes and numbers."""
    layer = build()
    assert as_calls(*expected.values()) == calls
    assert {name: tuple(tensor.shape) for name, tensor in layer.named_parameters()} == {
        name: draw.shape for name, draw in expected.items()
    }


def test_gains_are_torchs() -> None:
    """Every nonlinearity's gain, leaky_relu's with and without a slope."""
    for name in torch_init.GAINS:
        assert torch_init.gain(name) == torch.nn.init.calculate_gain(name)
    for slope in (None, 0.0, 0.2, torch_init.DEFAULT_SLOPE):
        assert torch_init.gain("leaky_relu", slope) == torch.nn.init.calculate_gain("leaky_relu", slope)


def test_a_published_layer() -> None:
    """mrdbourke/pytorch-deep-learning issue 759: nn.Linear(1, 1) on a GPU, seed 42, draw after draw."""
    draws = torch_init.linear(1, 1)
    weight = Hypothesis(draws["weight"], 270_336)
    bias = Hypothesis(draws["bias"], 270_336, offset=weight.end_offset)
    printed = [f"{hypothesis.tensor(42).item():.4f}" for hypothesis in (weight, bias)]
    assert printed == ["0.2259", "0.9754"]
    assert f"{Hypothesis(draws['bias'], 270_336).tensor(42).item():.4f}" != "0.9754"
    assert np.array_equal(weight.tensor(42).shape, (1, 1))


def test_what_cannot_be_is_refused() -> None:
    """Vectors have no fans, groups divide channels, and nonlinearities have names."""
    for call in (
        lambda: torch_init.xavier_normal((5,)),
        lambda: torch_init.linear(0, 5),
        lambda: torch_init.orthogonal((5,)),
        lambda: torch_init.sparse((2, 2, 2)),
        lambda: torch_init.convolution(4, 6, (3,), groups=4),
    ):
        with pytest.raises(UsageError):
            call()
    with pytest.raises(UnknownName, match="leaky_relu"):
        torch_init.gain("leaky_rely")
