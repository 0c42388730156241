"""A computer with virtual GPUs: what the modes and the patches of one virtual device share."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from birthmark.devices.catalogue import Arithmetic, Device, find
from birthmark.devices.layout import Layout
from birthmark.errors import UsageError
from birthmark.samplers.arithmetic import code_of
from birthmark.samplers.torch_rules import rules
from birthmark.torch.generators import RANDOM_BITS, PlainGenerator, Position, VirtualGenerator

#: Threads per SM that are supposed of a GPU of which only G is known: the first that divides it.
SUPPOSED_THREADS_PER_SM = (2048, 1536, 1024, 256)
#: The compute capability that such a GPU claims.
SUPPOSED_CAPABILITY = "9.0"


@dataclass(frozen=True, slots=True)
class VirtualGpu:
    """One GPU of the computer.

    Attributes:
        name: as in the table of devices, or "GPU with G = ...".
        threads: G.
        arithmetic: how words become floats on it.
        sm_count: streaming multiprocessors.
        threads_per_sm: most resident threads of each.
        capability: the CUDA compute capability; None on AMD.
    """

    name: str
    threads: int
    arithmetic: Arithmetic
    sm_count: int
    threads_per_sm: int
    capability: str | None

    @property
    def properties(self) -> Properties:
        """What `torch.cuda.get_device_properties` answers."""
        major, minor = map(int, (self.capability or "9.0").split("."))
        return Properties(
            name=self.name,
            major=major,
            minor=minor,
            multi_processor_count=self.sm_count,
            max_threads_per_multi_processor=self.threads_per_sm,
            total_memory=_memory(),
            warp_size=64 if self.arithmetic == "amd" else 32,
        )


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties of a GPU that a program may ask for; the memory is this computer's own."""

    name: str
    major: int
    minor: int
    multi_processor_count: int
    max_threads_per_multi_processor: int
    total_memory: int
    warp_size: int
    is_integrated: int = 0
    is_multi_gpu_board: int = 0


@dataclass(frozen=True, slots=True)
class Drawn:
    """One draw on a virtual GPU, as observers are told of it.

    Attributes:
        sampler: what was drawn: one of `birthmark.samplers`, or a word for permutations and masks.
        tensor: what it filled.
        index: the GPU.
        seed: the generator's seed.
        offset: where the generator stood.
        end_offset: where it stands now.
    """

    sampler: Any
    tensor: torch.Tensor
    index: int
    seed: int
    offset: int
    end_offset: int


class Machine:
    """A computer with virtual GPUs.

    Attributes:
        gpus: the GPUs; "cuda:1" is the second.
        version: the PyTorch release.
        cuda: the CUDA version of its build, where `version` does not name it.
        rules: what they decide about draws.
        generators: the default generator of each GPU.
        current: index of the current GPU.
        active: whether the virtual device is entered.
        known: every generator object of the GPUs, by the address of what PyTorch passes on of it.
        stand_ins: how many draws had no proven last bit, by what they drew.
        observers: called after each draw.
        token: by which storages know their machine.
    """

    def __init__(self, gpus: tuple[VirtualGpu, ...], version: str, cuda: str | None = None) -> None:
        self.gpus = gpus
        self.version = version
        self.cuda = cuda
        self.rules = rules(version, cuda)
        self.current = 0
        self.active = False
        self.known: weakref.WeakValueDictionary[int, VirtualGenerator] = weakref.WeakValueDictionary()
        self._calls = threading.local()
        self.stand_ins: Counter[str] = Counter()
        self.observers: list[Callable[[Drawn], None]] = []
        self.token = object()
        self.generators = tuple(
            VirtualGenerator(self, index, Position(secrets.randbits(RANDOM_BITS)))
            for index in range(len(gpus))
        )

    @property
    def handling(self) -> Any:  # noqa: ANN401 - any function of PyTorch's
        """The PyTorch function that the program called in this thread, as the function mode sees it."""
        return getattr(self._calls, "function", None)

    @property
    def autocast(self) -> bool:
        """Whether that call came under `torch.autocast("cuda")`; PyTorch switches it off further down."""
        return getattr(self._calls, "autocast", False)

    @property
    def on_gpu(self) -> bool:
        """Whether that call has a tensor on a GPU among its arguments, and names no other device."""
        return getattr(self._calls, "on_gpu", False)

    @contextlib.contextmanager
    def called(self, function: Any, *, on_gpu: bool) -> Iterator[None]:  # noqa: ANN401 - any of PyTorch's
        """While a call of the program's is handled."""
        calls, before = self._calls, (self.handling, self.autocast, self.on_gpu)
        calls.function, calls.autocast, calls.on_gpu = function, torch.is_autocast_enabled("cuda"), on_gpu
        try:
            yield
        finally:
            calls.function, calls.autocast, calls.on_gpu = before

    def index_of(self, device: Any) -> int | None:  # noqa: ANN401 - whatever torch takes as a device
        """Which GPU a device stands for; None for devices that are none ("cpu", "meta").

        Args:
            device: a `torch.device`, its name, or the number of a GPU.

        Raises:
            UsageError: there is no such GPU.
        """
        if isinstance(device, int) and not isinstance(device, bool):
            index: int = device
        else:
            named = torch.device(device)
            if named.type != "cuda":
                return None
            index = self.current if named.index is None else named.index
        if not 0 <= index < len(self.gpus):
            raise UsageError(
                f"cuda:{index}: this virtual device has {len(self.gpus)} GPU(s), from cuda:0 on; "
                "name more of them to virtual_device."
            )
        return index

    def selected(self, device: Any = None) -> int:  # noqa: ANN401 - whatever torch takes as a device
        """Like `index_of`, but the current GPU where no device, or no GPU, is given."""
        index = None if device is None else self.index_of(device)
        return self.current if index is None else index

    def virtual(self, generator: PlainGenerator | None) -> VirtualGenerator | None:
        """The virtual generator that PyTorch passes on as `generator`; None if it is none."""
        return None if generator is None else self.known.get(generator._cdata)  # noqa: SLF001 - its address

    def generator(self, given: PlainGenerator | None, index: int) -> VirtualGenerator:
        """The generator of a draw on a GPU.

        Args:
            given: the generator that the call names; None for the default one.
            index: the GPU.

        Raises:
            UsageError: it belongs to another device, which torch refuses as well.
        """
        if given is None:
            return self.generators[index]
        found = self.virtual(given)
        if found is None or found.index != index:
            where = given.device if found is None else found.device
            raise UsageError(
                f"a draw on cuda:{index} with a generator of {where}: expected one of cuda:{index}."
            )
        return found

    def retire(self) -> None:
        """Turn every generator that is still in use into a CPU generator."""
        for generator in tuple(self.known.values()):
            generator.retire()


def virtual_gpu(device: str | int | Device, arithmetic: Arithmetic | None = None) -> VirtualGpu:
    """A GPU by its name in the table, or by its number of threads G.

    Args:
        device: a name or row of `birthmark.devices.catalogue`, or G, a multiple of 256.
        arithmetic: overrides the device's; of a GPU given by G the default is Volta and newer.

    Raises:
        UnknownName: no device has this name, or no such arithmetic.
        UsageError: G is no number of threads.
    """
    if arithmetic is not None:
        code_of(arithmetic)
    if isinstance(device, int):
        threads = Layout(device).threads
        per_sm = next(each for each in SUPPOSED_THREADS_PER_SM if threads % each == 0)
        return VirtualGpu(
            f"GPU with G = {threads:,}",
            threads,
            arithmetic or "nvidia-volta+",
            threads // per_sm,
            per_sm,
            SUPPOSED_CAPABILITY,
        )
    row = find(device) if isinstance(device, str) else device
    return VirtualGpu(
        row.name, row.threads, arithmetic or row.arithmetic, row.sm_count, row.threads_per_sm, row.capability
    )


def _memory() -> int:
    """Bytes of this computer's memory; 0 where it does not say."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return 0
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
