"""Seeds side by side in vector registers: the seeding runs, masked words add up meanwhile, parities come out.

Each word of a seeding depends on the one before, and a multiplication takes ten cycles; so several vectors of
seeds have to be in flight, and what adds up must stay in registers. Compilers do not arrange that by
themselves: arrays of seeds in memory cost a load and a store a step, and loops over few lanes are taken
apart. So this one loop is written down for LLVM as it shall run, in vectors of a fixed width, which LLVM
fits to whatever registers there are.

`runner` makes the loop for a number of masks. With so few lines of its own it reads nearly as the C of
`benchmarks/cpu_seeding.c`.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

from llvmlite import binding, ir
from numba.core import types
from numba.extending import intrinsic

from birthmark.generators.mt19937_words import SEEDING, SIZE

#: Whether this processor has 512-bit vectors and 32 registers of them; others have 16 of 256 bits.
_WIDE: Final = bool(dict(binding.get_host_cpu_features()).get("avx512f", False))
#: Seeds in one vector.
WIDTH: Final = 16 if _WIDE else 8
#: Vectors in flight for each number of masks: as many as hide the multiplication; registers hold them all
#: where they are wide.
VECTORS: Final = {0: 10, 4: 8, 8: 4} if _WIDE else {0: 8, 4: 5, 8: 3}
#: Seeds that run together for each number of masks.
LANES: Final = {masks: WIDTH * vectors for masks, vectors in VECTORS.items()}

#: A function attribute in LLVM's assembly language. What registers do not hold goes to the stack; there it
#: must not straddle the lines of the cache, which costs a third of the speed in every other process.
_ALIGNED: Final = '"stackrealign"'
_SHIFT: Final = 30
_I32: Final = ir.IntType(32)
_I64: Final = ir.IntType(64)
_VECTOR: Final = ir.VectorType(_I32, WIDTH)


def runner(masks: int) -> Any:  # noqa: ANN401 - numba's own type
    """The loop for a number of masks, to be called from kernels.

    Args:
        masks: 0, 4 or 8.

    Returns:
        A function of (seeds, table, words, out): uint32[LANES[masks]] seeds; uint32[words, masks], the mask
        of each word; how many words, 2 or more; and uint32[LANES[masks]], where each seed's parities are put,
        that of mask k in bit k. Without masks it is the last word. All arrays are C-order.
    """
    vectors = VECTORS[masks]

    def run(typingctx: Any, seeds: Any, table: Any, words: Any, out: Any) -> Any:  # noqa: ANN401, ARG001
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ANN401
            data = [
                context.make_array(kind)(context, builder, arg).data if isinstance(kind, types.Array) else arg
                for kind, arg in zip(signature.args, args, strict=True)
            ]
            attributes = builder.function.attributes
            if isinstance(attributes, set):  # as in `search.vectors`
                set.add(attributes, _ALIGNED)
            _loop(builder, vectors, masks, *data)
            return context.get_dummy_value()

        return types.void(seeds, table, types.int64, out), generate

    run.__name__ = run.__qualname__ = f"run_{masks}"
    return intrinsic(run)


def filler(vectors: int) -> Any:  # noqa: ANN401 - numba's own type
    """The seeding with all its words kept, to be called from kernels.

    Args:
        vectors: how many run together.

    Returns:
        A function of (seeds, states): uint32[vectors * WIDTH] seeds, and uint32[vectors, 624 * WIDTH], where
        word i of seed v * WIDTH + j is put at [v, i * WIDTH + j].
    """

    def fill(typingctx: Any, seeds: Any, states: Any) -> Any:  # noqa: ANN401, ARG001
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ANN401
            where, target = (
                builder.bitcast(context.make_array(kind)(context, builder, arg).data, _VECTOR.as_pointer())
                for kind, arg in zip(signature.args, args, strict=True)
            )
            first = [_loaded(builder, builder.gep(where, [_I32(v)])) for v in range(vectors)]
            for v, x in enumerate(first):
                _store(builder, x, builder.gep(target, [_I64(v * SIZE)]))
            before, body, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
            builder.branch(body)
            builder.position_at_end(body)
            i = builder.phi(_I64)
            state = [builder.phi(_VECTOR) for _ in range(vectors)]
            words_now = _next_words(builder, state, i)
            for v, x in enumerate(words_now):
                _store(builder, x, builder.gep(target, [builder.add(i, _I64(v * SIZE))]))
            following = builder.add(i, _I64(1))
            _joined(before, body, [i, *state], [_I64(1), *first], [following, *words_now])
            builder.cbranch(builder.icmp_signed("<", following, _I64(SIZE)), body, after)
            builder.position_at_end(after)
            return context.get_dummy_value()

        return types.void(seeds, states), generate

    return intrinsic(fill)


def _loop(builder: Any, vectors: int, masks: int, seeds: Any, table: Any, words: Any, out: Any) -> None:  # noqa: ANN401
    """Write the loop: x = SEEDING * (x ^ x >> 30) + i, and every sum ^= x & mask of word i."""

    def mask(i: Any, number: int) -> Any:  # noqa: ANN401
        place = builder.add(builder.mul(i, _I64(masks)), _I64(number))
        return _spread(builder, builder.load(builder.gep(table, [place])))

    where = builder.bitcast(seeds, _VECTOR.as_pointer())
    first = [_loaded(builder, builder.gep(where, [_I32(v)])) for v in range(vectors)]
    rows = [[builder.and_(x, mask(_I64(0), number)) for x in first] for number in range(masks)]

    before, body, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(body)
    builder.position_at_end(body)
    i = builder.phi(_I64)
    state = [builder.phi(_VECTOR) for _ in range(vectors)]
    added = [[builder.phi(_VECTOR) for _ in range(vectors)] for _ in range(masks)]

    words_now = _next_words(builder, state, i)
    sums_now = []
    for number in range(masks):
        bits = mask(i, number)
        sums_now.append(
            [
                builder.xor(total, builder.and_(x, bits))
                for total, x in zip(added[number], words_now, strict=True)
            ]
        )
    following = builder.add(i, _I64(1))
    starts, values = [_I64(1), *first, *chain(*rows)], [following, *words_now, *chain(*sums_now)]
    _joined(before, body, [i, *state, *chain(*added)], starts, values)
    builder.cbranch(builder.icmp_signed("<", following, words), body, after)

    builder.position_at_end(after)
    target = builder.bitcast(out, _VECTOR.as_pointer())
    for v, last in enumerate(words_now):
        bits = last if masks == 0 else _constant(0)
        for number, row in enumerate(sums_now):
            bits = builder.or_(bits, builder.shl(_parity(builder, row[v]), _constant(number)))
        _store(builder, bits, builder.gep(target, [_I32(v)]))


def _parity(builder: Any, sums: Any) -> Any:  # noqa: ANN401
    """The parity of each lane, in its lowest bit; the other bits are 0."""
    for shift in (16, 8, 4, 2, 1):
        sums = builder.xor(sums, builder.lshr(sums, _constant(shift)))
    return builder.and_(sums, _constant(1))


def _next_words(builder: Any, state: list[Any], i: Any) -> list[Any]:  # noqa: ANN401
    """Word i of the seedings whose words before are given."""
    index = _spread(builder, builder.trunc(i, _I32))
    mixed = [builder.xor(x, builder.lshr(x, _constant(_SHIFT))) for x in state]
    return [builder.add(builder.mul(_constant(int(SEEDING)), x), index) for x in mixed]


def _joined(before: Any, body: Any, phis: list[Any], starts: list[Any], values: list[Any]) -> None:  # noqa: ANN401
    """Say what each variable of a loop is at its start, and what it becomes."""
    for phi, start, value in zip(phis, starts, values, strict=True):
        phi.add_incoming(start, before)
        phi.add_incoming(value, body)


def _store(builder: Any, value: Any, pointer: Any) -> None:  # noqa: ANN401
    builder.store(value, pointer).align = 4


def _constant(value: int) -> ir.Constant:
    return ir.Constant(_VECTOR, [value] * WIDTH)


def _loaded(builder: Any, pointer: Any) -> Any:  # noqa: ANN401
    loaded = builder.load(pointer)
    loaded.align = 4
    return loaded


def _spread(builder: Any, value: Any) -> Any:  # noqa: ANN401
    """A number in every lane."""
    single = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, _I32(0))
    return builder.shuffle_vector(single, ir.Constant(_VECTOR, ir.Undefined), _constant(0))
