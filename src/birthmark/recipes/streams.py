"""Streams of random numbers and the draws on them; the tape that recipes write their draws on."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

from birthmark.errors import UsageError
from birthmark.samplers.draw import Draw
from birthmark.samplers.storing import TRUNCATED

Generator = Literal["cuda", "cpu", "paddle"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a rule was read: a public repository, a commit or release, and files."""

    repository: str
    commit: str
    files: str = ""


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream of random numbers.

    Attributes:
        name: what the framework keeps it for, such as "model-parallel".
        pp: pipeline stage of its process; the other ranks likewise.
        tp: tensor-parallel rank.
        ep: expert-parallel rank.
        etp: rank within an expert.
        shard: rank of fully sharded data parallelism.
    """

    name: str
    pp: int = 0
    tp: int = 0
    ep: int = 0
    etp: int = 0
    shard: int = 0

    @property
    def ranks(self) -> dict[str, int]:
        """The ranks by the names that seed rules use."""
        return {"pp": self.pp, "tp": self.tp, "ep": self.ep, "etp": self.etp, "rank": self.shard}


@dataclass(frozen=True, slots=True)
class RecipeDraw:
    """One random call of a recipe.

    Attributes:
        stream: whose numbers it takes.
        tensor: the framework's own name of the tensor that it fills.
        draw: distribution, parameters, the local shape and the dtype at draw time.
        generator: what makes the numbers: "cuda", "cpu" (of PyTorch) or "paddle".
        kept: whether its values outlive construction; others are drawn over or thrown away.
        stored: the dtype that the values are cast to afterwards; empty for the one they are drawn in.
        zeroed: the row that is set to 0 afterwards; -1 for none.
        then: what is done to the values afterwards beyond a cast, in words; empty for nothing.
        whole: elements of the whole tensor of which this is one DTensor shard; 0 for an ordinary draw.
        first: elements of the first of those shards.
    """

    stream: Stream
    tensor: str
    draw: Draw
    generator: Generator = "cuda"
    kept: bool = True
    stored: str = ""
    zeroed: int = -1
    then: str = ""
    whole: int = 0
    first: int = 0


@dataclass
class Tape:
    """Draws as they are made; what recipes write on."""

    dtype: str
    generator: Generator = "cuda"
    made: list[RecipeDraw] = field(default_factory=list)

    def normal(
        self,
        stream: Stream,
        tensor: str,
        shape: tuple[int, ...],
        std: float,
        *,
        kept: bool = True,
        dtype: str | None = None,
        generator: Generator | None = None,
        stored: str = "",
        zeroed: int = -1,
        then: str = "",
    ) -> None:
        """Add a plain normal draw with mean 0."""
        draw = drawn("normal", (0.0, std), shape, dtype or self.dtype)
        maker = generator or self.generator
        self.made.append(RecipeDraw(stream, tensor, draw, maker, kept, stored, zeroed, then))

    def uniform(
        self,
        stream: Stream,
        tensor: str,
        shape: tuple[int, ...],
        low: float,
        high: float,
        *,
        kept: bool = True,
        dtype: str | None = None,
        generator: Generator | None = None,
        then: str = "",
    ) -> None:
        """Add a uniform draw."""
        draw = drawn("uniform", (low, high), shape, dtype or self.dtype)
        self.add(stream, tensor, draw, kept=kept, generator=generator, then=then)

    def add(
        self,
        stream: Stream,
        tensor: str,
        draw: Draw,
        *,
        kept: bool = True,
        generator: Generator | None = None,
        then: str = "",
    ) -> None:
        """Add any draw."""
        maker = generator or self.generator
        self.made.append(RecipeDraw(stream, tensor, draw, maker, kept, then=then))


def keep_last(draws: Iterable[RecipeDraw], lost: Collection[str] = ()) -> tuple[RecipeDraw, ...]:
    """The same draws, of which only the last one of each tensor outlives construction.

    Args:
        draws: in order.
        lost: tensors of which none does.
    """
    made = list(draws)
    last = {(each.stream, each.tensor): number for number, each in enumerate(made)}
    for number, each in enumerate(made):
        if each.tensor in lost or last[each.stream, each.tensor] != number:
            made[number] = replace(each, kept=False)
    return tuple(made)


@cache
def drawn(
    distribution: Literal["normal", "uniform"],
    parameters: tuple[float, ...],
    shape: tuple[int, ...],
    dtype: str,
) -> Draw:
    """A draw, made once: models repeat the same ones hundreds of times."""
    return Draw(distribution, parameters, shape, dtype)


@cache
def truncated(
    std: float, bound: float, shape: tuple[int, ...], dtype: str, version: str, sigma: float = 0.0
) -> Draw:
    """A truncated normal draw of mean 0.

    Args:
        std: its standard deviation before it is cut.
        bound: where it is cut, absolute; taken from `sigma` where that is given.
        shape: of the tensor.
        dtype: at draw time.
        version: PyTorch's rule, see `birthmark.samplers.draw.Draw`.
        sigma: where it is cut, in standard deviations.
    """
    if std <= 0:
        raise UsageError(f"a truncated normal draw of std {std}: expected more than 0.")
    end = sigma * std if sigma else bound
    return Draw(TRUNCATED, (0.0, std, -end, end), shape, dtype, version)
