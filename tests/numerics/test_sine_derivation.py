"""The sine unit's table comes out of its derivation, and the derivation notices when it should not."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from birthmark.errors import SelfTestFailed
from birthmark.numerics import sine_derivation, sine_facts
from birthmark.numerics.sine import quarter
from birthmark.numerics.sine_derivation import Triple, proposals, render, settled
from birthmark.numerics.sine_facts import Fact, Source, load, place, predicted
from birthmark.numerics.sine_row import outputs, squared, truncated
from birthmark.numerics.sine_table import C0, C1, C2

FACTS = load()
TABLE: list[Triple] = [(int(c0), int(c1), int(c2)) for c0, c1, c2 in zip(C0, C1, C2, strict=True)]

#: Rows where the unit's triple is the best proposal, and rows where only the facts single it out.
BY_FIT = (5, 20, 48)
BY_FACTS = (4, 26, 59)

#: The published files as the cases name them, by the card that drew them.
FILES = {3: "ggl_lottery_fc1_pp0x1_seed3_co2False_T4.pt", 42: "sparsenns_fc1_mnist_initial_lt.pth.tar"}

X = np.arange(1 << 17, dtype=np.int64)


@cache
def proposed(row: int) -> tuple[Triple, ...]:
    """The proposals for a row, computed once for all tests."""
    return tuple(proposals(row))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `settled` use the proposals that other tests computed."""
    monkeypatch.setattr(sine_derivation, "proposals", proposed)


def of_row(row: int) -> list[Fact]:
    return [fact for fact in FACTS if place(fact).row == row]


@pytest.mark.parametrize("row", BY_FIT + BY_FACTS)
def test_a_row_comes_out_of_its_derivation(row: int) -> None:
    """Fit, search and facts give the row that the table holds."""
    assert settled(row, FACTS) == TABLE[row]


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_the_whole_table_comes_out_of_its_derivation(capsys: pytest.CaptureFixture[str]) -> None:
    """All 64 rows are derived, and the file is what the derivation writes."""
    assert sine_derivation.main([]) == 0
    assert capsys.readouterr().out.endswith("sine_table.py is what the derivation gives\n")


@pytest.mark.slow
def test_the_fit_alone_nearly_gives_the_table() -> None:
    """The unit's triple is the best proposal of 42 rows and among the best seven of every row."""
    ranks = [proposed(row).index(TABLE[row]) for row in range(64)]

    assert ranks.count(0) == 42
    assert max(ranks) == 6


@pytest.mark.parametrize("row", BY_FIT)
def test_the_best_proposal_is_the_unit_in_most_rows(row: int) -> None:
    """In these rows the least maximum error picks the unit's triple without a fact."""
    assert proposed(row)[0] == TABLE[row]


@pytest.mark.parametrize("row", BY_FACTS)
def test_the_best_proposal_is_not_the_unit_in_every_row(row: int) -> None:
    """In these rows another triple has a smaller maximum error, so the facts are needed."""
    assert proposed(row)[0] != TABLE[row]
    assert TABLE[row] in proposed(row)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("row", [5, 26])
def test_a_row_without_facts_stays_open(row: int) -> None:
    """Without published values every proposal remains, and the derivation says so instead of choosing."""
    elsewhere = [fact for fact in FACTS if place(fact).row != row]

    with pytest.raises(SelfTestFailed, match=rf"^16 of 16 proposals for row {row} .* 0 published values"):
        settled(row, elsewhere)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("row", [5, 26])
@pytest.mark.parametrize("bit", [0, 7, 31])
@pytest.mark.parametrize("which", [0, -1])
def test_one_flipped_bit_in_a_fact_is_noticed(row: int, bit: int, which: int) -> None:
    """A fact that differs in one bit leaves no proposal: every rival has two facts against it."""
    facts = of_row(row)
    facts[which] = dataclasses.replace(facts[which], pattern=facts[which].pattern ^ 1 << bit)

    with pytest.raises(SelfTestFailed, match=rf"^0 of 16 proposals for row {row} "):
        settled(row, facts)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("change", [{"seed": 4}, {"threads": 40_960 + 256}, {"shape": (300, 785)}])
def test_a_fact_of_another_draw_is_noticed(change: dict[str, Any]) -> None:
    """Under the next seed, layout or shape the facts of one card no longer settle their rows."""
    wrong = []
    for fact in FACTS:
        source = dataclasses.replace(fact.source, **change) if fact.source.seed == 3 else fact.source
        wrong.append(dataclasses.replace(fact, source=source))

    with pytest.raises(SelfTestFailed):
        _ = [settled(row, wrong) for row in BY_FIT + BY_FACTS]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("seed", FILES)
@pytest.mark.parametrize("row", BY_FIT + BY_FACTS)
def test_each_card_alone_settles_a_row(row: int, seed: int) -> None:
    """The facts of one card reject all rivals, so no single wrong fact can put a rival in the table."""
    assert settled(row, [fact for fact in FACTS if fact.source.seed == seed]) == TABLE[row]


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("seed", FILES)
def test_each_card_alone_settles_every_row(seed: int) -> None:
    """The whole table follows from either card."""
    facts = [fact for fact in FACTS if fact.source.seed == seed]

    assert [settled(row, facts) for row in range(64)] == TABLE


def test_every_row_has_facts_of_both_cards() -> None:
    """Each card gives each row one or two values; sines and cosines both occur."""
    counts = Counter((place(fact).row, fact.source.seed) for fact in FACTS)

    assert counts.keys() == {(row, seed) for row in range(64) for seed in FILES}
    assert set(counts.values()) == {1, 2}
    assert sum(fact.element // fact.source.threads % 2 for fact in FACTS) == len(FACTS) // 2


def test_the_table_gives_every_fact() -> None:
    """All 212 published values come out bit for bit."""
    assert [predicted(fact, TABLE[place(fact).row]) for fact in FACTS] == [fact.pattern for fact in FACTS]


def test_the_facts_stand_in_the_published_files(cases: Path) -> None:
    """Each fact is the value at its place in the file that its source names by digest."""
    for source in {fact.source for fact in FACTS}:
        path = cases / "real" / FILES[source.seed]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == source.sha256
        with zipfile.ZipFile(path) as archive:
            member = next(name for name in archive.namelist() if name.endswith("/data/0"))
            values = np.frombuffer(archive.read(member), "<u4")
        own = [fact for fact in FACTS if fact.source == source]
        assert [int(values[fact.element]) for fact in own] == [fact.pattern for fact in own]


def test_a_known_draw_is_reproduced() -> None:
    """Seed 42, thread 0: angle, radius and all four outputs are those of a captured draw."""
    threads = 311_296
    source = Source("", "", "", "", "", seed=42, threads=threads, shape=(1, 1))  # a deviation of exactly 1
    facts = [Fact(source, lane * threads, 0) for lane in range(4)]
    first = place(facts[0])

    assert (first.row << 17 | first.x, first.negative) == (0x0EFEA92 & 0x7FFFFF ^ 0x7FFFFF, False)
    assert first.radius.view(np.uint32) == 0x3F7D494B
    values = [predicted(fact, TABLE[place(fact).row]) for fact in facts]
    assert values == [0x3E46ACDD, 0xBF785E5B, 0x3FF64339, 0xBF9E28D4]


def test_the_second_call_of_a_thread_uses_the_next_block() -> None:
    """An element beyond four waves is drawn from the next counter, not from the first again."""
    source = Source("", "", "", "", "", seed=42, threads=256, shape=(1, 1))

    assert place(Fact(source, 0, 0)) != place(Fact(source, 4 * 256, 0))


def test_the_trial_row_is_the_unit() -> None:
    """The derivation's row and the sampler's unit, written apart, agree on random inputs of every row."""
    random = np.random.default_rng(20_260_101)
    for row in range(64):
        x = random.integers(0, 1 << 17, 50)
        here = outputs(np.array([TABLE[row]]), x, squared(x))[0] * 2.0**-37
        unit = [float(quarter(np.uint32(row << 17 | int(value)))) for value in x]
        assert here.tolist() == unit


def test_the_widths_are_those_of_the_unit() -> None:
    """C0 has 26 bits and is even, C1 has 15 bits, C2 has 11 bits; each needs all of them somewhere."""
    assert {len(C0), len(C1), len(C2)} == {64}
    assert {C0.dtype, C1.dtype, C2.dtype} == {np.dtype(np.uint32)}
    assert [int(column.max()).bit_length() for column in (C0, C1, C2)] == [26, 15, 11]
    assert not np.any(C0 & 1)


@pytest.fixture(scope="module")
def first_quadrant() -> NDArray[np.float64]:
    """The unit's results for all 2^23 inputs of the first quarter turn."""
    squares = squared(X)
    rows = [outputs(np.array([triple]), X, squares)[0] for triple in TABLE]
    return np.concatenate(rows) * 2.0**-37


def test_the_ends_of_the_quarter_turn_are_exact(first_quadrant: NDArray[np.float64]) -> None:
    """The sine of 0 is 0, and the last input, which stands for a whole quarter turn, gives 1."""
    assert first_quadrant[0] == 0.0
    assert first_quadrant[-1] == 1.0
    assert first_quadrant.max() == 1.0


def test_the_errors_are_those_known_of_the_unit(first_quadrant: NDArray[np.float64]) -> None:
    """Largest error 2^-22.4, mean -0.2 * 2^-24, equal to the rounded sine for 28.5 % of the inputs."""
    true = np.sin(np.arange(1 << 23) * (np.pi / 2**24))
    error = first_quadrant - true

    assert math.log2(np.abs(error).max()) == pytest.approx(-22.4, abs=0.05)
    assert error.mean() * 2**24 == pytest.approx(-0.2, abs=0.05)
    assert np.mean(first_quadrant == true.astype(np.float32)) == pytest.approx(0.285, abs=0.0005)


def test_the_file_is_what_render_writes() -> None:
    """The table's file has not been edited by hand."""
    assert sine_derivation.TABLE_FILE.read_text(encoding="utf-8") == render(TABLE)


def test_the_command_checks_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command writes the file on request, accepts it then, and refuses one with another number."""
    target = tmp_path / "sine_table.py"
    monkeypatch.setattr(sine_derivation, "TABLE_FILE", target)
    monkeypatch.setattr(sine_derivation, "settled", lambda row, _: TABLE[row])

    assert sine_derivation.main(["--write"]) == 0
    assert target.read_text(encoding="utf-8") == render(TABLE)
    assert sine_derivation.main([]) == 0
    target.write_text(target.read_text(encoding="utf-8").replace("0x6489", "0x6488"), encoding="utf-8")
    assert sine_derivation.main([]) == SelfTestFailed.exit_code
    assert "IS NOT" in capsys.readouterr().out


@pytest.mark.usefixtures("quick")
def test_the_command_reports_an_open_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row that is not settled ends the command with one line and the self-test's exit code."""
    monkeypatch.setattr(sine_derivation, "load", tuple)
    monkeypatch.setattr(sine_derivation, "proposals", lambda _: list(proposed(5)))

    assert sine_derivation.main([]) == SelfTestFailed.exit_code
    assert capsys.readouterr().err.count("\n") == 1


@given(st.integers(min_value=0, max_value=1 << 58))
def test_integers_round_as_float32_does(value: int) -> None:
    """Rounding to 24 bits is the hardware's, to nearest with ties to even and toward zero."""
    # numpy converts the integer to float32 in one rounding.
    assert sine_facts._nearest(value) == int(np.float32(np.int64(value)))
    down = sine_facts._toward_zero(value)
    assert down <= value < down + max(1 << max(value.bit_length() - 24, 0), 1)
    assert down == int(np.float32(down))


@given(st.integers(min_value=0, max_value=(1 << 53) - 1))
def test_arrays_truncate_as_integers_do(value: int) -> None:
    """The array form of the truncation equals the plain one."""
    assert int(truncated(np.array([value]))[0]) == sine_facts._toward_zero(value)
