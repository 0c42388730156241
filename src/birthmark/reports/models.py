"""The parts of a reading as typed documents, schema version 1: what findings and mixtures are made of."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0)]


class Part(BaseModel):
    """A frozen part of a reading; unknown keys, NaN and infinities are refused."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True, serialize_by_alias=True
    )


class ScoreModel(Part):
    """A correlation and how surprising it is."""

    n: Count
    r: float | None
    sigma: float | None
    log10_p_local: float | None
    log10_p_global: float | None


class FileModel(Part):
    """A file of the checkpoint; the digest lets a reader compare it with the published one."""

    name: str
    size: Count
    sha256: str | None


class CheckpointModel(Part):
    """What was read."""

    source: str
    revision: str | None
    files: list[FileModel]
    bytes_read: Count
    tensors_read: list[str]


class SurvivorsModel(Part):
    """The units that the prediction gives, after every unit was judged again."""

    axis: Literal["row", "column", "tensor"]
    count: Count
    ids: list[int] | None


class AlteredModel(Part):
    """Those of the survivors that have elements changed afterwards, and how many such elements."""

    count: Count
    ids: list[int] | None
    elements: Count = 0


class RowModel(Part):
    """What one row stands for: the kind of its token, the token as its file writes it, its script."""

    id: Count
    kind: str
    text: str | None
    script: str | None


class StandsForModel(Part):
    """What the untouched rows or columns stand for; rows are listed where they are tokens, 4,096 at most."""

    things: str
    source: str | None
    sentence: str
    rows: list[RowModel] = []


class LikelihoodModel(Part):
    """How much more probable the values are under one proposition than under the other."""

    log10: float
    log10_after_trials: float
    words: str
    for_it: str
    against_it: str


class DeclaredModel(Part):
    """A seed that the checkpoint's own files declare."""

    seed: int
    source: str
    agrees: bool


class SolveModel(Part):
    """The linear system of a solved generator state."""

    equations: Count
    rank: Count
    redundant_satisfied: Count


class SamplerModel(Part):
    """The draw: distribution, parameters, dtype at draw time (and others that do as well), version rule."""

    distribution: str
    parameters: list[float]
    dtype: str
    version: str | None
    dtypes_not_excluded: list[str] = []


class DeviceModel(Part):
    """A device that has this layout."""

    name: str
    sm_count: Count
    threads_per_sm: Count


class LayoutModel(Part):
    """The launch layout; `threads` is null where the survivors do not single one out.

    `not_excluded` is the set of G's that cannot be excluded; `level` says what excludes one.
    """

    threads: int | None
    not_excluded: list[int]
    devices: list[DeviceModel]
    level: str | None = None


class BitExactModel(Part):
    """Stored bits against predicted bits, selection and hold-out together, altered elements included."""

    equal: Count
    of: Count
    within_ulp: dict[str, Count]
    holdout: dict[str, Count] | None = None


class ShareModel(Part):
    """A share with its 95 % interval."""

    value: float
    lo: float
    hi: float


class Float64Model(Part):
    """Elements that NVIDIA's arithmetic and plain float64 store differently, and whose value they hold."""

    discriminating: Count
    nvidia: Count
    float64: Count
    neither: Count
    likelihood: LikelihoodModel | None = None


class VendorModel(Part):
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


class FamilyModel(Part):
    """Survivors that lie on the lattice of a generator without launch layouts, read without their seed.

    The scores are coherences, as those of a layout without its seed: sigma is R.
    """

    tensor: str
    family: str
    generator: str | None
    platform: str | None
    scale: float
    selection: ScoreModel
    holdout: ScoreModel
    trials: Count


class OtherDrawModel(Part):
    """Another draw of the same merge."""

    seed: int
    threads: int
    weight: float


class MergeModel(Part):
    """One draw of a linear merge: what it is multiplied with, and what else was added.

    Scores and decoys of such a finding are those of the values with the other draws subtracted; `bit_exact`
    is that of the whole sum.
    """

    weight: float
    beside: list[OtherDrawModel]
    residual: float


class MixturePartModel(Part):
    """One origin of a mixture.

    `finding` is its place among the reading's findings. `runs` are the first and last of each run of rows (or
    columns) that this origin alone predicts, `count` of them; for a merge, in which every row holds every
    draw, there are none, and the share is that of the weights. `least_log10` and `median_log10` are those of
    the likelihood ratios of its rows against the next best origin.
    """

    finding: Count
    count: Count
    runs: list[tuple[int, int]]
    share: ShareModel | None
    least_log10: float | None = None
    median_log10: float | None = None


class EitherModel(Part):
    """Rows (or columns) that several origins predict alike: they count for none."""

    count: Count
    runs: list[tuple[int, int]]


class RowEvidenceModel(Part):
    """One row: the part that predicts it best, null where several do as well; log10 of its ratio."""

    id: Count
    part: Count | None
    log10: float


class MixtureModel(Part):
    """What came together in one tensor: rows of several origins, or a weighted sum of draws."""

    tensor: str
    kind: Literal["rows", "merge"]
    axis: Literal["row", "column", "tensor"]
    parts: list[MixturePartModel]
    either: EitherModel
    rows: list[RowEvidenceModel]
    statement: str
