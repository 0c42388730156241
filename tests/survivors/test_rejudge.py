"""The second stage: units against their predictions."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.errors import UsageError
from birthmark.numerics.dtypes import round_to
from birthmark.survivors.rejudge import rejudge


def predictions(rows: int = 200, width: int = 96) -> np.ndarray:
    """Initial values in float32."""
    return (np.random.default_rng(0).standard_normal((rows, width)) * 0.02).astype(np.float32)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("factor", [1.0, 0.796, 0.9999])
def test_survivors_and_touched_rows_part(dtype: str, factor: float) -> None:
    """Rows that agree up to rounding survive; rows that correlate at 0.99 do not."""
    drawn = predictions()
    random = np.random.default_rng(1)
    stored = drawn * np.float32(factor)
    stored[100:] += (0.1 * 0.02 * random.choice([-1, 1], (100, 96))).astype(np.float32)

    judged = rejudge(round_to(stored, dtype), drawn, dtype)

    assert judged.correlation[100:].min() > 0.97
    assert judged.survives[:100].all()
    assert not judged.survives[100:].any()
    assert judged.altered[:100].sum() == 0
    assert judged.factor == pytest.approx(factor, rel=2e-3)


def test_altered_values_are_counted() -> None:
    """A few changed values do not undo a survivor, and they are found."""
    drawn = predictions()
    stored = drawn.copy()
    stored[:20, [3, 40, 77]] += np.float32(0.01)

    judged = rejudge(round_to(stored, "bfloat16"), drawn, "bfloat16")

    assert judged.survives.all()
    assert judged.altered[:20].tolist() == [3] * 20
    assert judged.altered[20:].sum() == 0
    assert not judged.agrees[:20, [3, 40, 77]].any()


def test_coarse_draws_are_rounded_twice() -> None:
    """Values drawn in bfloat16, decayed and stored in bfloat16 still agree."""
    drawn = round_to(predictions(), "bfloat16")
    stored = round_to(drawn.astype(np.float64) * 0.37, "bfloat16")

    assert rejudge(stored, drawn, "bfloat16", factor=0.37).survives.all()


def test_wrong_predictions_find_nothing() -> None:
    """Another seed, shuffled rows and zeros agree with no row."""
    drawn = predictions()
    stored = round_to(drawn, "bfloat16")
    other = np.random.default_rng(9).standard_normal(drawn.shape).astype(np.float32) * np.float32(0.02)

    for wrong in (other, drawn[::-1], np.zeros_like(drawn), -drawn):
        assert not rejudge(stored, wrong, "bfloat16", factor=1.0).survives.any()
        assert not rejudge(stored, wrong, "bfloat16").survives[:90].any() or np.array_equal(wrong, -drawn)


def test_values_that_are_not_finite_never_agree() -> None:
    """A row of NaN is no survivor, and an infinity in a good row counts as altered."""
    drawn = predictions()
    stored = drawn.copy()
    stored[3] = np.nan
    stored[4, 7] = np.inf

    judged = rejudge(stored, drawn, "float32")

    assert not judged.survives[3]
    assert judged.survives[4]
    assert judged.altered[4] == 1
    assert np.isfinite(judged.probability).all()
    assert np.isfinite(judged.correlation).all()


def test_the_prior_matters_where_values_do_not_decide() -> None:
    """Of a row with about a fifth of its values altered the survey's probability decides."""
    drawn = predictions(width=20)
    stored = drawn.copy()
    stored[:, :4] += np.float32(0.01)

    assert rejudge(stored, drawn, "float32", factor=1.0, prior=0.99).probability[0] > 0.5
    assert rejudge(stored, drawn, "float32", factor=1.0, prior=0.01).probability[0] < 0.5


def test_shapes_must_agree() -> None:
    """Predictions of other units are refused in one line."""
    with pytest.raises(UsageError, match="cannot be judged"):
        rejudge(predictions(3), predictions(4), "float32")
