"""All neighbours as one search: whoever explains the tensor, with everybody's trials."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.errors import UnknownName
from birthmark.generators.threefry import key_of
from birthmark.samplers.jax_draw import JaxDraw
from birthmark.search.neighbours import jax_keys
from birthmark.search.neighbours.jax_paths import short_paths
from birthmark.search.neighbours.observed import whole
from birthmark.search.neighbours.together import search_neighbours


def test_the_second_is_found_with_the_first_ones_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """A JAX tensor is found after Paddle's engine was ruled out, whose states count as trials."""
    monkeypatch.setattr(jax_keys, "all_paths", short_paths)
    drawn = JaxDraw("uniform", 960, (-0.1, 0.1)).values(key_of(3), np.arange(960)).reshape(24, 40)
    alone, after = (search_neighbours(whole("w", drawn), who) for who in (("jax",), ("paddle", "jax")))
    assert alone.finding is not None
    assert after.finding is not None
    assert after.finding.seed == alone.finding.seed == 3
    assert after.finding.trials == after.trials > 2**31 > alone.trials
    assert after.finding.log10_p > alone.finding.log10_p
    assert set(alone.searched) < set(after.searched)


def test_nobody() -> None:
    """A constant tensor gives every search's reason; an unknown platform names the nearest."""
    nothing = search_neighbours(whole("w", np.ones((24, 40))))
    assert nothing.finding is None
    assert nothing.reason is not None
    assert nothing.reason.count(";") == 2
    with pytest.raises(UnknownName, match="numpy"):
        search_neighbours(whole("w", np.ones((24, 40))), ("nunpy",))
