"""Ctrl-C outside a search."""

from __future__ import annotations

import pytest

from birthmark import cli
from birthmark.cli import app as module


def test_ctrl_c_is_a_stop(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What typer reports as 130 is the documented code 4, with one line that says so."""
    monkeypatch.setattr(module, "app", lambda **_: cli.INTERRUPTED)

    with pytest.raises(SystemExit) as left:
        cli.main()

    assert left.value.code == 4
    assert capsys.readouterr().err == f"birthmark: {cli.STOPPED}\n"


def test_an_interrupt_by_itself_is_one_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """So is the exception, where it comes through."""

    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "app", interrupted)

    with pytest.raises(SystemExit) as left:
        cli.main()

    assert left.value.code == 4
    assert "starts again" in capsys.readouterr().err
