"""The tail of decoys: counted as a scan would score them."""

from __future__ import annotations

import numpy as np

from birthmark.calibration.tail import FIRST_SEED, SIGMAS, UNIT, VALUES, count_scores, measure, stored_values
from birthmark.evidence.score import score
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.samplers.arithmetic import code_of


def test_scores_are_those_of_a_scan() -> None:
    """The counts are those of `evidence.score` on `Hypothesis.standard`, for lanes 0 and 1 of each thread."""
    names, values = stored_values(0)
    sigmas = np.array([-1.0, 0.0, 1.0])
    counts = np.zeros((len(names), 3), np.int64)
    threads = 256
    places = np.stack([np.arange(VALUES // 2), np.arange(VALUES // 2) + threads], axis=1).ravel()
    hypothesis = Hypothesis(Draw("normal", (0.0, 1.0), (2 * threads,)), threads)

    count_scores(
        np.uint64(FIRST_SEED), 20, np.ascontiguousarray(values.T), sigmas, code_of("nvidia-volta+"), counts
    )
    expected = np.zeros_like(counts)
    for seed in range(FIRST_SEED, FIRST_SEED + 20):
        standard = hypothesis.standard(seed, places)
        for family, stored in enumerate(values):
            sigma = score(stored, standard).sigma
            assert sigma is not None
            expected[family] += sigma >= sigmas

    assert np.array_equal(counts, expected)


def test_decoys_follow_the_nominal_tail() -> None:
    """Two units of decoys lie above 1 and 2 sigma as often as a normal does, in every family."""
    tail = measure(2 * UNIT - 1, 0, 1)

    assert tail.decoys == 2 * UNIT
    for sigma in (1.0, 2.0):
        place = SIGMAS.index(sigma)
        expected = tail.expected[place]
        assert (np.abs(tail.counts[:, place] - expected) < 6 * np.sqrt(expected)).all()
