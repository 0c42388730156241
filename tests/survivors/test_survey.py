"""The survey of whole checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from birthmark.checkpoints.interface import Checkpoint
from birthmark.survivors import look as look_module
from birthmark.survivors.survey import LEAST_FOR_READING, best_targets, likely_values, survey
from birthmark.survivors.survivor import TensorSurvey

Make = Callable[..., Checkpoint]
Random = np.random.Generator


def by_name(checkpoint: Checkpoint, **options: Any) -> dict[str, TensorSurvey]:
    """The survey, by tensor."""
    return {one.tensor: one for one in survey(checkpoint, **options)}


def test_every_tensor_gets_survivors_or_a_reason(in_memory: Make, trained: Callable[..., Any]) -> None:
    """A model with a trained embedding, a head, a norm and a trained matrix, in file order."""
    made = trained()
    random = np.random.default_rng(0)
    matrix = random.standard_normal((96, 96)) + 3.0 * np.outer(*random.standard_normal((2, 96))) / 5.0
    checkpoint = in_memory(
        {
            "embed.weight": made.embedding,
            "norm.weight": np.ones(96, dtype=np.float32),
            "layer.weight": 0.02 * matrix,
            "head.weight": made.head,
        },
        "bfloat16",
    )

    surveys = survey(checkpoint)

    assert [one.tensor for one in surveys] == list(checkpoint.tensors)
    assert [one.survivors is not None for one in surveys] == [True, False, False, False]
    assert all(one.reason for one in surveys[1:])
    found = surveys[0].survivors
    assert found is not None
    assert found.axis == "row"
    assert np.isin(made.untouched, found.likely()).mean() > 0.8
    assert [one.tensor for one in best_targets(surveys)] == ["embed.weight"]


def test_special_rows_are_never_survivors(in_memory: Make) -> None:
    """In an untouched tensor zero, repeated and broken rows are named and left out."""
    values = np.random.default_rng(1).standard_normal((400, 64)).astype(np.float32) * np.float32(0.02)
    values[5], values[7], values[9] = np.nan, 0.0, values[11]
    values[200, 3] = np.inf

    one = by_name(in_memory({"w": values}, "bfloat16"))["w"]

    assert {kind: ids.tolist() for kind, ids in one.special.items()} == {
        "not-finite": [5, 200],
        "zero": [7],
        "duplicate": [9, 11],
    }
    assert one.survivors is not None
    assert one.survivors.axis == "tensor"
    assert not np.isin([5, 7, 9, 11, 200], one.survivors.ids).any()
    assert len(one.survivors.ids) == 395


def test_whole_draws_are_found_with_their_scale(in_memory: Make) -> None:
    """Fresh matrices are untouched as a whole; trained and constant ones are not."""
    random = np.random.default_rng(2)
    checkpoint = in_memory(
        {
            "a": random.standard_normal((256, 128)) * 0.05,
            "b": random.uniform(-0.1, 0.1, (256, 128)),
            "c": np.full((256, 128), 0.5),
            "d": random.standard_normal((256, 128)) * np.exp(random.standard_normal((1, 128))),
        },
        "bfloat16",
    )

    found = by_name(checkpoint)

    assert [one.survivors is not None for one in found.values()] == [True, True, False, False]
    for name, distribution, scale in (("a", "normal", 0.05), ("b", "uniform", 0.1)):
        survivors = found[name].survivors
        assert survivors is not None
        assert survivors.axis == "tensor"
        assert survivors.distribution == distribution
        assert abs(np.log(survivors.scale / scale)) < 5 * survivors.scale_error
        assert survivors.probability.min() > 0.95
    assert found["c"].special["constant"].tolist() == list(range(256))


def test_small_tensors_need_company(in_memory: Make) -> None:
    """A bias that looks fresh is believed beside a fresh matrix, not beside a trained one."""
    random = np.random.default_rng(3)
    fresh = random.standard_normal((128, 96))
    gone = fresh * np.exp(0.5 * random.standard_normal((128, 1)))
    bias = random.standard_normal(128)
    checkpoint = in_memory(
        {"new.weight": fresh, "new.bias": bias, "old.weight": gone, "old.bias": bias * 0.1}, "bfloat16"
    )

    found = by_name(checkpoint)

    assert found["new.bias"].survivors is not None
    assert found["old.bias"].survivors is None
    assert "few" in str(found["old.bias"].reason)


def test_tiny_tensors_say_how_many_values_are_needed(in_memory: Make) -> None:
    """Ten biases are too few, and the reason says how many are not."""
    one = by_name(in_memory({"b": np.arange(10, dtype=np.float32)}))["b"]

    assert one.survivors is None
    assert one.reason == "holds 10 values; 64 at least are needed"


def test_one_trained_row_does_not_hide_in_a_whole_draw(in_memory: Make) -> None:
    """A row of another energy is left out of an otherwise untouched tensor."""
    values = np.random.default_rng(4).standard_normal((3000, 64)).astype(np.float32)
    values[77] *= 3.0

    survivors = by_name(in_memory({"w": values}, "bfloat16"))["w"].survivors

    assert survivors is not None
    assert survivors.axis == "tensor"
    assert 77 not in survivors.ids
    assert len(survivors.ids) == 2999


def test_no_tensors_and_empty_tensors(in_memory: Make) -> None:
    """Nothing to look at gives reasons, never an error."""
    assert survey(in_memory({})) == []
    found = by_name(
        in_memory(
            {
                "none": np.zeros((0, 8), np.float32),
                "thin": np.zeros((8, 0), np.float32),
                "scalar": np.float32(1).reshape(()),
                "ids": np.arange(100),
                "nan": np.full((30, 30), np.nan, np.float32),
            }
        )
    )

    assert all(one.survivors is None and one.reason for one in found.values())
    assert "int64" in str(found["ids"].reason)


def test_tensors_of_more_dimensions_are_matrices(in_memory: Make) -> None:
    """A convolution's rows are its output channels."""
    values = np.random.default_rng(5).standard_normal((64, 16, 3, 3)).astype(np.float32) * np.float32(0.1)

    survivors = by_name(in_memory({"w": values}, "bfloat16"))["w"].survivors

    assert survivors is not None
    assert survivors.shape == (64, 16, 3, 3)
    assert survivors.ids.tolist() == list(range(64))


def test_large_tensors_are_sampled_and_say_so(in_memory: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a size only some rows are read; an untouched tensor is recognised from them."""
    monkeypatch.setattr(look_module, "ALWAYS_READ", 1 << 14)
    monkeypatch.setattr(look_module, "SAMPLED_ROWS", 64)
    values = np.random.default_rng(6).standard_normal((512, 512)).astype(np.float32)
    checkpoint = in_memory({"w": values, "v": np.random.default_rng(7).laplace(size=(512, 512))}, "bfloat16")

    found = by_name(checkpoint)

    assert found["w"].sampled
    assert found["w"].survivors is not None
    assert len(found["w"].survivors.ids) == 512
    assert found["v"].survivors is None
    assert "too large" in str(found["v"].reason)
    assert checkpoint.bytes_read < 6 * 64 * 512 * 2


def test_the_seed_moves_the_sample_only(in_memory: Make, trained: Callable[..., Any]) -> None:
    """Two surveys of one checkpoint agree, whatever the seed."""
    made = trained()
    checkpoint = in_memory({"e": made.embedding, "h": made.head}, "bfloat16")

    one, two = by_name(checkpoint)["e"].survivors, by_name(checkpoint, seed=5)["e"].survivors

    assert one is not None
    assert two is not None
    np.testing.assert_array_equal(one.ids, two.ids)
    np.testing.assert_array_equal(one.probability, two.probability)


def test_targets_are_ranked_and_too_small_ones_left_out(in_memory: Make) -> None:
    """The larger untouched tensor comes first; probabilities and sizes decide, not names."""
    random = np.random.default_rng(8)
    checkpoint = in_memory(
        {"a": random.standard_normal((64, 64)), "b": random.standard_normal((2048, 64))}, "bfloat16"
    )

    targets = best_targets(survey(checkpoint))

    assert [one.tensor for one in targets] == ["b", "a"]
    assert likely_values(targets[0]) == 2048 * 64
    assert all(likely_values(one) >= LEAST_FOR_READING for one in targets)
