"""Truncated normals through a hypothesis: a checkpoint with known answers, and stock torch's own redraws."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.overrides import TorchFunctionMode

import birthmark.hypothesis
from birthmark.checkpoints import open_checkpoint
from birthmark.devices.layout import pieces
from birthmark.errors import UsageError
from birthmark.evidence.judge import judge
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.numerics.dtypes import round_to
from birthmark.prediction import predict, prediction
from birthmark.recipes.sharding import Sharding
from birthmark.search.engine import search
from birthmark.search.options import Options
from birthmark.survivors.split import split
from birthmark.survivors.survivor import Survivors

TRUNCATED: Any = "truncated-normal"


def test_a_checkpoint_with_known_answers(cases: Path, answers: dict[str, Any]) -> None:
    """Every surviving value of a float32 draw cut at 3 sigma is predicted bit for bit; neighbours are not."""
    answer = answers["truncated-float32"]
    rows = np.array(answer["survivors"]["rows"])
    with open_checkpoint(cases / "truncated-float32") as checkpoint:
        stored = checkpoint.take(answer["tensor"], rows)
    columns = stored.shape[1]
    indices = rows[:, None] * columns + np.arange(columns)
    call = answer["draw"]
    draw = Draw(
        TRUNCATED, tuple(call[key] for key in ("mean", "std", "a", "b")), (6144, columns), call["dtype"]
    )
    true = Hypothesis(draw, answer["layout"]["G"], offset=answer["offset"])
    seed = answer["seed"]
    assert np.array_equal(round_to(true.values(seed, indices), "bfloat16"), stored)
    score = functools.partial(_correlation, stored)
    assert score(true.standard(seed, indices)) > 0.999998
    assert abs(score(true.standard(seed + 1, indices))) < 0.06
    assert abs(score(dataclasses.replace(true, offset=4).standard(seed, indices))) < 0.06
    normal = Hypothesis(Draw("normal", (0.0, 0.02), draw.shape), true.threads)
    assert abs(score(normal.standard(seed, indices))) < 0.06
    near = dataclasses.replace(draw, parameters=(0.0, 0.02, -0.04, 0.04))
    assert (
        np.mean(round_to(dataclasses.replace(true, draw=near).values(seed, indices), "bfloat16") == stored)
        < 0.2
    )
    narrow = dataclasses.replace(true, draw=dataclasses.replace(draw, dtype="bfloat16"))
    assert np.mean(narrow.values(seed, indices) == stored) < 0.75


def test_a_search_ends_in_a_match(cases: Path, answers: dict[str, Any]) -> None:
    """Seed, layout, cut-off, dtype and std of that checkpoint are found, and confirmed on a hold-out."""
    answer = answers["truncated-float32"]
    rows = np.array(answer["survivors"]["rows"])
    name = answer["tensor"]
    with open_checkpoint(cases / "truncated-float32") as checkpoint:
        values = checkpoint.take(name, rows)
        info = checkpoint.tensors[name]
        survivors = Survivors(
            name, info.shape, info.dtype, "row", rows, np.full(len(rows), 0.99), "normal",
            float(values.std()), 1 / np.sqrt(2 * values.size),
        )  # fmt: skip
        selection, holdout = split(checkpoint, survivors)
        outcome = search(selection, Options(seeds=(0, 0)))
        judged = judge(
            checkpoint, survivors, selection, holdout, outcome.candidates, trials=outcome.searched.trials
        ).judged
    judgement = judged[0].judgement
    fitted = judgement.fit.hypothesis
    assert judgement.outcome == "match"
    assert (judgement.case.seed, fitted.threads) == (answer["seed"], answer["layout"]["G"])
    assert fitted.draw.parameters == (0.0, 0.02, -0.06, 0.06)
    assert fitted.draw.dtype == "float32"
    assert judgement.exact.equal == judgement.exact.of == values.size
    assert judged[0].census is not None
    assert judged[0].census.ids.tolist() == rows.tolist()


def _correlation(stored: Any, predicted: Any) -> float:
    return float(np.corrcoef(np.ravel(stored), np.ravel(predicted))[0, 1])


class _OnDevice(TorchFunctionMode):  # type: ignore[misc]  # torch has no types here
    """Lets stock torch draw its normals as a GPU would, one `normal_` after the other."""

    def __init__(self, draw: Draw, threads: int, seed: int, offset: int) -> None:
        super().__init__()
        plain = Draw("normal", draw.parameters[:2], draw.shape, draw.dtype)
        self.next, self.seed = Hypothesis(plain, threads, offset=offset), seed

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is not torch.Tensor.normal_:
            return func(*args, **(kwargs or {}))
        drawn = torch.from_numpy(np.array(self.next.tensor(self.seed)))
        self.next = dataclasses.replace(self.next, offset=self.next.end_offset)
        return args[0].copy_(drawn)


def stock_redraws(draw: Draw, threads: int, seed: int, offset: int) -> tuple[Any, int]:
    """Stock torch's own `trunc_normal_` (2.12 on) around a GPU's normals, and the offset afterwards."""
    tensor = torch.empty(draw.shape, dtype=getattr(torch, draw.dtype))
    mean, std, a, b = draw.parameters
    with _OnDevice(draw, threads, seed, offset) as device:
        torch.nn.init.trunc_normal_(tensor, mean, std, a, b)
    return tensor.double().numpy(), device.next.offset


@pytest.mark.skipif(
    tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 12),
    reason="torch before 2.12 inverts",
)
@settings(max_examples=25, deadline=None)
@given(
    rows=st.integers(1, 60),
    columns=st.integers(1, 90),
    dtype=st.sampled_from(["float32", "float16", "bfloat16", "float64"]),
    low=st.floats(-3, -0.4),
    high=st.floats(0.4, 3),
    offset=st.integers(0, 2**30).map(lambda n: 4 * n),
    seed=st.integers(0, 2**64 - 1),
    limit=st.sampled_from([500, 2**31 - 1]),
)
def test_redraws_are_stock_torchs(
    rows: int, columns: int, dtype: str, low: float, high: float, offset: int, seed: int, limit: int
) -> None:
    """From 2.12 on every element, and the offset afterwards, is that of stock torch, splits included."""
    draw = Draw(TRUNCATED, (0.01, 0.5, 0.01 + 0.5 * low, 0.01 + 0.5 * high), (rows, columns), dtype, "2.12+")
    hypothesis = Hypothesis(draw, 256, offset=offset)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(birthmark.hypothesis, "pieces", functools.partial(pieces, limit=limit))
        expected, end = stock_redraws(draw, 256, seed, offset)
        assert np.array_equal(hypothesis.tensor(seed), expected)
        indices = np.random.default_rng(0).permutation(draw.size)
        assert np.array_equal(hypothesis.values(seed, indices), expected.reshape(-1)[indices])
        assert hypothesis.end_offset_of(seed) == end
        some = slice(draw.size // 3, draw.size // 2 + 1)
        assert np.array_equal(hypothesis.run(seed, some.start, some.stop), expected.reshape(-1)[some])


def test_bounds_out_of_reach_leave_a_plain_normal() -> None:
    """From 2.12 on the default bounds at std 0.02 draw exactly what `normal_` draws, offset included."""
    draw = Draw(TRUNCATED, (0.0, 0.02, -2.0, 2.0), (500, 70), "bfloat16", "2.12+")
    plain = Draw("normal", (0.0, 0.02), (500, 70), "bfloat16")
    one, other = (Hypothesis(each, 1024, offset=8) for each in (draw, plain))
    assert np.array_equal(one.tensor(3), other.tensor(3))
    assert one.end_offset == one.end_offset_of(3) == other.end_offset
    older = Hypothesis(dataclasses.replace(draw, version="2.1+"), 1024, offset=8)
    assert abs(_correlation(older.tensor(3), other.tensor(3))) < 0.03


def test_values_in_bounds_are_the_first_draws() -> None:
    """Where bounds bite, most values are those of `normal_`; the others come from later offsets."""
    draw = Draw(TRUNCATED, (0.0, 1.0, -2.0, 2.0), (40_000,), version="2.12+")
    found = Hypothesis(draw, 512).tensor(1)
    first = Hypothesis(Draw("normal", (0.0, 1.0), (40_000,)), 512).tensor(1)
    inside = np.abs(first) <= 2
    assert np.array_equal(found[inside], first[inside])
    assert np.abs(found).max() <= 2
    assert 0.03 < np.mean(~inside) < 0.06
    assert Hypothesis(draw, 512).end_offset_of(1) >= 3 * 4 * -(-40_000 // 2048)


def test_an_offset_that_depends_on_the_seed_is_not_guessed() -> None:
    """`end_offset` refuses where redraws decide it; shards end where their own elements make them end."""
    draw = Draw(TRUNCATED, (0.0, 1.0, -2.0, 2.0), (8, 1000), version="2.12+")
    cut = Hypothesis(draw, 256, sharding=Sharding(4, "megatron"))
    with pytest.raises(UsageError, match="depends on the seed"):
        _ = cut.end_offset
    alone = Hypothesis(dataclasses.replace(draw, shape=(2, 1000)), 256)
    for rank in range(4):
        assert cut.end_offset_of(5, rank) == alone.end_offset_of(5 + rank)
        assert np.array_equal(cut.tensor(5)[2 * rank : 2 * rank + 2], alone.tensor(5 + rank))


@pytest.mark.parametrize("version", ["2.1+", "2.1+cuda13", "2.0-", "2.12+"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_scattered_elements_equal_the_whole(version: str, dtype: str) -> None:
    """Any elements in any order are those of the whole tensor, raw, standard and stored."""
    draw = Draw(TRUNCATED, (0.1, 0.5, -0.9, 0.8), (7, 700), dtype, version)
    hypothesis = Hypothesis(draw, 512, "amd", offset=12, sharding=Sharding(7, "megatron"))
    order = np.random.default_rng(0).permutation(draw.size).reshape(70, 70)
    assert np.array_equal(hypothesis.values(9, order), hypothesis.tensor(9).reshape(-1)[order])
    raw = hypothesis.raw(9, order)
    assert np.array_equal(draw.finish(raw), hypothesis.values(9, order))
    assert np.array_equal(draw.standard(raw), hypothesis.standard(9, order))
    assert np.array_equal(hypothesis.standard_of(9, hypothesis.locate(order)), hypothesis.standard(9, order))
    if version != "2.12+":
        plain = Draw("uniform", (0.0, 1.0), draw.shape, dtype)
        assert np.array_equal(dataclasses.replace(hypothesis, draw=plain).raw(9, order), raw)


def test_predictions_say_what_is_exact_and_where_the_generator_ends() -> None:
    """Two tables are stand-ins up to 2.11; from 2.12 on the end depends on all of the tensor."""
    request: dict[str, Any] = {
        "device": "T4",
        "distribution": TRUNCATED,
        "parameters": (0.0, 0.02, -0.04, 0.04),
    }
    old = prediction(1, (40, 100), **request)
    assert not old.exact
    assert old.metadata()["end_offset"] == 4
    new = prediction(1, (40, 100), **request, version="2.12+")
    assert new.exact
    assert isinstance(new.drawn, Hypothesis)
    assert new.metadata()["end_offset"] == new.drawn.end_offset_of(1) > 4
    part = prediction(1, (40, 100), **request, version="2.12+", rows=(3, 5))
    assert part.metadata()["end_offset"] is None
    assert np.array_equal(part.values(), new.values()[3:5])
    assert np.array_equal(predict(1, (40, 100), **request), old.values())
