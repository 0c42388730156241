"""A draw on a device, in each of the ways that birthmark predicts it, and which of them a request needs."""

from __future__ import annotations

from collections.abc import Mapping

from birthmark.devices.catalogue import Arithmetic
from birthmark.distributed import Distributed
from birthmark.errors import UsageError
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.recipes.dtensor import Placement
from birthmark.recipes.sharding import Sharding
from birthmark.samplers.cuda_draw import CudaDraw, Sampler
from birthmark.samplers.naming import KINDS, PERMUTATION, numbers_of
from birthmark.samplers.permutation import Permutation
from birthmark.samplers.torch_rules import TorchRules

#: Each answers `values(seed, indices)` and `run(seed, start, stop)`.
Drawn = Hypothesis | Distributed | CudaDraw | Permutation

#: Numbers of a draw, in order or by name.
Parameters = tuple[float | int | None, ...] | Mapping[str, float | int | None]


def named(distribution: str, parameters: Parameters) -> dict[str, float | int | None]:
    """All numbers of a draw by name, PyTorch's defaults where none were given.

    Raises:
        UnknownName: no such draw.
        UsageError: too many numbers, one of another name, or one is missing.
    """
    if isinstance(parameters, Mapping):
        return numbers_of(distribution, parameters)
    names = list(numbers_of(distribution, {"p": 0.5} if distribution == "geometric" else {}))
    if len(parameters) > len(names):
        raise UsageError(
            f"{len(parameters)} parameters of a {distribution} draw: expected {len(names)} at most."
        )
    return numbers_of(distribution, dict(zip(names, parameters, strict=False)))


def stand_for(
    distribution: str,
    numbers: Mapping[str, float | int | None],
    shape: tuple[int, ...],
    dtype: str,
    rule: TorchRules,
    threads: int,
    arithmetic: Arithmetic,
    offset: int,
    sharding: Sharding,
    mesh: tuple[int, ...] | None,
    placements: tuple[Placement, ...],
) -> Drawn:
    """The plainest draw that stands for a request.

    The arguments are those of `birthmark.prediction.prediction`.

    Raises:
        UsageError: something of it cannot be.
        UnknownName: no such dtype or rule.
    """
    size = 1
    for extent in shape:
        if extent < 0:
            raise UsageError(f"shape {shape}: expected extents of 0 or more.")
        size *= extent
    shared = sharding.ways != 1 or mesh is not None
    if shared and not (distribution in KINDS and KINDS[distribution].weights):
        raise UsageError(
            f"shards of a draw of {distribution}: expected a normal, uniform or truncated normal."
        )
    if mesh is not None and sharding.ways != 1:
        raise UsageError("shards of Megatron's kind and a mesh of a distributed tensor: give one of them.")
    if distribution == PERMUTATION:
        if len(shape) != 1:
            raise UsageError(f"a permutation of shape {shape}: expected one extent.")
        return Permutation(size, threads, offset, rule.integers, rule.offsets)
    sampler = KINDS[distribution].build(numbers, shape, dtype, rule)
    if not isinstance(sampler, Draw):
        return CudaDraw(sampler, size, threads, arithmetic, offset, rule.offsets)
    if mesh is not None:
        return Distributed(sampler, mesh, placements, threads, arithmetic, offset, rule.offsets)
    return Hypothesis(sampler, threads, arithmetic, offset, sharding, offsets=rule.offsets)


def sampler_of(drawn: Hypothesis | Distributed | CudaDraw) -> Sampler:
    """What is drawn."""
    return drawn.sampler if isinstance(drawn, CudaDraw) else drawn.draw


def version_of(drawn: Drawn) -> str | None:
    """The version rule that the values follow, beside that of offsets; None where all releases agree."""
    if isinstance(drawn, Permutation):
        return drawn.integers
    sampler = sampler_of(drawn)
    if isinstance(sampler, Draw) and sampler.distribution == "normal":
        return None
    found: str | None = getattr(sampler, "version", None)
    return found
