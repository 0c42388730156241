"""Elimination over GF(2) against plain Gaussian elimination on Python integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from birthmark.search.solve.elimination import RIGHT_SIDE, System


def packed(equations: list[tuple[int, int]], unknowns: int) -> NDArray[np.uint64]:
    """Equations (coefficients as a number, right-hand side) as a system loads them."""
    width = (unknowns + 1 + 63) // 64
    rows = np.zeros((len(equations), width), np.uint64)
    for row, (coefficients, right) in zip(rows, equations, strict=True):
        row[:] = np.frombuffer(coefficients.to_bytes(8 * width, "little"), np.uint64)
        if right:
            row[-1] |= RIGHT_SIDE
    return rows


def rank_of(numbers: list[int]) -> int:
    basis: dict[int, int] = {}
    for number in numbers:
        rest = number
        while rest and rest.bit_length() in basis:
            rest ^= basis[rest.bit_length()]
        if rest:
            basis[rest.bit_length()] = rest
    return len(basis)


def consistent(truth: int, unknowns: int, count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Random equations that a truth satisfies; every fourth is a sum of two others."""
    numbers = [int.from_bytes(rng.bytes(unknowns // 8 + 1), "little") % (1 << unknowns) for _ in range(count)]
    for i in range(3, count, 4):
        numbers[i] = numbers[i - 1] ^ numbers[i - 2]
    return [(number, (number & truth).bit_count() & 1) for number in numbers]


@settings(deadline=None, max_examples=40)
@given(
    unknowns=st.sampled_from([1, 5, 63, 64, 65, 127, 128, 200, 1600]),
    share=st.floats(0.3, 1.6),
    portions=st.integers(1, 4),
    seed=st.integers(0, 2**32 - 1),
)
def test_rank_and_solution_equal_plain_elimination(
    unknowns: int, share: float, portions: int, seed: int
) -> None:
    """Consistent equations in any number of portions give the plain rank, no contradiction, and the truth."""
    rng = np.random.default_rng(seed)
    truth = int.from_bytes(rng.bytes(unknowns // 8 + 1), "little") % (1 << unknowns)
    equations = consistent(truth, unknowns, max(int(unknowns * share), 1), rng)
    system = System(unknowns, unknowns + len(equations))

    for part in np.array_split(packed(equations, unknowns), portions):
        system.load(part)
        system.eliminate()

    assert system.rank == rank_of([number for number, _ in equations])
    assert (system.satisfied, system.violated) == (len(equations) - system.rank, 0)
    if system.solved:
        found = int.from_bytes(system.solution().tobytes(), "little")
        assert found == truth


def test_contradictions_are_counted() -> None:
    """Of redundant equations the flipped ones are violated, the others satisfied."""
    rng = np.random.default_rng(2)
    equations = consistent(0x1234567, 100, 160, rng)
    redundant = [(equations[0][0] ^ equations[5][0], 1 ^ equations[0][1] ^ equations[5][1]), equations[7]]
    system = System(100, 400)
    system.load(packed(equations, 100))
    system.eliminate()
    before = system.satisfied

    system.load(packed(redundant, 100))
    system.eliminate()

    assert (system.satisfied - before, system.violated) == (1, 1)


def test_examination_changes_nothing_but_judges() -> None:
    """Loaded equations are implied, contradicted or undecided; those not kept are forgotten."""
    known = [(0b0011, 1), (0b0110, 0)]
    asked = [(0b0101, 1), (0b0101, 0), (0b1000, 1)]
    system = System(4, 8)
    system.load(packed(known, 4))
    system.eliminate()

    system.load(packed(asked, 4))
    verdict = system.examine()
    system.keep(verdict == 0)
    system.eliminate()

    assert verdict.tolist() == [1, -1, 0]
    assert (system.rank, system.satisfied, system.violated) == (3, 0, 0)


@pytest.mark.parametrize("unknowns", [70, 192, 500])
def test_residues_solve_what_is_open(unknowns: int) -> None:
    """What a first system leaves open, a second system of the open unknowns alone finds."""
    rng = np.random.default_rng(unknowns)
    truth = int.from_bytes(rng.bytes(unknowns // 8 + 1), "little") % (1 << unknowns)
    first, second = (consistent(truth, unknowns, count, rng) for count in (unknowns * 3 // 4, unknowns))
    system = System(unknowns, 3 * unknowns)
    system.load(packed(first, unknowns))
    system.eliminate()
    missing = unknowns - system.rank
    system.load(packed(second, unknowns))
    rest = System(missing, unknowns + missing)

    rest.load(system.residues())
    rest.eliminate()

    assert missing > 0
    assert rest.solved
    assert rest.violated == 0
    assert int.from_bytes(system.solution(rest.solution()).tobytes(), "little") == truth
