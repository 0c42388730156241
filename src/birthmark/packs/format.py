"""What is in a pack: the reading, and for each finding the case it rests on.

    manifest.json              schema, version, digests of all other members
    reading.json               the reading, as `birthmark scan --json` writes it
    case-0.json                hypothesis, seed, trials; the rows used, each with its digest
    case-0.selection.indices   flat positions of the values the search saw
    case-0.selection.values    their stored bits
    case-0.holdout.indices     flat positions of the values it did not see
    case-0.holdout.values      their stored bits

and so on for case-1, case-2, ... in the order of the findings. The digest of a row is the SHA-256 of the
stored bytes of its elements that are used, in the tensor's order: who has the checkpoint can compare row by
row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from birthmark.errors import BirthmarkError, PackError
from birthmark.evidence.case import Beside, Case
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.numerics.dtypes import is_float
from birthmark.packs.parts import (
    MOST_TENSOR,
    SIDES,
    Count,
    Part,
    RowDigest,
    SideEntry,
    canonical,
    pack_sides,
    read_json,
    row_digests,
    unpack_sides,
)
from birthmark.recipes.sharding import Sharding

SCHEMA = "birthmark.pack/1"
MANIFEST, READING = "manifest.json", "reading.json"


class BesideEntry(Part):
    """Another draw of a merge; its distribution is the case's own."""

    threads: Annotated[int, Field(ge=256, le=2**32)]
    offset: Count
    seed: Annotated[int, Field(ge=0, lt=2**64)]


class CaseEntry(Part):
    """A case without its arrays."""

    tensor: str
    shape: list[Count]
    dtype: str
    axis: Literal["row", "column", "tensor"]
    scale: float
    declared: float | None
    distribution: Literal["normal", "uniform", "truncated-normal"]
    parameters: Annotated[list[float], Field(min_length=2, max_length=4)]
    draw_dtype: str
    draw_version: str
    generator: str
    arithmetic: Literal["nvidia-volta+", "nvidia-pascal-", "amd"]
    threads: Annotated[int, Field(ge=256, le=2**32)]
    offset: Count
    ways: Annotated[int, Field(ge=1, le=1 << 16)]
    rule: Literal["single", "megatron", "stepped", "dtensor"]
    step: Annotated[int, Field(ge=-(2**63), lt=2**63)] = 1
    shard_rows: Count = 0
    rank: Annotated[int, Field(ge=0, le=1 << 16)] | None
    seed: Annotated[int, Field(ge=0, lt=2**64)]
    trials: Annotated[int, Field(ge=1, le=2**128)]
    holdout_trials: Annotated[int, Field(ge=1, le=2**64)]
    layouts: Annotated[list[Annotated[int, Field(ge=256, le=2**32, multiple_of=256)]], Field(max_length=4096)]
    selection: SideEntry
    holdout: SideEntry
    rows: list[RowDigest]
    beside: Annotated[list[BesideEntry], Field(default_factory=list, max_length=16)]


class Manifest(Part):
    """What the pack holds."""

    schema_: Literal["birthmark.pack/1"] = Field(default="birthmark.pack/1", alias="schema")
    version: str
    cases: Annotated[int, Field(ge=0, le=128)]
    sha256: dict[str, str]


def manifest_of(members: Mapping[str, bytes], version: str, cases: int) -> Manifest:
    """The manifest of all other members."""
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in members.items() if name != MANIFEST}
    return Manifest(version=version, cases=cases, sha256=digests)


def case_names(number: int) -> list[str]:
    """Names of the members that hold one case."""
    arrays = [f"case-{number}.{side}.{kind}" for side in SIDES for kind in ("indices", "values")]
    return [f"case-{number}.json", *arrays]


def pack_case(number: int, case: Case) -> dict[str, bytes]:
    """A case as members."""
    sides, arrays = pack_sides(number, case.selection, case.holdout, case.dtype)
    hypothesis, draw = case.hypothesis, case.hypothesis.draw
    entry = CaseEntry(
        tensor=case.tensor,
        shape=list(case.shape),
        dtype=case.dtype,
        axis=case.axis,
        scale=float(case.scale),
        declared=None if case.declared is None else float(case.declared),
        distribution=draw.distribution,
        parameters=[float(value) for value in draw.parameters],
        draw_dtype=draw.dtype,
        draw_version=draw.version,
        generator=hypothesis.generator,
        arithmetic=hypothesis.arithmetic,
        threads=hypothesis.threads,
        offset=hypothesis.offset,
        ways=hypothesis.sharding.ways,
        rule=hypothesis.sharding.rule,
        step=hypothesis.sharding.step,
        shard_rows=hypothesis.sharding.rows,
        rank=case.rank,
        seed=case.seed,
        trials=case.trials,
        holdout_trials=case.holdout_trials,
        layouts=list(case.layouts),
        selection=sides[0],
        holdout=sides[1],
        rows=row_digests(case),
        beside=[
            BesideEntry(threads=one.hypothesis.threads, offset=one.hypothesis.offset, seed=one.seed)
            for one in case.beside
        ],
    )
    return {f"case-{number}.json": canonical(entry), **arrays}


def unpack_case(number: int, members: Mapping[str, bytes]) -> tuple[Case, CaseEntry]:
    """A case from its members.

    Raises:
        PackError: they do not make one.
    """
    name = f"case-{number}.json"
    entry = read_json(CaseEntry, members[name], name)
    if not is_float(entry.dtype) or not is_float(entry.draw_dtype):
        raise PackError(f"{name} names the dtype {entry.dtype!r}, which birthmark does not know.")
    shape = tuple(entry.shape)
    try:
        draw = Draw(
            entry.distribution,
            tuple(entry.parameters),
            shape,
            entry.draw_dtype,
            entry.draw_version,
        )
        hypothesis = Hypothesis(
            draw,
            entry.threads,
            entry.arithmetic,
            entry.offset,
            Sharding(entry.ways, entry.rule, entry.step, entry.shard_rows),
            entry.generator,
        )
        beside = tuple(
            Beside(replace(hypothesis, threads=one.threads, offset=one.offset), one.seed)
            for one in entry.beside
        )
    except BirthmarkError as error:
        raise PackError(f"{name} holds no possible hypothesis: {error}") from error
    if draw.size > MOST_TENSOR or entry.scale <= 0.0 or (entry.rank is not None and entry.rank >= entry.ways):
        raise PackError(f"{name} describes a tensor, scale or shard that cannot be.")
    selection, holdout = unpack_sides(number, entry, draw.size, members)
    case = Case(
        tensor=entry.tensor,
        shape=shape,
        dtype=entry.dtype,
        axis=entry.axis,
        scale=entry.scale,
        hypothesis=hypothesis,
        seed=entry.seed,
        selection=selection,
        holdout=holdout,
        trials=entry.trials,
        holdout_trials=entry.holdout_trials,
        layouts=tuple(entry.layouts),
        declared=entry.declared,
        rank=entry.rank,
        beside=beside,
    )
    if beside and (entry.distribution != "normal" or entry.ways != 1):
        raise PackError(f"{name} adds up draws that are no whole normal ones; birthmark makes no such case.")
    return case, entry
