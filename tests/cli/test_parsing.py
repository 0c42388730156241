"""Options that are small languages of their own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from birthmark.cli.parsing import parse_range, parse_shape
from birthmark.errors import UsageError


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
