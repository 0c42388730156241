"""Options that are small languages of their own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from birthmark.cli.parsing import parse_number, parse_numbers, parse_placements, parse_range, parse_shape
from birthmark.errors import UsageError
from birthmark.recipes.dtensor import Shard


class TestShape:
    """parse_shape."""

    @pytest.mark.parametrize("text", ["", ",", "1.5", "-1,4", "a,b", "8;4", "٣,4", "8,,4"])
    def test_refuses_what_is_no_shape(self, text: str) -> None:
        """Anything but extents is a usage error that shows an example."""
        with pytest.raises(UsageError, match=r"128256,4096"):
            parse_shape(text)

    @given(st.lists(st.integers(0, 10**9), min_size=1, max_size=5), st.sampled_from([",", "x", ", "]))
    def test_reads_extents(self, extents: list[int], separator: str) -> None:
        """Commas, crosses and spaces separate extents."""
        assert parse_shape(separator.join(map(str, extents))) == tuple(extents)


class TestRange:
    """parse_range."""

    @pytest.mark.parametrize("text", ["", "7", "5:5", "6:2", "0:101", "-1:4", "a:b", "1:2:3"])
    def test_refuses_what_is_no_range(self, text: str) -> None:
        """Empty, reversed, too wide and malformed ranges are usage errors."""
        with pytest.raises(UsageError, match="--rows"):
            parse_range("--rows", text, most=100)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [("0:8", (0, 8)), (":8", (0, 8)), ("90:", (90, 100)), (":", (0, 100)), ("1_0:2_0", (10, 20))],
    )
    def test_reads_a_range(self, text: str, expected: tuple[int, int]) -> None:
        """Either side may be left out."""
        assert parse_range("--rows", text, most=100) == expected


class TestNumbers:
    """parse_number, parse_numbers."""

    @pytest.mark.parametrize(
        ("text", "expected"),
        [("0.02", 0.02), ("-5", -5), ("1e-3", 0.001), ("9223372036854775807", 2**63 - 1), ("None", None)],
    )
    def test_reads_numbers(self, text: str, expected: float | None) -> None:
        """Whole numbers stay exact, none leaves a bound out."""
        assert parse_number("--low", text) == expected
        assert isinstance(parse_number("--low", text), type(expected))

    @pytest.mark.parametrize("text", ["", "half", "nan", "inf", "-inf", "1,5", "0x10"])
    def test_refuses_what_is_no_number(self, text: str) -> None:
        """Anything else is a usage error with the option's name."""
        with pytest.raises(UsageError, match="--low"):
            parse_number("--low", text)

    def test_reads_names(self) -> None:
        """Each name once, with its number."""
        assert parse_numbers("--parameter", ["rate=2", " p = 0.5"]) == {"rate": 2, "p": 0.5}
        for texts in (["rate"], ["=2"], ["rate=2", "rate=3"], ["rate="]):
            with pytest.raises(UsageError, match="--parameter"):
                parse_numbers("--parameter", texts)


class TestPlacements:
    """parse_placements."""

    def test_reads_placements(self) -> None:
        """A dimension, a dimension cut in the strided way, replicas; nothing for no mesh."""
        assert parse_placements("--placements", "0/4, 1,R") == (Shard(0, 4), Shard(1), None)
        assert parse_placements("--placements", "") == ()

    @pytest.mark.parametrize("text", ["x", "0/", "/2", "-1", "0,,1", "0/x", "0/2/3"])
    def test_refuses_what_is_no_placement(self, text: str) -> None:
        """Anything else is a usage error that shows the three forms."""
        with pytest.raises(UsageError, match="0/4 or r"):
            parse_placements("--placements", text)
