"""What predicts a checkpoint: a trace or a recipe, for other seeds and layouts too, and what neither can."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.recipe_prediction import birth
from birthmark.recipes.config import Config, Parallel
from birthmark.recipes.config_file import model_from
from birthmark.recipes.megatron_core import MegatronCore
from birthmark.recipes.trace import TracedTensor
from birthmark.recipes.trace_values import Unknown
from birthmark.replay.matching import match_trace
from birthmark.replay.replaying import Birth
from birthmark.weak_map.births import Aim, from_recipe, from_trace, only

from .conftest import SHAPES, G, Memory, born, predicted, traced

EMBED = Aim("embed.weight", "embed.weight")
LLAMA: dict[str, Any] = {
    "model_type": "llama", "vocab_size": 256, "hidden_size": 32, "num_hidden_layers": 1,
    "num_attention_heads": 4, "intermediate_size": 64,
}  # fmt: skip


def test_a_trace_predicts_what_draws_decide(model: Memory) -> None:
    """Every drawn tensor, in the checkpoint's order; a constant is left out with the reason."""
    found = predicted(model, traced())

    assert [aim.stored for aim in found.aims] == list(SHAPES)
    assert found.left_out == {"norm.weight": "no draw decides it"}
    assert (found.seed, found.threads, found.walks) == (42, G, False)
    whole = born(traced(), Birth(42, G))["embed.weight"].ravel()
    assert np.array_equal(found.run(EMBED, 70, 900), whole[70:900])
    assert np.array_equal(found.values(EMBED, np.array([5, 57_000])), whole[[5, 57_000]])


def test_other_seeds_and_layouts_predict_otherwise(model: Memory) -> None:
    """Beyond the first wave; within it layouts agree."""
    found = predicted(model, traced())

    assert not np.array_equal(found.of_seed(43).run(EMBED, 0, 64), found.run(EMBED, 0, 64))
    assert np.array_equal(found.of_layout(4096).run(EMBED, 0, 2048), found.run(EMBED, 0, 2048))
    assert not np.array_equal(found.of_layout(4096).run(EMBED, 2048, 4096), found.run(EMBED, 2048, 4096))


def test_tied_and_unknown_tensors(model: Memory) -> None:
    """A tensor that shares another's memory counts once; what is not followed is left out with the reason."""
    trace = traced()
    more = (
        replace(trace.tensors[0], name="head.weight", tied="embed.weight"),
        TracedTensor("lost", (4,), "float32", Unknown("a norm")),
    )
    trace = replace(trace, tensors=(*trace.tensors, *more))
    checkpoint = Memory(
        model.arrays | {"head.weight": model.arrays["embed.weight"], "lost": np.zeros(4, np.float32)}
    )
    found = predicted(checkpoint, trace)

    assert "head.weight" not in {aim.stored for aim in found.aims}
    assert found.left_out["lost"] == "a norm"


def test_what_is_stored_in_no_plain_float_is_left_out(model: Memory) -> None:
    """Scaled 8-bit floats stand for other values than they hold, and the map says that they were left out."""
    checkpoint = Memory(model.arrays)
    info = checkpoint.tensors["embed.weight"]
    checkpoint.tensors = {**checkpoint.tensors, "embed.weight": replace(info, dtype="float8_e4m3fn")}

    found = predicted(checkpoint, traced())

    assert "embed.weight" not in {aim.stored for aim in found.aims}
    assert "float8_e4m3fn" in found.left_out["embed.weight"]


def test_redraws_are_a_walk(model: Memory) -> None:
    """A truncated normal of torch 2.12 makes positions depend on the seed, which costs decoys their time."""
    trace = traced()
    call = replace(trace.draws[0], distribution="truncated-normal", parameters=(0.0, 0.05, -0.1, 0.1))
    redrawn = replace(trace, draws=(call, *trace.draws[1:]))

    assert predicted(model, redrawn).walks


def test_a_model_of_a_gpu_needs_one(model: Memory) -> None:
    """Without a layout nothing is predicted."""
    match = match_trace(traced(), model.tensors)
    with pytest.raises(UsageError, match="draws on a GPU"):
        from_trace(model, traced(), Birth(42), match)


def test_a_recipe_predicts_the_published_tensors() -> None:
    """Two tensor-parallel ranks, seen through the names and shapes of a checkpoint, with a prefix."""
    config = Config(model_from(LLAMA), Parallel(tp=2), "float32")
    built = birth(MegatronCore(divisor=1), config, 1234, threads=512)
    names = MegatronCore().tensors(config)
    checkpoint = Memory({f"x.{name}": built.rows(name, 0, built.published(name).matrix[0]) for name in names})
    checkpoint.arrays["x.extra"] = np.zeros(3, np.float32)
    found = from_recipe(checkpoint, built, "x.")

    assert {aim.stored for aim in found.aims} == {f"x.{name}" for name in names}
    assert found.source == "the recipe megatron-core on tp 2"
    for aim in found.aims:
        values = checkpoint.arrays[aim.stored].ravel()
        assert np.array_equal(found.run(aim, 0, values.size), values)
        assert not np.array_equal(found.of_seed(1235).run(aim, 0, values.size), values)
    assert found.of_layout(1024).threads == 1024
    with pytest.raises(UsageError, match="--prefix"):
        from_recipe(checkpoint, built)


def test_some_tensors_only(model: Memory) -> None:
    """Named ones in the checkpoint's order; an unknown name lists the nearest."""
    found = only(predicted(model, traced()), ["layers.0.mlp.up_proj.bias", "embed.weight"])

    assert [aim.stored for aim in found.aims] == ["embed.weight", "layers.0.mlp.up_proj.bias"]
    with pytest.raises(UnknownName, match=r"embed\.weight"):
        only(found, ["embed.weigth"])
