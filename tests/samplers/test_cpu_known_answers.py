"""The draws that official builds of PyTorch 1.2 to 2.14 made, x86 and Arm, all reproduced."""

from __future__ import annotations

import platform
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from birthmark.errors import SelfTestFailed
from birthmark.samplers import cpu_known_answers
from birthmark.samplers.cpu_known_answers import INDEX, SEED, CpuAnswer, check_cpu, cpu_answers, digest

ANSWERS = cpu_answers()
BUILDS = sorted({(answer.build, answer.draw.arithmetic) for answer in ANSWERS})


def reproduced(answer: CpuAnswer) -> bool:
    values = answer.draw.values(SEED, np.arange(answer.draw.size))
    alike = digest(values) == answer.digest and tuple(values[:3].tolist()) == answer.first
    return alike and answer.draw.consumed == answer.words


@pytest.mark.parametrize(("build", "arithmetic"), BUILDS)
def test_every_draw_of_a_build(build: str, arithmetic: str) -> None:
    """All values, their digest and the words taken are those that the build gave."""
    gnu = platform.libc_ver()[0] == "glibc"
    mine = [a for a in ANSWERS if (a.build, a.draw.arithmetic) == (build, arithmetic)]

    assert len(mine) > 15
    for answer in mine:
        assert reproduced(answer) or not (gnu or answer.portable), answer


def test_every_distribution_and_dtype_is_there() -> None:
    """The file leaves out no distribution, and all four arithmetics and both libraries answer."""
    kinds = Counter(answer.draw.distribution for answer in ANSWERS)
    arithmetics = {answer.draw.arithmetic for answer in ANSWERS}

    assert len(kinds) == 10
    assert arithmetics == {"cpu-fused", "cpu-unfused", "cpu-scalar", "cpu-scalar-fused"}
    assert {answer.draw.mkl for answer in ANSWERS} == {False, True}


def test_wrong_seeds_places_arithmetics_and_versions_are_seen() -> None:
    """A draw with the next seed, one word later, scalar or of another era has another digest."""
    normal = next(a for a in ANSWERS if a.draw.size == 1003 and a.draw.dtype == "float32")
    half = next(a for a in ANSWERS if a.draw.size == 1003 and a.draw.dtype == "bfloat16")
    uniform = next(
        a for a in ANSWERS if a.draw.distribution == "uniform" and a.draw.arithmetic == "cpu-fused"
    )

    assert digest(normal.draw.values(SEED + 1, np.arange(1003))) != normal.digest
    assert not reproduced(replace(normal, draw=replace(normal.draw, index=INDEX + 1)))
    assert not reproduced(replace(normal, draw=replace(normal.draw, arithmetic="cpu-scalar")))
    assert not reproduced(replace(uniform, draw=replace(uniform.draw, arithmetic="cpu-unfused")))
    other = "2.13" if half.draw.call.rules.half == "narrow" else "2.6"
    assert not reproduced(replace(half, draw=replace(half.draw, version=other)))


def test_the_self_test_passes_here_and_fails_on_a_changed_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that draws something else is told so."""
    check_cpu()
    wrong = replace(ANSWERS[0], digest="0" * 16)
    monkeypatch.setattr(cpu_known_answers, "cpu_answers", lambda: (wrong,))

    with pytest.raises(SelfTestFailed, match="normal draw of 7 float32"):
        check_cpu()
