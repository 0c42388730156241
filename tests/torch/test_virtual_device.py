"""A program inside sees a GPU; around it, PyTorch is as it was."""

from __future__ import annotations

import copy
import io
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.checkpoint import checkpoint

from birthmark.errors import NotPredicted, UnknownName, UsageError
from birthmark.samplers.cuda_stream import CudaStream
from birthmark.torch import virtual_device
from birthmark.torch.patches import patches

G = 2048


def test_two_gpus_agree_up_to_the_smaller_wave() -> None:
    """From element G of the smaller one on they differ, at nearly every element."""
    drawn = []
    for threads in (G, 2 * G):
        with virtual_device(threads):
            torch.manual_seed(3)
            drawn.append(torch.randn(3 * G, device="cuda").cpu())
    first, second = drawn

    assert torch.equal(first[:G], second[:G])
    assert (first[G:] != second[G:]).float().mean() > 0.99


def test_draws_on_the_cpu_are_stock() -> None:
    """Values and state, whatever the GPU draws in between."""
    torch.manual_seed(3)
    expected = [torch.randn(40), torch.rand(5), torch.randperm(9)]
    with virtual_device("A100"):
        torch.manual_seed(3)
        first = torch.randn(40)
        torch.randn(10_000, device="cuda")
        second = torch.rand(5)
        torch.nn.Linear(3, 3, device="cuda")
        found = [first, second, torch.randperm(9)]
        assert not any(tensor.is_cuda for tensor in found)

    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def test_tensors_say_where_they_lie() -> None:
    """Inside, `device`, `is_cuda` and their like name the GPU, also for what is computed from its tensors."""
    with virtual_device("A100", "T4"):
        on_gpu = torch.zeros(3, device="cuda")
        made = [
            on_gpu,
            on_gpu + 1,
            on_gpu.half(),
            on_gpu[1:],
            torch.cat([on_gpu, on_gpu]),
            on_gpu.new_tensor([1.0]),
            on_gpu.new_zeros(2),
            torch.tensor([1.0], device="cuda"),
            torch.as_tensor(np.ones(2), device="cuda"),
            torch.asarray([1.0], device="cuda"),
            torch.zeros(3).cuda(),
            torch.zeros(3).to("cuda"),
            torch.zeros(3).to(on_gpu),
            torch.zeros(3).to(device=0),
            torch.zeros(3).type("torch.cuda.HalfTensor"),
            torch.cuda.LongTensor([1, 2]),
            copy.deepcopy(on_gpu),
            torch.nn.Parameter(on_gpu),
            torch.empty_like(on_gpu, dtype=torch.int64),
            on_gpu.new(2, 2),
            torch.ones(2).type_as(on_gpu),
            torch.nn.functional.one_hot(torch.arange(3, device="cuda")),
            torch.vander(on_gpu),
            on_gpu.to_sparse(),
            on_gpu.to_sparse().to_dense(),
            torch.sparse_coo_tensor([[0]], [1.0], device="cuda", check_invariants=True),
        ]
        assert {str(tensor.device) for tensor in made} == {"cuda:0"}
        assert all(tensor.is_cuda and not tensor.is_cpu and tensor.get_device() == 0 for tensor in made)
        assert on_gpu.type() == "torch.cuda.FloatTensor"
        assert isinstance(on_gpu, torch.cuda.FloatTensor)
        assert not isinstance(on_gpu, torch.cuda.HalfTensor)

        assert str(on_gpu.to("cuda:1").device) == "cuda:1"
        assert str(torch.ones(2, device=torch.device("cuda", 1)).device) == "cuda:1"
        back = [
            on_gpu.cpu(),
            on_gpu.to("cpu"),
            on_gpu.type(torch.FloatTensor),
            torch.zeros(3).to(torch.ones(1)),
        ]
        assert all(tensor.device.type == "cpu" and not tensor.is_cuda for tensor in back)
        others = [on_gpu.type_as(torch.ones(1)), torch.ones(1).new(2), torch.ones(1).new_tensor([1])]
        assert not any(tensor.is_cuda for tensor in others)
        assert on_gpu.new(2, device="cpu").device.type == "cpu"
        assert torch.zeros(2).device.type == "cpu"
        assert torch.zeros(2, device="meta").device.type == "meta"
    assert {tensor.device.type for tensor in made} == {"cpu"}


def test_moving_copies_and_staying_does_not() -> None:
    """As on a GPU: `.cuda()` of what is there is the tensor itself, `.cpu()` has memory of its own."""
    with virtual_device("A100", "T4"):
        tensor = torch.zeros(3, device="cuda")
        stays = [tensor.cuda(), tensor.to("cuda"), tensor.to("cuda:0"), torch.as_tensor(tensor)]
        moves = [
            tensor.cpu(),
            tensor.cuda(1),
            tensor.to("cuda", copy=True),
            torch.as_tensor(tensor, device="cpu"),
        ]
        tensor += 1

        assert all(each.sum() == 3 for each in stays)
        assert all(each.sum() == 0 for each in moves)
        source = np.zeros(2, np.float32)
        there = torch.as_tensor(source, device="cuda")
        source += 1
        assert there.sum() == 0


def test_a_default_device_is_honoured_and_undone() -> None:
    """`with torch.device("cuda")` and `torch.set_default_device`, which a program may forget to undo."""
    with virtual_device("A100", "T4"):
        with torch.device("cuda:1"):
            assert [str(torch.tensor([1.0]).device), str(torch.randn(2).device)] == ["cuda:1", "cuda:1"]
            assert str(torch.nn.Linear(2, 2).weight.device) == "cuda:1"
        assert torch.randn(2).device.type == "cpu"
        torch.set_default_device("cuda")
        assert torch.ones(2).is_cuda
    assert not torch.ones(2).is_cuda


def test_the_current_gpu_can_be_changed() -> None:
    """By `set_device` and by a context; a device without a number is the current one."""
    with virtual_device("A100", "T4"):
        with torch.cuda.device(1):
            assert torch.cuda.current_device() == 1
            assert str(torch.ones(1, device="cuda").device) == "cuda:1"
            assert torch.cuda.get_device_name() == "T4"
        assert torch.cuda.current_device() == 0
        torch.cuda.set_device("cuda:1")
        assert str(torch.ones(1).cuda().device) == "cuda:1"
        assert torch.cuda.get_device_properties().multi_processor_count == 40
        assert torch.cuda.get_device_capability() == (7, 5)
        assert torch.cuda.device_count() == 2


def test_a_model_computes_and_is_saved() -> None:
    """Forward, backward and `state_dict`, on the GPU all along; the file holds tensors of the CPU."""
    with virtual_device(G):
        torch.manual_seed(1)
        linear = torch.nn.Linear(16, 16).cuda()
        torch.nn.functional.dropout(linear(torch.ones(4, 16, device="cuda")), 0.5).sum().backward()
        assert linear.weight.is_cuda
        assert linear.weight.grad.is_cuda
        saved = io.BytesIO()
        torch.save(linear.state_dict(), saved)
    saved.seek(0)

    assert torch.equal(torch.load(saved, weights_only=True)["weight"], linear.weight)


@pytest.mark.slow  # PyTorch imports its compiler for this, which takes seconds
def test_checkpoints_draw_their_dropout_again() -> None:
    """Both kinds of checkpoint, with the gradients of none; and an optimiser takes a step."""
    with virtual_device(G):
        linear = torch.nn.Linear(16, 16, device="cuda")
        ones = torch.ones(4, 16, device="cuda", requires_grad=True)

        def step(inputs: torch.Tensor) -> torch.Tensor:
            dropped: torch.Tensor = torch.nn.functional.dropout(linear(inputs), 0.5)
            return dropped

        gradients = []
        for run in (
            step,
            lambda inputs: checkpoint(step, inputs, use_reentrant=True),
            lambda inputs: checkpoint(step, inputs, use_reentrant=False),
        ):
            torch.manual_seed(7)
            linear.zero_grad()
            run(ones).sum().backward()
            gradients.append(linear.weight.grad.clone())
            assert torch.cuda.default_generators[0].get_offset() == 4
        torch.optim.AdamW(linear.parameters()).step()
        assert linear.weight.is_cuda

    assert all(torch.equal(gradients[0], each) for each in gradients[1:])


def test_inference_mode_draws_alike() -> None:
    """There PyTorch hands whole operations down, which are taken apart here."""
    with virtual_device(G), torch.inference_mode():
        torch.manual_seed(5)
        drawn = torch.randn(10, device="cuda").reshape(2, 5).to(torch.float64)
        assert drawn.is_cuda
    assert np.array_equal(drawn.numpy().reshape(-1), CudaStream(5, threads=G).normal(10).astype(np.float64))


def test_threads_that_are_started_inside_see_the_gpu() -> None:
    """Modes belong to a thread; a new one gets them too, and only inside."""
    seen: list[str] = []
    with virtual_device(G):
        torch.manual_seed(5)
        with ThreadPoolExecutor(1) as pool:
            drawn = pool.submit(lambda: torch.randn(10, device="cuda")).result()
        worker = threading.Thread(target=lambda: seen.append(str(drawn.device)))
        worker.start()
        worker.join()
    worker = threading.Thread(target=lambda: seen.append(str(drawn.device)))
    worker.start()
    worker.join()

    assert np.array_equal(drawn.numpy(), CudaStream(5, threads=G).normal(10))
    assert seen == ["cuda:0", "cpu"]


def test_everything_is_restored_even_after_an_error() -> None:
    """Every patched name means what it meant, and no mode is left."""
    device = virtual_device("A100")
    names = [(patch.owner, patch.name) for patch in patches(device._machine)]
    before = [getattr(owner, name) for owner, name in names]
    own = [name in vars(owner) for owner, name in names]
    inside: list[object] = []

    def fail() -> None:
        with device:
            inside.extend(getattr(owner, name) for owner, name in names)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert len(names) > 30
    assert all(new is not old for new, old in zip(inside, before, strict=True))
    assert all(getattr(owner, name) is old for (owner, name), old in zip(names, before, strict=True))
    assert own == [name in vars(owner) for owner, name in names]
    assert torch._C._len_torch_function_stack() == torch._C._len_torch_dispatch_stack() == 0
    assert not torch.cuda.is_available()
    with pytest.raises((AssertionError, RuntimeError)):
        torch.zeros(1, device="cuda")


def test_it_can_be_entered_again() -> None:
    """Generators and tensors are then where they were; another device knows nothing of them."""
    device = virtual_device(G)
    with device:
        torch.manual_seed(5)
        tensor = torch.randn(10, device="cuda")
    with device:
        assert tensor.is_cuda
        assert torch.equal(torch.randn(10, device="cuda").cpu(), torch.from_numpy(_second(10)))
    with virtual_device(G):
        assert not tensor.is_cuda


def _second(n: int) -> np.ndarray:
    source = CudaStream(5, threads=G)
    source.normal(n)
    return np.asarray(source.normal(n))


def _any(value: Any) -> Any:
    return value


def test_two_at_once_are_refused() -> None:
    """With the way to have several GPUs; the first goes on undisturbed."""
    with virtual_device("A100"):
        with pytest.raises(UsageError, match="several GPUs in one"):
            virtual_device("T4").__enter__()
        assert torch.cuda.get_device_name(0) == "A100"


def test_names_and_versions_are_checked() -> None:
    """Unknown ones list the nearest; a number of threads must be whole blocks."""
    with pytest.raises(UnknownName, match="H100 SXM"):
        virtual_device("H100")
    with pytest.raises(UsageError, match="multiple of 256"):
        virtual_device(1000)
    with pytest.raises(UsageError, match="without a GPU"):
        virtual_device()
    with pytest.raises(UsageError, match=r"1\.7 to 2\.15"):
        virtual_device("A100", version="1.0")
    with pytest.raises(UnknownName, match="arithmetic"):
        virtual_device(G, arithmetic=_any("ideal"))
    with virtual_device("A100"), pytest.raises(UsageError, match="cuda:0 on"):
        torch.zeros(1, device="cuda:1")


def test_the_version_decides_about_draws() -> None:
    """torch 2.4 moved the offset of doubles by half, and drew wide integers from other words."""
    offsets, wide = [], []
    for version in ("2.4", "2.5", "2.13"):
        with virtual_device(G, version=version):
            torch.manual_seed(5)
            torch.randn(4 * G, dtype=torch.float64, device="cuda")
            offsets.append(torch.cuda.default_generators[0].get_offset())
            torch.manual_seed(5)
            wide.append(torch.randint(0, 1 << 29, (8,), device="cuda").tolist())

    assert offsets == [4, 8, 8]
    assert wide[0] == wide[1] != wide[2]


def test_the_arithmetic_can_be_chosen() -> None:
    """A GPU given by its threads draws as Volta and newer unless told otherwise."""
    drawn = []
    for arithmetic in (None, "nvidia-volta+", "nvidia-pascal-", "amd"):
        with virtual_device(G, arithmetic=arithmetic):
            torch.manual_seed(5)
            drawn.append(torch.randn(500, device="cuda").cpu())

    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert not torch.equal(drawn[2], drawn[3])
    with virtual_device("MI300X"):
        torch.manual_seed(5)
        assert torch.equal(torch.randn(500, device="cuda").cpu(), drawn[3])


def test_generators_of_other_devices_are_refused() -> None:
    """A draw takes a generator of its own device, as in PyTorch."""
    with virtual_device(G, G):
        on_gpu, on_cpu = torch.Generator("cuda:1"), torch.Generator()
        with pytest.raises(UsageError, match="expected one of cuda:0"):
            torch.randn(3, device="cuda:0", generator=on_gpu)
        with pytest.raises(UsageError, match="expected one of cuda:0"):
            torch.randn(3, device="cuda", generator=on_cpu)
        with pytest.raises(UsageError, match="expected one of the CPU"):
            torch.randn(3, generator=on_gpu)
        torch.randn(3, device="cuda:1", generator=on_gpu)
        torch.randn(3, generator=on_cpu)


def test_what_is_not_predicted_names_itself() -> None:
    """The error is one of the tree, and a usage error."""
    with virtual_device(G), pytest.raises(NotPredicted, match="poisson on cuda:0"):
        torch.poisson(torch.ones(2, device="cuda"))
