"""Seeds side by side in vector registers: the seeding runs, masked words add up meanwhile, parities come out.

Each word of a seeding depends on the one before, and a multiplication takes ten cycles; so several vectors of
seeds have to be in flight, and what adds up must stay in registers. Compilers do not arrange that by
themselves: arrays of seeds in memory cost a load and a store a step, and loops over few lanes are taken
apart. So these loops are written down as they shall run (see `vector_code`).

There are two seedings. PyTorch and NumPy make the state of an integer by `init_genrand`; Python, and NumPy of
an array, by `init_by_array`, which goes twice through a state that was seeded with a constant.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from numba.core import types
from numba.extending import intrinsic

from birthmark.generators.mt19937_words import SEEDING, SIZE
from birthmark.search.cpu_positions.vector_code import (
    I64,
    WIDE,
    WIDTH,
    Value,
    aligned_stack,
    constant,
    counted,
    element,
    index,
    load,
    parity,
    pointers,
    spread,
    store,
)

#: Vectors in flight for each number of masks: as many as hide the multiplication; registers hold them all
#: where they are wide.
VECTORS: Final = {0: 10, 4: 8, 8: 4} if WIDE else {0: 8, 4: 5, 8: 3}
#: Seeds that run together for each number of masks.
LANES: Final = {masks: WIDTH * vectors for masks, vectors in VECTORS.items()}
#: The state that `init_by_array` begins with is seeded with this; its two multipliers, and what becomes of
#: the first word in the end (Matsumoto and Nishimura, `mt19937ar.c`, 2002).
ARRAY_SEED: Final = 19650218
ARRAY_FIRST: Final = 1664525
ARRAY_SECOND: Final = 1566083941
_ARRAY_WORD: Final = 0x80000000

_SHIFT: Final = 30


def runner(masks: int) -> Any:  # noqa: ANN401 - numba's own type
    """The seeding by `init_genrand`, to be called from kernels.

    Args:
        masks: 0, 4 or 8.

    Returns:
        A function of (seeds, table, words, out): uint32[LANES[masks]] seeds; uint32[words, masks], the mask
        of each word; how many words, 2 or more; and uint32[LANES[masks]], where each seed's parities are put,
        that of mask k in bit k. Without masks it is the last word. All arrays are C-order.
    """

    def run(typingctx: Any, seeds: Any, table: Any, words: Any, out: Any) -> Any:  # noqa: ANN401, ARG001
        return types.void(seeds, table, types.int64, out), partial(_written, _genrand, masks)

    return intrinsic(run)


def array_runner(masks: int) -> Any:  # noqa: ANN401 - numba's own type
    """The seeding by `init_by_array` of one word, to be called from kernels.

    Args:
        masks: 4 or 8.

    Returns:
        A function of (seeds, table, base, scratch, out): the arrays of `runner`, of all 624 words; the state
        of the seed `ARRAY_SEED`, uint32[624]; and uint32[624 * LANES[masks]] for what lies between.
    """

    def run(typingctx: Any, seeds: Any, table: Any, base: Any, scratch: Any, out: Any) -> Any:  # noqa: ANN401, ARG001
        return types.void(seeds, table, base, scratch, out), partial(_written, _by_array, masks)

    return intrinsic(run)


def filler(vectors: int) -> Any:  # noqa: ANN401 - numba's own type
    """The seeding by `init_genrand` with all its words kept, to be called from kernels.

    Args:
        vectors: how many run together.

    Returns:
        A function of (seeds, states): uint32[vectors * WIDTH] seeds, and uint32[vectors, 624 * WIDTH], where
        word i of seed v * WIDTH + j is put at [v, i * WIDTH + j].
    """

    def fill(typingctx: Any, seeds: Any, states: Any) -> Any:  # noqa: ANN401, ARG001
        return types.void(seeds, states), partial(_written, _filled, vectors)

    return intrinsic(fill)


def _written(write: Any, number: int, context: Any, builder: Value, signature: Any, args: Any) -> Value:  # noqa: ANN401
    """Let `write` write a function's body, given its arrays."""
    aligned_stack(builder)
    write(builder, number, *pointers(context, builder, signature.args, args))
    return context.get_dummy_value()


def _genrand(builder: Value, masks: int, seeds: Value, table: Value, words: Value, out: Value) -> None:
    """Each word is SEEDING * (x ^ x >> 30) + i of the word x before; every sum ^= word & its mask."""
    vectors = VECTORS[masks]
    first = [load(builder, seeds, I64(v)) for v in range(vectors)]
    none = [constant(0)] * (masks * vectors)

    def step(i: Value, present: list[Value]) -> list[Value]:
        words_now = _next_words(builder, present[:vectors], i)
        return [*words_now, *_added(builder, masks, table, i, words_now, present[vectors:])]

    sums = _added(builder, masks, table, I64(0), first, none)
    last = counted(builder, 1, words, [*first, *sums], step)
    _parities(builder, masks, last[vectors:] or last, out)


def _by_array(
    builder: Value, masks: int, seeds: Value, table: Value, base: Value, scratch: Value, out: Value
) -> None:
    """Twice through the state: x = (old ^ FIRST * mixed) + key, and then x = (old ^ SECOND * mixed) - i."""
    vectors = VECTORS[masks]
    keys = [load(builder, seeds, I64(v)) for v in range(vectors)]

    def place(i: Value, v: int) -> Value:
        return builder.add(i, I64(v * SIZE))

    def forth(i: Value, present: list[Value]) -> list[Value]:
        old = element(builder, base, i)
        found = [
            builder.add(builder.xor(old, _mixed(builder, x, ARRAY_FIRST)), key)
            for x, key in zip(present, keys, strict=True)
        ]
        for v, x in enumerate(found):
            store(builder, x, scratch, place(i, v))
        return found

    def back(i: Value, present: list[Value]) -> list[Value]:
        number = index(builder, i)
        words_now = [
            builder.sub(
                builder.xor(load(builder, scratch, place(i, v)), _mixed(builder, x, ARRAY_SECOND)), number
            )
            for v, x in enumerate(present[:vectors])
        ]
        return [*words_now, *_added(builder, masks, table, i, words_now, present[vectors:])]

    start = spread(builder, builder.load(base))
    ends = counted(builder, 1, I64(SIZE), [start] * vectors, forth)
    # The last word becomes the first, and the second is made once more; there the way back begins and ends.
    second = [
        builder.add(
            builder.xor(load(builder, scratch, place(I64(1), v)), _mixed(builder, x, ARRAY_FIRST)), keys[v]
        )
        for v, x in enumerate(ends)
    ]
    none = [constant(0)] * (masks * vectors)
    last = counted(builder, 2, I64(SIZE), [*second, *none], back)
    words_1 = [
        builder.sub(builder.xor(old, _mixed(builder, x, ARRAY_SECOND)), constant(1))
        for old, x in zip(second, last[:vectors], strict=True)
    ]
    sums = _added(builder, masks, table, I64(1), words_1, last[vectors:])
    sums = _added(builder, masks, table, I64(0), [constant(_ARRAY_WORD)] * vectors, sums)
    _parities(builder, masks, sums, out)


def _filled(builder: Value, vectors: int, seeds: Value, states: Value) -> None:
    """The words of `_genrand`, each put into its place."""
    first = [load(builder, seeds, I64(v)) for v in range(vectors)]

    def keep(i: Value, words_now: list[Value]) -> list[Value]:
        for v, x in enumerate(words_now):
            store(builder, x, states, builder.add(i, I64(v * SIZE)))
        return words_now

    keep(I64(0), first)
    counted(builder, 1, I64(SIZE), first, lambda i, present: keep(i, _next_words(builder, present, i)))


def _mixed(builder: Value, x: Value, factor: int) -> Value:
    return builder.mul(constant(factor), builder.xor(x, builder.lshr(x, constant(_SHIFT))))


def _next_words(builder: Value, state: list[Value], i: Value) -> list[Value]:
    """Word i of the seedings whose words before are given."""
    number = index(builder, i)
    return [builder.add(_mixed(builder, x, int(SEEDING)), number) for x in state]


def _added(
    builder: Value, masks: int, table: Value, i: Value, words: list[Value], sums: list[Value]
) -> list[Value]:
    """The sums, mask after mask, with word i under each mask."""
    found = []
    for number in range(masks):
        mask = element(builder, table, builder.add(builder.mul(i, I64(masks)), I64(number)))
        before = sums[number * len(words) : (number + 1) * len(words)]
        found += [builder.xor(total, builder.and_(x, mask)) for total, x in zip(before, words, strict=True)]
    return found


def _parities(builder: Value, masks: int, sums: list[Value], out: Value) -> None:
    """Put the parities of each seed's sums into one number; without masks, what is given."""
    if masks == 0:
        for v, value in enumerate(sums):
            store(builder, value, out, I64(v))
        return
    vectors = len(sums) // masks
    for v in range(vectors):
        bits = constant(0)
        for number in range(masks):
            one = parity(builder, sums[number * vectors + v])
            bits = builder.or_(bits, builder.shl(one, constant(number)))
        store(builder, bits, out, I64(v))
