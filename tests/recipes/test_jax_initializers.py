"""JAX's initialisers against JAX, and what orthogonal ones are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.answers import answers
from birthmark.generators.threefry import key_of
from birthmark.recipes.jax_initializers import (
    ALIASES,
    EMBED,
    INITIALIZERS,
    fans,
    initializer,
    normal,
    orthogonal_source,
    truncated_normal,
)

SHAPE = (3, 5, 14, 6)


def test_printed_values() -> None:
    """The printed `lecun_normal` of key 42 comes out bit for bit."""
    for answer in answers("birthmark.samplers", "neighbour_answers.txt", "jax-lecun"):
        seed, *shape = answer.numbers
        found = initializer("lecun_normal").draw(tuple(shape)).values(key_of(seed), np.arange(np.prod(shape)))
        assert found.tolist() == list(answer.floats)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*INITIALIZERS, *ALIASES])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_equal_jax(name: str, dtype: str) -> None:
    """Every named initialiser, of a convolution's shape, equals JAX's."""
    jax: Any = pytest.importorskip("jax", reason="jax is not installed")
    with jax.threefry_partitionable(True):
        stock = getattr(jax.nn.initializers, name)()(jax.random.PRNGKey(4), SHAPE, jax.numpy.dtype(dtype))
    found = initializer(name).draw(SHAPE, dtype=dtype).values(key_of(4), np.arange(np.prod(SHAPE)))
    assert np.array_equal(found, np.asarray(stock).astype(np.float32).ravel())


@pytest.mark.slow
def test_others_equal_jax() -> None:
    """Flax's embeddings, plain normals and truncated ones equal JAX's; so does an orthogonal's direction."""
    jax: Any = pytest.importorskip("jax", reason="jax is not installed")
    initializers, size = jax.nn.initializers, 50 * 16
    with jax.threefry_partitionable(True):
        key = jax.random.PRNGKey(4)
        embed = initializers.variance_scaling(1.0, "fan_in", "normal", out_axis=0)(key, (50, 16))
        plain = initializers.normal()(key, (50, 16))
        cut = initializers.truncated_normal(0.02)(key, (50, 16))
        orthogonal = np.asarray(initializers.orthogonal()(key, (16, 50)))
    found = [
        draw.values(key_of(4), np.arange(size))
        for draw in (EMBED.draw((50, 16), embedding=True), normal((50, 16)), truncated_normal((50, 16), 0.02))
    ]
    for ours, stock in zip(found, (embed, plain, cut), strict=True):
        assert np.array_equal(ours, np.asarray(stock).ravel())
    draw, tall = orthogonal_source((16, 50))
    column = draw.values(key_of(4), np.arange(size)).reshape(tall)[:, 0]
    assert np.allclose(orthogonal[0], column / np.linalg.norm(column), atol=1e-5)


def test_fans() -> None:
    """The receptive field counts into both fans; an embedding's are its features, as JAX reckons."""
    assert fans(SHAPE) == (15 * 14, 15 * 6)
    assert fans((50, 16), embedding=True) == (16.0, 16.0)
    assert INITIALIZERS["glorot_uniform"].factor((40, 24)) == np.float32(np.sqrt(np.float32(3 / 32)))


def test_what_cannot_be_is_refused() -> None:
    """Unknown names list the nearest; vectors have no fans."""
    with pytest.raises(UnknownName, match="lecun_normal"):
        initializer("lecun_nromal")
    with pytest.raises(UsageError, match="two axes"):
        initializer("he_normal").draw((7,))
