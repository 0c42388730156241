"""Which layers each pipeline stage builds, in the order in which it builds them."""

from __future__ import annotations

from birthmark.recipes.config import Config, divided


def stages(config: Config) -> tuple[tuple[int, ...], ...]:
    """The layers of each stage; virtual chunks one after the other, chunk c of stage p at place c PP + p.

    Raises:
        UsageError: the layers do not divide evenly.
    """
    parallel = config.parallel
    chunks = parallel.pp * parallel.virtual
    size = divided(config.model.layers, chunks, "layers")
    return tuple(
        tuple(
            layer
            for chunk in range(parallel.virtual)
            for layer in range((chunk * parallel.pp + stage) * size, (chunk * parallel.pp + stage + 1) * size)
        )
        for stage in range(parallel.pp)
    )


def stage_of(config: Config, layer: int) -> int:
    """The stage that builds a layer; layers for further tokens are on the last one."""
    if layer >= config.model.layers:
        return config.parallel.pp - 1
    parallel = config.parallel
    size = divided(config.model.layers, parallel.pp * parallel.virtual, "layers")
    return layer // size % parallel.pp
