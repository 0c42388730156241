"""Ways from a JAX seed to the key that draws one tensor: what programs do, then what their framework does.

A path is a list of steps, each a split or a fold. Programs split the key of their seed a few times; then flax
folds in the module's name, nnx a count, haiku splits on, or a hand-written loop gives each layer its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.threefry import Counters, Key, blocks
from birthmark.recipes.flax import FOLDINGS, Folding, linen_key, module_path

#: Keys of one split that are followed, times that a program's key is carried on, parameters of a module.
WIDEST: Final = 8
CARRIED: Final = 8
COUNTS: Final = 4
#: Parameters that nnx and haiku are followed through, and layers of a hand-written network.
MEMBERS: Final = 32
LAYERS: Final = 12


@dataclass(frozen=True, slots=True)
class Step:
    """A split into `number` keys of which one is taken, or, where `number` is 0, a fold of `which`."""

    number: int
    which: int

    @property
    def text(self) -> str:
        """As it stands in a program."""
        return f"split({self.number})[{self.which}]" if self.number else f"fold_in({self.which})"


@dataclass(frozen=True, slots=True)
class KeyPath:
    """Steps from the seed's key to the draw's, and what does them, in words."""

    steps: tuple[Step, ...]
    text: str

    def key(self, root: Key, counters: Counters) -> Key:
        """The draw's key that the seed's key leads to."""
        roots = np.array([[root.high, root.low]], np.uint32)
        high, low = keys_of((self,), roots, counters)[0, 0].tolist()
        return Key(high, low)


def keys_of(paths: tuple[KeyPath, ...], roots: NDArray[np.uint32], counters: Counters) -> NDArray[np.uint32]:
    """The draws' keys of every path and seed, uint32[paths, seeds, 2]; steps that paths share are done once.

    Args:
        paths: any.
        roots: uint32[seeds, 2], the seeds' keys.
        counters: the order of the generator's counters.
    """
    done: dict[tuple[Step, ...], NDArray[np.uint32]] = {(): roots}
    out = np.empty((len(paths), *roots.shape), np.uint32)
    for i, path in enumerate(paths):
        for length in range(1, len(path.steps) + 1):
            before = path.steps[:length]
            if before not in done:
                done[before] = _stepped(done[before[:-1]], before[-1], counters)
        out[i] = done[path.steps]
    return out


def short_paths(tensor: str) -> tuple[KeyPath, ...]:
    """The usual ways, few enough for hundreds of thousands of seeds."""
    roots = (*_splits(3), _carried(2))
    ends = [*_linen(tensor, 1), *_nnx(2), *_haiku(2)]
    return tuple(_joined(roots, (_NOTHING, *ends)))


def all_paths(tensor: str) -> tuple[KeyPath, ...]:
    """Every way that is known here, for the few seeds that most people use."""
    roots = (*_splits(WIDEST), *(_carried(times) for times in range(2, CARRIED + 1)), *_nested())
    named = [*_linen(tensor, COUNTS), _NOTHING]
    numbered = [*_nnx(MEMBERS), *_haiku(MEMBERS), *_layers()]
    together = (*_joined(roots, named), *_joined((*_splits(3), _carried(2)), numbered))
    return tuple({path.steps: path for path in reversed(together)}.values())[::-1]


def numbered(tensor: str) -> int:
    """The first number in a tensor's name, 0 where it has none: likely the layer's."""
    found = re.search(r"\d+", tensor)
    return int(found[0]) if found else 0


_NOTHING = KeyPath((), "")


def _joined(roots: tuple[KeyPath, ...], ends: list[KeyPath] | tuple[KeyPath, ...]) -> Iterator[KeyPath]:
    seen: set[tuple[Step, ...]] = set()
    for root in roots:
        for end in ends:
            steps = root.steps + end.steps
            if steps not in seen:
                seen.add(steps)
                yield KeyPath(steps, ", ".join(text for text in (root.text, end.text) if text))


def _splits(widest: int) -> list[KeyPath]:
    """The seed's key itself, and each key of one split."""
    found = [_NOTHING]
    for number in range(2, widest + 1):
        found += [_of((Step(number, which),)) for which in range(number)]
    return found


def _carried(times: int) -> KeyPath:
    """`key, new = split(key)`, that many times: the last new one."""
    return _of((Step(2, 0),) * (times - 1) + (Step(2, 1),))


def _nested() -> list[KeyPath]:
    """Two splits after each other, other than carrying the first on."""
    found = []
    for first in (2, 3):
        for one in range(first):
            for second in (2, 3):
                found += [_of((Step(first, one), Step(second, which))) for which in range(second)]
    return found


def _linen(tensor: str, counts: int) -> list[KeyPath]:
    """Flax's folds of the module's name, taken from the tensor's, with and without what stands before it."""
    path = module_path(tensor)
    found = []
    for start in range(max(1, len(path))):
        names = path[start:]
        for folding, where in FOLDINGS.items():
            for count in range(1, counts + 1):
                steps = _linen_steps(names, count, folding)
                found.append(
                    KeyPath(steps, f"{where}: module {'.'.join(names) or '(root)'}, parameter {count}")
                )
    return found


def _linen_steps(names: tuple[str, ...], count: int, folding: Folding) -> tuple[Step, ...]:
    """The folds that `linen_key` does, as numbers."""
    numbers: list[int] = []

    class Recorder(Key):
        """A key that notes what is folded into it."""

        def fold_in(self, number: int) -> Key:
            numbers.append(number)
            return self

    linen_key(Recorder(0, 0), names, count, folding)
    return tuple(Step(0, number) for number in numbers)


def _nnx(members: int) -> list[KeyPath]:
    return [
        KeyPath((Step(0, count),), f"flax nnx: parameter {count} of the stream") for count in range(members)
    ]


def _haiku(members: int) -> list[KeyPath]:
    carried = [(Step(2, 0),) * number + (Step(2, 1),) for number in range(members)]
    return [KeyPath(steps, f"haiku: random parameter {number}") for number, steps in enumerate(carried)]


def _layers() -> list[KeyPath]:
    """`split(key, layers)[i]`, and a split of that for weights and biases."""
    found = []
    for layers in range(2, LAYERS + 1):
        for which in range(layers):
            step = Step(layers, which)
            found += [_of((step,)), _of((step, Step(2, 0))), _of((step, Step(2, 1)))]
    return found


def _of(steps: tuple[Step, ...]) -> KeyPath:
    return KeyPath(steps, ", ".join(step.text for step in steps))


def _stepped(roots: NDArray[np.uint32], step: Step, counters: Counters) -> NDArray[np.uint32]:
    if not step.number:
        return _words(roots, 0, step.which & 0xFFFFFFFF)
    if counters == "partitionable":
        return _words(roots, 0, step.which)
    # 2 n counters in two halves: key i is made of the outputs 2 i and 2 i + 1.
    halves = []
    for place in (2 * step.which, 2 * step.which + 1):
        second = place >= step.number
        counter = place - step.number if second else place
        halves.append(_words(roots, counter, counter + step.number)[:, 1 if second else 0])
    return np.stack(halves, axis=1)


def _words(roots: NDArray[np.uint32], c0: int, c1: int) -> NDArray[np.uint32]:
    return blocks(roots[:, 0], roots[:, 1], np.array(c0, np.uint32), np.array(c1, np.uint32))
