"""Checkpoints with known answers: what the survey finds before a search, what predictions say after a match.

The tables of docs/survivors.md come from here::

    pytest tests/survivors/test_known_answers.py -s -k table
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.checkpoints import open_checkpoint
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.recipes.sharding import Sharding
from birthmark.survivors.rejudge import Rejudged, rejudge
from birthmark.survivors.survey import survey
from birthmark.survivors.survivor import Survivors, TensorSurvey

#: Every open case with survivors in single rows.
ROWS = [
    "hopper-42", "blackwell-31bit", "decay-152", "megatron-tp2-a100", "ada-4090", "merged-two-layouts",
    "truncated-float32", "partial-3pct", "redrawn-offset", "cpu-1337", "numpy-pcg64", "rocm-mi300x-f32",
    "pt-zip", "sharded",
]  # fmt: skip
#: Those whose initial values one normal draw on a GPU gives.
PREDICTED = [
    name
    for name in ROWS
    if name not in ("merged-two-layouts", "truncated-float32", "cpu-1337", "numpy-pcg64")
]


@dataclass(frozen=True)
class Measured:
    """How well a stage did on one case."""

    true: int
    claimed: int
    right: int
    first_ten: int

    @property
    def recall(self) -> float:
        return self.right / self.true

    @property
    def precision(self) -> float:
        return self.right / self.claimed

    def __str__(self) -> str:
        return (
            f"{self.true:4d} {self.claimed:8d} {self.recall:7.3f} {self.precision:10.3f} {self.first_ten:4d}"
        )


@cache
def by_name(path: Path) -> dict[str, TensorSurvey]:
    """The survey of a checkpoint."""
    with open_checkpoint(path) as checkpoint:
        return {one.tensor: one for one in survey(checkpoint)}


def survivors_of(one: TensorSurvey) -> Survivors:
    """The survivors, which must be there."""
    assert one.survivors is not None, one.reason
    return one.survivors


def first_stage(cases: Path, answer: dict[str, Any]) -> Measured:
    """The survey against the truth, rows with probability one half and more being claimed."""
    truth = answer["survivors"]
    found = survivors_of(by_name(cases / answer["path"])[truth["tensor"]])
    assert found.axis == "row"
    likely = found.likely()
    order = found.ids[np.argsort(-found.probability, kind="stable")]
    right = np.isin(likely, truth["rows"])
    return Measured(
        true=len(truth["rows"]),
        claimed=len(likely),
        right=int(right.sum()),
        first_ten=int(np.isin(order[:10], truth["rows"]).sum()),
    )


def predictions(answer: dict[str, Any]) -> NDArray[np.float32]:
    """The initial values that the truth gives."""
    ways = int(answer.get("tp", 1))
    draws = [draw for draw in answer["draws"] if draw["tensor"].startswith(answer["tensor"])]
    rows, columns = (draw := draws[-1 if ways == 1 else 0])["shape"]
    hypothesis = Hypothesis(
        Draw("normal", (draw["mean"], draw["std"]), (rows * ways, columns), dtype=draw["dtype"]),
        threads=answer["layout"]["G"],
        arithmetic="amd" if answer["vendor"] == "amd" else "nvidia-volta+",
        offset=draw["offset"],
        sharding=Sharding(ways, "megatron") if ways > 1 else Sharding(),
    )
    values = hypothesis.run(draw["seed"], 0, rows * ways * columns)
    return np.asarray(values, dtype=np.float32).reshape(-1, columns)


def second_stage(cases: Path, answer: dict[str, Any]) -> tuple[Measured, Rejudged]:
    """Every row against its prediction."""
    with open_checkpoint(cases / answer["path"]) as checkpoint:
        info = checkpoint.tensors[answer["tensor"]]
        values = checkpoint.rows(info.name, 0, info.shape[0])
    judged = rejudge(values, predictions(answer), info.dtype)
    truth = np.isin(np.arange(len(values)), answer["survivors"]["rows"])
    first = np.argsort(-judged.probability, kind="stable")[:10]
    claimed = judged.survives
    right = int((claimed & truth).sum())
    return Measured(int(truth.sum()), int(claimed.sum()), right, int(truth[first].sum())), judged


@pytest.mark.parametrize("name", ROWS)
def test_the_surest_rows_are_true(name: str, cases: Path, answers: dict[str, Any]) -> None:
    """Before a search nine of the ten surest rows are survivors, and most survivors are claimed."""
    measured = first_stage(cases, answers[name])

    assert measured.first_ten >= 9
    assert measured.recall >= 0.85
    assert measured.precision >= 0.5


@pytest.mark.parametrize("name", PREDICTED)
def test_predictions_leave_no_doubt(name: str, cases: Path, answers: dict[str, Any]) -> None:
    """After a match exactly the true survivors remain, with the common factor and the altered elements."""
    answer = answers[name]

    measured, judged = second_stage(cases, answer)

    assert measured.precision >= 0.95
    assert measured.recall >= 0.95
    assert judged.factor == pytest.approx(answer.get("factor", 1.0), rel=1e-3)
    altered = judged.altered[answer["survivors"]["rows"]]
    partly = answer.get("partly_altered", {"rows": [], "altered_elements": 0})
    # One element of an altered row was altered by less than its rounding.
    assert 0 <= partly["altered_elements"] - int(altered.sum()) <= 1
    assert (altered > 0).sum() == len(partly["rows"])


def test_table(cases: Path, answers: dict[str, Any]) -> None:
    """Over all cases: recall 0.95 before the search; precision and recall 0.95 after a match."""
    print("\n| case | true rows | claimed | recall | precision | of the ten surest |")  # noqa: T201
    stages: dict[str, list[Measured]] = {"before a search": [], "after a match": []}
    for stage, names in (("before a search", ROWS), ("after a match", PREDICTED)):
        print(stage)  # noqa: T201
        for name in names:
            if stage == "before a search":
                measured = first_stage(cases, answers[name])
            else:
                measured, _ = second_stage(cases, answers[name])
            stages[stage].append(measured)
            print(f"{name:20s} {measured}")  # noqa: T201
        every = stages[stage]
        true, right = sum(one.true for one in every), sum(one.right for one in every)
        claimed = sum(one.claimed for one in every)
        print(f"{'all':20s} {Measured(true, claimed, right, min(one.first_ten for one in every))}")  # noqa: T201
        assert right / true >= 0.95
    assert sum(one.right for one in stages["after a match"]) / sum(
        one.claimed for one in stages["after a match"]
    ) >= 0.95  # fmt: skip


def test_a_weak_trace_has_no_survivors(cases: Path) -> None:
    """Where training left no row alone, none is claimed, in any tensor."""
    found = by_name(cases / "weak-r10")

    assert all(one.survivors is None and one.reason for one in found.values())


@pytest.mark.parametrize("name", ["hopper-42", "decay-152", "merged-two-layouts", "rocm-mi300x-f32"])
def test_trained_tensors_have_no_survivors(name: str, cases: Path, answers: dict[str, Any]) -> None:
    """Beside the embedding no tensor of a trained model claims any."""
    for one in by_name(cases / name).values():
        assert (one.survivors is None) == (one.tensor != answers[name]["tensor"])


def test_an_untrained_model_is_whole(cases: Path) -> None:
    """Every matrix of a checkpoint of step 0 is untouched, its scale known exactly; norms are constant."""
    for one in by_name(cases / "step0-unseeded").values():
        if len(one.shape) == 1:
            assert one.survivors is None
            assert one.special["constant"].tolist() == [0]
        else:
            survivors = survivors_of(one)
            assert survivors.axis == "tensor"
            assert len(survivors.ids) == one.shape[0]
            assert survivors.scale == 0.02


def test_rows_that_are_not_finite_are_named(cases: Path) -> None:
    """NaN and infinite rows are named and never survive; so are zero rows."""
    (broken,) = by_name(cases / "malformed" / "nan-row.safetensors").values()
    (zeros,) = by_name(cases / "malformed" / "zero-rows.safetensors").values()

    assert broken.special["not-finite"].tolist() == [5, 9]
    assert zeros.special["zero"].tolist() == [2, 7, 23]
    for one, excluded in ((broken, [5, 9]), (zeros, [2, 7, 23])):
        if one.survivors is not None:
            assert not np.isin(excluded, one.survivors.ids).any()


def test_initial_weights_of_a_t4_are_whole_and_trained_ones_not(cases: Path) -> None:
    """Of three states in one file only the initial one is untouched, its biases included."""
    path = cases / "real" / "ggl_lottery_fc1_pp0x1_seed3_co2False_T4.pt"
    found = by_name(path)
    for name, one in found.items():
        if not name.startswith("initial_state_dict"):
            assert one.survivors is None, name
        elif np.prod(one.shape) < 64:
            assert "at least are needed" in str(one.reason)
        else:
            assert survivors_of(one).axis == "tensor"
    first = survivors_of(found["initial_state_dict.classifier.0.weight"])
    assert np.float32(first.scale) == np.float32((2.0 / 1084.0) ** 0.5)


@pytest.mark.parametrize("which", ["lt", "magnitude"])
def test_untrained_nets_are_whole(which: str, cases: Path) -> None:
    """Nets saved before training are untouched in every tensor that is large enough to tell."""
    for one in by_name(cases / "real" / f"sparsenns_fc1_mnist_initial_{which}.pth.tar").values():
        assert (one.survivors is None) == (np.prod(one.shape) < 64)
        if one.survivors is not None:
            assert one.survivors.axis == "tensor"
            assert one.survivors.distribution == "normal"


@pytest.mark.parametrize(
    ("file", "tensor", "columns"),
    [
        ("cgcnn_band-gap.pth.tar", "state_dict.embedding.weight", [66, 69, 71, 76]),
        ("shagunuppal_mnist_vae.pth", "fc1.weight", 67),
        ("catniplab_music_50_final_state_dict.pt", "weights.weight", 37),
        ("sb3zoo_ppo_Ant-v3_policy.pth", "mlp_extractor.policy_net.0.weight", 84),
    ],
)
def test_dead_input_columns(file: str, tensor: str, columns: list[int] | int, cases: Path) -> None:
    """Inputs that no data ever reached keep their columns, in published models as well."""
    survivors = survivors_of(by_name(cases / "real" / file)[tensor])

    assert survivors.axis == "column"
    if isinstance(columns, int):
        assert len(survivors.likely()) == columns
    else:
        assert survivors.likely().tolist() == columns
