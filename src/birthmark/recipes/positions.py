"""Where in its stream each draw of a recipe begins.

Three ways to count. A CUDA draw moves its generator's offset by what its launch takes, which depends on the
layout (`birthmark.devices.layout`). A DTensor draw moves it by the elements of the whole tensor, and each
shard begins as many elements on as the shards before it hold. A CPU draw takes words of the Mersenne Twister:
one an element in the vectorised kernels, and 16 more where a normal's size is no multiple of 16.

Sources: pytorch `aten/src/ATen/native/cuda/DistributionTemplates.h`, `torch/distributed/tensor/_random.py`
0175565d, `aten/src/ATen/native/cpu/DistributionTemplates.h`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from birthmark.devices.layout import Layout, pieces
from birthmark.errors import UsageError
from birthmark.recipes.streams import RecipeDraw, Stream
from birthmark.samplers import cpu_normal, cpu_scalar


@dataclass(frozen=True, slots=True)
class Placed:
    """A draw and where it begins.

    Attributes:
        draw: the draw.
        position: the generator's offset on CUDA, the 32-bit words taken before on the CPU; None where an
            earlier draw of the stream took a number of rounds that depends on the seed.
        pending: whether the CPU generator holds a second normal of an earlier draw of fewer than 16 values.
    """

    draw: RecipeDraw
    position: int | None
    pending: bool = False


@dataclass(slots=True)
class _Head:
    """How far a stream has come."""

    position: int | None = 0
    pending: bool = False


def offsets(draws: Iterable[RecipeDraw], threads: int | None = None) -> tuple[Placed, ...]:
    """Where each draw begins.

    Args:
        draws: of any streams, those of one stream in their order.
        threads: G of the device; may be None where no draw depends on it.

    Raises:
        UsageError: a draw on CUDA and no layout, or a draw whose positions are not known.
    """
    layout = None if threads is None else Layout(threads)
    heads: dict[tuple[Stream, str], _Head] = {}
    placed = []
    for each in draws:
        head = heads.setdefault((each.stream, each.generator), _Head())
        if each.generator == "cpu":
            placed.append(Placed(each, head.position, head.pending))
            _on_cpu(each, head)
        elif each.whole:
            shift = round4(each.stream.shard * each.first)
            placed.append(Placed(each, None if head.position is None else head.position + shift))
            _move(each, head, round4(each.whole))
        else:
            placed.append(Placed(each, head.position))
            _move(each, head, _step(each, layout))
    return tuple(placed)


def _move(each: RecipeDraw, head: _Head, step: int) -> None:
    if head.position is not None:
        head.position = None if each.draw.redraws else head.position + step


def _step(each: RecipeDraw, layout: Layout | None) -> int:
    if each.generator == "paddle":
        raise UsageError(
            f"{each.tensor} is drawn by Paddle's own kernels: where they begin is not known for recipes."
        )
    if layout is None:
        raise UsageError(f"{each.tensor} is drawn on a GPU: give the threads of its layout.")
    return advance(each.draw.size, each.draw.dtype, layout)


@cache
def advance(size: int, dtype: str, layout: Layout) -> int:
    """How far one call on a GPU moves the offset; models repeat a few sizes thousands of times."""
    return pieces(size, dtype, layout)[1]


def _on_cpu(each: RecipeDraw, head: _Head) -> None:
    draw = each.draw
    if head.position is None:
        return
    if draw.redraws:
        head.position = None
        return
    if draw.source == "uniform":
        head.position += draw.size * (2 if draw.dtype == "float64" else 1)
    elif draw.size < cpu_normal.BLOCK:
        words, head.pending = cpu_scalar.consumed(draw.size, kept=head.pending)
        head.position += words
    else:
        half = draw.dtype in ("bfloat16", "float16")
        head.position += cpu_normal.consumed(draw.size, half=half)


def round4(elements: int) -> int:
    """The next multiple of 4."""
    return -(-elements // 4) * 4
