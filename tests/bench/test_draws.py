"""Draws are timed beside torch's and numpy's, and their ratios are what is told."""

from __future__ import annotations

import pytest

from birthmark.bench import draws as module
from birthmark.bench.draws import DrawSpeeds, Speed, bench_draws


def test_all_five_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In turns so short that they measure nothing but that everything works."""
    monkeypatch.setattr(module, "VALUES", 1 << 15)
    monkeypatch.setattr(module, "TURNS", 3)
    found = bench_draws()

    assert found is not None
    for speed in (found.normals, found.torch_normals, found.numpy_normals, found.words, found.numpy_words):
        assert speed.clock > 0


def test_without_torch_there_is_no_such_section(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of the bench needs none."""
    monkeypatch.setattr(module, "find_spec", lambda name: None)  # noqa: ARG005 - nothing is found
    assert bench_draws() is None


def test_ratios_are_speeds() -> None:
    """Half the time is 2; per core by processor time, on all cores by the clock."""
    speeds = DrawSpeeds(Speed(2, 1), Speed(4, 4), Speed(6, 6), Speed(1, 1), Speed(5, 5))

    assert (speeds.to_torch, speeds.to_numpy) == (2, 3)
    assert (speeds.to_torch_on_all, speeds.to_numpy_on_all) == (4, 6)
    assert speeds.words_to_numpy == 5
