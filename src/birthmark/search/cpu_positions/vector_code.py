"""Code in vectors of a fixed width, written for LLVM by hand: what the loops of `lanes` are made of.

What an intrinsic of numba writes goes through LLVM as the rest of a kernel does, which fits the vectors to
whatever registers there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from llvmlite import binding, ir
from numba.core import types

#: Whether this processor has 512-bit vectors and 32 registers of them; others have 16 of 256 bits.
WIDE: Final = bool(dict(binding.get_host_cpu_features()).get("avx512f", False))
#: 32-bit numbers in one vector.
WIDTH: Final = 16 if WIDE else 8

I64: Final = ir.IntType(64)
_I32: Final = ir.IntType(32)
_VECTOR: Final = ir.VectorType(_I32, WIDTH)
#: A function attribute in LLVM's assembly language. What registers do not hold goes to the stack; there it
#: must not straddle the lines of the cache, which costs a third of the speed in every other process.
_ALIGNED: Final = '"stackrealign"'

#: LLVM's values, builders and pointers have no types that a checker knows.
Value = Any


def aligned_stack(builder: Value) -> None:
    """Mark the function that is being written."""
    attributes = builder.function.attributes
    if isinstance(attributes, set):  # as in `birthmark.search.vectors`
        set.add(attributes, _ALIGNED)


def pointers(context: Value, builder: Value, kinds: Value, args: Value) -> list[Value]:
    """The first elements of arguments that are arrays; others as they are."""
    return [
        context.make_array(kind)(context, builder, arg).data if isinstance(kind, types.Array) else arg
        for kind, arg in zip(kinds, args, strict=True)
    ]


def constant(value: int) -> Value:
    """A number in every lane."""
    return ir.Constant(_VECTOR, [value] * WIDTH)


def spread(builder: Value, value: Value) -> Value:
    """A 32-bit value in every lane."""
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    single = builder.insert_element(undefined, value, _I32(0))
    return builder.shuffle_vector(single, undefined, constant(0))


def index(builder: Value, i: Value) -> Value:
    """A loop's counter in every lane."""
    return spread(builder, builder.trunc(i, _I32))


def element(builder: Value, pointer: Value, place: Value) -> Value:
    """An element of an array of numbers, in every lane."""
    return spread(builder, builder.load(builder.gep(pointer, [place])))


def load(builder: Value, pointer: Value, place: Value) -> Value:
    """The vector at a place of an array, counted in vectors."""
    loaded = builder.load(builder.gep(builder.bitcast(pointer, _VECTOR.as_pointer()), [place]))
    loaded.align = 4
    return loaded


def store(builder: Value, value: Value, pointer: Value, place: Value) -> None:
    """Put a vector at a place of an array, counted in vectors."""
    builder.store(value, builder.gep(builder.bitcast(pointer, _VECTOR.as_pointer()), [place])).align = 4


def parity(builder: Value, value: Value) -> Value:
    """The parity of each lane, in its lowest bit; the other bits are 0."""
    for shift in (16, 8, 4, 2, 1):
        value = builder.xor(value, builder.lshr(value, constant(shift)))
    return builder.and_(value, constant(1))


def counted(
    builder: Value,
    first: int,
    stop: Value,
    start: list[Value],
    body: Callable[[Value, list[Value]], list[Value]],
) -> list[Value]:
    """A loop over i from `first` to `stop` - 1, which runs at least once.

    Args:
        builder: of the function.
        first: the first i.
        stop: int64, one past the last.
        start: vectors before the loop.
        body: writes what makes the next vectors of i and the present ones.

    Returns:
        The vectors behind the loop.
    """
    before, block, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(block)
    builder.position_at_end(block)
    i = builder.phi(I64)
    present = [builder.phi(_VECTOR) for _ in start]
    following = body(i, present)
    next_i = builder.add(i, I64(1))
    for phi, initial, value in zip([i, *present], [I64(first), *start], [next_i, *following], strict=True):
        phi.add_incoming(initial, before)
        phi.add_incoming(value, block)
    builder.cbranch(builder.icmp_signed("<", next_i, stop), block, after)
    builder.position_at_end(after)
    return following
