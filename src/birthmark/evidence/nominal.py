"""Scales that people write down: short decimals, 1/sqrt(k), Xavier's, Kaiming's, depth-scaled ones.

Sources of the formulas: pytorch `torch/nn/init.py` (1.4.0 to 2.15.0), computed in doubles as it computes
them; depth scaling std/sqrt(2 L) as in GPT-2 and Megatron-LM.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from birthmark.hypothesis import Draw

#: Standard deviations that recipes use before depth scaling or decay, most frequent first.
USUAL_STDS = (0.02, 0.006, 0.01, 1.0, 0.05, 0.1)
#: Deepest network that depth scaling is tried for.
MOST_LAYERS = 256
#: 1/sqrt(k) is tried for every k up to here, beyond it for multiples of the step: every k would fit anything.
EVERY_WIDTH = 1024
WIDTH_STEP = 8


@dataclass(frozen=True, slots=True)
class Nominal:
    """A scale somebody wrote down: its value as a double, and the formula in words."""

    value: float
    formula: str


def nominals(near: float, draw: Draw) -> Iterator[Nominal]:
    """Nominal scales within about one per cent of an estimate, the likeliest first.

    Args:
        near: the estimate, positive.
        draw: the draw, whose shape and distribution choose the formulas.
    """
    everything = (
        *_decimals(near, (1, 2)),
        *_from_shape(draw),
        *_depth_scaled(near),
        *_decimals(near, (3,)),
        *_inverse_roots(near),
    )
    seen: set[float] = set()
    for nominal in everything:
        if nominal.value not in seen and abs(nominal.value / near - 1.0) <= 0.01:
            seen.add(nominal.value)
            yield nominal


def usual(draw: Draw) -> tuple[Nominal, ...]:
    """The scales a recipe would start from, for a tensor that was scaled afterwards; likeliest first."""
    decimals = tuple(Nominal(std, f"{std:g}") for std in USUAL_STDS)
    if draw.distribution != "uniform":
        return (*decimals, *_from_shape(draw))
    return (*_from_shape(draw), *decimals)


def _decimals(near: float, digits: tuple[int, ...]) -> Iterator[Nominal]:
    exponent = math.floor(math.log10(near))
    for count in digits:
        power = exponent - count + 1
        middle = round(near / 10.0**power)
        for mantissa in (middle, middle - 1, middle + 1):
            if mantissa > 0:
                value = float(f"{mantissa}e{power}")
                yield Nominal(value, f"{value:g}")


def fans(shape: tuple[int, ...]) -> tuple[int, int] | None:
    """(fan_in, fan_out) as torch counts them: extents 1 and 0, each times the rest; None for vectors."""
    if len(shape) < 2:
        return None
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _from_shape(draw: Draw) -> Iterator[Nominal]:
    counted = fans(draw.shape)
    if counted is None or 0 in counted:
        return
    fan_in, fan_out = counted
    xavier = math.sqrt(2.0 / float(fan_in + fan_out))
    if draw.distribution == "uniform":
        yield Nominal(1.0 / math.sqrt(fan_in), f"1/sqrt({fan_in}), PyTorch's default for layers")
        yield Nominal(math.sqrt(3.0) * xavier, f"sqrt(6/({fan_in}+{fan_out})), Xavier's")
        for name, fan in (("fan_in", fan_in), ("fan_out", fan_out)):
            yield Nominal(
                math.sqrt(3.0) * (math.sqrt(2.0) / math.sqrt(fan)), f"sqrt(6/{fan}), Kaiming's by {name}"
            )
            yield Nominal(math.sqrt(3.0) * (1.0 / math.sqrt(fan)), f"sqrt(3/{fan}), LeCun's by {name}")
        return
    yield Nominal(xavier, f"sqrt(2/({fan_in}+{fan_out})), Xavier's")
    for name, fan in (("fan_in", fan_in), ("fan_out", fan_out)):
        yield Nominal(math.sqrt(2.0) / math.sqrt(fan), f"sqrt(2/{fan}), Kaiming's by {name}")
        yield Nominal(1.0 / math.sqrt(fan), f"1/sqrt({fan}), by {name}")
        yield Nominal(math.sqrt(2.0 / (5.0 * fan)), f"sqrt(2/(5*{fan})), the small one by {name}")


def _depth_scaled(near: float) -> Iterator[Nominal]:
    for std in USUAL_STDS[:3]:
        layers = round((std / near) ** 2 / 2.0)
        if 1 <= layers <= MOST_LAYERS:
            yield Nominal(std / math.sqrt(2.0 * layers), f"{std:g}/sqrt(2*{layers}), scaled by depth")


def _inverse_roots(near: float) -> Iterator[Nominal]:
    square = 1.0 / near**2
    width = round(square) if square <= EVERY_WIDTH else round(square / WIDTH_STEP) * WIDTH_STEP
    if width >= 2:
        yield Nominal(1.0 / math.sqrt(width), f"1/sqrt({width})")
