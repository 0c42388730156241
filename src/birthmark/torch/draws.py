"""The random operations of PyTorch on a virtual GPU: which draw each is, and its values in memory.

Only the operations that fill a tensor in place are written down here. All others (`randn`, `rand_like`,
`bernoulli`, ...) PyTorch itself composes of them in the same way for every device; the dispatch mode lets it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import torch

from birthmark.devices.layout import Layout, offset_unroll
from birthmark.errors import NotPredicted, UsageError
from birthmark.samplers.bernoulli import Bernoulli
from birthmark.samplers.cuda_draw import CudaDraw, Sampler
from birthmark.samplers.cuda_stream import CudaStream
from birthmark.samplers.derived import Cauchy, Geometric, LogNormal
from birthmark.samplers.draw import Draw
from birthmark.samplers.dropout import vector_of
from birthmark.samplers.exponential import Exponential
from birthmark.samplers.fill import LANES
from birthmark.samplers.integers import Integers
from birthmark.samplers.storing import TRUNCATED
from birthmark.torch.generators import PlainGenerator, VirtualGenerator
from birthmark.torch.machine import Drawn, Machine
from birthmark.torch.storage import in_order, index_of, pieces

Handler = Callable[..., Any]


def fill(
    machine: Machine, tensor: torch.Tensor, sampler: Sampler, generator: PlainGenerator | None = None
) -> torch.Tensor:
    """Fill a tensor on a virtual GPU as that GPU would, and move its generator.

    Args:
        machine: the computer.
        tensor: on one of its GPUs, of any strides.
        sampler: what is drawn.
        generator: the generator of the call; None for the GPU's default.

    Returns:
        The tensor.

    Raises:
        UsageError: the generator is another device's, or elements of the tensor share memory.
        NotPredicted: under autocast, which would draw other dtypes on a GPU than here.
    """
    index, source = _located(machine, tensor, generator)
    before = source.position.offset
    if tensor.numel():
        source.position.offset = _filled(machine, tensor, sampler, source)
        _note(machine, sampler, machine.gpus[index].arithmetic)
    _tell(machine, sampler, tensor, index, source, before)
    return tensor


def _filled(machine: Machine, tensor: torch.Tensor, sampler: Sampler, source: VirtualGenerator) -> int:
    """Fill, and return where the generator stands afterwards."""
    gpu, seed, offset = machine.gpus[source.index], source.position.seed, source.position.offset
    view = in_order(tensor)
    dense = _is_line(view)
    parts = [view] if dense else pieces(view)  # a dense one is cut by CudaDraw
    if len(parts) > 1:
        # What the whole tensor has reserved before it was cut is lost.
        unroll = offset_unroll(sampler.unroll, machine.rules.offsets)
        offset += Layout(gpu.threads).advance(view.numel(), unroll)
    for part in parts:
        draw = CudaDraw(sampler, part.numel(), gpu.threads, gpu.arithmetic, offset, machine.rules.offsets)
        if dense and isinstance(sampler, Draw) and tensor.dtype in (torch.float32, torch.float64):
            draw.run(seed, out=part.numpy())
        else:
            part.copy_(torch.from_numpy(draw.run(seed)).view(part.shape))
        offset = draw.end_offset
    return offset


def _normal(
    machine: Machine,
    tensor: torch.Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    generator: PlainGenerator | None = None,
) -> torch.Tensor:
    if tensor.is_complex():
        # The variance is that of both parts together.
        fill(
            machine, torch.view_as_real(tensor), _plain("normal", tensor, mean, std / math.sqrt(2)), generator
        )
        return tensor
    return fill(machine, tensor, _plain("normal", tensor, mean, std), generator)


def _uniform(
    machine: Machine,
    tensor: torch.Tensor,
    low: float = 0.0,
    high: float = 1.0,
    *,
    generator: PlainGenerator | None = None,
) -> torch.Tensor:
    drawn = Draw(
        "uniform", (float(low), float(high)), (tensor.numel(),), _dtype(tensor), machine.rules.uniform
    )
    return fill(machine, tensor, drawn, generator)


def _exponential(
    machine: Machine, tensor: torch.Tensor, rate: float = 1.0, *, generator: PlainGenerator | None = None
) -> torch.Tensor:
    return fill(
        machine, tensor, Exponential(float(rate), _dtype(tensor), machine.rules.exponential), generator
    )


def _random(
    machine: Machine, tensor: torch.Tensor, *bounds: int | None, generator: PlainGenerator | None = None
) -> torch.Tensor:
    """`random_()`, `random_(to)` or `random_(from, to)`, to None for the greatest value."""
    low, high = (None, None) if not bounds else (0, *bounds) if len(bounds) == 1 else bounds
    return fill(machine, tensor, Integers(low, high, _dtype(tensor), machine.rules.integers), generator)


def _bernoulli(
    machine: Machine, tensor: torch.Tensor, p: float = 0.5, *, generator: PlainGenerator | None = None
) -> torch.Tensor:
    return fill(machine, tensor, Bernoulli(float(p), _dtype(tensor)), generator)


def _cauchy(
    machine: Machine,
    tensor: torch.Tensor,
    median: float = 0.0,
    sigma: float = 1.0,
    *,
    generator: PlainGenerator | None = None,
) -> torch.Tensor:
    return fill(machine, tensor, Cauchy(float(median), float(sigma), _dtype(tensor)), generator)


def _log_normal(
    machine: Machine,
    tensor: torch.Tensor,
    mean: float = 1.0,
    std: float = 2.0,
    *,
    generator: PlainGenerator | None = None,
) -> torch.Tensor:
    return fill(machine, tensor, LogNormal(float(mean), float(std), _dtype(tensor)), generator)


def _geometric(
    machine: Machine, tensor: torch.Tensor, p: float, *, generator: PlainGenerator | None = None
) -> torch.Tensor:
    return fill(machine, tensor, Geometric(float(p), _dtype(tensor)), generator)


def _bernoulli_each(
    machine: Machine, tensor: torch.Tensor, p: torch.Tensor, *, generator: PlainGenerator | None = None
) -> torch.Tensor:
    """One probability for each element."""
    if not tensor.is_contiguous():
        raise NotPredicted(
            "bernoulli_ with a tensor of probabilities is predicted for contiguous tensors only."
        )
    spread = p.detach().expand(tensor.shape).to(torch.float64 if p.dtype == torch.float64 else torch.float32)
    line = spread.contiguous().view(-1).numpy()
    with _streaming(machine, tensor, generator, "bernoulli-each") as stream:
        kept = stream.bernoulli(tensor.numel(), line, _dtype(tensor))
    tensor.detach().view(-1).copy_(torch.from_numpy(kept))
    return tensor


def _permutation(
    machine: Machine, size: int, *, generator: PlainGenerator | None = None, out: torch.Tensor
) -> torch.Tensor:
    with _streaming(machine, out, generator, "permutation") as stream:
        found = stream.permutation(int(size))
    return out.resize_(int(size)).copy_(torch.from_numpy(found))


def _native_dropout(
    machine: Machine, tensor: torch.Tensor, p: float, train: bool | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Dropout as its own kernel makes it: the values, and the mask."""
    mask = torch.ones_like(tensor, dtype=torch.bool)
    if train is False or not tensor.numel():
        return tensor.clone(), mask
    if p == 1:
        return torch.zeros_like(tensor), mask.zero_()
    if not _is_line(in_order(tensor)):
        raise NotPredicted("dropout is predicted for tensors without gaps; call .contiguous() before.")
    gpu, dtype, rules = machine.gpus[_located(machine, tensor, None)[0]], _dtype(tensor), machine.rules
    vector = vector_of(dtype, rules.release, rules.cuda, gpu.arithmetic)
    while tensor.storage_offset() % vector or tensor.numel() % vector:  # a load must be aligned, and whole
        vector //= 2
    if vector == 1 and not tensor.is_contiguous():
        raise NotPredicted("dropout of a transposed tensor that is taken one by one is not predicted.")
    with _streaming(machine, tensor, None, "dropout") as stream:
        in_order(mask).copy_(torch.from_numpy(stream.dropout(tensor.numel(), float(p), dtype, vector=vector)))
    carrier = torch.float64 if dtype == "float64" else torch.float32
    keep = float(torch.tensor(1.0 - float(p), dtype=carrier, device="cpu"))
    scale = torch.tensor(1.0 / keep, dtype=carrier, device="cpu")
    return (tensor.detach().to(carrier) * mask.to(carrier) * scale).to(tensor.dtype), mask


#: The operations that draw, by PyTorch's names. What they call `from` and `lambda` comes by position.
DRAWS: Final[dict[str, Handler]] = {
    "aten::normal_": _normal,
    "aten::uniform_": _uniform,
    "aten::exponential_": _exponential,
    "aten::random_": _random,
    "aten::random_.to": _random,
    "aten::random_.from": _random,
    "aten::bernoulli_.float": _bernoulli,
    "aten::bernoulli_.Tensor": _bernoulli_each,
    "aten::cauchy_": _cauchy,
    "aten::log_normal_": _log_normal,
    "aten::geometric_": _geometric,
    "aten::randperm.generator_out": _permutation,
    "aten::native_dropout": _native_dropout,
}


def _plain(distribution: Any, tensor: torch.Tensor, first: float, second: float) -> Draw:  # noqa: ANN401 - a literal
    real = tensor.real if tensor.is_complex() else tensor
    return Draw(distribution, (float(first), float(second)), (tensor.numel(),), _dtype(real))


def _located(
    machine: Machine, tensor: torch.Tensor, generator: PlainGenerator | None
) -> tuple[int, VirtualGenerator]:
    """The GPU of a draw, and its generator."""
    if machine.autocast:
        raise NotPredicted(
            "a draw under torch.autocast('cuda'): its dtype may be another on a GPU than here; draw outside."
        )
    index = index_of(tensor, machine)
    if index is None:
        raise UsageError(
            "a draw into a tensor of the CPU with a virtual GPU's rules; move it with .cuda() first."
        )
    return index, machine.generator(generator, index)


@contextlib.contextmanager
def _streaming(
    machine: Machine, tensor: torch.Tensor, generator: PlainGenerator | None, name: str
) -> Iterator[CudaStream]:
    """The generator of a draw as a stream, for what is not filled element by element."""
    index, source = _located(machine, tensor, generator)
    gpu, position = machine.gpus[index], source.position
    stream = CudaStream(
        position.seed,
        threads=gpu.threads,
        arithmetic=gpu.arithmetic,
        version=machine.version,
        cuda=machine.cuda,
        offset=position.offset,
    )
    yield stream
    before, position.offset = position.offset, stream.offset
    _tell(machine, name, tensor, index, source, before)


def _tell(
    machine: Machine,
    sampler: Any,  # noqa: ANN401 - any sampler
    tensor: torch.Tensor,
    index: int,
    source: VirtualGenerator,
    before: int,
) -> None:
    for observer in machine.observers:
        observer(Drawn(sampler, tensor, index, source.position.seed, before, source.position.offset))


def _note(machine: Machine, sampler: Sampler, arithmetic: str) -> None:
    """Count a draw whose last bits rest on stand-ins for tables that are not public."""
    kind = sampler.distribution if isinstance(sampler, Draw) else type(sampler).__name__.lower()
    if isinstance(sampler, Draw) and kind == TRUNCATED and sampler.source == "uniform":
        exact = sampler.dtype == "bfloat16" and arithmetic != "amd"
    elif sampler.source == "normal":
        exact = isinstance(sampler, Draw) and arithmetic != "amd" and sampler.unroll == LANES
    else:
        exact = isinstance(sampler, (Draw, Integers, Bernoulli))
    if not exact:
        machine.stand_ins[kind] += 1


def _is_line(view: torch.Tensor) -> bool:
    """Whether a view of `in_order` is a run of memory without gaps."""
    return bool(view.dim() == 1 and (view.stride(0) == 1 or view.numel() < 2))


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
