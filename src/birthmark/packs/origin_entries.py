"""Origins in a pack: the entry of each generator's draws, both ways."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from birthmark.errors import BirthmarkError, PackError, UsageError
from birthmark.numerics.dtypes import is_float
from birthmark.packs.parts import Count, Part
from birthmark.samplers.cpu_normal import BLOCK
from birthmark.samplers.jax_draw import JaxDraw
from birthmark.samplers.paddle_minstd import MinstdDraw
from birthmark.search.cpu_origin import CpuOrigin
from birthmark.search.neighbour_origins import JaxOrigin, MinstdOrigin
from birthmark.search.neighbours.jax_paths import Step
from birthmark.search.origin import Origin
from birthmark.search.orthogonal_origin import OrthogonalOrigin, replayable
from birthmark.search.solve.fit import ARITHMETICS
from birthmark.search.solve.readings import WORN


class CpuOriginEntry(Part):
    """A draw of PyTorch's CPU generator."""

    kind: Literal["cpu-draw"] = "cpu-draw"
    distribution: Literal["normal", "uniform"]
    size: Count
    scale: Annotated[float, Field(gt=0.0)]
    arithmetic: str
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    index: Annotated[int, Field(gt=-(2**40), lt=2**48)]
    dtype: str
    worn: Annotated[float, Field(ge=0.0, le=WORN)]


class OrthogonalOriginEntry(Part):
    """A draw of PyTorch's CPU generator that `orthogonal_` decomposed."""

    kind: Literal["cpu-orthogonal"] = "cpu-orthogonal"
    gain: Annotated[float, Field(gt=0.0, le=1e6)]
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    index: Annotated[int, Field(ge=0, lt=2**48)]
    dtype: str


class MinstdOriginEntry(Part):
    """A draw of PaddlePaddle's minimal standard engine."""

    kind: Literal["paddle-minstd"] = "paddle-minstd"
    distribution: Literal["normal", "uniform"]
    parameters: Annotated[list[float], Field(min_length=2, max_length=2)]
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    dtype: str


class StepEntry(Part):
    """A split into `number` keys of which one is taken, or, where `number` is 0, a fold of `which`."""

    number: Annotated[int, Field(ge=0, le=2**16)]
    which: Annotated[int, Field(ge=0, lt=2**32)]


class JaxOriginEntry(Part):
    """A draw of JAX's threefry generator."""

    kind: Literal["jax"] = "jax"
    distribution: Literal["normal", "uniform", "truncated-normal"]
    bounds: Annotated[list[float], Field(min_length=2, max_length=2)] | None
    factor: float | None
    draw_dtype: str
    counters: Literal["partitionable", "original"]
    arithmetic: str
    merged: bool
    transposed: bool
    steps: Annotated[list[StepEntry], Field(max_length=256)]
    text: str
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    dtype: str


OriginEntries = CpuOriginEntry | OrthogonalOriginEntry | MinstdOriginEntry | JaxOriginEntry
AnyOriginEntry = Annotated[OriginEntries, Field(discriminator="kind")]


def told_of(origin: Origin) -> OriginEntries:
    """An origin as its entry."""
    if isinstance(origin, CpuOrigin):
        return CpuOriginEntry(
            distribution=origin.distribution,
            size=origin.size,
            scale=float(origin.scale),
            arithmetic=origin.arithmetic,
            seed=origin.seed,
            index=origin.index,
            dtype=origin.dtype,
            worn=origin.worn,
        )
    if isinstance(origin, OrthogonalOrigin):
        return OrthogonalOriginEntry(
            gain=float(origin.gain), seed=origin.seed, index=origin.index, dtype=origin.dtype
        )
    if isinstance(origin, MinstdOrigin):
        return MinstdOriginEntry(
            distribution=origin.distribution,
            parameters=[float(each) for each in origin.parameters],
            seed=origin.seed,
            dtype=origin.dtype,
        )
    if isinstance(origin, JaxOrigin):
        draw = origin.draw
        return JaxOriginEntry(
            distribution=draw.distribution,
            bounds=None if draw.bounds is None else [float(each) for each in draw.bounds],
            factor=None if draw.factor is None else float(draw.factor),
            draw_dtype=draw.dtype,
            counters=draw.counters,
            arithmetic=draw.arithmetic,
            merged=draw.merged,
            transposed=origin.transposed,
            steps=[StepEntry(number=step.number, which=step.which) for step in origin.steps],
            text=origin.text,
            seed=origin.seed,
            dtype=origin.dtype,
        )
    raise PackError(f"a draw of {origin.generator} cannot be packed; leave out --pack.")


def origin_of(number: int, told: AnyOriginEntry, shape: tuple[int, ...], size: int) -> Origin:
    """An entry's origin.

    Raises:
        PackError: such a draw cannot be.
    """
    try:
        if not is_float(told.dtype):
            raise UsageError(f"the dtype {told.dtype!r:.40} is none that birthmark knows.")
        if isinstance(told, OrthogonalOriginEntry):
            if len(shape) < 2 or not replayable(shape):
                raise UsageError(f"an orthogonal matrix of shape {shape} is not replayed.")
            return OrthogonalOrigin(shape, told.gain, told.seed, told.index, told.dtype)
        if isinstance(told, MinstdOriginEntry):
            first, second = told.parameters
            MinstdDraw(told.distribution, (first, second), size)
            return MinstdOrigin(told.distribution, (first, second), size, told.seed, told.dtype)
        if isinstance(told, JaxOriginEntry):
            return _jax_origin(told, shape, size)
    except BirthmarkError as error:
        raise PackError(f"case-{number}.json describes a draw that cannot be: {error}") from error
    known = told.arithmetic in ARITHMETICS[told.distribution]
    small = told.distribution == "normal" and size < BLOCK
    if told.size != size or not known or small:
        raise PackError(f"case-{number}.json describes a draw that cannot be.")
    return CpuOrigin(
        told.distribution,
        size,
        told.scale,
        told.arithmetic,
        told.seed,
        told.index,
        told.dtype,
        told.worn,
    )


def _jax_origin(told: JaxOriginEntry, shape: tuple[int, ...], size: int) -> JaxOrigin:
    bounds = None if told.bounds is None else (told.bounds[0], told.bounds[1])
    draw = JaxDraw(
        told.distribution,
        size,
        bounds,
        told.factor,
        told.draw_dtype,
        told.counters,
        told.arithmetic,
        told.merged,
    )
    for step in told.steps:
        if step.number and step.which >= step.number:
            raise UsageError(f"key {step.which} of a split into {step.number}.")
    if told.transposed and len(shape) != 2:
        raise UsageError(f"a transposed matrix of {len(shape)} dimensions.")
    steps = tuple(Step(step.number, step.which) for step in told.steps)
    return JaxOrigin(draw, shape, told.transposed, steps, told.text, told.seed, told.dtype)
