"""Blocks of feed-forward parts, experts, Mamba layers and what joins further tokens, for Megatron's ranks."""

from __future__ import annotations

from birthmark.recipes.config import Experts, divided
from birthmark.recipes.mapping import Block
from birthmark.recipes.megatron_geometry import Geometry
from birthmark.recipes.megatron_stages import stage_of
from birthmark.recipes.naming import SHARED, Place
from birthmark.recipes.streams import Stream


def feed_forward(geometry: Geometry, place: Place) -> list[Block] | None:
    """The blocks of a feed-forward matrix, of one expert's, or of a router; None where there is no such."""
    model, layer = geometry.model, place.layer
    sparse = model.has_experts(layer)
    prefix = geometry.prefix(layer)
    if not sparse or model.experts is None:
        if sparse or place.expert != -1 or place.part in ("router", "shared_gate"):
            return None
        return _matrices(geometry, place, geometry.name("fc1", layer), geometry.name("fc2", layer), model.ffn)
    experts, cpu = model.experts, Stream(geometry.streams[3], stage_of(geometry.config, layer))
    if place.part == "router":
        shape = (experts.count, model.hidden)
        return [Block(cpu, f"{prefix}mlp.router.weight", (0, shape[0]), (0, shape[1]), 0, 0, shape[1])]
    if place.part == "shared_gate":
        if not experts.shared_gate:
            return None
        name = f"{prefix}mlp.shared_experts.gate_weight"
        return [Block(cpu, name, (0, 1), (0, model.hidden), 0, 0, model.hidden)]
    if place.expert == SHARED:
        name = f"{prefix}mlp.shared_experts.linear_fc"
        width = experts.shared_width
        return _matrices(geometry, place, f"{name}1.weight", f"{name}2.weight", width) if width else None
    if not 0 <= place.expert < experts.count:
        return None
    return _expert(geometry, experts, place, 0)


def _matrices(geometry: Geometry, place: Place, fc1: str, fc2: str, width: int) -> list[Block] | None:
    model = geometry.model
    if place.part == "down":
        return geometry.by_columns(fc2, place.layer, model.hidden, width)
    if place.part == "gate" and not model.gated:
        return None
    share = divided(width, geometry.ways, "columns of the feed-forward part")
    begin = share if place.part == "up" and model.gated else 0
    return geometry.by_rows(fc1, place.layer, width, model.hidden, begin)


def _expert(geometry: Geometry, experts: Experts, place: Place, top: int) -> list[Block] | None:
    """The blocks of one expert's matrix, from published row `top` on."""
    model, parallel = geometry.model, geometry.config.parallel
    if place.part == "gate" and not model.gated:
        return None
    local = divided(experts.count, parallel.ep, "experts")
    share = divided(experts.width, parallel.etp, "columns of an expert")
    ep, number = divmod(place.expert, local)
    hidden, down = model.hidden, place.part == "down"
    fused = (2 if model.gated else 1) * share
    begin = share if place.part == "up" and model.gated else 0
    name = f"{geometry.prefix(place.layer)}mlp.experts."
    tensor = {
        "grouped": f"{name}linear_fc{2 if down else 1}.weight{number}",
        "sequential": f"{name}local_experts.{number}.linear_fc{2 if down else 1}.weight",
        "stacked": f"{name}weight{2 if down else 1}",
    }[geometry.experts]
    stacked = geometry.experts == "stacked"
    found = []
    for etp in range(parallel.etp):
        cpu = geometry.streams[2] == "cpu"
        stage = stage_of(geometry.config, place.layer)
        stream = Stream(geometry.streams[2], stage, ep=0 if cpu else ep, etp=0 if cpu else etp)
        along = (etp * share, (etp + 1) * share)
        if down:
            rows, columns = (top, top + hidden), along
            row, column = (number * share if stacked else 0), 0
            width = hidden if stacked else share
        else:
            rows, columns = (top + along[0], top + along[1]), (0, hidden)
            row, column = (number * hidden, begin) if stacked else (begin, 0)
            width = fused if stacked else hidden
        found.append(Block(stream, tensor, rows, columns, row, column, width, stacked))
    return found


def stack(geometry: Geometry, place: Place) -> list[Block] | None:
    """Published stacks of experts: gate rows then up rows of each, or down matrices, expert after expert."""
    experts = geometry.model.experts
    if experts is None or not geometry.model.has_experts(place.layer):
        return None
    hidden, width = geometry.model.hidden, experts.width
    found: list[Block] = []
    for expert in range(experts.count):
        if place.part == "experts_down":
            found += _expert(geometry, experts, Place("down", place.layer, expert), expert * hidden) or []
            continue
        parts = ("gate", "up") if geometry.model.gated else ("up",)
        for number, part in enumerate(parts):
            top = (expert * len(parts) + number) * width
            found += _expert(geometry, experts, Place(part, place.layer, expert), top) or []
    return found


def mixer(geometry: Geometry, place: Place) -> list[Block] | None:
    """A Mamba layer's matrices: each component of the packed rows is cut by itself."""
    mamba, hidden, ways = geometry.model.mamba, geometry.model.hidden, geometry.ways
    if mamba is None:
        return None
    name = f"{geometry.prefix(place.layer)}mixer."
    if place.part == "mixer_out":
        return geometry.by_columns(f"{name}out_proj.weight", place.layer, hidden, mamba.inner)
    state = mamba.groups * mamba.state
    packed = [mamba.inner, state, state]
    if place.part == "mixer_in":
        packed = [mamba.inner, *packed, mamba.heads]
    columns = hidden if place.part == "mixer_in" else mamba.convolution
    tensor = f"{name}{'in_proj' if place.part == 'mixer_in' else 'conv1d'}.weight"
    found, top, row = [], 0, 0
    for size in packed:
        share = divided(size, ways, "rows of a Mamba layer")
        for tp in range(ways):
            rows = (top + tp * share, top + (tp + 1) * share)
            stream = geometry.split(place.layer, tp)
            found.append(Block(stream, tensor, rows, (0, columns), row, 0, columns))
        top, row = top + size, row + share
    return found


def join(geometry: Geometry, place: Place) -> list[Block]:
    """The matrix that joins a token's embedding to the stream, for further-token prediction."""
    tensor = f"mtp.layers.{place.layer - geometry.model.layers}.eh_proj.weight"
    hidden = geometry.model.hidden
    return geometry.by_rows(tensor, place.layer, hidden, 2 * hidden)
