"""A known seed's layout is named where the selection can name it, and left open where it cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from birthmark.devices.catalogue import exhaustive_threads, table_threads
from birthmark.search.layouts import resolve
from birthmark.search.space import predictions, shardings


def resolved(planted: Any, seed: int | None = None) -> Any:
    selection = planted.selection()
    every = predictions(selection, exhaustive_threads(), shardings(selection))
    return resolve(selection, planted.seed if seed is None else seed, every)


@pytest.mark.parametrize("threads", [28_672, 221_184, 270_336, 303_104, 622_592, 200 * 1536])
def test_the_layout_is_the_only_one_left(planted: Callable[..., Any], threads: int) -> None:
    """From rows all over a tensor, neighbouring layouts excluded; the rival scores far worse."""
    found = resolved(planted(threads=threads, rows=range(0, 8192, 300)))

    assert (found.hypothesis.threads, found.not_excluded) == (threads, (threads,))
    assert found.r > 0.999
    assert found.rival is not None
    assert found.rival.r < 0.9


def test_sharding_is_told_apart(planted: Callable[..., Any]) -> None:
    """Shards with seeds of their own, against the whole tensor and other numbers of shards."""
    found = resolved(planted(seed=3952, ways=2, rows=range(0, 8192, 300)))

    assert found.hypothesis.sharding.ways == 2
    assert found.not_excluded == (270_336,)


def test_below_every_wave_all_layouts_are_left(planted: Callable[..., Any]) -> None:
    """Rows in the first wave of any layout: the seed is known, and the layout is not."""
    found = resolved(planted(rows=range(5, 40)))

    assert found.r > 0.999
    assert set(found.not_excluded) == set(exhaustive_threads())
    assert found.rival is None
    assert found.hypothesis.threads in table_threads()


def test_larger_layouts_are_left_together(planted: Callable[..., Any]) -> None:
    """Rows below 103,680 elements exclude every smaller G and none that is larger."""
    found = resolved(planted(threads=270_336, rows=range(690, 720)))
    farthest = 720 * 144

    assert set(found.not_excluded) == {each for each in exhaustive_threads() if each >= farthest}


def test_one_telling_element_excludes_nothing(planted: Callable[..., Any]) -> None:
    """Layouts that differ on a single element of the selection are both left."""
    made = planted(rows=range(800, 830), shape=(8192, 143))
    selection = made.selection()
    last = int(selection.indices[-1])
    every = predictions(selection, (last // 256 * 256, 270_336), shardings(selection, (1,)))
    found = resolve(selection, made.seed, every)

    assert len(found.not_excluded) == 1 + (last % 256 < 5)


def test_a_layout_outside_the_list_is_not_made_up(planted: Callable[..., Any]) -> None:
    """A G that nobody compared: the score rests on what all layouts share, and no layout is named."""
    made = planted(threads=37 * 256, rows=(5, 9, 20, 40, *range(6000, 6030)), shape=(8192, 144))
    found = resolved(made)

    assert found.not_excluded == ()
    assert found.n == 4 * 144
    assert found.r > 0.999


def test_a_wrong_seed_scores_nothing(planted: Callable[..., Any]) -> None:
    """Seed plus one is as good as any other number."""
    found = resolved(planted(rows=range(0, 8192, 300)), seed=778)

    assert abs(found.r) * found.n**0.5 < 6


def test_a_wrong_scale_changes_nothing(planted: Callable[..., Any]) -> None:
    """Correlation does not know the scale."""
    made = planted(rows=range(0, 8192, 300))
    selection = replace(made.selection(), scale=5.0)
    every = predictions(selection, table_threads(), shardings(selection))

    assert resolve(selection, made.seed, every).not_excluded == (270_336,)
