"""Without PyTorch there is one clear line."""

from __future__ import annotations

import importlib
import sys

import pytest

from birthmark.errors import MissingExtra


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With how to install it; a usage error."""
    for name in [
        name for name in sys.modules if name == "birthmark.torch" or name.startswith("birthmark.torch.")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)

    with pytest.raises(MissingExtra, match=r"pip install 'birthmark\[torch\]'") as missing:
        importlib.import_module("birthmark.torch")
    assert missing.value.exit_code == 2
    assert "\n" not in str(missing.value)
