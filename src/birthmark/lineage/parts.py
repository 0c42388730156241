"""Parts of checkpoints: one file can hold several models, under prefixes of their own.

`FILE#PREFIX` names one of them. Of a single file the parts are found: groups of tensors that stand side by
side and have the same names and shapes below their prefix, such as `initial.`, `best.` and `final.`, or
`student.` and `teacher.`. Numbered groups are the layers of one model, and no parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints import open_checkpoint
from birthmark.checkpoints.interface import Checkpoint, TensorInfo, Values
from birthmark.errors import UnknownName, UsageError
from birthmark.lineage.tensors import LEAST_VALUES

#: What separates a file from a prefix.
MARK: Final = "#"
#: Share of the smaller part's tensors that two parts must have in common, how many, and how deep they lie.
ALIKE, LEAST_TENSORS, DEEPEST = 0.5, 2, 4
#: Share of the file's values that its parts hold together: two small heads side by side are no two models.
LEAST_SHARE: Final = 0.5


class Part(Checkpoint):
    """The tensors of a checkpoint under one prefix, by their names without it; closing it closes nothing.

    Args:
        whole: the checkpoint.
        prefix: without the dot at its end.

    Raises:
        UnknownName: no tensor's name begins so.
    """

    def __init__(self, whole: Checkpoint, prefix: str) -> None:
        self._whole, self._before = whole, f"{prefix}."
        self.source = f"{whole.source}{MARK}{prefix}"
        self.files, self.notes, self.settings = whole.files, whole.notes, whole.settings
        self.tensors = {
            name[len(self._before) :]: replace(info, name=name[len(self._before) :])
            for name, info in whole.tensors.items()
            if name.startswith(self._before)
        }
        if not self.tensors:
            raise UnknownName("prefix", prefix, _all_prefixes(whole.tensors))

    def rows(self, name: str, start: int, stop: int) -> Values:
        """Rows start <= i < stop of a tensor's matrix view."""
        return self._whole.rows(self._before + name, start, stop)

    def take(self, name: str, rows: NDArray[np.int64]) -> Values:
        """The given rows of a tensor's matrix view."""
        return self._whole.take(self._before + name, rows)

    def elements(self, name: str, indices: NDArray[np.int64]) -> Values:
        """The elements at the given flat indices."""
        return self._whole.elements(self._before + name, indices)

    @property
    def bytes_read(self) -> int:
        """Of the whole checkpoint."""
        return self._whole.bytes_read

    def close(self) -> None:
        """The whole checkpoint is closed by whoever opened it."""


@contextmanager
def opened(models: list[str]) -> Iterator[list[Checkpoint]]:
    """The checkpoints that a user named, as parts where they say so or where there is only one file.

    Args:
        models: each a path, or a path, `#` and a prefix.

    Raises:
        UsageError: a single file without parts that could be compared.
    """
    with ExitStack() as stack:
        files: dict[str, Checkpoint] = {}
        found = []
        for model in models:
            path, prefix = split_name(model)
            if path not in files:
                files[path] = stack.enter_context(open_checkpoint(path))
            found.append(Part(files[path], prefix) if prefix else files[path])
        yield parts_of(found[0]) if len(found) == 1 else found


def split_name(model: str) -> tuple[str, str]:
    """The path and the prefix of what a user named; a path that exists is one, whatever is in it."""
    path, mark, prefix = model.rpartition(MARK)
    if not mark or not path or Path(model).exists():
        return model, ""
    return path, prefix.rstrip(".")


def parts_of(whole: Checkpoint) -> list[Checkpoint]:
    """The parts of one checkpoint that hold the same tensors, as many as there are.

    Raises:
        UsageError: there are none.
    """
    for depth in range(1, DEEPEST + 1):
        prefixes = _alike(whole, depth)
        if prefixes:
            return [Part(whole, prefix) for prefix in prefixes]
    tops = ", ".join(list(dict.fromkeys(name.split(".")[0] for name in whole.tensors))[:8])
    raise UsageError(
        f"one checkpoint, and no two groups of its tensors have the same names below their prefix (it has "
        f"{tops}). Name two checkpoints, or parts of one as FILE{MARK}PREFIX."
    )


def _alike(whole: Checkpoint, depth: int) -> list[str]:
    """Sibling prefixes of this depth with the same tensors below them, of all such the most."""
    below: dict[str, dict[str, TensorInfo]] = {}
    for name, info in whole.tensors.items():
        parts = name.split(".")
        if len(parts) > depth and info.is_float and info.size >= LEAST_VALUES:
            below.setdefault(".".join(parts[:depth]), {})[".".join(parts[depth:])] = info
    siblings: dict[str, list[str]] = {}
    for prefix in below:
        parent, _, last = prefix.rpartition(".")
        if not last.isdigit():
            siblings.setdefault(parent, []).append(prefix)
    everything = sum(info.size for info in whole.tensors.values() if info.is_float)
    best: list[str] = []
    for prefixes in siblings.values():
        pairs = [pair for pair in combinations(prefixes, 2) if _same(below[pair[0]], below[pair[1]])]
        alike = [prefix for prefix in prefixes if any(prefix in pair for pair in pairs)]
        held = sum(info.size for prefix in alike for info in below[prefix].values())
        if held >= LEAST_SHARE * everything and len(alike) > len(best):
            best = alike
    return best


def _same(one: Mapping[str, TensorInfo], other: Mapping[str, TensorInfo]) -> bool:
    common = [name for name, info in one.items() if name in other and other[name].shape == info.shape]
    least = min(len(one), len(other))
    return len(common) >= max(min(LEAST_TENSORS, least), ALIKE * least, 1)


def _all_prefixes(names: Mapping[str, TensorInfo]) -> list[str]:
    found: dict[str, None] = {}
    for name in names:
        parts = name.split(".")
        found.update(dict.fromkeys(".".join(parts[:depth]) for depth in range(1, len(parts))))
    return list(found)
