"""The draws that a GPU is checked with: how PyTorch makes each, and how birthmark predicts it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from birthmark.errors import UnknownName
from birthmark.numerics.dtypes import encode, is_float
from birthmark.samplers.cuda_stream import CudaStream

#: Units in the last place by which a draw may be off whose last bits rest on stand-ins.
FEW, SOME = 4, 64


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of draw.

    Attributes:
        name: by which a record names it.
        dtype: of the tensor, by torch's name.
        draw: makes n values on a device, with its default generator.
        predict: the same values from a stream, decoded.
        tolerance: units in the last place by which values may differ; 0 where every bit is known.
        absolute: or by how much, since the error of a GPU's logarithm does not shrink with its value.
    """

    name: str
    dtype: str
    draw: Callable[[int, str], torch.Tensor]
    predict: Callable[[CudaStream, int], NDArray[Any]]
    tolerance: int = 0
    absolute: float = 0.0


def _filled(dtype: str, fill: Callable[[torch.Tensor], object]) -> Callable[[int, str], torch.Tensor]:
    """A draw that fills a tensor in place."""

    def draw(n: int, device: str) -> torch.Tensor:
        tensor = torch.empty(n, dtype=getattr(torch, dtype), device=device)
        fill(tensor)
        return tensor

    return draw


def _float_cases(dtype: str) -> tuple[Case, ...]:
    low, high = -0.3, 0.2
    return (
        Case(
            f"normal {dtype}",
            dtype,
            _filled(dtype, lambda t: t.normal_(0.5, 2.0)),
            lambda s, n: s.normal(n, 0.5, 2.0, dtype),
            FEW if dtype == "float64" else 0,
        ),
        Case(
            f"uniform {dtype}",
            dtype,
            _filled(dtype, lambda t: t.uniform_(low, high)),
            lambda s, n: s.uniform(n, low, high, dtype),
        ),
    )


def _integer_case(name: str, dtype: str, low: int | None, high: int | None) -> Case:
    fill = (lambda t: t.random_()) if low is None else (lambda t: t.random_(low, high))
    return Case(name, dtype, _filled(dtype, fill), lambda s, n: s.random(n, low, high, dtype))


def _half(n: int) -> NDArray[np.float32]:
    """Probabilities from 0 to 1 for `bernoulli_` with a tensor."""
    return np.linspace(0, 1, n, dtype=np.float32)


#: Every draw that is checked. Truncated normals follow the release: exact since torch 2.12.
CASES: Final = (
    *(case for dtype in ("float32", "bfloat16", "float16", "float64") for case in _float_cases(dtype)),
    *(
        Case(
            f"truncated normal {dtype}",
            dtype,
            _filled(dtype, lambda t: torch.nn.init.trunc_normal_(t, 0.0, 1.0, -2.0, 2.0)),
            lambda s, n, dtype=dtype: s.truncated_normal(n, 0.0, 1.0, -2.0, 2.0, dtype),  # type: ignore[misc]
            FEW,
        )
        for dtype in ("float32", "bfloat16")
    ),
    Case("exponential float32", "float32", _filled("float32", lambda t: t.exponential_(2.0)),
         lambda s, n: s.exponential(n, 2.0), FEW, 2.0**-22),
    Case("log-normal float32", "float32", _filled("float32", lambda t: t.log_normal_(0.0, 0.5)),
         lambda s, n: s.log_normal(n, 0.0, 0.5), SOME),
    Case("Cauchy float32", "float32", _filled("float32", lambda t: t.cauchy_(0.0, 1.0)),
         lambda s, n: s.cauchy(n, 0.0, 1.0), SOME),
    _integer_case("integers int32", "int32", -1000, 12_345),
    _integer_case("integers int64", "int64", 0, 1 << 40),
    _integer_case("integers float32", "float32", 0, 1000),
    _integer_case("random_ int64", "int64", None, None),
    _integer_case("random_ uint8", "uint8", None, None),
    Case("bernoulli float32", "float32", _filled("float32", lambda t: t.bernoulli_(0.3)),
         lambda s, n: s.bernoulli(n, 0.3)),
    Case("bernoulli of a tensor", "float32",
         lambda n, device: torch.empty(n, device=device).bernoulli_(torch.from_numpy(_half(n)).to(device)),
         lambda s, n: s.bernoulli(n, _half(n))),
    Case("permutation int64", "int64", lambda n, device: torch.randperm(n, device=device),
         lambda s, n: s.permutation(n)),
    Case("dropout mask", "bool",
         lambda n, device: torch.native_dropout(torch.ones(n, device=device), 0.25, True)[1],
         lambda s, n: s.dropout(n, 0.25)),
)  # fmt: skip


def case_of(name: str) -> Case:
    """The case of this name.

    Raises:
        UnknownName: none has it.
    """
    for case in CASES:
        if case.name == name:
            return case
    raise UnknownName("GPU case", name, (case.name for case in CASES))


def stored(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Decoded values as a tensor of the dtype holds them in memory: unsigned bit patterns, or integers."""
    if is_float(dtype):
        return encode(np.asarray(values, np.float64 if dtype == "float64" else np.float32), dtype)
    return np.ascontiguousarray(values).astype(np.uint8 if dtype == "bool" else np.dtype(dtype))


def held(tensor: torch.Tensor) -> NDArray[Any]:
    """A tensor of a GPU as it holds its values in memory; see `stored`."""
    there = tensor.detach().cpu()
    if there.dtype == torch.bool:
        there = there.to(torch.uint8)
    if not there.is_floating_point():
        return np.ascontiguousarray(there.numpy())
    whole = {2: torch.int16, 4: torch.int32, 8: torch.int64}[there.element_size()]
    raw: NDArray[Any] = there.view(whole).numpy()
    return raw.view(raw.dtype.str.replace("i", "u"))
