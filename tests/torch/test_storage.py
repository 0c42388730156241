"""Tags belong to storages, and views are gone through as PyTorch goes through them."""

from __future__ import annotations

import gc

import torch

from birthmark.torch.machine import Machine, virtual_gpu
from birthmark.torch.storage import in_order, index_of, pieces, place, shared, tensors_in


def machine() -> Machine:
    return Machine((virtual_gpu(2048), virtual_gpu(4096)), "2.13")


def test_a_tag_is_that_of_the_storage() -> None:
    """Views share it, however long their first owner is gone; copies do not have it."""
    computer = machine()
    tensor = place(torch.zeros(4, 4), computer, 1)
    view, copy = tensor[1:].t(), tensor.clone()
    del tensor
    gc.collect()

    assert index_of(view, computer) == 1
    assert index_of(copy, computer) is None
    assert index_of(view, machine()) is None
    assert index_of(place(view, computer, None), computer) is None


def test_sharing_is_told_by_storage() -> None:
    """Not by values or names."""
    tensor = torch.zeros(3)

    assert shared(tensor, tensor[1:])
    assert not shared(tensor, tensor.clone())
    sparse = torch.eye(2).to_sparse()
    assert shared(sparse, sparse)
    assert not shared(sparse, tensor)
    assert index_of(sparse, machine()) is None


def test_tensors_are_found_in_lists() -> None:
    """And nothing else is."""
    one, two = torch.zeros(1), torch.zeros(2)

    assert [tensor.numel() for tensor in tensors_in([one, 5, (two, None, "x"), {}])] == [1, 2]


def test_without_gaps_it_is_a_line_of_memory() -> None:
    """Transposed, permuted and channels-last tensors; a row of a matrix too, from its own start."""
    base = torch.arange(24.0)
    for view in (base.view(4, 6).t(), base.view(2, 3, 4).permute(2, 0, 1), base.view(2, 3, 4)):
        assert in_order(view).tolist() == base.tolist()
    assert in_order(base.view(4, 6)[2]).tolist() == base[12:18].tolist()
    assert in_order(torch.zeros(())).tolist() == [0.0]


def test_with_gaps_rows_are_sorted_and_fused() -> None:
    """The smallest stride runs fastest; dimensions that continue each other become one."""
    base = torch.arange(60.0).view(3, 4, 5)

    assert in_order(base[:, :, :2].permute(2, 0, 1)).shape == (12, 2)
    assert in_order(base[:, :3].permute(1, 2, 0)).shape == (3, 15)
    assert in_order(base[:, :3, ::2].permute(1, 2, 0)).shape == (3, 3, 3)
    assert in_order(base.view(-1)[::3]).shape == (20,)
    assert in_order(base[:, :, :2].permute(2, 0, 1)).tolist() == base.view(12, 5)[:, :2].tolist()


def test_pieces_are_cut_where_memory_is_longest() -> None:
    """In halves, the smaller first, until the last byte and every element can be reached."""
    view = in_order(torch.zeros(51, 300)[:, :200])
    cut = pieces(view, limit=4 * 4000)

    assert [tuple(each.shape) for each in cut] == [(12, 200), (13, 200), (13, 200), (13, 200)]
    assert [each.storage_offset() for each in cut] == [0, 3600, 7500, 11400]
    assert [tuple(each.shape) for each in pieces(view)] == [(51, 200)]
    assert [each.numel() for each in pieces(torch.zeros(10)[::2], limit=3 * 4 * 2)] == [2, 3]
