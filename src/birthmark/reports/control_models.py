"""The controls of a finding as typed documents: what is known to be false, and what speaks a second time."""

from __future__ import annotations

from pydantic import Field

from birthmark.reports.models import Count, Part, ScoreModel


class SeedControlModel(Part):
    """A false prediction, scored on the hold-out."""

    score: ScoreModel


class LayoutControlModel(Part):
    """The next-best layout, scored on the hold-out and on those elements that it predicts differently."""

    threads: int
    score: ScoreModel
    differing: ScoreModel | None = None


class DecoysModel(Part):
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
    edges: list[float] = Field(default_factory=list)
    histogram: list[int] = Field(default_factory=list)
    log10_p_measured: float | None = None
    log10_p_least: float | None = None
    statement: str | None = None


class ControlsModel(Part):
    """Scores of what is known to be false.

    `rows_moved` is the score of the hold-out with each row's (or column's) values held against the prediction
    of the next one. Of the `scored` rows that were taken for survivors the finding does not predict
    `unexplained`.
    """

    seed_plus_one: SeedControlModel
    place_plus_one: SeedControlModel | None = None
    rows_moved: SeedControlModel | None = None
    scored: Count = 0
    unexplained: Count = 0
    next_layout: LayoutControlModel | None
    decoys: DecoysModel


class TrainedModel(Part):
    """What is left of the draw in rows (or columns) that no finding predicts: `units` of `of` looked at.

    Values are levelled. `lo` and `hi` are the interval of 95 % of r; `moved` is the score with each row's
    values held against the prediction of the next one.
    """

    units: Count
    of: Count
    score: ScoreModel
    lo: float | None
    hi: float | None
    moved: ScoreModel | None


class WithoutSeedModel(Part):
    """The layout read off the same survivors without the seed, among `compared` ones.

    `asked` is false where the values cannot tell; `threads` is null where the pairs show none, and `agrees`
    is null then. r is R, which is 1 by chance.
    """

    asked: bool
    threads: int | None
    agrees: bool | None
    pairs: Count
    r: float | None
    next_r: float | None
    compared: Count
    statement: str
