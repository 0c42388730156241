"""The self-test passes on a sound machine and names what a broken one gets wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from birthmark.errors import SelfTestFailed
from birthmark.generators.known_answers import known_answers
from birthmark.samplers import selftest


def test_this_machine_passes() -> None:
    """All known answers come out."""
    selftest.check()


@pytest.mark.parametrize("field", ["words", "normals"])
def test_every_single_bit_counts(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One flipped bit in any known lane is noticed and named with its source."""
    answers = known_answers()
    rng = np.random.default_rng(4)
    for _ in range(12):
        number = int(
            rng.choice([i for i, a in enumerate(answers) if any(x is not None for x in getattr(a, field))])
        )
        lanes = list(getattr(answers[number], field))
        lane = int(rng.choice([i for i, x in enumerate(lanes) if x is not None]))
        lanes[lane] ^= 1 << int(rng.integers(32))
        more: dict[str, Any] = {field: tuple(lanes)}
        wrong = (*answers[:number], replace(answers[number], **more), *answers[number + 1 :])
        monkeypatch.setattr(selftest, "known_answers", lambda wrong=wrong: wrong)
        with pytest.raises(
            SelfTestFailed, match=rf"{field[:-1]} {lane} of seed {answers[number].seed}"
        ) as failure:
            selftest.check()
        assert answers[number].source in str(failure.value)
        assert failure.value.exit_code == 6
