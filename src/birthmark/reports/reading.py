"""The reading: the result for a checkpoint as a typed document, schema version 1.

Keys are never renamed within a schema version; new ones may be added. Nothing is NaN or infinite: what is
missing is null, and the notes say why.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import Field, ValidationError

from birthmark.errors import BirthmarkError
from birthmark.reports.control_models import (
    ControlsModel,
    DecoysModel,
    LayoutControlModel,
    SeedControlModel,
    TrainedModel,
    WithoutSeedModel,
)
from birthmark.reports.models import (
    AlteredModel,
    BitExactModel,
    CheckpointModel,
    Count,
    DeclaredModel,
    DeviceModel,
    EitherModel,
    FamilyModel,
    FileModel,
    Float64Model,
    LayoutModel,
    LikelihoodModel,
    MergeModel,
    MixtureModel,
    MixturePartModel,
    OtherDrawModel,
    Part,
    RowEvidenceModel,
    RowModel,
    SamplerModel,
    ScoreModel,
    ShareModel,
    SolveModel,
    StandsForModel,
    SurvivorsModel,
    VendorModel,
)

__all__ = [
    "SCHEMA",
    "AlteredModel",
    "BitExactModel",
    "CheckpointModel",
    "ControlsModel",
    "DeclaredModel",
    "DecoysModel",
    "DeviceModel",
    "EitherModel",
    "FamilyModel",
    "FileModel",
    "Finding",
    "Float64Model",
    "LayoutControlModel",
    "LayoutModel",
    "LikelihoodModel",
    "MergeModel",
    "MixtureModel",
    "MixturePartModel",
    "OtherDrawModel",
    "QuestionModel",
    "Reading",
    "RowEvidenceModel",
    "RowModel",
    "SamplerModel",
    "ScoreModel",
    "SearchedModel",
    "SeedControlModel",
    "ShareModel",
    "SolveModel",
    "StandsForModel",
    "SurvivorsModel",
    "TrainedModel",
    "VendorModel",
    "Verdict",
    "WithoutSeedModel",
    "from_json",
]

SCHEMA = "birthmark.reading/1"

Verdict = Literal["match", "weak-trace", "mixture", "layout-only", "seed-only", "none", "not-searched"]


class Finding(Part):
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
    arithmetics_not_excluded: list[str] = Field(default_factory=list)
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
    merge: MergeModel | None = None
    trained: TrainedModel | None = None
    without_seed: WithoutSeedModel | None = None


class SearchedModel(Part):
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
    stages: list[str] = Field(default_factory=list)
    at_least: int | None = None
    at_least_miss: float | None = None


class QuestionModel(Part):
    """What a critic would ask of the first finding, whether it was asked, and the answer or the reason."""

    topic: str
    question: str
    asked: bool
    answer: str


class Reading(Part):
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
    mixtures: list[MixtureModel] = Field(default_factory=list)
    questions: list[QuestionModel] = Field(default_factory=list)
    families: list[FamilyModel] = Field(default_factory=list)

    def to_json(self, *, only_given: bool = False) -> str:
        """The reading as indented JSON, keys in the schema's order, with a final newline.

        Args:
            only_given: leave out keys that were not given: a reading of an earlier version lacks later ones.
        """
        document = self.model_dump(mode="json", exclude_unset=only_given)
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


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
