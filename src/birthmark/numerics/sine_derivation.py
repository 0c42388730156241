"""Where the sine unit's table comes from: a minimax fit proposes, published values decide.

For each row the coefficients that a designer would choose are found first: a minimax fit of the unit's own
basis (2^11, x, sq(x)) to the sine, then a search of the integers around it for the triples whose *truncated*
results stay closest to the sine. The unit's own triple is the best of them in 42 of the 64 rows and among the
best seven in all; the sixteen best are kept. Two to four published float32 weights a row then leave exactly
one. They come from two cards, and each card's weights reject every rival by themselves, so that one wrong
fact leaves none. A row that is left with none or with several ends the derivation with an error.

    python -m birthmark.numerics.sine_derivation            derive the table and compare it with sine_table.py
    python -m birthmark.numerics.sine_derivation --write    derive the table and write sine_table.py
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import SelfTestFailed
from birthmark.numerics.sine_facts import Fact, load, place, predicted
from birthmark.numerics.sine_row import ROW_BITS, ROWS, SCALE_BITS, SIGNIFICANT_BITS, outputs, squared

#: C0, C1 and the magnitude of C2.
Triple = tuple[int, int, int]

#: Triples that the fit proposes for a row. The unit's own was never below the seventh.
PROPOSED = 16

#: The file that the derivation writes.
TABLE_FILE = Path(__file__).with_name("sine_table.py")

_INPUTS = 1 << ROW_BITS
_X = np.arange(_INPUTS, dtype=np.int64)
_SQUARES = squared(_X)
_BASIS = np.stack([np.full(_INPUTS, 2.0**11), _X.astype(np.float64), -_SQUARES.astype(np.float64)], axis=1)

# How far the search goes around the fit, and in what steps; every C0 of the sine table is even.
_SPAN = ((32, 2), (24, 1), (4, 1))


def sine(row: int) -> NDArray[np.float64]:
    """The true sine at the 2^17 inputs of a row, in units of 2^-37."""
    true: NDArray[np.float64] = np.sin((row * _INPUTS + _X) * (np.pi / 2**24)) * float(1 << SCALE_BITS)
    return true


def fitted(row: int, rounds: int = 60) -> NDArray[np.float64]:
    """The real triple with the least maximum error, before truncation, by Lawson's reweighted least squares.

    The target is the sine plus half a unit of the 24th bit, which truncation then takes off on average. Every
    16th input is enough: the search around the fit is much wider than what the others could change.
    """
    true = sine(row)[::16]
    target = true + np.exp2(np.frexp(np.maximum(true, 1.0))[1] - SIGNIFICANT_BITS - 1)
    scale = np.abs(_BASIS).max(axis=0)
    basis = _BASIS[::16] / scale
    weight = np.full(true.size, 1.0 / true.size)
    triple = np.zeros(3)
    for _ in range(rounds):
        weighted = basis * weight[:, None]
        triple = np.linalg.solve(basis.T @ weighted, weighted.T @ target)
        weight *= np.abs(basis @ triple - target)
        weight /= weight.sum()
    return np.asarray(triple / scale, dtype=np.float64)


def proposals(row: int, count: int = PROPOSED) -> list[Triple]:
    """The integer triples with the least maximum error of the truncated result, best first.

    Args:
        row: 0 to 63.
        count: how many to return.
    """
    true = sine(row)
    fit = fitted(row)
    triples = _around(fit)
    probes = _extremes(_BASIS @ fit - true)
    at_least = _worst(triples, probes, true)

    # The probes bound each triple's error from below, so few triples need all inputs.
    best: list[tuple[float, Triple]] = []
    for index in np.argsort(at_least, kind="stable"):
        if len(best) == count and at_least[index] > best[-1][0]:
            break
        c0, c1, c2 = (int(value) for value in triples[index])
        best.append((float(_worst(triples[index : index + 1], _X, true)[0]), (c0, c1, c2)))
        best = sorted(best)[:count]
    return [triple for _, triple in best]


def settled(row: int, facts: Sequence[Fact]) -> Triple:
    """The one proposal for a row that gives every fact of that row its published bits.

    Args:
        row: 0 to 63.
        facts: published values of any rows; those of other rows are passed over.

    Raises:
        SelfTestFailed: no proposal fits, or several do.
    """
    own = [fact for fact in facts if place(fact).row == row]
    proposed = proposals(row)
    fitting = [triple for triple in proposed if all(predicted(fact, triple) == fact.pattern for fact in own)]
    if len(fitting) != 1:
        raise SelfTestFailed(
            f"{len(fitting)} of {len(proposed)} proposals for row {row} of the sine table give its "
            f"{len(own)} published values; expected exactly one.",
            advice="Check sine_facts.json against the sources it names.",
        )
    return fitting[0]


def render(table: Sequence[Triple]) -> str:
    """The text of `sine_table.py` for a table."""
    meanings = (
        "The sine at the start of a row; 26 bits, all even.",
        "The slope; 15 bits.",
        "The magnitude of the curvature, which is negative; 11 bits.",
    )
    lines = [_HEADER]
    for name, meaning, column in zip(("C0", "C1", "C2"), meanings, zip(*table, strict=True), strict=True):
        lines += [f"#: {meaning}", f"{name}: NDArray[np.uint32] = np.array(("]
        lines += [
            "    " + " ".join(f"0x{value:x}," for value in column[at : at + 8]) for at in range(0, ROWS, 8)
        ]
        lines += ["), dtype=np.uint32)"]
    return "\n".join([*lines, "# fmt: on", ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Derive all rows; compare with `sine_table.py`, or write it.

    Returns:
        The exit code: 0 when equal or written, 6 when different or when a row is not settled.
    """
    parser = argparse.ArgumentParser(prog="python -m birthmark.numerics.sine_derivation")
    parser.add_argument(
        "--write", action="store_true", help="write sine_table.py instead of comparing with it"
    )
    write = parser.parse_args(arguments).write

    facts = load()
    table = []
    for row in range(ROWS):
        try:
            c0, c1, c2 = settled(row, facts)
        except SelfTestFailed as error:
            sys.stderr.write(f"{error}\n")
            return error.exit_code
        table.append((c0, c1, c2))
        sys.stdout.write(f"row {row:2}: C0 {c0:7x}  C1 {c1:4x}  C2 -{c2:x}\n")
        sys.stdout.flush()
    text = render(table)
    if write:
        TABLE_FILE.write_text(text, encoding="utf-8", newline="\n")
        sys.stdout.write(f"wrote {TABLE_FILE}\n")
        return 0
    same = TABLE_FILE.read_text(encoding="utf-8") == text
    sys.stdout.write(f"{TABLE_FILE.name} {'is' if same else 'IS NOT'} what the derivation gives\n")
    return 0 if same else SelfTestFailed.exit_code


def _around(fit: NDArray[np.float64]) -> NDArray[np.int64]:
    """All integer triples within the span of a fit that the unit could hold, shape (n, 3)."""
    axes = [
        step * round(float(centre) / step) + np.arange(-reach, reach + 1, step)
        for centre, (reach, step) in zip(fit, _SPAN, strict=True)
    ]
    triples = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3).astype(np.int64)
    return np.asarray(triples[(triples >= 0).all(axis=1)])


def _extremes(residual: NDArray[np.float64], parts: int = 128) -> NDArray[np.int64]:
    """Inputs that a change of the triple moves first out of bounds: the two extremes, twice, of each part."""
    size = _INPUTS // parts
    order = np.argsort(residual.reshape(parts, size), axis=1) + size * np.arange(parts)[:, None]
    return np.unique(np.concatenate([order[:, :2].ravel(), order[:, -2:].ravel(), [0, _INPUTS - 1]]))


def _worst(
    triples: NDArray[np.int64], x: NDArray[np.int64], true: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The largest error of each triple's truncated results over the inputs x, in units of 2^-37."""
    return np.asarray(np.abs(outputs(triples, x, _SQUARES[x]) - true[x]).max(axis=1))


_HEADER = '''"""The coefficients of the sine unit: 64 rows of three numbers for the first quarter turn.

Generated; do not edit. `python -m birthmark.numerics.sine_derivation --write` derives the numbers and writes
this file; without the option the command checks it. On row r, for the 17 bits x of the angle within it and
the unit's square sq(x), the sine is (C0[r] * 2^11 + C1[r] * x - C2[r] * sq(x)) / 2^37, truncated to 24
significant bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# fmt: off'''


if __name__ == "__main__":
    sys.exit(main())
