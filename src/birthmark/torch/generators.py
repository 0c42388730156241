"""Generators of virtual GPUs: a seed and an offset, with the methods of `torch.Generator`.

A `VirtualGenerator` is a true `torch.Generator`, so that PyTorch's argument checks take it; underneath lies a
CPU generator that nothing draws from while the virtual device is entered. PyTorch wraps generators anew on
their way to an operation, so the machine knows them by the address of that CPU generator.
"""

from __future__ import annotations

import operator
import secrets
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from birthmark.errors import UsageError

if TYPE_CHECKING:
    from birthmark.torch.machine import Machine

#: PyTorch's own class, whatever `torch.Generator` stands for at the moment.
PlainGenerator: TypeAlias = torch._C.Generator  # noqa: SLF001 - the public name is one of those that get patched

#: The seed of a generator object that nobody has seeded (c10 `GeneratorImpl.h`).
DEFAULT_SEED = 67280421310721
#: Bytes of a CUDA generator's state: a seed and an offset, 64 bits each, little endian.
SEED_BYTES, STATE_BYTES = 8, 16
#: Bits of a seed that a CUDA generator gives itself (c10 `getNonDeterministicRandom`, for CUDA).
RANDOM_BITS = 53

_LEAST_SEED, _SEED_END = -(1 << 63), 1 << 64


class Position:
    """Where a generator stands; generators that share one move together.

    Attributes:
        seed: 0 to 2^64 - 1.
        offset: a multiple of 4.
    """

    __slots__ = ("offset", "seed")

    def __init__(self, seed: int, offset: int = 0) -> None:
        self.seed = seed
        self.offset = offset


class VirtualGenerator(PlainGenerator):
    """A generator on a virtual GPU."""

    def __new__(cls, *_: object) -> VirtualGenerator:
        """The generator of the CPU underneath."""
        made: VirtualGenerator = super().__new__(cls, device="cpu")
        return made

    def __init__(self, machine: Machine, index: int, position: Position | None = None) -> None:
        """A generator object as `torch.Generator(device="cuda")` makes it, or one at a position.

        Args:
            machine: the computer that the GPU belongs to.
            index: which GPU.
            position: shared with whoever gave it.
        """
        self._machine = machine
        self.index = index
        self.position = position or Position(DEFAULT_SEED)
        machine.known[self._cdata] = self

    @property
    def device(self) -> torch.device:
        """The virtual GPU; once the virtual device is left, the CPU that the generator then draws on."""
        return torch.device("cuda", self.index) if self._machine.active else torch.device("cpu")

    def manual_seed(self, seed: int) -> VirtualGenerator:
        """Seed, -2^63 to 2^64 - 1, and start at offset 0."""
        value = operator.index(seed)
        if not _LEAST_SEED <= value < _SEED_END:
            raise UsageError(f"seed {value}: expected -2^63 to 2^64 - 1, as torch.manual_seed does.")
        self.position.seed, self.position.offset = value % _SEED_END, 0
        if not self._machine.active:
            super().manual_seed(self.position.seed)
        return self

    def seed(self) -> int:
        """Seed with random bits of the operating system, and return them."""
        self.manual_seed(secrets.randbits(RANDOM_BITS))
        return self.position.seed

    def initial_seed(self) -> int:
        """The seed."""
        return self.position.seed

    def get_offset(self) -> int:
        """The offset."""
        return self.position.offset

    def set_offset(self, offset: int) -> None:
        """Go to an offset, a multiple of 4."""
        if offset < 0 or offset % 4:
            raise UsageError(f"offset {offset}: expected a multiple of 4, from 0 on.")
        self.position.offset = offset

    def get_state(self) -> torch.Tensor:
        """The 16 bytes of a CUDA generator's state: seed, offset; once the device is left, the CPU's."""
        if not self._machine.active:
            return super().get_state()
        state = np.array([self.position.seed, self.position.offset], "<u8")
        return torch.from_numpy(state.view(np.uint8).copy())

    def set_state(self, new_state: torch.Tensor) -> VirtualGenerator:
        """Take over 16 bytes, or the 8 of a seed alone."""
        if not self._machine.active:
            return super().set_state(new_state)  # type: ignore[no-any-return]
        raw = new_state.detach().numpy() if isinstance(new_state, torch.Tensor) else None
        if raw is None or raw.dtype != np.uint8 or raw.size not in (SEED_BYTES, STATE_BYTES):
            raise UsageError(
                f"a CUDA generator's state is {STATE_BYTES} bytes, seed and offset; got {_told(new_state)}."
            )
        numbers = np.ascontiguousarray(raw).reshape(-1).view("<u8")
        offset = int(numbers[1]) if raw.size == STATE_BYTES else 0
        self.set_offset(offset)
        self.position.seed = int(numbers[0])
        return self

    def clone_state(self) -> VirtualGenerator:
        """Another generator at the same position."""
        return VirtualGenerator(self._machine, self.index, Position(self.position.seed, self.position.offset))

    def graphsafe_get_state(self) -> VirtualGenerator:
        """Another generator that shares this one's position."""
        return VirtualGenerator(self._machine, self.index, self.position)

    def graphsafe_set_state(self, state: VirtualGenerator) -> VirtualGenerator:
        """Share the position of another one from now on."""
        if not isinstance(state, VirtualGenerator):
            raise UsageError(f"expected the state of a virtual GPU's generator, got {_told(state)}.")
        self.position = state.position
        return self

    def retire(self) -> None:
        """Become the CPU generator of the same seed, as the tensors of the GPU become the CPU's."""
        super().manual_seed(self.position.seed)


def generator_class(machine: Machine) -> type:
    """What stands for `torch.Generator` while a virtual device is entered.

    Called, it makes virtual generators for "cuda" and PyTorch's own for every other device; all of them are
    its instances.
    """
    return GeneratorClass(
        "Generator", (PlainGenerator,), {"machine": machine, "__doc__": PlainGenerator.__doc__}
    )


class GeneratorClass(type(PlainGenerator)):  # type: ignore[misc] # PyTorch's own metaclass
    """The class of `generator_class`'s classes."""

    machine: Machine

    def __call__(cls, device: Any = "cpu") -> Any:  # noqa: ANN401 - whatever torch takes as a device
        """A generator of the device."""
        index = cls.machine.index_of(device)
        return PlainGenerator(device) if index is None else VirtualGenerator(cls.machine, index)

    def __instancecheck__(cls, instance: object) -> bool:
        return PlainGenerator in type(instance).__mro__


def _told(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"{value.numel()} elements of {value.dtype}"
    return f"a {type(value).__name__}"
