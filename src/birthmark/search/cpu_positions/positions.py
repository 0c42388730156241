"""Where the draw of a tensor usually starts: stream positions worth a search, likeliest first.

Without a trace of the constructor, what is known of a model are its tensors, in order. Four things are usual:
the stream begins with the tensor; layers draw in the order in which they were constructed, by PyTorch's
defaults; a layer draws by default and is redrawn at once; all layers draw by default, and then weights are
redrawn one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from birthmark.errors import UnknownName
from birthmark.samplers.cpu_normal import BLOCK, consumed
from birthmark.search.solve.sequence import starts


def usual_positions(tensors: Iterable[tuple[str, tuple[int, ...]]], name: str) -> tuple[int, ...]:
    """Words that are usually drawn before a tensor.

    Args:
        tensors: (name, shape) of a state dict, in its order.
        name: the tensor.

    Returns:
        Positions, likeliest first, each once.

    Raises:
        UnknownName: no tensor of this name.
    """
    listed = list(tensors)
    shapes = dict(listed)
    if name not in shapes:
        raise UnknownName("tensor", name, shapes)
    found = [0]
    for norms_draw in (False, True):
        at = starts(listed, norms_draw=norms_draw)
        if name not in at:
            continue
        found.append(at[name])
        weights = [each for each in at if len(shapes[each]) > 1]
        if name not in weights:
            continue
        total = sum(math.prod(shapes[each]) for each in at)
        before = [shapes[each] for each in weights[: weights.index(name)]]
        # Redrawn uniforms take a word an element; normals of a ragged size take a block more.
        for words in (math.prod, _normals):
            redrawn = sum(map(words, before))
            found += [at[name] + words(shapes[name]), total + redrawn, redrawn]
    return tuple(dict.fromkeys(found))


def _normals(shape: tuple[int, ...]) -> int:
    """Words of a normal draw."""
    size = math.prod(shape)
    return consumed(size) if size >= BLOCK else size
