"""Survivors as conditions on a stream: parities of bits of its words, each with what it rests on.

A condition says: the bits of the word at this place, masked, add up to 0 or 1. A wrong seed or position
satisfies each with a chance of one half, whichever the others do; the true one satisfies all that rest on
values which nothing has touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import NothingToSearch
from birthmark.search.cpu_positions.fields import NONE, Fields, fields_of
from birthmark.search.cpu_positions.kernel import Seeding
from birthmark.search.solve.readings import Observation, observation
from birthmark.survivors.split import Selection

Library = Literal["torch", "numpy", "python"]

#: Values that are looked at, the surest units first: more bring nothing but work.
MOST_VALUES: Final = 1024
#: Standard errors within which a survey's scale is taken to lie, and the widest that a scale is left open.
ERRORS: Final = 5.0
WIDEST: Final = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Conditions:
    """What survivors say about the words of a stream.

    Attributes:
        seen: the values.
        position: int64[m], the word of each condition, counted from the draw's first word.
        mask: uint32[m], the bits of the word that are added.
        parity: uint8[m], their sum.
        first: int64[m], the number of the value that says so.
        second: int64[m], of the other value of a pair; -1 where there is one value only.
        library: whose draw is supposed: "torch", "numpy" (RandomState) or "python" (random).
    """

    seen: Observation
    position: NDArray[np.int64]
    mask: NDArray[np.uint32]
    parity: NDArray[np.uint8]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    library: Library = "torch"

    def __len__(self) -> int:
        return len(self.position)

    @property
    def seeding(self) -> Seeding:
        """How a state is made of a seed."""
        return "array" if self.library == "python" else "genrand"

    @property
    def trust(self) -> NDArray[np.float64]:
        """float64[m]: the probability that the units of each condition's values still hold what was drawn."""
        units, trust = self.seen.unit, self.seen.trust
        other = np.where(self.second == NONE, self.first, self.second)
        apart = units[self.first] != units[other]
        found: NDArray[np.float64] = trust[self.first] * np.where(apart, trust[other], 1.0)
        return found

    @property
    def digest(self) -> str:
        """The same for the same conditions only."""
        seen = self.seen
        digest = blake2b(
            repr((self.library, seen.size, seen.distribution, seen.scale, seen.dtype)).encode(),
            digest_size=16,
        )
        for part in (self.position, self.mask, self.parity, self.first, self.second, seen.values, seen.unit):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()


def conditions_of(
    values: NDArray[np.floating],
    indices: NDArray[np.int64],
    shape: Sequence[int],
    distribution: Literal["normal", "uniform"],
    scale: tuple[float, float],
    *,
    dtype: str = "float32",
    unit: NDArray[np.int64] | None = None,
    trust: NDArray[np.float64] | None = None,
) -> Conditions:
    """Conditions from values of one draw.

    Args:
        values: float[n], as stored.
        indices: int64[n], their C-order flat indices in the tensor, unique.
        shape: the tensor's extents.
        distribution: "normal" (mean 0) or "uniform" (symmetric around 0).
        scale: the least and the most that the standard deviation or bound can be; equal where it is known.
        dtype: the stored dtype: "float32", "bfloat16" or "float16".
        unit: int64[n], the row or column of each value, right or wrong as a whole; each its own if left out.
        trust: float64[n], the probability that the unit still holds what was drawn; 1 if left out.

    Raises:
        NothingToSearch: values of a dtype whose draws are not searched for, or none that says anything.
        UsageError: arrays of different lengths, bad indices, a scale that is no interval of positive numbers.
        UnknownName: an unknown dtype.
    """
    stored = np.asarray(values, np.float64)
    seen = surest(observation(stored, indices, shape, distribution, scale, dtype, unit, trust))
    if seen.dtype == "float64":
        raise NothingToSearch("float64 values are not searched for at stream positions.")
    return of_fields(seen, fields_of(seen), "torch")


def of_fields(seen: Observation, fields: Fields, library: Library) -> Conditions:
    """Conditions from known parts of words.

    Raises:
        NothingToSearch: nothing is known.
    """
    word, mask, parity = parities(fields)
    if len(word) == 0:
        raise NothingToSearch(f"none of {len(seen.values)} values says anything about the generator's words.")
    place, first, second = fields.position[word], fields.first[word], fields.second[word]
    return Conditions(seen, place, mask, parity, first, second, library)


def conditions_of_selection(selection: Selection, scale: tuple[float, float] | None = None) -> Conditions:
    """Conditions from what a search may see of a tensor.

    Args:
        selection: the survivors.
        scale: the least and the most that the scale can be; the survey's, give or take five standard errors,
            if left out. A usual scale that is taken for granted gives more conditions, and is one more trial.

    Raises:
        NothingToSearch: as `conditions_of`.
    """
    margin = min(WIDEST, ERRORS * max(selection.scale_error, 1e-6))
    return conditions_of(
        selection.values,
        selection.indices,
        selection.shape,
        selection.distribution,
        scale or (selection.scale * (1.0 - margin), selection.scale * (1.0 + margin)),
        dtype=selection.dtype,
        unit=selection.unit,
        trust=selection.probability,
    )


def parities(fields: Fields) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint8]]:
    """(number of the field, mask, sum) of every parity that known parts of words fix.

    The leading bits that both bounds share are known. Where the bounds lie on both sides of a border between
    ...0111... and ...1000..., the bits behind the border are the opposite of the one at it.
    """
    word: list[int] = []
    masks: list[int] = []
    sums: list[int] = []
    bounds = zip(fields.shift, fields.width, fields.low, fields.high, fields.mask, fields.parity, strict=True)
    for number, (shift, width, low, high, mask, parity) in enumerate(bounds):
        found = [(int(mask), int(parity))] if mask else []
        a, b, bit = int(low), int(high), int(width) - 1
        while bit >= 0 and (a ^ b) >> bit & 1 == 0:
            found.append((1 << bit + int(shift), a >> bit & 1))
            bit -= 1
        border, bit = bit, bit - 1
        while bit >= 0 and a >> bit & 1 and not b >> bit & 1:
            found.append(((1 << border | 1 << bit) << int(shift), 1))
            bit -= 1
        word.extend([number] * len(found))
        masks.extend(each for each, _ in found)
        sums.extend(each for _, each in found)
    return np.array(word, np.int64), np.array(masks, np.uint32), np.array(sums, np.uint8)


def surest(seen: Observation) -> Observation:
    """The values of the surest units, the first of equally sure ones."""
    if len(seen.values) <= MOST_VALUES:
        return seen
    chosen = np.zeros(len(seen.values), np.bool_)
    chosen[np.argsort(-seen.trust, kind="stable")[:MOST_VALUES]] = True
    return seen.take(chosen)
