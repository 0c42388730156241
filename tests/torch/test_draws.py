"""Every random operation on a virtual GPU gives what the stream of its generator gives, everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from birthmark.devices.strides import Order
from birthmark.errors import NotPredicted, UsageError
from birthmark.samplers.cuda_stream import CudaStream
from birthmark.torch import VirtualDevice, draws, virtual_device
from birthmark.torch.machine import Drawn
from birthmark.torch.storage import pieces

G, VERSION = 2048, "2.13"
N = 3 * 4 * G + 77


@pytest.fixture
def gpu() -> Iterator[VirtualDevice]:
    """A small GPU of G threads, seeded with 5, so that a draw of N elements takes several calls a thread."""
    with virtual_device(G, version=VERSION) as device:
        torch.manual_seed(5)
        yield device


def stream(**more: Any) -> CudaStream:
    return CudaStream(5, threads=G, **{"version": VERSION, **more})


def values(tensor: torch.Tensor) -> NDArray[Any]:
    """A tensor's values as a line of float64."""
    return np.asarray(tensor.detach().cpu().double().reshape(-1).numpy())


def empty(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.empty(*(shape or (N,)), dtype=dtype, device="cuda")


CALLS: dict[str, tuple[Callable[[], torch.Tensor], Callable[[CudaStream], NDArray[Any]]]] = {
    "normal_": (lambda: empty(torch.float32).normal_(0.5, 2.0), lambda s: s.normal(N, 0.5, 2.0)),
    "normal_ bfloat16": (lambda: empty(torch.bfloat16).normal_(), lambda s: s.normal(N, dtype="bfloat16")),
    "normal_ float16": (lambda: empty(torch.float16).normal_(), lambda s: s.normal(N, dtype="float16")),
    "normal_ float64": (lambda: empty(torch.float64).normal_(), lambda s: s.normal(N, dtype="float64")),
    "uniform_": (lambda: empty(torch.float32).uniform_(-1, 3), lambda s: s.uniform(N, -1.0, 3.0)),
    "uniform_ bfloat16": (
        lambda: empty(torch.bfloat16).uniform_(-0.1, 0.3),
        lambda s: s.uniform(N, -0.1, 0.3, "bfloat16"),
    ),
    "exponential_": (lambda: empty(torch.float32).exponential_(2.0), lambda s: s.exponential(N, 2.0)),
    "log_normal_": (lambda: empty(torch.float32).log_normal_(0.0, 1.0), lambda s: s.log_normal(N, 0.0, 1.0)),
    "cauchy_": (lambda: empty(torch.float32).cauchy_(1.0, 2.0), lambda s: s.cauchy(N, 1.0, 2.0)),
    "geometric_": (lambda: empty(torch.int64).geometric_(0.2), lambda s: s.geometric(N, 0.2, "int64")),
    "random_": (lambda: empty(torch.int32).random_(), lambda s: s.random(N, dtype="int32")),
    "random_ to": (lambda: empty(torch.float32).random_(10), lambda s: s.random(N, 0, 10, "float32")),
    "random_ from to": (lambda: empty(torch.uint8).random_(3, 9), lambda s: s.random(N, 3, 9, "uint8")),
    "random_ from": (lambda: empty(torch.int64).random_(7, None), lambda s: s.random(N, 7, None)),
    "bernoulli_": (lambda: empty(torch.float32).bernoulli_(0.3), lambda s: s.bernoulli(N, 0.3)),
    "bernoulli_ each": (
        lambda: empty(torch.float32).bernoulli_(torch.linspace(0, 1, N).cuda()),
        lambda s: s.bernoulli(N, np.asarray(torch.linspace(0, 1, N).numpy())),
    ),
    "randn": (lambda: torch.randn(N, device="cuda"), lambda s: s.normal(N)),
    "rand": (lambda: torch.rand(N, device="cuda"), lambda s: s.uniform(N)),
    "randint": (lambda: torch.randint(3, 9, (N,), device="cuda"), lambda s: s.random(N, 3, 9)),
    "randint wide": (
        lambda: torch.randint(0, 1 << 40, (N,), device="cuda"),
        lambda s: s.random(N, 0, 1 << 40),
    ),
    "randperm": (lambda: torch.randperm(N, device="cuda"), lambda s: s.permutation(N)),
    "rand_like": (lambda: torch.rand_like(empty(torch.float16)), lambda s: s.uniform(N, dtype="float16")),
    "randn_like": (lambda: torch.randn_like(torch.zeros(N), device="cuda"), lambda s: s.normal(N)),
    "randint_like": (lambda: torch.randint_like(empty(torch.int64), 9), lambda s: s.random(N, 0, 9)),
    "normal of numbers": (
        lambda: torch.normal(1.0, 2.0, (N,), device="cuda"),
        lambda s: s.normal(N, 1.0, 2.0),
    ),
    "normal of a mean": (
        lambda: torch.normal(torch.ones(N, device="cuda"), 2.0),
        lambda s: s.normal(N, 0.0, 2.0) + np.float32(1),
    ),
    "normal of a std": (
        lambda: torch.normal(1.0, torch.full((N,), 2.0, device="cuda")),
        lambda s: s.normal(N) * np.float32(2) + np.float32(1),
    ),
    "normal of both": (
        lambda: torch.normal(torch.ones(1, device="cuda"), torch.full((N,), 2.0, device="cuda")),
        lambda s: s.normal(N) * np.float32(2) + np.float32(1),
    ),
    "bernoulli": (lambda: torch.bernoulli(torch.zeros(N, device="cuda"), 0.3), lambda s: s.bernoulli(N, 0.3)),
    "out": (lambda: torch.randn(N, out=empty(torch.float32)), lambda s: s.normal(N)),
    "dropout": (
        lambda: torch.nn.functional.dropout(torch.ones(4 * G * 3, device="cuda"), 0.25) > 0,
        lambda s: s.dropout(4 * G * 3, 0.25),
    ),
    "dropout in place": (
        lambda: torch.nn.functional.dropout(torch.ones(N, device="cuda"), 0.25, inplace=True) > 0,
        lambda s: s.bernoulli(N, 0.75),
    ),
    "dropout of channels": (
        lambda: torch.nn.functional.dropout2d(torch.ones(30, 7, 2, 2, device="cuda"), 0.25)[:, :, 0, 0] > 0,
        lambda s: s.bernoulli(210, 0.75),
    ),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("gpu")
def test_an_operation_draws_the_stream(name: str) -> None:
    """The values, and where the generator stands afterwards; the next seed gives others."""
    call, expected = CALLS[name]
    source = stream()
    drawn = call()

    assert np.array_equal(values(drawn), np.asarray(expected(source), np.float64).reshape(-1))
    assert drawn.is_cuda
    assert torch.cuda.default_generators[0].get_offset() == source.offset > 0

    torch.manual_seed(6)
    assert not np.array_equal(values(call()), values(drawn))


@pytest.mark.usefixtures("gpu")
def test_draws_follow_each_other() -> None:
    """Each draw starts where the one before ended, of any kind and dtype."""
    source = stream()
    drawn = [call() for call, _ in CALLS.values()]
    for tensor, (_, expected) in zip(drawn, CALLS.values(), strict=True):
        assert np.array_equal(values(tensor), np.asarray(expected(source), np.float64).reshape(-1))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_view_is_filled_in_the_order_of_its_memory(data: st.DataObject) -> None:
    """Transposed, sliced and stepped views of a tensor, as `birthmark.devices.strides` arranges them."""
    shape = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    view = torch.zeros(shape)
    view = view.permute(data.draw(st.permutations(range(len(shape)))))
    cut = tuple(
        slice(data.draw(st.integers(0, size - 1)), None, data.draw(st.integers(1, 3))) for size in view.shape
    )
    with virtual_device(256):
        base = torch.zeros(shape, device="cuda")
        torch.manual_seed(5)
        target = torch.as_strided(base, view[cut].shape, view[cut].stride(), view[cut].storage_offset())
        target.normal_()
        found, rest = target.cpu(), base.cpu()
    expected = CudaStream(5, threads=256).normal(target.numel())
    order = Order(tuple(target.shape), tuple(target.stride()))

    assert np.array_equal(found.numpy(), order.arranged(expected))
    assert int((rest != 0).sum()) == int((found != 0).sum())


@pytest.mark.usefixtures("gpu")
def test_a_cut_view_is_a_chain_of_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """What 32-bit indices cannot reach is cut where it is longest; what the whole had reserved is lost."""
    monkeypatch.setattr(draws, "pieces", lambda view: pieces(view, limit=4 * 4000))
    target = torch.zeros(50, 300, device="cuda")[:, :200]
    found = target.normal_().cpu().numpy()

    reserved = stream()
    reserved.normal(50 * 200)
    parts = CudaStream(5, threads=G, offset=reserved.offset)
    rows = [12, 13, 12, 13]
    expected = [parts.normal(count * 200).reshape(count, 200) for count in rows]
    assert np.array_equal(found, np.concatenate(expected))
    assert torch.cuda.default_generators[0].get_offset() == parts.offset


@pytest.mark.usefixtures("gpu")
def test_complex_normals_share_the_variance_of_their_parts() -> None:
    """A complex draw is one of twice as many reals."""
    drawn = torch.view_as_real(torch.randn(500, dtype=torch.complex64, device="cuda")).cpu()

    assert np.array_equal(drawn.numpy().reshape(-1), stream().normal(1000, 0.0, 1 / np.sqrt(2)))


@pytest.mark.usefixtures("gpu")
def test_multinomial_takes_the_largest_ratios() -> None:
    """Of weights and exponentials; with replacement PyTorch has a kernel that is not predicted."""
    weights = torch.arange(1.0, 101.0, device="cuda")
    found = torch.multinomial(weights, 3).cpu().numpy()
    ratios = np.arange(1, 101, dtype=np.float32) / stream().exponential(100)

    assert np.array_equal(found, np.argsort(-ratios)[:3])
    with pytest.raises(NotPredicted, match="replacement"):
        torch.multinomial(weights, 3, replacement=True)
    with pytest.raises(UsageError, match="from 0 on"):
        torch.multinomial(-weights, 1)


@pytest.mark.usefixtures("gpu")
def test_empty_tensors_move_nothing() -> None:
    """A draw of no elements is none."""
    torch.randn(0, device="cuda")
    torch.empty(0, 3, device="cuda").uniform_()

    assert torch.cuda.default_generators[0].get_offset() == 0


@pytest.mark.parametrize(
    ("dtype", "version", "vector"),
    [("float32", "2.13", 4), ("bfloat16", "2.13+cu128", 8), ("float16", "2.4", 4)],
)
def test_dropout_scales_what_it_keeps(dtype: str, version: str, vector: int) -> None:
    """Kept values times 1 / keep, rounded once; a view that starts in the middle is taken by fewer."""
    with virtual_device(G, version=version):
        torch.manual_seed(5)
        memory = torch.full((8 * G + 2,), 3.0, dtype=getattr(torch, dtype), device="cuda")
        whole, shifted = memory[: 8 * G], memory[2 : 8 * G + 2]
        kept = [torch.native_dropout(each, 0.1, True) for each in (whole, shifted)]
        found = [(values(made), values(mask)) for made, mask in kept]
    source = stream(version=version)
    scale = np.float32(1 / float(np.float32(0.9)))
    three = values(torch.tensor(3.0 * scale, dtype=getattr(torch, dtype)))[0]

    for (made, mask), taken in zip(found, (vector, 2), strict=True):
        expected = source.dropout(8 * G, 0.1, dtype, vector=taken)
        assert np.array_equal(mask, expected.astype(np.float64))
        assert np.array_equal(made, np.where(expected, three, 0.0))


@pytest.mark.usefixtures("gpu")
def test_dropout_that_is_off_draws_nothing() -> None:
    """In evaluation, for p = 0 and for p = 1, as on a GPU."""
    ones = torch.ones(64, device="cuda")
    results = [
        torch.nn.functional.dropout(ones, 0.5, training=False),
        torch.nn.functional.dropout(ones, 0.0),
        torch.native_dropout(ones, 0.5, False)[0],
    ]

    assert all(torch.equal(result, ones) for result in results)
    assert torch.nn.functional.dropout(ones, 1.0).sum() == 0
    assert torch.native_dropout(ones, 1.0, True)[0].sum() == 0
    assert torch.cuda.default_generators[0].get_offset() == 0


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "poisson": (lambda: torch.poisson(torch.ones(3, device="cuda")), "poisson on cuda:0"),
    "rrelu": (lambda: torch.nn.functional.rrelu(torch.ones(3, device="cuda"), training=True), "rrelu"),
    "attention": (
        lambda: torch.nn.functional.scaled_dot_product_attention(
            *[torch.ones(1, 1, 2, 8, device="cuda")] * 3, dropout_p=0.5
        ),
        "inside scaled_dot_product_attention",
    ),
    "multi-head attention": (
        lambda: torch.nn.MultiheadAttention(8, 2, dropout=0.5).cuda()(
            *[torch.ones(2, 3, 8, device="cuda")] * 3
        ),
        "inside multi_head_attention_forward",
    ),
    "draws on the CPU in between": (
        lambda: torch.nn.functional.fractional_max_pool2d(
            torch.ones(1, 1, 8, 8, device="cuda"), 2, output_size=4
        ),
        "of the CPU inside fractional_max_pool2d",
    ),
    "dropout of a step": (
        lambda: torch.nn.functional.dropout(torch.ones(8, 8, device="cuda")[:, ::2]),
        "without gaps",
    ),
    "dropout one by one": (
        lambda: torch.nn.functional.dropout(torch.ones(3, 5, device="cuda").t()),
        "one by one",
    ),
    "probabilities of a transposed tensor": (
        lambda: torch.empty(3, 5, device="cuda").t().bernoulli_(torch.ones(5, 3, device="cuda")),
        "contiguous",
    ),
    "half dropout of an unknown build": (
        lambda: torch.nn.functional.dropout(torch.ones(8, dtype=torch.float16, device="cuda")),
        "depends on the build",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.usefixtures("gpu")
def test_what_is_not_predicted_is_refused(name: str) -> None:
    """With its name, and without moving the generator; never the CPU's numbers in its stead."""
    call, message = REFUSED[name]
    with pytest.raises(UsageError, match=message):
        call()
    assert torch.cuda.default_generators[0].get_offset() == 0


@pytest.mark.usefixtures("gpu")
def test_attention_without_dropout_is_no_draw() -> None:
    """Operations that could draw, and do not in this call, pass."""
    ones = torch.ones(1, 1, 2, 8, device="cuda")

    assert torch.nn.functional.scaled_dot_product_attention(ones, ones, ones).is_cuda
    assert torch.nn.functional.rrelu(ones).is_cuda
    assert torch.cuda.default_generators[0].get_offset() == 0


@pytest.mark.usefixtures("gpu")
def test_a_draw_under_autocast_is_refused() -> None:
    """On a GPU its dtype would follow from arithmetic that is done in another dtype here."""
    with torch.autocast("cuda"), pytest.raises(NotPredicted, match="autocast"):
        torch.randn(3, device="cuda")


@pytest.mark.usefixtures("gpu")
def test_elements_that_share_memory_are_refused() -> None:
    """As PyTorch refuses them."""
    with pytest.raises(UsageError, match="share memory"):
        torch.ones(1, device="cuda").expand(4).normal_()


def test_observers_hear_of_every_draw(gpu: VirtualDevice) -> None:
    """What was drawn, into what, with which seed, from which offset to which."""
    heard: list[Drawn] = []
    gpu.observe(heard.append)
    first = torch.randn(N, device="cuda")
    torch.randn(3)  # the CPU's draws are not the GPU's
    torch.randperm(5, device="cuda")

    assert [(each.index, each.seed, each.offset) for each in heard] == [(0, 5, 0), (0, 5, 16)]
    assert heard[0].sampler.distribution == "normal"
    assert heard[0].tensor.data_ptr() == first.data_ptr()
    assert (heard[1].sampler, heard[1].end_offset) == ("permutation", 28)


def test_stand_ins_are_counted(gpu: VirtualDevice) -> None:
    """Draws whose last bits rest on tables that are not public, and no others."""
    torch.randn(8, device="cuda")
    torch.rand(8, device="cuda", dtype=torch.float64)
    torch.randint(9, (8,), device="cuda")
    torch.nn.init.trunc_normal_(empty(torch.float32, 8))
    assert gpu.stand_ins == {}

    empty(torch.float32, 8).exponential_()
    empty(torch.float32, 8).log_normal_()
    torch.randn(8, device="cuda", dtype=torch.float64)
    empty(torch.float32, 8).erfinv_()
    assert gpu.stand_ins == {"exponential": 1, "lognormal": 1, "normal": 1, "erfinv": 1}


@pytest.mark.parametrize(("version", "gpu_name", "expected"), [
    ("2.11", "T4", {"truncated-normal": 1}), ("2.13", "T4", {}), ("2.13", "MI300X", {"normal": 3}),
])  # fmt: skip
def test_stand_ins_depend_on_version_and_device(
    version: str, gpu_name: str, expected: dict[str, int]
) -> None:
    """Truncated normals up to 2.11 in float32 invert the error function; AMD's logarithm is not public."""
    with virtual_device(gpu_name, version=version) as device:
        torch.randn(8, device="cuda")
        torch.nn.init.trunc_normal_(empty(torch.float32, 8), a=-9, b=9)
        torch.nn.init.trunc_normal_(empty(torch.bfloat16, 8), a=-9, b=9)
    assert device.stand_ins == expected


@pytest.mark.slow
def test_a_tensor_above_two_gibibytes_is_split() -> None:
    """2^29 + 1 normals: at both ends of either half, what random access says; half of the offset was lost."""
    n, threads = (1 << 29) + 1, 270_336
    with virtual_device("H100 SXM"):
        torch.manual_seed(5)
        drawn = torch.randn(n, device="cuda").cpu().numpy()
        end = torch.cuda.default_generators[0].get_offset()
    half = n // 2

    assert end == 3980
    for start, stop, offset in ((0, half, 1988), (half, n, 2984)):
        part = CudaStream(5, threads=threads, offset=offset).normal(stop - start)
        assert np.array_equal(drawn[start:stop], part)
