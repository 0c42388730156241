"""What rows of the same ids in another tensor say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from birthmark.checkpoints.interface import Checkpoint, TensorInfo
from birthmark.survivors.cross_tensor import common_point, companions
from birthmark.survivors.shared_directions import Projected


def test_companions_have_as_many_rows() -> None:
    """Only float matrices with the same number of rows are companions, the widest first."""
    infos = [
        TensorInfo("embed", (100, 8), "float32", "f"),
        TensorInfo("ids", (100, 8), "int64", "f"),
        TensorInfo("head", (100, 16), "float32", "f"),
        TensorInfo("bias", (100,), "float32", "f"),
        TensorInfo("other", (99, 64), "float32", "f"),
        TensorInfo("third", (100, 4), "bfloat16", "f"),
    ]

    assert [info.name for info in companions(infos[0], infos)] == ["head", "third"]
    assert companions(infos[4], infos) == []


def test_the_common_point_is_found_among_impostors() -> None:
    """Half of the candidates are wrong and lie anywhere; the point and its cluster come out all the same."""
    random = np.random.default_rng(0)
    push = 5.0 * random.standard_normal(64)
    rows = random.standard_normal((2000, 64)) * 4.0
    rows[:50] = push + random.standard_normal((50, 64))
    candidates = np.r_[np.arange(20), np.arange(1000, 1020)]

    point, core = common_point(Projected(rows, np.zeros(2000), 64), candidates)

    assert np.linalg.norm(point - push) < 3.0
    assert core[:50].mean() > 0.9
    assert not core[50:].any()


def test_a_head_helps_and_noise_does_not_hurt(
    in_memory: Callable[..., Checkpoint], trained: Callable[..., object]
) -> None:
    """The embedding's survivors are found with its head, and an unrelated tensor is not believed."""
    from birthmark.survivors.sorting import sort_units
    from birthmark.survivors.statistics import measure
    from birthmark.survivors.units import RowUnits

    made = trained(lightly=0.04)
    noise = np.random.default_rng(5).standard_normal((2000, 96)).astype(np.float32)
    checkpoint = in_memory({"e": made.embedding, "h": made.head, "n": noise}, "bfloat16")  # type: ignore[attr-defined]
    units = {name: RowUnits(checkpoint, checkpoint.tensors[name]) for name in "ehn"}
    seen = measure(units["e"])

    with_head = sort_units(units["e"], seen.ids, seen.energy, units["h"])
    with_noise = sort_units(units["e"], seen.ids, seen.energy, units["n"])
    alone = sort_units(units["e"], seen.ids, seen.energy)

    assert with_head is not None
    assert with_head.companion
    likely = with_head.ids[with_head.probability >= 0.5]
    assert np.isin(made.untouched, likely).mean() > 0.8  # type: ignore[attr-defined]
    assert np.isin(likely, made.untouched).mean() > 0.85  # type: ignore[attr-defined]
    assert (with_noise is None) == (alone is None)
    if with_noise is not None and alone is not None:
        assert not with_noise.companion
        np.testing.assert_array_equal(with_noise.probability, alone.probability)
