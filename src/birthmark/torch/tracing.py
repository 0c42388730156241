"""Traces of real constructors: run one under a recording, and read off its tensors what they are made of.

`torch.nn.init.trunc_normal_` is recorded whole: from torch 2.12 on it draws again until no value is out of
bounds, and on fake tensors there are none. Copies of its older recipe, as libraries carry them, are followed
step by step.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from itertools import islice
from typing import Any, Literal
from unittest import mock

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from birthmark.errors import UsageError
from birthmark.recipes.trace import Trace, TracedDraw, TracedStream, TracedTensor
from birthmark.recipes.trace_values import (
    Applied,
    Orthogonal,
    Patched,
    Table,
    Unknown,
    Value,
    Viewed,
    draws_of,
    parts,
)
from birthmark.samplers.torch_rules import rules
from birthmark.torch.gpu_stand_in import gpu_stand_in
from birthmark.torch.memory import name_of
from birthmark.torch.random_calls import Result
from birthmark.torch.recording import Recorder

Device = Literal["cpu", "cuda"]
#: Warnings of torch about fake tensors, and about a GPU that is only claimed.
HARMLESS = ("Accessing the data pointer of FakeTensor", "PyTorch was compiled without cuDNN")
#: Nodes of the largest value that is kept; what is made in more steps is called unknown.
MOST_PARTS = 20_000
#: Steps that a value may be nested in.
DEEPEST = 60
FOREIGN = "numbers that came in while Python's or numpy's own generator was used"


def trace(
    build: Callable[[], Any], *, device: Device = "cpu", model: str = "", release: str | None = None
) -> Trace:
    """Record what a constructor draws.

    Args:
        build: makes the model: a module, or a mapping of names to tensors. It runs on fake tensors; what else
            it does (files, networks) happens for real.
        device: where its tensors lie unless it says otherwise; "cuda" needs no GPU.
        model: what is traced, in words.
        release: the PyTorch release whose draws are meant; None for the installed one.

    Raises:
        UsageError: what it returns is no model, or it asks for numbers that depend on its draws.
    """
    meant = release or torch.__version__
    rules(meant)
    recorder = Recorder(device)
    before = _foreign_state()
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        for message in HARMLESS:
            warnings.filterwarnings("ignore", message)
        stack.enter_context(recorder.streams.kept())
        stack.enter_context(_patched(recorder))
        stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        stack.enter_context(recorder)
        stack.enter_context(gpu_stand_in(recorder, there=device == "cuda"))
        stack.enter_context(torch.device("cuda") if device == "cuda" else nullcontext())
        built = build()
        named, buffers = _tensors_of(built)
        tensors = _described(recorder, named, buffers)
    notes = list(dict.fromkeys(recorder.streams.notes))
    if meant != torch.__version__:
        notes.append(f"Traced with torch {torch.__version__}, for draws as torch {meant} makes them.")
    if _foreign_state() != before:
        notes.append(
            "Python's or numpy's own generator was used while the model was built. What it decided is not in "
            "this trace; numbers that may come from it count as unknown."
        )
        tensors = [replace(each, value=_without_tables(each.value)) for each in tensors]
    used = sorted({draw.stream for draw in recorder.draws})
    streams = tuple(recorder.streams.streams[number] for number in used)
    notes += [
        f"The program seeds a {each.device} generator itself, with {each.seed}."
        for each in streams
        if each.seed is not None
    ]
    return Trace(
        _named(recorder, tensors, named, {number: place for place, number in enumerate(used)}),
        tuple(tensors),
        streams or (TracedStream(device),),
        meant,
        model,
        tuple(notes),
    )


def _tensors_of(built: Result) -> tuple[dict[str, torch.Tensor], set[str]]:
    """The model's tensors by name, and which of them are buffers."""
    if isinstance(built, torch.nn.Module):
        state = built.state_dict(keep_vars=True)
        buffers = {name for name, _ in built.named_buffers(remove_duplicate=False)}
    elif isinstance(built, Mapping):
        state, buffers = built, set()
    else:
        raise UsageError(
            f"the model is a {type(built).__name__}: expected a torch.nn.Module, or a mapping of names to "
            "tensors.",
            advice="Name a function that returns one.",
        )
    found = {str(name): each for name, each in state.items() if isinstance(each, torch.Tensor)}
    if not found:
        raise UsageError("the model has no tensors: there is nothing to trace.")
    return found, buffers


def _described(
    recorder: Recorder, named: Mapping[str, torch.Tensor], buffers: set[str]
) -> list[TracedTensor]:
    """What each tensor is made of; the later ones of shared memory are tied to the first."""
    first: dict[tuple[Any, ...], str] = {}
    found = []
    for name, tensor in named.items():
        where = (
            recorder.memory.key(tensor), tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset()
        )  # fmt: skip
        tied = first.setdefault(where, name)
        value = _bounded(recorder.memory.read(tensor))
        found.append(
            TracedTensor(
                name,
                tuple(tensor.shape),
                name_of(tensor.dtype),
                value,
                None if tied == name else tied,
                name in buffers,
            )
        )
    return found


def _named(
    recorder: Recorder,
    tensors: list[TracedTensor],
    named: Mapping[str, torch.Tensor],
    streams: Mapping[int, int],
) -> tuple[TracedDraw, ...]:
    """The calls, each with the tensor that keeps its values, or that held them before they were lost.

    Streams from which nothing was drawn are left out; `streams` gives the new numbers of the others.
    """
    keeps: dict[int, str] = {}
    for tensor in tensors:
        for number in draws_of(tensor.value):
            keeps.setdefault(number, tensor.name)
    holds: dict[int, str] = {}
    for name, each in named.items():
        holds.setdefault(recorder.memory.key(each), name)
    return tuple(
        replace(
            draw,
            stream=streams[draw.stream],
            tensor=keeps.get(number),
            overwritten=None if number in keeps else holds.get(recorder.filled[number]),
        )
        for number, draw in enumerate(recorder.draws)
    )


def _bounded(value: Value) -> Value:
    """A value, unless it is made in more steps than anyone would follow."""
    if next(islice(parts(value), MOST_PARTS, None), None) is not None:
        return Unknown(f"made in more than {MOST_PARTS:,} steps")
    return Unknown(f"made in more than {DEEPEST} nested steps") if _depth(value) > DEEPEST else value


def _depth(value: Value) -> int:
    deepest = 0
    waiting = [(value, 1)]
    while waiting:
        current, depth = waiting.pop()
        deepest = max(deepest, depth)
        if isinstance(current, Applied | Viewed | Orthogonal | Patched):
            waiting.append((current.of, depth + 1))
        if isinstance(current, Patched):
            waiting.extend((patch, depth + 1) for _, patch in current.patches)
    return deepest


def _without_tables(value: Value) -> Value:
    """A value that relies on no numbers from outside."""
    if any(isinstance(part, Table) and part.dtype.startswith(("float", "bfloat")) for part in parts(value)):
        return Unknown(FOREIGN)
    return value


def _foreign_state() -> tuple[Any, ...]:
    """Where Python's and numpy's global generators stand."""
    state = np.random.get_state(legacy=False)  # noqa: NPY002 - it is the global one that programs use
    return random.getstate(), repr(state), state["state"]["key"].tobytes()


@contextmanager
def _patched(recorder: Recorder) -> Iterator[None]:
    """Truncated normals are recorded whole, and modules of fake tensors can change their dtype and device."""

    def truncated(
        tensor: torch.Tensor,
        mean: float,
        std: float,
        a: float,
        b: float,
        generator: torch.Generator | None = None,
    ) -> torch.Tensor:
        recorder.truncated(tensor, (float(mean), float(std), float(a), float(b)), generator)
        return tensor

    def swap(first: torch.Tensor, second: torch.Tensor) -> None:
        """What `Module.to` needs of `torch.utils.swap_tensors`, which refuses fake tensors."""
        first.data = second

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(torch.nn.init, "_no_grad_trunc_normal_", truncated))
        stack.enter_context(mock.patch.object(torch.utils, "swap_tensors", swap))
        yield
