"""Published statements beside readings: agreement, difference, and what is neither."""

from __future__ import annotations

from typing import Any

import pytest

from birthmark.catalogue.catalogue import Catalogue
from birthmark.catalogue.consistency import accounts, compare, own_contradictions

from .conftest import Make


def test_a_reading_that_says_the_same_agrees(published: Make, ours: Make) -> None:
    """Seed, generator and layout agree, and each is named."""
    found = compare(published(), ours())
    assert found.outcome == "agrees"
    assert found.remarks == ("seed 953049583", "generator philox", "G 303,104 (B200)")


@pytest.mark.parametrize(
    ("changes", "remark"),
    [
        ({"seed": 953_049_584}, "published seed 953049583, read 953049584"),
        ({"threads": 311_296}, "published G 303,104 (B200), read 311,296"),
        ({"generator": "mt19937"}, "published generator philox, read mt19937"),
        ({"threads": None, "not_excluded": [270_336, 311_296]}, "which the reading excludes"),
    ],
)
def test_a_reading_that_says_something_else_differs(
    published: Make, ours: Make, changes: dict[str, Any], remark: str
) -> None:
    """One item that is different is enough, and is named."""
    found = compare(published(), ours(**changes))
    assert found.outcome == "differs"
    assert any(remark in each for each in found.remarks)


def test_an_open_layout_refutes_nothing(published: Make, ours: Make) -> None:
    """A G that is not excluded is no agreement and no difference."""
    found = compare(published(), ours(threads=None, not_excluded=[270_336, 303_104]))
    assert (found.outcome, len(found.remarks)) == ("agrees", 2)
    only_layout = published(seed=None, generator=None)
    assert compare(only_layout, ours(threads=None, not_excluded=[303_104])).outcome == "not comparable"


def test_devices_stand_for_their_layout(published: Make, ours: Make) -> None:
    """A source that names devices only is held to the G's that they launch."""
    named = published(sm_count=None, threads=None, devices=["H100 SXM", "B200"])
    assert compare(named, ours()).outcome == "agrees"
    assert compare(named, ours(threads=221_184)).outcome == "differs"


def test_another_tensor_is_not_compared(published: Make, ours: Make) -> None:
    """Two tensors may have been drawn under two seeds."""
    found = compare(published(tensor="lm_head"), ours(seed=5))
    assert found.outcome == "not comparable"


def test_nothing_found_refutes_nobody(published: Make, ours: Make) -> None:
    """A search that found nothing is neither agreement nor difference."""
    nothing = ours(verdict="none", seed=None, generator=None, tensor=None, threads=None, offset=None)
    assert compare(published(), nothing).outcome == "not found"


def test_a_declared_seed_may_lead_to_the_one_that_was_read(published: Make, ours: Make) -> None:
    """A seed that a known program makes of the declared one agrees; a neighbour, or a reading's, does not."""
    declared = published(
        kind="declaration", seed=596_210_749, generator=None, sm_count=None, threads=None, devices=[]
    )
    found = compare(declared, ours(seed=168_449_886))
    assert found.outcome == "agrees"
    assert "Sacred" in found.remarks[0]
    wrong = compare(declared, ours(seed=168_449_887))
    assert (wrong.outcome, wrong.remarks[0]) == ("differs", "declared seed 596210749, read 168449887")
    assert compare(published(seed=596_210_749), ours(seed=168_449_886)).outcome == "differs"


def test_predictions_are_held_to_the_values(published: Make, ours: Make) -> None:
    """A predicted draw agrees if all its printed values do."""
    draw = published(subject="draw", maker=None, kind="device-output")
    for count, outcome in ((5, "agrees"), (4, "differs")):
        matched = {"count": count, "of": 5, "things": "values"}
        predicted = ours(subject="draw", maker=None, kind="prediction", verdict=None, matched=matched)
        assert compare(draw, predicted).outcome == outcome


def test_an_account_takes_the_weightiest_outcome(published: Make, ours: Make) -> None:
    """Two seeds in one reading do not refute a source that names one; another reading's seed does."""
    other = ours(seed=7)
    (one,) = accounts(Catalogue((published(), ours(), other)))
    assert (one.standing, len(one.comparisons)) == ("agrees", 1)
    (two,) = accounts(Catalogue((published(), ours(), ours(seed=7, digest="cd" * 32))))
    assert (two.standing, len(two.comparisons)) == ("differs", 2)
    theirs, own = accounts(Catalogue((published(), ours(model="Beta-2"))))
    assert (theirs.standing, own.standing) == ("only published", "only ours")


def test_a_source_can_contradict_itself(published: Make) -> None:
    """Devices that do not launch the stated G are named; those that do are not."""
    assert own_contradictions(published()) == ()
    assert own_contradictions(published(devices=["B200", "H20"])) == (
        "H20 launches 159,744 threads, not 303,104",
    )
