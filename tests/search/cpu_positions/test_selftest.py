"""The known answers hold here, and a wrong kernel would be noticed."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.errors import SelfTestFailed
from birthmark.search.cpu_positions import selftest


def test_this_machine_computes_the_known_answers() -> None:
    """Nothing is raised."""
    selftest.check()


@pytest.mark.parametrize("name", ["scan", "sift", "agreeing", "state_masks", "words"])
def test_what_computes_otherwise_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that drops or miscounts seeds, wrong masks and wrong words are all found out."""
    right = getattr(selftest, name)

    def wrong(*args: object) -> object:
        result = np.array(right(*args))
        return result[1:] if name in ("scan", "sift") else result ^ result.dtype.type(1)

    monkeypatch.setattr(selftest, name, wrong)
    with pytest.raises(SelfTestFailed, match="cannot be trusted"):
        selftest.check()
