"""What people printed on real GPUs and asked about, from their own unchanged lines on a computer without one.

Each snippet stands here as its author wrote it, and runs as it stands. The negative twin of each is another
GPU of the same thread or table.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Iterator

import pytest
import torch

from birthmark.samplers.cuda_stream import CudaStream
from birthmark.torch import virtual_device


def printed(snippet: str, *gpus: str | int) -> str:
    """What a program prints on these GPUs."""
    out = io.StringIO()
    with virtual_device(*gpus), contextlib.redirect_stdout(out):
        exec(compile(snippet, "<issue>", "exec"), {})  # noqa: S102 - the point of the test
    return out.getvalue()


# --- pytorch issue 143086 (torch 2.5.1)

RANDN = """import torch; generator=torch.Generator('cuda'); generator.manual_seed(1); print(torch.randn(1, 49 * 12 * 112 * 144, device='cuda', generator=generator))"""  # noqa: E501 - as it was written


def test_noise_of_an_h100_and_of_an_a100() -> None:
    """Nine million normals: alike at the start, and at the end as each card printed them."""
    h100 = "tensor([[-0.2963,  2.6764, -0.1408,  ..., -0.6970, -0.7780,  0.3267]],\n       device='cuda:0')\n"
    a100 = "tensor([[-0.2963,  2.6764, -0.1408,  ...,  0.1549, -0.6797, -0.1656]],\n       device='cuda:0')\n"

    assert printed(RANDN, "H100 SXM") == h100
    assert printed(RANDN, "A100") == a100


# --- pytorch issue 158398 (torch 2.7.1+cu126)

LATENTS = """
import torch
device=torch.device('cuda')
print(torch.randn([1, 64, 2048], generator=torch.Generator(device=device).manual_seed(42), device=device))
"""


def test_latents_of_a_card_with_28_multiprocessors() -> None:
    """131,072 normals: all 36 printed numbers, which need an RTX 3060; other cards end otherwise."""
    expected = """tensor([[[ 0.1940,  2.1614, -0.1721,  ...,  1.4540, -2.7733, -0.8932],
         [-0.4574,  0.8063,  0.1580,  ...,  0.1124,  0.2769, -1.2535],
         [ 1.1346, -0.6329, -0.9147,  ..., -1.0001, -1.1552, -0.6955],
         ...,
         [-0.4861,  0.3358,  1.0578,  ..., -0.7282,  0.5087,  0.1318],
         [ 0.7881,  0.8339, -1.1424,  ..., -0.6297, -1.1112, -0.4091],
         [-1.2356, -0.4083, -0.4695,  ..., -0.4841,  1.2850, -0.0282]]],
       device='cuda:0')
"""
    other = printed(LATENTS, "Quadro RTX 8000")

    assert printed(LATENTS, "RTX 3060") == expected
    assert other.splitlines()[:3] == expected.splitlines()[:3]
    assert other.splitlines()[4:7] != expected.splitlines()[4:7]


# --- pytorch issue 97097 (torch 2.0.0, CUDA 11.7)

GAUSSIAN = """
import torch
torch.manual_seed(14)
x = torch.cuda.FloatTensor(1000, 100).normal_(5, 5**.5)
print(x)
"""


def test_gaussian_noise_of_an_a4000() -> None:
    """A legacy constructor, the default generator: all 36 printed numbers; another card ends otherwise."""
    expected = """tensor([[2.8731, 5.2727, 2.9889,  ..., 1.6853, 9.6331, 6.6319],
        [3.9968, 3.8097, 5.7328,  ..., 4.4029, 3.9804, 7.4698],
        [6.5552, 4.0857, 4.2315,  ..., 2.7704, 3.5479, 3.3063],
        ...,
        [8.6297, 2.3137, 6.2596,  ..., 7.9358, 4.4697, 2.7475],
        [7.0551, 7.8583, 3.9990,  ..., 4.1139, 8.9315, 4.2042],
        [2.7337, 2.2106, 7.7815,  ..., 8.2207, 6.5395, 4.2604]],
       device='cuda:0')
"""
    other = printed(GAUSSIAN, "RTX 2070 Super")

    assert printed(GAUSSIAN, "RTX A4000") == expected
    assert other.splitlines()[:2] == expected.splitlines()[:2]
    assert other.splitlines()[-2] == "        [3.0485, 5.1392, 0.5328,  ..., 3.0785, 4.5691, 3.4167]],"


# --- pytorch issue 62467 (2021); `torch.set_deterministic` has left PyTorch since

TWO_DEVICES = """#!/usr/bin/env python

import os
import torch

# Force determinism
torch.backends.cudnn.benchmark = False
torch.backends.cudnn.deterministic = True
os.putenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
torch.use_deterministic_algorithms(True)
# Force full-precision
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False

print('Device 0: {}'.format(torch.cuda.get_device_name(0)))
print('Device 1: {}'.format(torch.cuda.get_device_name(1)))

rng0 = torch.Generator(device='cuda:0').manual_seed(43)
rng1 = torch.Generator(device='cuda:1').manual_seed(43)

shape = (1, 3, 128, 128)
noise0 = torch.empty(*shape, device='cuda:0').normal_(generator=rng0)
noise1 = torch.empty(*shape, device='cuda:1').normal_(generator=rng1)

if not torch.allclose(noise0.cpu(), noise1.cpu(), atol=0., rtol=0.):
    print(noise0[...,0,0])
    print(noise1[...,0,0])
"""


@pytest.fixture
def settings() -> Iterator[None]:
    """PyTorch's own settings as they were before."""
    cudnn = torch.backends.cudnn
    before = cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    yield
    torch.use_deterministic_algorithms(False)
    cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = before


@pytest.mark.usefixtures("settings")
def test_two_devices_side_by_side() -> None:
    """The A6000's printed numbers; the M4000's are cut off in the thread: two agree, the third must not."""
    lines = printed(TWO_DEVICES, "RTX A6000", "Quadro M4000").splitlines()

    assert lines == [
        "Device 0: RTX A6000",
        "Device 1: Quadro M4000",
        "tensor([[1.9983, 0.8704, 2.1127]], device='cuda:0')",
        "tensor([[1.9983, 0.8704, 0.1787]], device='cuda:1')",
    ]
    assert len(printed(TWO_DEVICES, "RTX A6000", "A40").splitlines()) == 2  # one layout, one noise


# --- pytorch issue 87992 (torch 1.12.1)

SUM = """
import torch 

generator = torch.Generator(device='cuda').manual_seed(0)
print(torch.rand((8, 77, 1024), device='cuda', generator=generator).abs().sum())
"""  # noqa: W291 - as it was written


def test_sums_of_uniforms_differ_between_a_titan_rtx_and_a_v100() -> None:
    """As the thread says, and not for (8, 77, 10); their sums, unlike the numbers, are printed nowhere."""
    titan, volta = printed(SUM, "TITAN RTX"), printed(SUM, "V100")
    small = SUM.replace("1024", "10")

    # How a sum of float32 rounds depends on the machine that adds; the sums of the values themselves do not.
    assert titan.startswith("tensor(315527.")
    assert volta.startswith("tensor(315688.")
    assert printed(small, "TITAN RTX") == printed(small, "V100")


# --- pytorch issue 194676 (torch 2.11.0+cu128): SHA-256 of 40,961 normals; the seed was found by search

GEOMETRY = """
import hashlib
import torch

p = torch.cuda.get_device_properties(0)
T = p.multi_processor_count * (p.max_threads_per_multi_processor // 256) * 256
torch.manual_seed(1234)
t = torch.empty(40961, device='cuda').normal_()
print(T, hashlib.sha256(t.cpu().numpy().tobytes()).hexdigest()[:16])
"""


def test_hashes_of_a_t4_and_an_l4() -> None:
    """Every bit of both; the layout comes from the properties that the program asks for."""
    assert printed(GEOMETRY, "T4") == "40960 1e6b6814d99649e0\n"
    assert printed(GEOMETRY, "L4") == "89088 944733fd5370b130\n"


# --- pytorch issue 196613: bit for bit equal on A10G, L40, L40S and H100 PCIe to a prediction like this one


@pytest.mark.parametrize("gpu", ["A10G", "L40", "L40S", "H100 PCIe"])
@pytest.mark.parametrize("exponent", [12, 17, 22])
def test_uniforms_follow_the_layout_alone(gpu: str, exponent: int) -> None:
    """The thread's `torch.rand(n, generator=manual_seed(0))`, from seed, SMs and threads per SM alone."""
    with virtual_device(gpu) as device:
        g = torch.Generator(device="cuda").manual_seed(0)
        drawn = torch.rand(2**exponent, device="cuda", generator=g).cpu()
        properties = torch.cuda.get_device_properties(0)
    threads = properties.multi_processor_count * properties.max_threads_per_multi_processor
    expected = CudaStream(0, threads=threads).uniform(2**exponent)

    assert threads == device.gpus[0].threads
    assert drawn.numpy().tobytes() == expected.tobytes()
    other = CudaStream(0, threads=threads - 2048).uniform(2**exponent)
    assert (drawn.numpy() != other).any() == (2**exponent > threads - 2048)


# --- below one wave, where all GPUs agree


def test_three_normals_of_any_gpu() -> None:
    """pytorch issue 79496: the GPU's numbers for seed 10, and beside them the CPU's own."""
    snippet = """
import torch
cuda = torch.device("cuda")
torch.manual_seed(10)
print(torch.randn(3))
torch.manual_seed(10)
print(torch.randn(3, device=cuda))
"""
    assert printed(snippet, "H100 SXM") == (
        "tensor([-0.6014, -1.0122, -0.3023])\ntensor([-0.1029,  1.6810, -0.2708], device='cuda:0')\n"
    )


def test_a_module_built_under_a_device_context() -> None:
    """mrdbourke/pytorch-deep-learning issue 759: the CPU's Linear(1, 1) and the GPU's."""
    snippet = """
import torch
for device in ["cpu", "cuda"]:
  with torch.device(device):
    torch.manual_seed(42)
    model = torch.nn.Sequential(
      torch.nn.Linear(1, 1)
    )
    print(model.state_dict())
"""
    assert printed(snippet, "T4") == (
        "OrderedDict([('0.weight', tensor([[0.7645]])), ('0.bias', tensor([0.8300]))])\n"
        "OrderedDict([('0.weight', tensor([[0.2259]], device='cuda:0')), "
        "('0.bias', tensor([0.9754], device='cuda:0'))])\n"
    )


def test_uniforms_of_a_distribution_object() -> None:
    """pytorch issue 47347: `torch.distributions` draws through what it is given."""
    snippet = """
import torch
torch.manual_seed(0)
print(torch.distributions.Uniform(torch.tensor(0., device='cuda'), torch.tensor(1., device='cuda')).rsample((5,)))
"""  # noqa: E501 - as it was written
    assert printed(snippet, "T4") == "tensor([0.3990, 0.5167, 0.0249, 0.9401, 0.9459], device='cuda:0')\n"


# --- a whole tensor by its hash


def test_a_hash_of_five_million_normals_of_a_gb300() -> None:
    """NVIDIA/TensorRT-Model-Connect, test_wan2_2_cuda_rng.cpp: the bytes that its FNV-1a stands for."""
    with virtual_device("GB300"):
        torch.manual_seed(42)
        drawn = torch.randn(48, 31, 44, 80, device="cuda").cpu().numpy()

    assert hashlib.sha256(drawn.tobytes()).hexdigest() == (
        "3aa69f5e4d8da204d2a5d36883d0f26de3fd7ae8c58c95703e5d5beab7deca39"
    )
