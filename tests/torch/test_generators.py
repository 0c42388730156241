"""Generators of virtual GPUs keep the state of PyTorch's: a seed and an offset in sixteen bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from birthmark.errors import UsageError
from birthmark.torch import VirtualDevice, virtual_device

G = 2048


@pytest.fixture
def gpu() -> Iterator[VirtualDevice]:
    """A computer with two small GPUs."""
    with virtual_device(G, 2 * G) as device:
        yield device


@pytest.mark.usefixtures("gpu")
def test_a_new_object_has_the_constant_seed() -> None:
    """A default generator has random bits instead, and every GPU others."""
    assert torch.Generator("cuda").initial_seed() == 67280421310721
    seeds = [generator.initial_seed() for generator in torch.cuda.default_generators]
    assert len({*seeds, 67280421310721}) == 3
    assert max(seeds) < 1 << 53


@pytest.mark.usefixtures("gpu")
def test_seeding_seeds_every_gpu_and_the_cpu() -> None:
    """`torch.manual_seed` all of them, `torch.cuda.manual_seed` the current one; offsets start at 0."""
    torch.randn(5, device="cuda")
    assert torch.manual_seed(5) is torch.default_generator
    assert [generator.initial_seed() for generator in torch.cuda.default_generators] == [5, 5]
    assert [generator.get_offset() for generator in torch.cuda.default_generators] == [0, 0]
    torch.cuda.manual_seed(6)
    with torch.cuda.device(1):
        torch.cuda.manual_seed(7)
    assert [generator.initial_seed() for generator in torch.cuda.default_generators] == [6, 7]
    torch.cuda.manual_seed_all(-1)
    assert torch.cuda.initial_seed() == (1 << 64) - 1
    assert torch.initial_seed() == 5
    assert torch.seed() == torch.cuda.initial_seed() == torch.initial_seed()
    torch.cuda.seed_all()
    assert len({generator.initial_seed() for generator in torch.cuda.default_generators}) == 1


@pytest.mark.usefixtures("gpu")
def test_states_are_sixteen_bytes() -> None:
    """Seed and offset, 64 bits each, little endian; taking one over continues there."""
    generator = torch.Generator("cuda").manual_seed(0x0102030405060708)
    torch.randn(4 * G + 1, device="cuda", generator=generator)
    state = generator.get_state()
    ahead = torch.randn(5, device="cuda", generator=generator)

    assert bytes(state.tolist()).hex() == "0807060504030201" + "0800000000000000"
    assert (state.dtype, state.device.type) == (torch.uint8, "cpu")
    generator.set_state(state)
    assert torch.equal(torch.randn(5, device="cuda", generator=generator), ahead)
    generator.set_state(state[:8])
    assert (generator.initial_seed(), generator.get_offset()) == (0x0102030405060708, 0)


@pytest.mark.usefixtures("gpu")
def test_the_state_functions_of_cuda() -> None:
    """`get_rng_state` and `set_rng_state`, one GPU or all; `fork_rng` brings both back."""
    torch.manual_seed(5)
    one, every = torch.cuda.get_rng_state("cuda:1"), torch.cuda.get_rng_state_all()
    with torch.random.fork_rng(devices=[0, 1]):
        torch.manual_seed(6)
        torch.randn(5, device="cuda")
    assert torch.equal(torch.cuda.get_rng_state(1), one)
    torch.cuda.set_rng_state(torch.cuda.get_rng_state(0), 1)
    first = torch.randn(5, device="cuda")
    torch.cuda.set_rng_state_all(every)
    assert torch.equal(torch.randn(5, device="cuda"), first)


@pytest.mark.usefixtures("gpu")
def test_positions_can_be_copied_and_shared() -> None:
    """`clone_state` copies, `graphsafe_get_state` shares; offsets are multiples of 4."""
    generator = torch.Generator("cuda").manual_seed(5)
    generator.set_offset(8)
    clone, shared = generator.clone_state(), generator.graphsafe_get_state()
    torch.randn(5, device="cuda", generator=generator)

    assert (clone.get_offset(), shared.get_offset(), generator.get_offset()) == (8, 12, 12)
    clone.graphsafe_set_state(shared)
    torch.randn(5, device="cuda", generator=clone)
    assert generator.get_offset() == 16
    assert generator.seed() == generator.initial_seed() != 5


@pytest.mark.usefixtures("gpu")
def test_wrong_states_and_seeds_are_refused() -> None:
    """In one line each."""
    generator = torch.Generator("cuda")
    with pytest.raises(UsageError, match="16 bytes"):
        generator.set_state(torch.zeros(7, dtype=torch.uint8))
    with pytest.raises(UsageError, match=r"2 elements of torch\.float32"):
        generator.set_state(torch.zeros(2))
    with pytest.raises(UsageError, match="got a list"):
        generator.set_state([1])
    with pytest.raises(UsageError, match="multiple of 4"):
        generator.set_offset(2)
    with pytest.raises(UsageError, match=r"-2\^63"):
        generator.manual_seed(1 << 64)
    with pytest.raises(UsageError, match="got a Generator"):
        generator.graphsafe_set_state(torch.Generator())


@pytest.mark.usefixtures("gpu")
def test_every_generator_is_an_instance() -> None:
    """Those of the GPUs, those of the CPU, and the default one; nothing else."""
    assert isinstance(torch.Generator("cuda"), torch.Generator)
    assert isinstance(torch.Generator(), torch.Generator)
    assert isinstance(torch.default_generator, torch.Generator)
    assert not isinstance(5, torch.Generator)
    assert torch.Generator().device.type == "cpu"
    assert str(torch.Generator(device=torch.device("cuda", 1)).device) == "cuda:1"


def test_a_generator_that_outlives_the_gpu_is_one_of_the_cpu() -> None:
    """Of the same seed, as its tensors are then tensors of the CPU."""
    with virtual_device(G):
        generator = torch.Generator("cuda").manual_seed(5)
        torch.randn(3, device="cuda", generator=generator)
    expected = torch.randn(3, generator=torch.Generator().manual_seed(5))

    assert generator.device.type == "cpu"
    assert torch.equal(torch.randn(3, generator=generator), expected)
    assert generator.get_state().numel() == torch.Generator().get_state().numel()
    generator.manual_seed(5)
    generator.set_state(generator.get_state())
    assert torch.equal(torch.randn(3, generator=generator), expected)
