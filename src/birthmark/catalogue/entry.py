"""An entry of the catalogue: what one source says, or one reading found, about where numbers were drawn.

The subject is a checkpoint, or a single draw that somebody printed together with the device that made it.
What a source leaves open is null; nothing is inferred from a name or filled in from elsewhere.
"""

from __future__ import annotations

import math
import re
from datetime import date
from typing import Any, Final, Literal

from pydantic import ConfigDict, Field, ValidationError, field_validator, model_validator

from birthmark.devices.catalogue import BLOCK, THREADS_PER_SM, find
from birthmark.errors import BirthmarkError, UnknownName
from birthmark.reports.models import Count, Part
from birthmark.reports.reading import Verdict

#: Who says so: somebody else in public, or a reading of birthmark.
ReadBy = Literal["published", "birthmark"]
#: How a source came to know: it read the weights; it declares a seed; it printed what a device drew; or, for
#: birthmark, it predicted such a draw.
Kind = Literal["reading", "declaration", "device-output", "prediction"]

#: Kinds that belong to each reader.
KINDS: Final[dict[str, tuple[str, ...]]] = {
    "published": ("reading", "declaration", "device-output"),
    "birthmark": ("reading", "prediction"),
}
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Matched(Part):
    """How many of a number of things agree with the prediction; `things` names them."""

    model_config = ConfigDict(strict=True)

    count: Count
    of: Count
    things: str = Field(min_length=1)

    @model_validator(mode="after")
    def _count_within(self) -> Matched:
        if self.count > self.of:
            raise ValueError(f"{self.count} of {self.of} is more than all of them")
        return self


class Controls(Part):
    """A source's own controls: correlations under the next seed and under the next best SM count."""

    model_config = ConfigDict(strict=True)

    seed_plus_one_r: float | None = Field(default=None, ge=-1, le=1)
    next_sm_count: Count | None = None
    next_r: float | None = Field(default=None, ge=-1, le=1)


class DrawModel(Part):
    """A single random call, and some of its values as printed.

    Attributes:
        distribution: "normal" or "uniform".
        parameters: mean and standard deviation, or bounds.
        shape: of the tensor.
        indices: flat C-order indices of the values that were printed.
        shown: those values as they stand there.
    """

    model_config = ConfigDict(strict=True)

    distribution: Literal["normal", "uniform"]
    parameters: list[float] = Field(min_length=2, max_length=2)
    shape: list[int] = Field(min_length=1)
    indices: list[int] = Field(min_length=1)
    shown: list[str]

    @model_validator(mode="after")
    def _within_shape(self) -> DrawModel:
        if len(self.indices) != len(self.shown):
            raise ValueError(f"{len(self.indices)} indices for {len(self.shown)} values")
        if not all(0 <= index < math.prod(self.shape) for index in self.indices):
            raise ValueError(f"an index lies outside of shape {self.shape}")
        return self


class Entry(Part):
    """One statement about one model or draw.

    Attributes:
        model: its name, the same in all entries about it.
        maker: who published it: an organisation, or a repository; None for a draw.
        released: its date, YYYY, YYYY-MM or YYYY-MM-DD; None where no source for it is known.
        released_source: where that date stands.
        subject: what the numbers are.
        read_by: who says so.
        kind: how they know.
        tensor: the tensor that was read; None where the statement names none.
        generator: its name in readings.
        arithmetic: how words became values, as readings call it.
        seed: that the generator was given; of several processes that of rank 0.
        offset: where the draw starts, of a Philox generator.
        index: where it starts, of a generator with one stream: numbers drawn before.
        sm_count: SM count of the device.
        threads: G, the threads of its full launch.
        not_excluded: G's that remain possible where `threads` is open.
        devices: devices of birthmark's table that the source names or the layout leaves.
        hardware: hardware in the source's own words, where that names no single device.
        sigma: score on values that the search did not see.
        log10_p: its log10 p after trials.
        r: correlation of the untouched values with their prediction.
        matched: how many rows or values agree.
        controls: a source's own controls.
        draw: for a draw, the call and its printed values.
        verdict: that of birthmark's reading.
        source: a public reference that leads to the statement, or to the file that was read.
        published: date of the source, as `released`.
        digest: SHA-256 of the file that was read; of several files, that of their list.
        revision: revision of the repository that was read, where there is no digest.
        command: the command that gives it again.
        version: of birthmark.
        note: what a reader has to know beside it.
    """

    model_config = ConfigDict(strict=True)

    model: str = Field(min_length=1)
    maker: str | None
    released: str | None = None
    released_source: str | None = None
    subject: Literal["checkpoint", "draw"]
    read_by: ReadBy
    kind: Kind
    tensor: str | None = None
    generator: str | None = None
    arithmetic: str | None = None
    seed: int | None = Field(default=None, ge=0, lt=1 << 64)
    offset: Count | None = None
    index: Count | None = None
    sm_count: int | None = Field(default=None, gt=0)
    threads: int | None = Field(default=None, gt=0)
    not_excluded: list[int] = Field(default_factory=list)
    devices: list[str] = Field(default_factory=list)
    hardware: str | None = None
    sigma: float | None = None
    log10_p: float | None = Field(default=None, le=0)
    r: float | None = Field(default=None, ge=-1, le=1)
    matched: Matched | None = None
    controls: Controls | None = None
    draw: DrawModel | None = None
    verdict: Verdict | None = None
    source: str = Field(min_length=1)
    published: str | None = None
    digest: str | None = None
    revision: str | None = None
    command: str | None = None
    version: str | None = None
    note: str | None = None

    @field_validator("released", "published")
    @classmethod
    def _is_date(cls, value: str | None) -> str | None:
        if value is not None:
            if not _DATE.fullmatch(value):
                raise ValueError(f"{value!r} is no date such as 2026, 2026-11 or 2026-11-30")
            year, month, day = [*map(int, value.split("-")), 1, 1][:3]
            date(year, month, day)
        return value

    @field_validator("digest")
    @classmethod
    def _is_digest(cls, value: str | None) -> str | None:
        if value is not None and not _DIGEST.fullmatch(value):
            raise ValueError("a digest is 64 lower-case hexadecimal digits")
        return value

    @field_validator("devices")
    @classmethod
    def _are_known(cls, value: list[str]) -> list[str]:
        for name in value:
            try:
                find(name)
            except UnknownName as error:
                raise ValueError(str(error)) from error
        return value

    @model_validator(mode="after")
    def _whole(self) -> Entry:
        if self.kind not in KINDS[self.read_by]:
            raise ValueError(f"kind {self.kind!r} is not one of {', '.join(KINDS[self.read_by])}")
        if self.subject == "checkpoint" and self.maker is None:
            raise ValueError("a checkpoint needs a maker")
        if (self.released is None) != (self.released_source is None):
            raise ValueError("released and released_source go together")
        if self.sm_count and self.threads and self.threads not in self._launches():
            raise ValueError(
                f"{self.sm_count} SMs launch {' or '.join(map(str, self._launches()))} threads, "
                f"not {self.threads}"
            )
        if self.read_by == "birthmark":
            self._check_own()
        return self

    def _launches(self) -> list[int]:
        return [(self.sm_count or 0) * per // BLOCK * BLOCK for per in THREADS_PER_SM]

    def _check_own(self) -> None:
        if self.command is None or self.version is None:
            raise ValueError("a reading of birthmark needs its command and version")
        if self.kind == "reading" and self.verdict is None:
            raise ValueError("a reading of birthmark needs its verdict")
        if self.subject == "checkpoint" and self.digest is None and self.revision is None:
            raise ValueError("a reading of birthmark needs the digest or the revision of what it read")


def parse(record: object, where: str) -> Entry:
    """An entry from its JSON.

    Args:
        record: the parsed JSON object.
        where: how the message calls it.

    Raises:
        BirthmarkError: something is missing, of another type, or contradicts itself.
    """
    try:
        return Entry.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise BirthmarkError(
            f"{where} is no entry of the catalogue: {place + ': ' if place else ''}{message}.",
            advice="docs/consistency.md lists what an entry holds.",
        ) from error


def as_record(entry: Entry) -> dict[str, Any]:
    """The entry's JSON object, without what it leaves open."""
    dumped: dict[str, Any] = entry.model_dump(mode="json", exclude_defaults=True)
    return dumped
