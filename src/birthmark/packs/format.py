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
from dataclasses import replace
from typing import Annotated, Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from birthmark.errors import BirthmarkError, PackError
from birthmark.evidence.case import Beside, Case
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


class Part(BaseModel):
    """A frozen part of a pack; unknown keys, NaN and infinities are refused."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        populate_by_name=True,
        serialize_by_alias=True,
    )


class RowDigest(Part):
    """A row (or column): how many of its elements are used, and the digest of their stored bytes."""

    id: Count
    side: Literal["selection", "holdout"]
    elements: Count
    sha256: str


class SideEntry(Part):
    """One side of the split: how many elements, and how their positions are written."""

    elements: Count
    encoding: Encoding


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
    rule: Literal["single", "megatron", "dtensor"]
    rank: Annotated[int, Field(ge=0, le=1 << 16)] | None
    seed: Annotated[int, Field(ge=0, lt=2**64)]
    trials: Annotated[int, Field(ge=1, le=2**128)]
    holdout_trials: Annotated[int, Field(ge=1, le=2**64)]
    layouts: Annotated[list[Annotated[int, Field(ge=256, le=2**32, multiple_of=256)]], Field(max_length=4096)]
    selection: SideEntry
    holdout: SideEntry
    rows: list[RowDigest]
    beside: Annotated[list[BesideEntry], Field(max_length=16)] = []


class Manifest(Part):
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
            Sharding(entry.ways, entry.rule),
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


class Told(Protocol):
    """What an entry of any kind of case says of its arrays."""

    @property
    def shape(self) -> list[int]:
        """Extents of the tensor."""

    @property
    def dtype(self) -> str:
        """Its stored dtype."""

    @property
    def axis(self) -> Literal["row", "column", "tensor"]:
        """What units count."""

    @property
    def selection(self) -> SideEntry:
        """About the values that the search saw."""

    @property
    def holdout(self) -> SideEntry:
        """About those that it did not."""


class Sided(Protocol):
    """A case of any kind, as far as its arrays go."""

    @property
    def dtype(self) -> str:
        """The stored dtype."""

    @property
    def selection(self) -> Elements:
        """What the search saw."""

    @property
    def holdout(self) -> Elements:
        """What it did not see."""


def pack_sides(
    number: int, selection: Elements, holdout: Elements, dtype: str
) -> tuple[tuple[SideEntry, SideEntry], dict[str, bytes]]:
    """Both sides of a case: what is said of them, and their arrays as members."""
    arrays: dict[str, bytes] = {}
    entries = []
    for side, elements in zip(SIDES, (selection, holdout), strict=True):
        encoding, indices = pack_indices(elements.indices)
        entries.append(SideEntry(elements=len(elements), encoding=encoding))
        arrays[f"case-{number}.{side}.indices"] = indices
        arrays[f"case-{number}.{side}.values"] = pack_values(elements.values, dtype)
    return (entries[0], entries[1]), arrays


def unpack_sides(
    number: int, entry: Told, size: int, members: Mapping[str, bytes]
) -> tuple[Elements, Elements]:
    """Both sides of a case of any kind.

    Raises:
        PackError: their arrays are not as the entry says, or do not fit the tensor.
    """
    sides = []
    for side, about in zip(SIDES, (entry.selection, entry.holdout), strict=True):
        place = f"case-{number}.{side}"
        indices = unpack_indices(members[f"{place}.indices"], about.encoding, about.elements, size)
        values = unpack_values(members[f"{place}.values"], entry.dtype, about.elements)
        sides.append(Elements(indices, values, units_of(indices, tuple(entry.shape), entry.axis)))
    return sides[0], sides[1]


def row_digests(case: Sided) -> list[RowDigest]:
    """The digest of every row's used elements, selection first, by id."""
    found = []
    width = itemsize(case.dtype)
    for side, elements in zip(SIDES, (case.selection, case.holdout), strict=True):
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
