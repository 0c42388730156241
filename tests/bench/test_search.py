"""Speeds are measured side by side, and their ratios are what is told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from birthmark.bench import BenchResult, bench
from birthmark.bench import search as module
from birthmark.errors import UsageError


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns so short that they measure nothing but that everything works."""
    monkeypatch.setattr(module, "SEEDS", 1 << 12)
    monkeypatch.setattr(module, "TURNS", 3)


def test_without_c_there_is_nothing_to_compare() -> None:
    """Kernel and search are timed, the C loops are not."""
    result = bench()

    assert result.kernel > 0
    assert result.search > 0
    assert (result.c_20, result.c_16, result.kernel_to_c20, result.kernel_to_c16) == (None, None, None, None)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
def test_with_c_all_loops_answer_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every loop counts the seeds whose first word lies in the probe's window, the same number."""
    monkeypatch.setattr(module, "SEEDS", 1 << 18)
    seen: list[dict[str, int]] = []
    medians = module._medians

    def remember(loops: object) -> object:
        found = medians(loops)  # type: ignore[arg-type]
        seen.append(found[1])
        return found

    monkeypatch.setattr(module, "_medians", remember)
    monkeypatch.setattr(module, "PROBE", (3.0, 3.3))
    result = bench(compare_c=True)

    assert result.kernel_to_c20 is not None
    assert result.kernel_to_c20 > 0
    assert seen[0]["c_20"] == seen[0]["c_16"]
    # The kernel looks at the angle's word as well.
    assert 0 < seen[0]["kernel"] == seen[0]["search"] < seen[0]["c_20"]


def test_a_missing_program_is_a_usage_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An installed birthmark has no `benchmarks` folder beside it; the message says so."""
    monkeypatch.setattr(module, "SOURCE", tmp_path / "philox_c.c")

    with pytest.raises(UsageError, match="from the repository only"):
        bench(compare_c=True)


def test_a_missing_compiler_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Named, with what to do."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "")

    with pytest.raises(UsageError, match="install one"):
        bench(compare_c=True)


def test_a_broken_compiler_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the compiler's own first line."""
    monkeypatch.setenv("CC", "false")

    with pytest.raises(UsageError, match="false cannot build"):
        bench(compare_c=True)


def test_ratios_are_speeds() -> None:
    """Twice the speed is 2; the time for all seeds is that of the search's loop on all cores."""
    result = BenchResult(kernel=2.0, search=2.5, share=1e-4, c_20=4.0, c_16=3.0, cores=2, compiler="cc")

    assert (result.kernel_to_c20, result.kernel_to_c16, result.search_to_kernel) == (2.0, 1.5, 0.8)
    assert result.whole_range_seconds == pytest.approx(2.5e-9 * 2**32 / 2)
