"""A whole checkpoint as it was before training, from a trace and a birth, and how much of it can be checked.

Tensors are predicted and written in blocks of rows, and each block is compared with the trained tensor on the
way. The file appears only if at least one drawn tensor still shows its initial values: a wrong seed would
produce just as plausible a file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from birthmark import __version__
from birthmark.checkpoints.interface import Checkpoint, TensorInfo
from birthmark.checkpoints.safetensors_writing import Entry, SafetensorsWriter
from birthmark.devices.catalogue import sharing
from birthmark.errors import BirthmarkError
from birthmark.evidence.resemblance import Comparison, Resemblance
from birthmark.evidence.score import score
from birthmark.numerics.dtypes import is_float, round_to
from birthmark.recipes.trace import Trace, TracedTensor
from birthmark.recipes.trace_file import dumps
from birthmark.recipes.trace_values import draws_of
from birthmark.replay.layouts import better_layout
from birthmark.replay.matching import Match, match_trace
from birthmark.replay.replaying import Birth, Replay
from birthmark.reports.output import write_whole

SCHEMA: Final = "birthmark.rewind/1"
#: Elements that are predicted at a time: about 200 MB with all that they pass through.
BLOCK: Final = 1 << 21
#: Elements of a tensor on which the next seed is tried.
CONTROL: Final = 1 << 16
#: A chance, after all trials, below which a trace is one; a false seed's score that makes it worthless.
SIGNIFICANT: Final = -6.0
#: Drawn values that no false seed gives bit for bit, all of them.
ENOUGH: Final = 8
LARGEST_CONTROL: Final = 5.0

State = Literal["equal", "survivors", "weak-trace", "constant", "differs", "unverified", "not-compared"]
Tell = Callable[[str, int, int], None]


class NothingVerified(BirthmarkError):
    """No drawn tensor of the trained model shows the initial values that were predicted for it."""


@dataclass(frozen=True, slots=True)
class Rewound:
    """One tensor of the rewound checkpoint.

    Attributes:
        name: in the trace, and in the file that is written.
        stored: its name in the trained checkpoint; None where that has it not.
        state: "equal": it is what was predicted, bit for bit. "survivors": rows, columns or elements still
            hold it. "weak-trace": it correlates. "constant": no draw decides it, and it is still the same;
            "differs": likewise, and it is not. "unverified": nothing of the prediction is left in it.
            "not-compared": there is nothing to compare with.
        resemblance: the numbers behind that.
        control: sigma of the next seed on a sample of the same elements; None for constants.
        exact: why its last bits are not known; None where they are.
    """

    name: str
    stored: str | None
    state: State
    resemblance: Resemblance | None
    control: float | None
    inexact: str | None


@dataclass(frozen=True, slots=True)
class Account:
    """What was written, and what of it was verified.

    Attributes:
        birth: with which seed, and where.
        match: which tensor is which.
        tensors: what was written, in order.
        left_out: tensors that could not be predicted, with the reason.
        trace_sha256: of the trace's text.
    """

    birth: Birth
    match: Match
    tensors: tuple[Rewound, ...]
    left_out: dict[str, str]
    trace_sha256: str

    @property
    def verified(self) -> tuple[Rewound, ...]:
        """The drawn tensors in which initial values were found."""
        return tuple(each for each in self.tensors if _shows(each))

    def to_json(self) -> str:
        """The account as JSON of the schema "birthmark.rewind/1"."""
        entries = []
        for each in self.tensors:
            entry: dict[str, Any] = asdict(each)
            found = entry.pop("resemblance")
            if found is not None:
                for axis in ("rows", "columns"):
                    found[axis] = {"held": found[axis][0], "judged": found[axis][1]}
                found["equal_share"] = found["equal"] / found["n"] if found["n"] else None
            entries.append({**entry, "verified": _shows(each), "compared": found})
        document = {
            "schema": SCHEMA,
            "version": __version__,
            "seed": self.birth.seed,
            "threads": self.birth.threads,
            "arithmetic": self.birth.arithmetic if self.birth.threads else self.birth.cpu_arithmetic,
            "trace_sha256": self.trace_sha256,
            "naming": {"strip": self.match.naming.strip, "prefix": self.match.naming.prefix},
            "verified": len(self.verified),
            "drawn": sum(each.control is not None for each in self.tensors),
            "tensors": entries,
            "left_out": self.left_out,
            "not_in_the_trace": list(self.match.unexplained),
        }
        return json.dumps(document, indent=1, allow_nan=False) + "\n"


def rewind(
    checkpoint: Checkpoint,
    trace: Trace,
    birth: Birth,
    output: str | Path,
    *,
    prefix: str | None = None,
    partial: bool = False,
    unverified: bool = False,
    tell: Tell | None = None,
) -> Account:
    """Write the checkpoint as it was before training, and beside it what of it was verified.

    Args:
        checkpoint: the trained one, open.
        trace: of the model.
        birth: with which seed, and where.
        output: a safetensors file; the account goes beside it, under the same name with ".json".
        prefix: what stands before the model's names in the checkpoint; None to find out.
        partial: whether the checkpoint may lack tensors of the trace.
        unverified: whether to write the file even where nothing of it can be verified.
        tell: hears a tensor's name, its number and how many there are.

    Raises:
        UsageError: the trace does not fit the checkpoint, or the birth does not fit the trace.
        NothingVerified: no drawn tensor shows the predicted values, or another layout explains them better;
            nothing was written.
        OutputError: the files cannot be written.
    """
    match = match_trace(trace, checkpoint.tensors, prefix=prefix, partial=partial)
    replay, control = Replay(trace, birth), Replay(trace, _next(birth))
    wanted, left_out = _wanted(trace, replay, match)
    digest = sha256(dumps(trace).encode()).hexdigest()
    metadata = {
        "format": "pt",
        "birthmark": __version__,
        "rewound_from": Path(checkpoint.source).name,
        "trace_sha256": digest,
        "seed": str(birth.seed),
        "layout": "cpu" if birth.threads is None else str(birth.threads),
    }
    if not unverified:
        _check_layout(checkpoint, trace, birth, match)
    entries = [Entry(each.name, each.shape, each.dtype) for each in wanted]
    trials = max(1, sum(bool(draws_of(each.value)) for each in wanted))
    with SafetensorsWriter(output, entries, metadata) as writer:
        found = []
        for number, tensor in enumerate(wanted):
            if tell is not None:
                tell(tensor.name, number, len(wanted))
            found.append(_rewound(checkpoint, replay, control, tensor, match, writer, trials))
        account = Account(birth, match, tuple(found), left_out, digest)
        if not account.verified and not unverified:
            raise NothingVerified(
                f"none of {trials} drawn tensors shows the initial values of seed {birth.seed}; "
                "nothing was written.",
                advice="Check seed and device, or write the file all the same with --unverified.",
            )
        writer.finish()
    write_whole(beside(output), account.to_json().encode())
    return account


def beside(output: str | Path) -> Path:
    """Where the account of a rewound checkpoint goes."""
    return Path(output).with_suffix(".json")


def _check_layout(checkpoint: Checkpoint, trace: Trace, birth: Birth, match: Match) -> None:
    rival = better_layout(checkpoint, trace, birth, match)
    if rival is not None:
        names = ", ".join(each.name for each in sharing(rival.threads)[:4])
        raise NothingVerified(
            f"another layout explains the model better: G = {rival.threads:,} ({names}) has a sum of squared "
            f"sigmas of {rival.score:,.0f}, G = {birth.threads or 0:,} one of {rival.claimed:,.0f}; nothing "
            "was written.",
            advice="Name that device, or write the file all the same with --unverified.",
        )


def _next(birth: Birth) -> Birth:
    return Birth(birth.seed + 1, birth.threads, birth.arithmetic, birth.cpu_arithmetic)


def _wanted(trace: Trace, replay: Replay, match: Match) -> tuple[list[TracedTensor], dict[str, str]]:
    """The tensors to write, and why the others are left out; tied ones only where the checkpoint has them."""
    wanted, left_out = [], {}
    for tensor in trace.tensors:
        if tensor.tied is not None and tensor.name not in match.names:
            continue
        reason = replay.why_not(tensor.name)
        if reason is None:
            wanted.append(tensor)
        else:
            left_out[tensor.name] = reason
    return wanted, left_out


def _rewound(
    checkpoint: Checkpoint,
    replay: Replay,
    control: Replay,
    tensor: TracedTensor,
    match: Match,
    writer: SafetensorsWriter,
    trials: int,
) -> Rewound:
    """Write one tensor, and compare it with the trained one."""
    stored = match.names.get(tensor.name)
    info = checkpoint.tensors[stored] if stored is not None else None
    comparison = None
    if info is not None and is_float(info.dtype) and is_float(tensor.dtype) and info.size:
        comparison = Comparison(info.matrix_shape[1])
    for start, stop, first, last in _blocks(tensor, info):
        values = replay.run(tensor.name, start, stop)
        writer.add(values, tensor.dtype)
        if comparison is not None and info is not None:
            trained = checkpoint.rows(info.name, first, last)
            comparison.add(trained, round_to(values, info.dtype).reshape(trained.shape))
    inexact = replay.inexact(tensor.name)
    drawn = bool(draws_of(tensor.value))
    if comparison is None or info is None:
        return Rewound(tensor.name, stored, "not-compared", None, None, inexact)
    found = comparison.result(trials)
    false = _control(checkpoint, control, tensor, info) if drawn else None
    return Rewound(tensor.name, stored, _state(found, false, drawn=drawn), found, false, inexact)


def _blocks(tensor: TracedTensor, info: TensorInfo | None) -> Iterator[tuple[int, int, int, int]]:
    """Runs of whole rows: first element, the one after the last, first row, and the one after the last."""
    rows, columns = info.matrix_shape if info is not None else _matrix(tensor.shape)
    step = max(1, BLOCK // max(columns, 1))
    for first in range(0, rows, step):
        last = min(first + step, rows)
        yield first * columns, last * columns, first, last


def _matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    return (1, math.prod(shape)) if len(shape) < 2 else (shape[0], math.prod(shape[1:]))


def _control(checkpoint: Checkpoint, control: Replay, tensor: TracedTensor, info: TensorInfo) -> float | None:
    """Sigma of the next seed: what structure alone would give."""
    chosen = np.unique(np.linspace(0, info.size - 1, min(info.size, CONTROL)).astype(np.int64))
    try:
        predicted = control.values(tensor.name, chosen)
    except BirthmarkError:  # the same draws with another seed can be out of reach only by their own number
        return None
    return score(checkpoint.elements(info.name, chosen), predicted).sigma


def _state(found: Resemblance, control: float | None, *, drawn: bool) -> State:
    if not drawn:
        return "constant" if found.equal == found.n else "differs"
    if control is not None and abs(control) > LARGEST_CONTROL:
        return "unverified"
    if found.equal == found.n >= ENOUGH:
        return "equal"
    if found.log10_p is None or found.log10_p > SIGNIFICANT:
        return "unverified"
    units = found.rows[0] or (found.columns[0] if found.columns[1] else 0)
    if units or found.equal >= max(16, found.n // 1000):
        return "survivors"
    return "weak-trace"


def _shows(each: Rewound) -> bool:
    """Whether a tensor's initial values were found in the trained one."""
    return each.state in ("equal", "survivors", "weak-trace") and each.control is not None
