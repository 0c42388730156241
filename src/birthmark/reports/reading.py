"""The reading: the result for a checkpoint as a typed document, schema version 1.

Keys are never renamed within a schema version; new ones may be added. Nothing is NaN or infinite: what is
missing is null, and the notes say why.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from birthmark.errors import BirthmarkError

SCHEMA = "birthmark.reading/1"

Verdict = Literal["match", "weak-trace", "mixture", "layout-only", "seed-only", "none", "not-searched"]
Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    """A frozen part of a reading; unknown keys, NaN and infinities are refused."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True, serialize_by_alias=True
    )


class ScoreModel(_Part):
    """A correlation and how surprising it is."""

    n: Count
    r: float | None
    sigma: float | None
    log10_p_local: float | None
    log10_p_global: float | None


class FileModel(_Part):
    """A file of the checkpoint; the digest lets a reader compare it with the published one."""

    name: str
    size: Count
    sha256: str | None


class CheckpointModel(_Part):
    """What was read."""

    source: str
    revision: str | None
    files: list[FileModel]
    bytes_read: Count
    tensors_read: list[str]


class SurvivorsModel(_Part):
    """The units that the prediction gives, after every unit was judged again."""

    axis: Literal["row", "column", "tensor"]
    count: Count
    ids: list[int] | None


class AlteredModel(_Part):
    """Those of the survivors that have elements changed afterwards, and how many such elements."""

    count: Count
    ids: list[int] | None
    elements: Count = 0


class RowModel(_Part):
    """What one row stands for: the kind of its token, the token as its file writes it, its script."""

    id: Count
    kind: str
    text: str | None
    script: str | None


class StandsForModel(_Part):
    """What the untouched rows or columns stand for; rows are listed where they are tokens, 4,096 at most."""

    things: str
    source: str | None
    sentence: str
    rows: list[RowModel] = []


class LikelihoodModel(_Part):
    """How much more probable the values are under one proposition than under the other."""

    log10: float
    log10_after_trials: float
    words: str
    for_it: str
    against_it: str


class DeclaredModel(_Part):
    """A seed that the checkpoint's own files declare."""

    seed: int
    source: str
    agrees: bool


class SolveModel(_Part):
    """The linear system of a solved generator state."""

    equations: Count
    rank: Count
    redundant_satisfied: Count


class SamplerModel(_Part):
    """The draw: distribution, parameters, dtype at draw time (and others that do as well), version rule."""

    distribution: str
    parameters: list[float]
    dtype: str
    version: str | None
    dtypes_not_excluded: list[str] = []


class DeviceModel(_Part):
    """A device that has this layout."""

    name: str
    sm_count: Count
    threads_per_sm: Count


class LayoutModel(_Part):
    """The launch layout; `threads` is null where the survivors do not single one out.

    `not_excluded` is the set of G's that cannot be excluded; `level` says what excludes one.
    """

    threads: int | None
    not_excluded: list[int]
    devices: list[DeviceModel]
    level: str | None = None


class BitExactModel(_Part):
    """Stored bits against predicted bits, selection and hold-out together, altered elements included."""

    equal: Count
    of: Count
    within_ulp: dict[str, Count]
    holdout: dict[str, Count] | None = None


class ShareModel(_Part):
    """A share with its 95 % interval."""

    value: float
    lo: float
    hi: float


class SeedControlModel(_Part):
    """The next seed, or the next place in the stream, scored on the hold-out."""

    score: ScoreModel


class LayoutControlModel(_Part):
    """The next-best layout, scored on the hold-out and on those elements that it predicts differently."""

    threads: int
    score: ScoreModel
    differing: ScoreModel | None = None


class DecoysModel(_Part):
    """The measured background: seeds known to be false, scored on (some of) the hold-out.

    `log10_p_measured` is (decoys at least as high + 1) / (count + 1); `log10_p_least` the least that so many
    can show; `statement` says where counting ends and an analytic tail takes over.
    """

    count: Count
    max_sigma: float | None
    n: Count = 0
    mean: float | None = None
    std: float | None = None
    candidate_sigma: float | None = None
    edges: list[float] = []
    histogram: list[int] = []
    log10_p_measured: float | None = None
    log10_p_least: float | None = None
    statement: str | None = None


class ControlsModel(_Part):
    """Scores of what is known to be false."""

    seed_plus_one: SeedControlModel
    place_plus_one: SeedControlModel | None = None
    next_layout: LayoutControlModel | None
    decoys: DecoysModel


class Float64Model(_Part):
    """Elements that NVIDIA's arithmetic and plain float64 store differently, and whose value they hold."""

    discriminating: Count
    nvidia: Count
    float64: Count
    neither: Count
    likelihood: LikelihoodModel | None = None


class VendorModel(_Part):
    """Elements whose stored value differs between the vendors' arithmetics, and whose value they hold.

    `likelihood` compares NVIDIA's exact arithmetic with AMD's, the latter averaged over a stated model of its
    unknown tables; `float64` the same counts for a program that computes in float64.
    """

    discriminating: Count
    nvidia: Count
    amd: Count
    neither: Count
    statement: str
    likelihood: LikelihoodModel | None = None
    float64: Float64Model | None = None


class Finding(_Part):
    """One origin: a seed, a layout, or both, and all the evidence for it."""

    tensor: str
    outcome: Literal["match", "seed-only", "weak-trace", "layout-only"]
    survivors: SurvivorsModel
    altered: AlteredModel
    scale: float
    factor: float | None
    generator: str
    platform: str | None
    arithmetic: str | None
    arithmetics_not_excluded: list[str] = []
    method: Literal["search", "solve", "seed-free"]
    seed: int | None
    seed_hex: str | None
    seed_rule: str | None
    declared: DeclaredModel | None
    offset: int | None
    index: int | None
    solve: SolveModel | None
    sampler: SamplerModel
    layout: LayoutModel | None
    selection: ScoreModel
    holdout: ScoreModel
    trials: Count
    holdout_trials: Count = 1
    bit_exact: BitExactModel
    share: ShareModel | None
    controls: ControlsModel
    vendor: VendorModel | None
    likelihood: LikelihoodModel | None = None
    stands_for: StandsForModel | None = None


class SearchedModel(_Part):
    """What was searched, and whether all that was planned was completed.

    `seeds` are the lowest and the highest of the exhaustive stages, null where there was only a list of
    seeds. `layouts` are the G's that were covered; with `at_least`, so were all G's from there up.
    """

    seeds: tuple[int, int] | None
    layouts: list[int]
    hypotheses: list[str]
    candidates_tested: Count
    complete: bool
    trials: Count = 0
    miss_chance: float | None = None
    stages: list[str] = []
    at_least: int | None = None
    at_least_miss: float | None = None


class Reading(_Part):
    """The result for a checkpoint."""

    schema_: Literal["birthmark.reading/1"] = Field(default="birthmark.reading/1", alias="schema")
    version: str
    command: str
    checkpoint: CheckpointModel
    verdict: Verdict
    findings: list[Finding]
    searched: SearchedModel
    limits: list[str]
    notes: list[str]

    def to_json(self) -> str:
        """The reading as indented JSON, keys in the schema's order, with a final newline."""
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def from_json(text: str | bytes) -> Reading:
    """Read a reading back.

    Raises:
        BirthmarkError: not JSON, not of this schema, a key given twice, or a number that is not finite.
    """
    try:
        return Reading.model_validate(
            json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse), strict=False
        )
    except (ValueError, RecursionError) as error:  # ValidationError and JSONDecodeError are ValueErrors
        raise BirthmarkError(
            f"this is no reading of schema {SCHEMA}: {_first_line(error)}.",
            advice="Give the JSON that `birthmark scan --json` wrote.",
        ) from error


def _first_line(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(str(part) for part in first['loc']) or 'document'}: {first['msg']}"
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} is given twice")
        found[key] = value
    return found


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not a finite number")
