"""What all kinds of cases in a pack have in common: their arrays, the digests of rows, and careful JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from birthmark.errors import PackError
from birthmark.evidence.elements import Elements, units_of
from birthmark.numerics.dtypes import itemsize
from birthmark.packs.columns import Encoding, pack_indices, pack_values, unpack_indices, unpack_values

#: Elements of the largest tensor a case may be about; its launches are listed one by one.
MOST_TENSOR = 1 << 40
#: A JSON member larger than this is refused.
MOST_JSON = 64 << 20
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


def canonical(model: BaseModel) -> bytes:
    """A model as the one JSON that stands for it: sorted keys, no spaces, a final newline."""
    text = json.dumps(model.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode() + b"\n"


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
