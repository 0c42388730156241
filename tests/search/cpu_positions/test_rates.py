"""The measurement: every figure is there, the C loops count what the search counts, refusals are clear."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from birthmark.errors import UsageError
from birthmark.search.cpu_positions import rates
from birthmark.search.cpu_positions.kernel import FIRST, scan


def test_figures_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates are positive, what was not compared is None."""
    monkeypatch.setattr(rates, "SEEDS", 4000)
    monkeypatch.setattr(rates, "ROUNDS", 2)
    found = rates.cpu_search_rates()
    compared = {
        "c_seeding_per_second",
        "c_four_bits_per_second",
        "seeding_ratio",
        "four_bits_ratio",
        "compiler",
    }
    assert {name for name, value in found.items() if value is None} == compared
    for name in ("seeding_per_second", "four_bits_per_second", "threads", "all_seeds_seconds"):
        value = found[name]
        assert isinstance(value, int | float)
        assert value > 0


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler here")
def test_c_counts_the_same_seeds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All C loops count as many seeds as the search's loop does, and the ratios come out."""
    monkeypatch.setattr(rates, "BLOCKS", ((512, 8),))
    monkeypatch.setattr(rates, "SEEDS", 12_288)
    monkeypatch.setattr(rates, "ROUNDS", 2)
    masks = np.random.default_rng(1).integers(0, 2**32, (624, FIRST), dtype=np.uint64).astype(np.uint32)
    loops = rates._c_loops(tmp_path, "cc", masks)
    counts = Counter(loop() for name, loop in loops.items() if name.startswith("c_four"))
    assert counts == {len(scan(0, rates.SEEDS, masks, rates._WANTED)): 2}
    assert len({loop() for name, loop in loops.items() if name.startswith("c_seeding")}) == 1

    found = rates.cpu_search_rates(compare_c=True)
    for name in ("seeding_ratio", "four_bits_ratio"):
        value = found[name]
        assert isinstance(value, float)
        assert value > 0


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No source, no compiler, one that does not run, and a source that does not build."""
    monkeypatch.setenv("CC", str(tmp_path / "nothing"))
    with pytest.raises(UsageError, match="does not run"):
        rates.cpu_search_rates(compare_c=True)
    monkeypatch.delenv("CC")
    with monkeypatch.context() as none:
        none.setattr(shutil, "which", lambda _: None)
        with pytest.raises(UsageError, match="no C compiler"):
            rates.cpu_search_rates(compare_c=True)
    broken = tmp_path / "cpu_seeding.c"
    monkeypatch.setattr(rates, "SOURCE", broken)
    with pytest.raises(UsageError, match="from the repository only"):
        rates.cpu_search_rates(compare_c=True)
    if shutil.which("cc") is not None:
        broken.write_text("this is no C")
        with pytest.raises(UsageError, match=r"cannot build cpu_seeding\.c"):
            rates.cpu_search_rates(compare_c=True)
