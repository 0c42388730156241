"""Keras's initialisers on TensorFlow: from a name and a shape to a draw.

Source: keras-team/keras `keras/src/initializers/random_initializers.py`, 3.0 to 3.15 (run on 3.15.1), with
tf.keras 2's formulas the same. An integer seed s draws from a stateless operator with the seed (s, 0); where
none is given, Python's generator gives one for every weight (`experiment_seeds.keras_seed`).
"""

from __future__ import annotations

import math
from typing import Final

from birthmark.errors import UnknownName, UsageError
from birthmark.recipes.jax_initializers import TRUNCATED_STD
from birthmark.samplers.tensorflow_draw import Stream, TensorflowDraw, stateless

#: scale, fan and shape of the variance-scaling ones.
SCALINGS: Final[dict[str, tuple[float, str, str]]] = {
    "glorot_uniform": (1.0, "avg", "uniform"),
    "glorot_normal": (1.0, "avg", "normal"),
    "he_uniform": (2.0, "in", "uniform"),
    "he_normal": (2.0, "in", "normal"),
    "lecun_uniform": (1.0, "in", "uniform"),
    "lecun_normal": (1.0, "in", "normal"),
}
#: Those with a scale of their own, at their default; "random_uniform" is what `Embedding` uses.
PLAIN: Final = ("random_normal", "random_uniform", "truncated_normal")
DEFAULT_SCALE: Final = 0.05


def stream_of(seed: int) -> Stream:
    """The stream of an initialiser with an integer seed."""
    return stateless(seed, 0)


def draw(name: str, shape: tuple[int, ...], scale: float = DEFAULT_SCALE) -> TensorflowDraw:
    """The draw of an initialiser.

    Args:
        name: one of `SCALINGS` or `PLAIN`.
        shape: extents of the weight, kernels [..., in, out].
        scale: std or bound of a plain one.

    Raises:
        UnknownName: there is no initialiser of that name.
        UsageError: a shape without axes, or with an empty one.
    """
    size = math.prod(shape)
    if name in PLAIN:
        if name == "random_normal":
            return TensorflowDraw("normal", size, (0.0, scale))
        if name == "random_uniform":
            return TensorflowDraw("uniform", size, (-scale, scale))
        return TensorflowDraw("truncated-normal", size, (0.0, scale))
    if name not in SCALINGS:
        raise UnknownName("Keras initialiser", name, (*SCALINGS, *PLAIN))
    numerator, mode, kind = SCALINGS[name]
    fan_in, fan_out = fans(shape)
    variance = numerator / max(1.0, fan_in if mode == "in" else (fan_in + fan_out) / 2.0)
    if kind == "uniform":
        limit = math.sqrt(3.0 * variance)
        return TensorflowDraw("uniform", size, (-limit, limit))
    return TensorflowDraw("truncated-normal", size, (0.0, math.sqrt(variance) / TRUNCATED_STD))


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """(fan in, fan out) of a weight; both its length for a vector.

    Raises:
        UsageError: a shape without axes, or with an empty one.
    """
    if not shape or min(shape) < 1:
        raise UsageError(f"fans of the shape {shape}; expected one axis or more, none of them empty.")
    if len(shape) == 1:
        return shape[0], shape[0]
    field = math.prod(shape[:-2])
    return shape[-2] * field, shape[-1] * field
