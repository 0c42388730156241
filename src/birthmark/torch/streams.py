"""Which stream each recorded call draws from, and which call it follows there.

No numbers are drawn while a program is recorded. Instead each call leaves a mark in the state of the
generator that it would draw from: a seed of the recording's own, another for every call. When the next call
comes, the generator's state says where the stream stands: a mark, if the program went on from there, put an
earlier state back or forked; a fresh seeding, if the program seeded the generator itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, Final
from unittest import mock

import torch

from birthmark.recipes.trace import TracedStream

#: Marks are the seeds from here on; nobody seeds with such numbers.
FIRST_MARK: Final = 0x6269_7274_6800_0000


class Streams:
    """The streams of a recording."""

    def __init__(self, device: str) -> None:
        """The user's own streams, of which the one on `device` comes first."""
        self.streams: list[TracedStream] = []
        self.notes: list[str] = []
        self._marks: dict[bytes, tuple[int, int | None]] = {}
        self._next_mark = FIRST_MARK
        self._on_gpu: tuple[int, int | None] | None = None
        self._users: dict[str, int] = {}
        self._first = device

    def place(self, device: str, generator: torch.Generator | None, number: int) -> tuple[int, int | None]:
        """The stream of a call and the call that it follows there; call `number` is now the last one.

        Args:
            device: of the tensor that is filled.
            generator: the one that the call names; None for the device's own.
            number: of the call.
        """
        if device == "cuda" and generator is None:
            stream, after = self._on_gpu if self._on_gpu is not None else (self._user("cuda"), None)
            self._on_gpu = (stream, number)
            return stream, after
        generator = torch.default_generator if generator is None else generator
        stream, after = self._standing(generator)
        self._mark(generator, (stream, number))
        return stream, after

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Mark the generators for the time of a recording, and put them back afterwards."""
        before = torch.default_generator.get_state()
        self._mark(torch.default_generator, None)

        def seeded(seed: int) -> None:
            self._on_gpu = (self._new("cuda", int(seed)), None)

        def state(*_: object) -> torch.Tensor:
            current = self._on_gpu if self._on_gpu is not None else (self._user("cuda"), None)
            return torch.tensor([current[0], -1 if current[1] is None else current[1]], dtype=torch.int64)

        def put_back(state: torch.Tensor, *_: object) -> None:
            stream, after = (int(each) for each in state.tolist())
            self._on_gpu = (stream, None if after < 0 else after)

        patches: dict[str, Any] = {
            "manual_seed": seeded,
            "manual_seed_all": seeded,
            "get_rng_state": state,
            "set_rng_state": put_back,
        }
        try:
            with mock.patch.multiple(torch.cuda, **patches):
                yield
        finally:
            torch.default_generator.set_state(before)

    def _standing(self, generator: torch.Generator) -> tuple[int, int | None]:
        known = self._marks.get(_digest(generator))
        if known is not None:
            return (self._user("cpu"), None) if known[0] < 0 else known
        seed = generator.initial_seed()
        fresh = torch.Generator()
        fresh.manual_seed(seed)
        if _digest(fresh) == _digest(generator):
            return self._new("cpu", seed), None
        self.notes.append(
            "A generator was put into a state that this recording did not make; its draws are counted from "
            "there."
        )
        return self._new("cpu", None), None

    def _mark(self, generator: torch.Generator, place: tuple[int, int | None] | None) -> None:
        generator.manual_seed(self._next_mark)
        self._next_mark += 1
        self._marks[_digest(generator)] = (-1, None) if place is None else place

    def _user(self, device: str) -> int:
        """The stream that the user's own seed starts."""
        if device not in self._users:
            self._users[device] = self._new(device, None)
        return self._users[device]

    def _new(self, device: str, seed: int | None) -> int:
        self.streams.append(TracedStream(device, seed))
        return len(self.streams) - 1


def _digest(generator: torch.Generator) -> bytes:
    state = generator.get_state()
    # Read past torch: any operation on the state would be taken for one of the program's.
    return blake2b(ctypes.string_at(state.data_ptr(), state.nbytes), digest_size=16).digest()
