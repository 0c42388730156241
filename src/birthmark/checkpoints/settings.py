"""Numbers that a pickle keeps beside its tensors and that tell how a model was initialised: seeds and scales.

Authors save their arguments with the weights, as dicts or as objects of their own classes. Only numbers under
a few well-known names are taken; nothing else of such an object is looked at.
"""

from __future__ import annotations

from typing import Final

from birthmark.checkpoints.numpy_objects import ArrayRef
from birthmark.checkpoints.pickled import Flat, Instance
from birthmark.checkpoints.torch_objects import TensorRef
from birthmark.checkpoints.walk import MAX_DEPTH, children

#: Names under which programs keep a seed, and the standard deviation of their normal draws.
SEED_KEYS: Final = ("seed", "random_seed", "manual_seed", "torch_seed", "rng_seed", "random_state")
SCALE_KEYS: Final = ("initializer_range", "init_method_std", "init_std")
#: Numbers that are taken at most, and objects that are looked at.
MOST: Final = 64
MOST_OBJECTS: Final = 100_000

_WANTED: Final = frozenset((*SEED_KEYS, *SCALE_KEYS))


def settings_of(root: object) -> dict[str, int | float]:
    """The numbers under well-known names, by the way to each: its keys, joined with dots.

    Args:
        root: what a pickle built.
    """
    found: dict[str, int | float] = {}
    visited: set[int] = set()
    waiting: list[tuple[object, str, int]] = [(root, "", 0)]
    while waiting and len(visited) < MOST_OBJECTS and len(found) < MOST:
        value, name, depth = waiting.pop()
        if id(value) in visited or depth >= MAX_DEPTH or not _is_container(value):
            continue
        visited.add(id(value))
        for key, inside in children(value):
            way = name if key is None else f"{name}.{key}" if name else str(key)
            if key in _WANTED and isinstance(inside, (int, float)) and not isinstance(inside, bool):
                found[way] = inside
            elif _is_container(inside):
                waiting.append((inside, way, depth + 1))
    return found


def _is_container(value: object) -> bool:
    if isinstance(value, (TensorRef, ArrayRef)):
        return False
    if isinstance(value, (list, tuple)):
        return bool(value) or (isinstance(value, Flat) and bool(value.given()))
    return isinstance(value, Instance)
