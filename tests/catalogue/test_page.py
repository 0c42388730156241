"""docs/consistency.md is what the data give, and the draws that it lists are predicted as it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from birthmark.catalogue.catalogue import Catalogue, bundled
from birthmark.catalogue.entry import Entry
from birthmark.catalogue.page import page
from birthmark.hypothesis import Arithmetic, Draw, Hypothesis

from .conftest import Make

COMMITTED = Path(__file__).resolve().parents[2] / "docs" / "consistency.md"


def test_the_committed_page_is_what_the_data_give() -> None:
    """Nobody edits the page by hand, and nobody forgets to write it again."""
    assert COMMITTED.read_text(encoding="utf-8") == page(bundled()), (
        "run `birthmark catalogue --no-own --write docs/consistency.md`"
    )


def test_a_difference_is_said(published: Make, ours: Make) -> None:
    """The page of an entry whose seed differs says so; that of one that agrees does not."""
    differing = page(Catalogue((published(), ours(seed=4))))
    assert "**differs**: published seed 953049583, read 4" in differing
    assert "**differs**" not in page(Catalogue((published(), ours())))


def test_cells_cannot_break_a_table(published: Make) -> None:
    """A bar or a line break in a name stays within its cell."""
    text = page(Catalogue((published(model="a|b\nc"),)))
    assert "| a\\|b c | Acme |" in text


def test_no_entries_make_a_page() -> None:
    """Also an empty catalogue has one."""
    assert page(Catalogue(())).endswith("prints all of it.\n")


PRINTED = [entry for entry in bundled().entries if entry.draw is not None]


@pytest.mark.parametrize("printed", PRINTED, ids=lambda entry: entry.model)
def test_draws_are_predicted_as_listed(printed: Entry) -> None:
    """So many of the printed values come out as the catalogue says, and none to all of them a seed later."""
    assert printed.draw is not None
    (ours,) = [entry for entry in bundled().of_model(printed.model) if entry.kind == "prediction"]
    assert ours.matched is not None
    assert ours.seed is not None
    call = printed.draw
    a, b = call.parameters
    arithmetic: Arithmetic = "amd" if ours.arithmetic == "amd" else "nvidia-volta+"
    hypothesis = Hypothesis(
        Draw(call.distribution, (a, b), tuple(call.shape)), ours.threads or 40_960, arithmetic
    )
    where = np.array(call.indices, np.int64)

    def equal(seed: int) -> int:
        values = hypothesis.values(seed, where).tolist()
        digits = [len(text.partition(".")[2]) for text in call.shown]
        return sum(f"{v:.{d}f}" == s for v, d, s in zip(values, digits, call.shown, strict=True))

    assert (equal(ours.seed), len(call.shown)) == (ours.matched.count, ours.matched.of)
    assert equal(ours.seed + 1) == 0
