"""A trace finds its tensors in a checkpoint under any prefix, and names the first that does not fit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from birthmark.checkpoints.interface import TensorInfo
from birthmark.errors import UsageError
from birthmark.recipes.trace import Trace
from birthmark.replay.matching import match_trace


def tensors(trace: Trace, prefix: str = "", strip: str = "") -> dict[str, TensorInfo]:
    """A checkpoint's tensors as the trace has them."""
    return {
        prefix + each.name.removeprefix(strip): TensorInfo(
            prefix + each.name.removeprefix(strip), each.shape, each.dtype, "a.safetensors"
        )
        for each in trace.tensors
        if each.name.startswith(strip)
    }


def changed(found: dict[str, TensorInfo], name: str, **fields: object) -> dict[str, TensorInfo]:
    old = found[name]
    given = {"name": name, "shape": old.shape, "dtype": old.dtype, "file": old.file, **fields}
    return {**found, name: TensorInfo(**given)}  # type: ignore[arg-type]


@pytest.mark.parametrize("prefix", ["", "module.", "state.model."])
def test_names_are_found_under_a_prefix(trace: Trace, prefix: str) -> None:
    """And what else lies under it is named."""
    held = tensors(trace, prefix)
    extra = prefix + "extra"
    held[extra] = TensorInfo(extra, (3,), "float32", "a.safetensors")
    match = match_trace(trace, held)

    assert match.naming.prefix == prefix
    assert match.names == {each.name: prefix + each.name for each in trace.tensors}
    assert match.absent == ()
    assert match.unexplained == (extra,)


def test_an_inner_model_is_found(trace: Trace) -> None:
    """A checkpoint that was saved from one part of the traced model."""
    match = match_trace(trace, tensors(trace, "net.", "layer."))

    assert match.names == {"layer.weight": "net.weight", "layer.bias": "net.bias"}
    assert "embed.weight" in match.absent


def test_several_state_dicts_are_not_guessed_between(trace: Trace) -> None:
    """The prefixes are listed, and one can be named."""
    held = {**tensors(trace, "initial."), **tensors(trace, "final.")}
    with pytest.raises(UsageError, match=r"initial\., final\."):
        match_trace(trace, held)

    assert match_trace(trace, held, prefix="final.").names["layer.bias"] == "final.layer.bias"


def test_one_name_of_tied_tensors_is_enough(trace: Trace) -> None:
    """Formats that keep shared memory once list one of them."""
    for name in ("embed.weight", "head.weight"):
        held = tensors(trace)
        del held[name]
        assert match_trace(trace, held).absent == (name,)


def test_floats_may_have_been_cast(trace: Trace) -> None:
    """A float32 draw published in bfloat16 is the same tensor."""
    match_trace(trace, changed(tensors(trace), "layer.weight", dtype="bfloat16"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda held: changed(held, "layer.weight", shape=(64, 127)),
            r"layer.weight has the shape \(64, 128\)",
        ),
        (
            lambda held: changed(held, "layer.bias", dtype="int64"),
            "layer.bias is float32 in the trace and int64",
        ),
        (
            lambda held: {key: value for key, value in held.items() if key != "layer.bias"},
            "layer.bias is not in it",
        ),
    ],
)
def test_the_first_tensor_that_differs_is_named(
    trace: Trace, change: Callable[[dict[str, TensorInfo]], dict[str, TensorInfo]], message: str
) -> None:
    """By shape, by kind, or because it is not there."""
    with pytest.raises(UsageError, match=message):
        match_trace(trace, change(tensors(trace)))


def test_a_trace_of_another_model_does_not_fit(trace: Trace) -> None:
    """Nothing in common is an error even where tensors may be missing; some are enough then."""
    other = {"x.y": TensorInfo("x.y", (3,), "float32", "a.safetensors")}
    for partial in (False, True):
        with pytest.raises(UsageError, match="does not fit"):
            match_trace(trace, other, partial=partial)
    held = tensors(trace)
    del held["layer.bias"]

    assert match_trace(trace, held, partial=True).absent == ("layer.bias",)
