"""Known answers of every sampler: values of draws at given places, as text that CPU and GPU code answer to.

`known_answers.txt` beside this module has them by source. What a real device drew and somebody else published
comes first; lines under "no outside witness" were computed here and hold what is there in place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.catalogue import Arithmetic
from birthmark.errors import SelfTestFailed, UsageError
from birthmark.numerics.dtypes import encode
from birthmark.samplers.bernoulli import Bernoulli, BernoulliEach
from birthmark.samplers.cuda_draw import CudaDraw
from birthmark.samplers.derived import Cauchy, Geometric, LogNormal
from birthmark.samplers.draw import Draw
from birthmark.samplers.dropout import Dropout
from birthmark.samplers.exponential import Exponential
from birthmark.samplers.integers import Integers
from birthmark.samplers.permutation import Permutation

#: What sources begin with that are this project's own.
UNWITNESSED: Final = "no outside witness"


@dataclass(frozen=True, slots=True)
class KnownDraw:
    """Values of one call at consecutive elements.

    Attributes:
        source: where they come from.
        sampler: "normal", "uniform", "truncated-normal", "exponential", "log-normal", "cauchy", "geometric",
            "integers", "bernoulli", "bernoulli-each", "dropout" or "permutation".
        parameters: its numbers, None where one is left out; see `call`.
        dtype: of the tensor.
        rules: the version rules that matter, in the order of the file's head.
        arithmetic: how words become floats on the device.
        seed: 64-bit seed.
        offset: the generator's offset before the call.
        threads: G of the device.
        size: elements of the tensor.
        first: the first element that has a value here.
        values: as text, one an element: hexadecimal bits, integers, or decimals as somebody printed them.
        tolerance: how far from a printed decimal a stand-in may be; 0 for half a unit of its last digit.
    """

    source: str
    sampler: str
    parameters: tuple[float | None, ...]
    dtype: str
    rules: tuple[str, ...]
    arithmetic: Arithmetic
    seed: int
    offset: int
    threads: int
    size: int
    first: int
    values: tuple[str, ...]
    tolerance: float

    @property
    def witnessed(self) -> bool:
        """Whether somebody else published the values."""
        return not self.source.startswith(UNWITNESSED)

    @property
    def indices(self) -> NDArray[np.int64]:
        """The elements that have values."""
        return np.arange(self.first, self.first + len(self.values))

    def call(self) -> CudaDraw | BernoulliEach | Dropout | Permutation:
        """The call, ready to be asked for values.

        Raises:
            UsageError: a line that names no sampler.
        """
        if self.sampler not in _CALLS:
            raise UsageError(f"known answers of {self.sampler!r}: no such sampler.")
        return _CALLS[self.sampler](self)

    def differing(self, found: NDArray[Any]) -> list[int]:
        """Which of the values are not what a computation found, by their number."""
        wrong = []
        for number, (text, value) in enumerate(zip(self.values, found.tolist(), strict=True)):
            if text.startswith("0x"):
                pattern = int(encode(found[number : number + 1], self.dtype)[0])
                right = int(text, 16) == pattern
            elif found.dtype.kind in "bi":
                right = int(text) == int(value)
            else:
                decimals = len(text.partition(".")[2])
                right = abs(float(text) - value) <= max(self.tolerance, 0.5000001 * 10.0**-decimals)
            if not right:
                wrong.append(number)
        return wrong


def known_draws() -> tuple[KnownDraw, ...]:
    """All known answers, in the order of the file."""
    found: list[KnownDraw] = []
    source = ""
    text = files("birthmark.samplers").joinpath("known_answers.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            source = line.strip("[]")
        elif line and not line.startswith("#"):
            what, where, at, values = (part.split() for part in line.split("|"))
            sampler, parameters, dtype, rules, arithmetic = what
            seed, offset, threads, size = (int(number, 0) for number in where)
            found.append(
                KnownDraw(
                    source,
                    sampler,
                    tuple(None if number == "none" else float(number) for number in parameters.split(",")),
                    dtype,
                    tuple(rules.split(",")),
                    arithmetic,  # type: ignore[arg-type]  # checked by the call
                    seed,
                    offset,
                    threads,
                    size,
                    int(at[0]),
                    tuple(values),
                    float(at[1]) if len(at) > 1 else 0.0,
                )
            )
    return tuple(found)


def check_draws() -> None:
    """Compute every known answer and compare.

    Raises:
        SelfTestFailed: a value differs; the message says which.
    """
    for known in known_draws():
        found = known.call().values(known.seed, known.indices)
        if wrong := known.differing(found):
            at = wrong[0]
            raise SelfTestFailed(
                f"element {known.first + at} of {known.sampler} {known.parameters} in {known.dtype}, seed "
                f"{known.seed}, is {found[at]} on this machine, not {known.values[at]} ({known.source}).",
                advice="Its results cannot be trusted; please report it with its processor and versions.",
            )


def _launched(known: KnownDraw, sampler: Any, offsets: str) -> CudaDraw:  # noqa: ANN401 - any sampler
    return CudaDraw(sampler, known.size, known.threads, known.arithmetic, known.offset, offsets)


def _float_draw(known: KnownDraw) -> CudaDraw:
    version, offsets = known.rules
    parameters = tuple(float(number or 0.0) for number in known.parameters)
    draw = Draw(known.sampler, parameters, (known.size,), known.dtype, version)  # type: ignore[arg-type]
    return _launched(known, draw, offsets)


def _exponential(known: KnownDraw) -> CudaDraw:
    version, offsets = known.rules
    return _launched(known, Exponential(float(known.parameters[0] or 0), known.dtype, version), offsets)


def _derived(known: KnownDraw) -> CudaDraw:
    kind = {"log-normal": LogNormal, "cauchy": Cauchy, "geometric": Geometric}[known.sampler]
    return _launched(known, kind(*(float(x or 0) for x in known.parameters), known.dtype), known.rules[0])


def _integers(known: KnownDraw) -> CudaDraw:
    version, offsets = known.rules
    low, high = (None if bound is None else int(bound) for bound in known.parameters)
    return _launched(known, Integers(low, high, known.dtype, version), offsets)


def _bernoulli(known: KnownDraw) -> CudaDraw:
    return _launched(known, Bernoulli(float(known.parameters[0] or 0), known.dtype), known.rules[0])


def _bernoulli_each(known: KnownDraw) -> BernoulliEach:
    # The probabilities are those of numpy's old generator, whose seed is the parameter.
    stream = np.random.RandomState(int(known.parameters[0] or 0))
    return BernoulliEach(
        stream.rand(known.size).astype(known.dtype), known.dtype, known.offset, known.arithmetic
    )


def _dropout(known: KnownDraw) -> Dropout:
    keep, vector = (float(number or 0.0) for number in known.parameters)
    return Dropout(known.size, known.threads, keep, known.dtype, int(vector), known.offset, known.arithmetic)


def _permutation(known: KnownDraw) -> Permutation:
    integers, offsets = known.rules
    return Permutation(known.size, known.threads, known.offset, integers, offsets)


_CALLS: Final[dict[str, Callable[[KnownDraw], CudaDraw | BernoulliEach | Dropout | Permutation]]] = {
    "normal": _float_draw,
    "uniform": _float_draw,
    "truncated-normal": _float_draw,
    "exponential": _exponential,
    "log-normal": _derived,
    "cauchy": _derived,
    "geometric": _derived,
    "integers": _integers,
    "bernoulli": _bernoulli,
    "bernoulli-each": _bernoulli_each,
    "dropout": _dropout,
    "permutation": _permutation,
}
