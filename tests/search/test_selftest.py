"""A machine that computes wrongly is stopped before it searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from birthmark.errors import SelfTestFailed
from birthmark.search import engine, selftest
from birthmark.search.kernel import Scanned
from birthmark.search.options import Options


def test_this_machine_passes() -> None:
    """Generator, samplers and scan give the known answers."""
    selftest.check()


@pytest.mark.parametrize("loop", ["scan", "scan_listed"])
@pytest.mark.parametrize("wrong", ["nothing", "too much"])
def test_a_wrong_scan_is_noticed(monkeypatch: pytest.MonkeyPatch, loop: str, wrong: str) -> None:
    """Whether it misses the planted seed or finds another one beside it."""
    right = getattr(selftest, loop)

    def broken(*args: Any) -> Scanned:
        done: Scanned = right(*args)
        return Scanned(0, 0, done.done) if wrong == "nothing" else Scanned(2, 2, done.done)

    monkeypatch.setattr(selftest, loop, broken)
    with pytest.raises(SelfTestFailed, match="around seed"):
        selftest.check()


def test_no_search_without_it(monkeypatch: pytest.MonkeyPatch, planted: Callable[..., Any]) -> None:
    """The search asks first."""

    def fail() -> None:
        raise SelfTestFailed("a known answer is wrong")

    monkeypatch.setattr(engine, "check", fail)
    with pytest.raises(SelfTestFailed):
        engine.search(planted().selection(), Options(seeds=(0, 0)))
