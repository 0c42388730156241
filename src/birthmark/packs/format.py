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
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from birthmark.errors import BirthmarkError, PackError
from birthmark.evidence.case import Case
from birthmark.evidence.elements import Elements, units_of
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.numerics.dtypes import is_float, itemsize
from birthmark.packs.columns import Encoding, pack_indices, pack_values, unpack_indices, unpack_values
from birthmark.recipes.sharding import Sharding

SCHEMA = "birthmark.pack/1"
#: Elements of the largest tensor a case may be about; its launches are listed one by one.
MOST_TENSOR = 1 << 40
#: A JSON member larger than this is refused.
MOST_JSON = 64 << 20
MANIFEST, READING = "manifest.json", "reading.json"
SIDES: tuple[Literal["selection", "holdout"], ...] = ("selection", "holdout")

M = TypeVar("M", bound=BaseModel)
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        populate_by_name=True,
        serialize_by_alias=True,
    )


class RowDigest(_Part):
    """A row (or column): how many of its elements are used, and the digest of their stored bytes."""

    id: Count
    side: Literal["selection", "holdout"]
    elements: Count
    sha256: str


class SideEntry(_Part):
    """One side of the split: how many elements, and how their positions are written."""

    elements: Count
    encoding: Encoding


class CaseEntry(_Part):
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
    rule: Literal["single", "megatron", "dtensor"]
    rank: Annotated[int, Field(ge=0, le=1 << 16)] | None
    seed: Annotated[int, Field(ge=0, lt=2**64)]
    trials: Annotated[int, Field(ge=1, le=2**128)]
    holdout_trials: Annotated[int, Field(ge=1, le=2**64)]
    layouts: Annotated[list[Annotated[int, Field(ge=256, le=2**32, multiple_of=256)]], Field(max_length=4096)]
    selection: SideEntry
    holdout: SideEntry
    rows: list[RowDigest]


class Manifest(_Part):
    """What the pack holds."""

    schema_: Literal["birthmark.pack/1"] = Field(default="birthmark.pack/1", alias="schema")
    version: str
    cases: Annotated[int, Field(ge=0, le=128)]
    sha256: dict[str, str]


def canonical(model: BaseModel) -> bytes:
    """A model as the one JSON that stands for it: sorted keys, no spaces, a final newline."""
    text = json.dumps(model.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode() + b"\n"


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
    arrays: dict[str, bytes] = {}
    entries: dict[str, SideEntry] = {}
    for side in SIDES:
        elements = getattr(case, side)
        encoding, indices = pack_indices(elements.indices)
        entries[side] = SideEntry(elements=len(elements), encoding=encoding)
        arrays[f"case-{number}.{side}.indices"] = indices
        arrays[f"case-{number}.{side}.values"] = pack_values(elements.values, case.dtype)
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
        rank=case.rank,
        seed=case.seed,
        trials=case.trials,
        holdout_trials=case.holdout_trials,
        layouts=list(case.layouts),
        selection=entries["selection"],
        holdout=entries["holdout"],
        rows=row_digests(case),
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
            Sharding(entry.ways, entry.rule),
            entry.generator,
        )
    except BirthmarkError as error:
        raise PackError(f"{name} holds no possible hypothesis: {error}") from error
    if draw.size > MOST_TENSOR or entry.scale <= 0.0 or (entry.rank is not None and entry.rank >= entry.ways):
        raise PackError(f"{name} describes a tensor, scale or shard that cannot be.")
    sides = {side: _unpack_side(number, side, entry, draw.size, members) for side in SIDES}
    case = Case(
        tensor=entry.tensor,
        shape=shape,
        dtype=entry.dtype,
        axis=entry.axis,
        scale=entry.scale,
        hypothesis=hypothesis,
        seed=entry.seed,
        selection=sides["selection"],
        holdout=sides["holdout"],
        trials=entry.trials,
        holdout_trials=entry.holdout_trials,
        layouts=tuple(entry.layouts),
        declared=entry.declared,
        rank=entry.rank,
    )
    return case, entry


def _unpack_side(
    number: int,
    side: Literal["selection", "holdout"],
    entry: CaseEntry,
    size: int,
    members: Mapping[str, bytes],
) -> Elements:
    about: SideEntry = getattr(entry, side)
    indices = unpack_indices(members[f"case-{number}.{side}.indices"], about.encoding, about.elements, size)
    values = unpack_values(members[f"case-{number}.{side}.values"], entry.dtype, about.elements)
    return Elements(indices, values, units_of(indices, tuple(entry.shape), entry.axis))


def row_digests(case: Case) -> list[RowDigest]:
    """The digest of every row's used elements, selection first, by id."""
    found = []
    width = itemsize(case.dtype)
    for side in SIDES:
        elements: Elements = getattr(case, side)
        order: NDArray[np.intp] = np.argsort(elements.unit, kind="stable")
        raw = pack_values(elements.values[order], case.dtype)
        ids, starts, counts = np.unique(elements.unit[order], return_index=True, return_counts=True)
        for unit, start, count in zip(ids.tolist(), starts.tolist(), counts.tolist(), strict=True):
            digest = hashlib.sha256(raw[start * width : (start + count) * width]).hexdigest()
            found.append(RowDigest(id=unit, side=side, elements=count, sha256=digest))
    return found


def read_json(model: type[M], data: bytes, name: str) -> M:
    """A JSON member as its model.

    Raises:
        PackError: too large, not JSON, or not what the model says.
    """
    if len(data) > MOST_JSON:
        raise PackError(f"{name} has {len(data):,} bytes, more than the {MOST_JSON:,} that a pack may hold.")
    try:
        return model.model_validate(json.loads(data, parse_constant=_refuse))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise PackError(f"{name} is not as expected: {where}: {first['msg']}.") from error
    except (ValueError, RecursionError) as error:
        raise PackError(f"{name} is not JSON: {error}.") from error


def _refuse(name: str) -> Any:  # noqa: ANN401 - the signature of json's hook
    raise ValueError(f"{name} is not a finite number")
