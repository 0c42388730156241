"""Arithmetics go by the names that readings use."""

from __future__ import annotations

from typing import get_args

import pytest

from birthmark.errors import UnknownName
from birthmark.hypothesis import Arithmetic
from birthmark.samplers.arithmetic import AMD, ARITHMETICS, PASCAL, VOLTA, code_of


def test_every_arithmetic_of_a_hypothesis_has_a_code() -> None:
    """Names and codes are one to one, and are those that hypotheses and devices use."""
    assert set(ARITHMETICS) == set(get_args(Arithmetic))
    assert [code_of(name) for name in ("nvidia-volta+", "nvidia-pascal-", "amd")] == [VOLTA, PASCAL, AMD]
    assert len(set(map(int, ARITHMETICS.values()))) == 3


def test_unknown_names_are_refused() -> None:
    """A near miss is answered with the right name."""
    with pytest.raises(UnknownName, match="nvidia-volta"):
        code_of("nvidia-volta")
