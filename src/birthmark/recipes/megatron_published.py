"""Published tensors of Megatron-trained models: which rank's draw each row or column comes from.

Queries, keys and values of one group lie together in the drawn matrix: its query heads, then its key, then
its value. Gate and up rows of a rank are one drawn matrix, gate first. Output projections are cut by columns.
Converted checkpoints undo all three.
"""

from __future__ import annotations

from collections.abc import Callable

from birthmark.errors import UnknownName
from birthmark.recipes.config import divided
from birthmark.recipes.mapping import Block
from birthmark.recipes.megatron_geometry import Geometry
from birthmark.recipes.megatron_inner import feed_forward, join, mixer, stack
from birthmark.recipes.megatron_stages import stage_of
from birthmark.recipes.naming import Place, place_of
from birthmark.recipes.published_names import published_names
from birthmark.recipes.streams import Stream


def published_blocks(geometry: Geometry, tensor: str) -> tuple[Block, ...]:
    """The blocks of a published tensor.

    Raises:
        UnknownName: a name of no known form, or of a part that the model does not have.
    """
    place = place_of(tensor)
    model = geometry.model
    found: list[Block] | None = None
    if place is not None and place.layer < model.layers + model.prediction_layers:
        if place.part in ("embedding", "head"):
            found = _table(geometry, place)
        elif place.layer >= 0:
            found = _in_layer(geometry, place)
    if found is None:
        raise UnknownName("tensor of the recipe", tensor, published_names(model))
    return tuple(found)


def _table(geometry: Geometry, place: Place) -> list[Block]:
    """The embedding, or the output layer on the last stage."""
    last = geometry.config.parallel.pp - 1
    head = place.part == "head" and not geometry.model.tied
    tensor = geometry.name("head" if head else "embedding")
    stage = last if head else 0
    share = divided(geometry.rows, geometry.ways, "rows of the vocabulary")
    name, hidden = geometry.streams[0], geometry.model.hidden
    return [
        Block(
            Stream(name, stage, 0 if name == "cpu" else tp),
            tensor,
            (tp * share, (tp + 1) * share),
            (0, hidden),
            0,
            0,
            hidden,
        )
        for tp in range(geometry.ways)
    ]


def _in_layer(geometry: Geometry, place: Place) -> list[Block] | None:
    model = geometry.model
    kind = model.kind(place.layer)
    makers: dict[str, Callable[[Geometry, Place], list[Block] | None]] = {}
    if kind in ("attention", "transformer"):
        parts = ("q_a", "q_b", "q", "kv_a", "kv_b", "o") if model.latent else ("q", "k", "v", "qkv", "o")
        makers |= dict.fromkeys(parts, _latent if model.latent else _attention)
    if kind in ("mlp", "transformer"):
        makers |= dict.fromkeys(("gate", "up", "down", "router", "shared_gate"), feed_forward)
        makers |= dict.fromkeys(("experts_up", "experts_down"), stack)
    if kind == "mamba":
        makers |= dict.fromkeys(("mixer_in", "mixer_out", "mixer_conv"), mixer)
    if place.layer >= model.layers:
        makers["join"] = join
    make = makers.get(place.part)
    return make(geometry, place) if make is not None else None


def _attention(geometry: Geometry, place: Place) -> list[Block]:
    model, layer = geometry.model, place.layer
    width, hidden = model.width, model.hidden
    if place.part == "o":
        return geometry.by_columns(geometry.name("o", layer), layer, hidden, model.heads * width)
    tensor = geometry.name("qkv", layer)
    if place.part == "qkv":
        return geometry.by_rows(tensor, layer, model.fused_rows, hidden)
    heads = model.heads // model.kv_heads
    groups = divided(model.kv_heads, geometry.ways, "heads of keys and values")
    size = {"q": heads * width, "k": width, "v": width}[place.part]
    inside = {"q": 0, "k": heads * width, "v": (heads + 1) * width}[place.part]
    return [
        Block(
            geometry.split(layer, group // groups),
            tensor,
            (group * size, (group + 1) * size),
            (0, hidden),
            group % groups * (heads + 2) * width + inside,
            0,
            hidden,
        )
        for group in range(model.kv_heads)
    ]


def _latent(geometry: Geometry, place: Place) -> list[Block] | None:
    model, layer = geometry.model, place.layer
    latent = model.latent
    if latent is None or place.part in (("q",) if latent.query_rank else ("q_a", "q_b")):
        return None
    name = f"{geometry.prefix(layer)}self_attention.linear_"
    hidden, heads = model.hidden, model.heads
    query = heads * (latent.plain + latent.rotary)
    if place.part == "o":
        return geometry.by_columns(f"{name}proj.weight", layer, hidden, heads * latent.value)
    if place.part == "q":
        return geometry.by_rows(f"{name}q_proj.weight", layer, query, hidden)
    if place.part == "q_b":
        return geometry.by_rows(f"{name}q_up_proj.weight", layer, query, latent.query_rank)
    if place.part == "kv_b":
        rows = heads * (latent.plain + latent.value)
        return geometry.by_rows(f"{name}kv_up_proj.weight", layer, rows, latent.key_value_rank)
    rows = latent.query_rank if place.part == "q_a" else latent.key_value_rank + latent.rotary
    tensor = f"{name}{'q' if place.part == 'q_a' else 'kv'}_down_proj.weight"
    stream = Stream(geometry.streams[1], stage_of(geometry.config, layer))
    return [Block(stream, tensor, (0, rows), (0, hidden), 0, 0, hidden)]
