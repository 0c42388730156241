"""One maker's releases: a base seed in common, or none."""

from __future__ import annotations

from birthmark.catalogue.catalogue import Catalogue, bundled
from birthmark.catalogue.makers import releases

from .conftest import Make


def test_a_rare_seed_twice_is_one_base(published: Make, ours: Make) -> None:
    """Two releases with one seed that nobody types, on two layouts."""
    second = published(model="Alpha-2", sm_count=132, threads=270_336, devices=[])
    (found,) = releases(Catalogue((published(), ours(), second)))
    assert found.base is not None
    assert (found.base.base, found.base.significant) == (953_049_583, True)
    assert found.layouts == {303_104: ("Alpha-1",), 270_336: ("Alpha-2",)}
    assert found.births["Alpha-1"].read_by == "birthmark"
    assert "chance is excluded" in found.sentences[0]
    assert found.sentences[1].startswith("2 layouts")
    assert found.sentences[2] == "As published, not read here: Alpha-2."


def test_other_seeds_have_no_base(published: Make) -> None:
    """Two rare seeds that no rule relates are no kin, and the sentence says so."""
    (found,) = releases(Catalogue((published(), published(model="Alpha-2", seed=811_222_333))))
    assert found.base is None
    assert "no base in common" in found.sentences[0]
    assert found.sentences[1] == "One layout: 303,104 threads (Alpha-1, Alpha-2)."


def test_a_default_seed_says_little(published: Make) -> None:
    """A seed that many use is common without meaning anything."""
    (found,) = releases(Catalogue((published(seed=42), published(model="Alpha-2", seed=42))))
    assert found.base is not None
    assert not found.base.significant
    assert "chance is not excluded" in found.sentences[0]


def test_declared_seeds_do_not_count(published: Make) -> None:
    """What a configuration declares was not read, so it relates nothing."""
    declared = published(model="Alpha-2", kind="declaration")
    (found,) = releases(Catalogue((published(), declared)))
    assert (found.open, found.base) == (("Alpha-2",), None)
    assert found.sentences == ("1 of 2 has a seed that was read: nothing to compare.",)
    assert releases(Catalogue((published(),))) == ()


def test_bundled_makers() -> None:
    """Two published models share a base on two layouts; eight old models of one paper share none."""
    found = {one.maker: one for one in releases(bundled())}
    shared = found["DeepSeek"].base
    assert shared is not None
    assert (shared.base, sorted(found["DeepSeek"].layouts)) == (953_049_583, [270_336, 303_104])
    assert len(found["txie-93/cgcnn"].births) == 8
    assert found["txie-93/cgcnn"].base is None
    chgnet = found["CederGroupHub/chgnet"].base
    assert chgnet is not None
    assert (sorted(chgnet.rules), chgnet.others) == (["CHGNet 0.3.0", "CHGNet r2SCAN"], ("CHGNet 0.2.0",))
