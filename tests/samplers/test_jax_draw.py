"""JAX's draws: printed values, JAX itself bit for bit in three dtypes, random access, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.answers import answers
from birthmark.generators.threefry import COUNTERS, Counters, key_of
from birthmark.samplers.jax_draw import JaxDraw

FILE = ("birthmark.samplers", "neighbour_answers.txt")
SIZE = 701


@pytest.mark.parametrize("counters", COUNTERS)
def test_printed_normals(counters: Counters) -> None:
    """The printed normals of key 42 come out bit for bit, and those of key 43 are others."""
    for answer in answers(*FILE, f"jax-normal-{counters}"):
        seed, size = answer.numbers
        draw = JaxDraw("normal", size, counters=counters)
        assert draw.values(key_of(seed), np.arange(size)).tolist() == list(answer.floats)
        assert not np.any(draw.values(key_of(seed + 1), np.arange(size)) == np.array(answer.floats))


def test_another_programs_decimals() -> None:
    """The second key of a split draws what an independent port prints."""
    for answer in answers(*FILE, "jax-second-key"):
        key = key_of(answer.numbers[0]).split(2)[1]
        expected = [np.float32(text) for text in answer.answers]
        assert JaxDraw("normal", len(expected)).values(key, np.arange(len(expected))).tolist() == expected


def arithmetic_of(dtype: str) -> tuple[str, ...]:
    """What the processor here may do: float16 has two ways."""
    return ("xla-cpu", "xla-cpu-fp16") if dtype == "float16" else ("xla-cpu",)


def slow(*case: object) -> Any:
    """A case for which JAX compiles too long to be looked at every time."""
    return pytest.param(*case, marks=pytest.mark.slow)


#: Distribution, bounds, factor, and whether it is compiled together with it.
DRAWS: list[tuple[Any, Any, float | None, bool]] = [
    ("normal", None, None, False),
    ("uniform", (-0.05, 0.07), None, False),
    ("truncated-normal", (-2.0, 2.0), None, False),
    ("normal", None, 0.02, False),
    ("normal", None, 0.02, True),
]
#: What is looked at every time; all other combinations are slow.
USUAL = {
    ("partitionable", "float32", 0),
    ("partitionable", "float32", 2),
    ("original", "float32", 1),
    ("partitionable", "bfloat16", 0),
}
CASES = [
    case if case in USUAL else slow(*case)
    for counters in COUNTERS
    for dtype in ("float32", "bfloat16", "float16")
    for case in ((counters, dtype, number) for number in range(len(DRAWS)))
]


@pytest.mark.parametrize(("counters", "dtype", "number"), CASES)
def test_equals_jax(counters: Counters, dtype: str, number: int) -> None:
    """Normals, uniforms and truncated normals equal JAX's bit for bit, scaled ones compiled or not."""
    jax: Any = pytest.importorskip("jax", reason="jax is not installed")
    distribution, bounds, factor, merged = DRAWS[number]
    kind = jax.numpy.dtype(dtype)

    def stock(key: object) -> Any:
        if factor:
            return jax.nn.initializers.normal(factor)(key, (SIZE,), kind)
        if distribution == "truncated-normal":
            return jax.random.truncated_normal(key, *bounds, (SIZE,), kind)
        return getattr(jax.random, distribution)(key, (SIZE,), kind, *(bounds or ()))

    with jax.threefry_partitionable(counters == "partitionable"):
        expected = np.asarray((jax.jit(stock) if merged else stock)(jax.random.PRNGKey(11))).astype(
            np.float32
        )
    found = [
        JaxDraw(distribution, SIZE, bounds, factor, dtype, counters, arithmetic, merged).values(
            key_of(11), np.arange(SIZE)
        )
        for arithmetic in arithmetic_of(dtype)
    ]
    assert any(np.array_equal(one, expected) for one in found)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(COUNTERS),
    st.sampled_from(["float32", "bfloat16", "float16"]),
    st.sampled_from([("normal", None), ("uniform", (-1.0, 3.0)), ("truncated-normal", (-2.0, 2.0))]),
    st.lists(st.integers(0, SIZE - 1), max_size=8),
)
def test_random_access(counters: Counters, dtype: str, kind: tuple[Any, Any], chosen: list[int]) -> None:
    """Any elements in any order are those of the whole draw, and lie within the bounds."""
    draw = JaxDraw(kind[0], SIZE, kind[1], dtype=dtype, counters=counters)
    everything = draw.values(key_of(3), np.arange(SIZE))
    assert np.array_equal(draw.values(key_of(3), np.array(chosen, np.int64)), everything[chosen])
    if kind[1]:
        assert kind[1][0] <= everything.min()
        assert everything.max() <= kind[1][1]


def test_gpu_and_cpu_differ_in_last_bits_only() -> None:
    """The two arithmetics agree to a few units in the last place, and not in all bits."""
    cpu, gpu = (
        JaxDraw("normal", SIZE, arithmetic=one).values(key_of(1), np.arange(SIZE))
        for one in ("xla-cpu", "xla-cuda")
    )
    assert 0 < np.sum(cpu != gpu) < SIZE
    assert np.allclose(cpu, gpu, rtol=2e-6, atol=1e-7)


def test_what_cannot_be_is_refused() -> None:
    """Unknown names list the nearest; bounds, sizes, factors and indices that cannot be are refused."""
    with pytest.raises(UnknownName, match="xla-cpu"):
        JaxDraw("normal", 4, arithmetic="xla-cpo")
    with pytest.raises(UnknownName, match="bfloat16"):
        JaxDraw("normal", 4, dtype="bfloat61")
    with pytest.raises(UsageError, match="bounds"):
        JaxDraw("uniform", 4)
    with pytest.raises(UsageError, match="lower first"):
        JaxDraw("uniform", 4, (1.0, 0.0))
    with pytest.raises(UsageError, match="finite factor"):
        JaxDraw("normal", 4, factor=float("nan"))
    with pytest.raises(UsageError, match="index"):
        JaxDraw("normal", 4).values(key_of(0), np.array([-1]))
