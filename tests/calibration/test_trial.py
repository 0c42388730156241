"""Trials: what is right, silent and wrong."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.calibration.made import NAME, SHAPE, MadeCheckpoint, some_rows, trained
from birthmark.calibration.nulls import FAMILIES, informative_threads, null
from birthmark.calibration.seeds import SEEDS, searched_seed, with_dictionary
from birthmark.calibration.trial import Job, run, weighed
from birthmark.calibration.truths import AXES, truth
from birthmark.errors import UnknownName
from birthmark.reports.reading import Reading
from birthmark.scan import ScanOptions, scan
from birthmark.search.options import Options


@pytest.fixture(scope="module")
def strong() -> tuple[Reading, int, int]:
    """The reading of a table with many survivors, and its true seed and layout."""
    made = truth("survivors", 32, np.random.default_rng(5), 1)
    options = ScanOptions(search=Options(seeds=SEEDS, dictionary=False, workers=1), cpu=False)
    return scan(MadeCheckpoint(made.made), options, command="test").reading, made.seed, made.threads


class TestWeighed:
    def test_a_true_reading_is_right(self, strong: tuple[Reading, int, int]) -> None:
        """The seed and layout that made the table, and no other, are right."""
        reading, seed, threads = strong

        assert reading.verdict == "match"
        assert weighed(reading, seed, threads) == ("right", "")

    def test_another_seed_is_wrong(self, strong: tuple[Reading, int, int]) -> None:
        """A reading that names another seed than the true one accuses somebody."""
        reading, seed, threads = strong

        assert weighed(reading, seed + 1, threads) == ("wrong", f"seed {seed} instead of {seed + 1}")

    def test_another_layout_is_wrong(self, strong: tuple[Reading, int, int]) -> None:
        """So does one that excludes the true layout."""
        reading, seed, threads = strong
        other = next(each for each in informative_threads() if each != threads)

        outcome, claims = weighed(reading, seed, other)

        assert outcome == "wrong"
        assert str(other) in claims

    def test_any_seed_in_a_null_checkpoint_is_wrong(self, strong: tuple[Reading, int, int]) -> None:
        """Where there is nothing to find, a seed is wrong even if it fits."""
        assert weighed(strong[0], None, None)[0] == "wrong"


def test_a_null_checkpoint_is_met_with_silence() -> None:
    """Noise in rows that training left alone is searched for, and nothing is claimed."""
    result = run(Job("null", "noise", 0.0, 1, 0))

    assert (result.outcome, result.verdict, result.log10_p) == ("silent", "none", None)
    assert result.trials > 10**6


def test_a_trial_searches_the_seed_of_its_checkpoint() -> None:
    """Every twentieth trial draws with a seed that people use, the others with one of the stated range."""
    random = np.random.default_rng(0)

    for number in range(1, 20):
        assert not with_dictionary(number)
        assert SEEDS[0] <= searched_seed(random, number) < SEEDS[1]
    assert with_dictionary(20)


def test_a_job_makes_the_same_checkpoint_again() -> None:
    """A trial depends on its own name and the seed, not on what ran before it."""
    job = Job("null", "shuffled-rows", 0.0, 3, 7)

    first, second = (null(job.family, job.random(), job.number).made for _ in range(2))

    assert np.array_equal(first.values, second.values)
    assert first.dtype == "float32"


@pytest.mark.parametrize("family", FAMILIES)
def test_families_fill_the_table(family: str) -> None:
    """Each family gives a whole table of finite values, some rows of which training left alone."""
    made = null(family, np.random.default_rng(1), 0).made

    assert made.values.shape == SHAPE
    assert np.isfinite(made.values).all()
    assert len(made.kept) == 48


@pytest.mark.parametrize("axis", AXES)
def test_steps_keep_as_many_rows_as_they_say(axis: str) -> None:
    """At the last step of an axis as many rows survive as it says."""
    last = AXES[axis].steps[-1]
    made = truth(axis, last, np.random.default_rng(3), 0)

    assert made.made.values.shape == SHAPE
    assert len(made.made.kept) == {"survivors": last, "altered": 32, "correlation": 0}[axis]


def test_unknown_names_list_the_nearest() -> None:
    """Families and axes that are not there are named with their nearest."""
    random = np.random.default_rng(0)

    with pytest.raises(UnknownName, match="noise"):
        null("noises", random, 0)
    with pytest.raises(UnknownName, match="altered"):
        truth("alterd", 0.1, random, 0)


def test_training_leaves_kept_rows_alone() -> None:
    """All rows but the kept ones change; those stay to the last bit."""
    random = np.random.default_rng(2)
    initial = random.standard_normal(SHAPE).astype(np.float32)
    kept = some_rows(random, 5)

    made = trained(random, initial, kept, "float32")
    same = (made.values == initial).all(axis=1)

    assert np.flatnonzero(same).tolist() == kept.tolist()


def test_a_made_checkpoint_reads_like_a_file() -> None:
    """Rows, chosen rows and elements are those of the table."""
    made = null("noise", np.random.default_rng(1), 0).made
    with MadeCheckpoint(made) as checkpoint:
        assert np.array_equal(checkpoint.rows(NAME, 3, 5), made.values[3:5])
        assert np.array_equal(checkpoint.take(NAME, np.array([7, 2])), made.values[[7, 2]])
        assert np.array_equal(checkpoint.elements(NAME, np.array([65])), made.values[1, 1:2])
        assert checkpoint.bytes_read == 0


@pytest.mark.parametrize(
    ("family", "least", "most"),
    [("alike-rows", 0.05, 0.2), ("repeated-rows", 0.05, 0.2), ("noise", -0.02, 0.02), ("jax", -0.02, 0.02)],
)
def test_structured_families_have_rows_that_are_alike(family: str, least: float, most: float) -> None:
    """The untouched rows correlate with each other, as no draw's do."""
    made = null(family, np.random.default_rng(4), 0).made
    rows = made.values[made.kept].astype(np.float64)
    rows = (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)
    alike = rows @ rows.T / rows.shape[1]

    assert least < (alike.sum() - np.trace(alike)) / (len(rows) * (len(rows) - 1)) < most
