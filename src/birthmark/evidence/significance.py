"""How surprising a score is: Gaussian tails and trials, as base-10 logarithms that never underflow.

Under a wrong seed the predicted values are independent of the stored ones, so r sqrt(n) is standard normal
for large n, whatever the stored values are. For small n its tail is lighter, since r cannot exceed 1: with
n = 64, 10^8 decoys exceed 1.5 sigma 3 % more often than a normal does, and from 2.25 sigma on ever more
rarely (`birthmark.calibration.tail`, docs/calibration.md).
"""

from __future__ import annotations

import math

from scipy.special import log_ndtr

#: After all trials a score must be rarer than this, on the selection and again on the hold-out.
SIGNIFICANT = -4.0
#: Where no hold-out element remains, the selection alone must be rarer than this.
SIGNIFICANT_ALONE = -12.0


def log10_tail(sigma: float) -> float:
    """log10 of the probability that a standard normal reaches `sigma` or more; 0 at the most."""
    return min(0.0, float(log_ndtr(-sigma)) / math.log(10.0)) + 0.0


def after_trials(log10_p: float, trials: int) -> float:
    """log10 of 1 - (1 - p)^trials: the chance that any of `trials` independent tries is as rare as p.

    Args:
        log10_p: log10 of the probability of one try, at most 0.
        trials: number of tries, at least 1; may exceed 2^64.

    Returns:
        At most 0 and never below `log10_p`. For small p it is log10(p) + log10(trials).
    """
    if log10_p >= 0.0:
        return 0.0
    ln_p = log10_p * math.log(10.0)
    # -ln(1 - p): p itself where p is too small for a float to tell the difference.
    ln_rate = ln_p if ln_p < -30.0 else math.log(-_ln_complement(ln_p))
    ln_tries = ln_rate + math.log(max(1, trials))
    if ln_tries < -30.0:
        ln_any = ln_tries
    elif ln_tries > 6.0:  # exp(-400) is no longer seen beside 1
        ln_any = 0.0
    else:
        ln_any = math.log(-math.expm1(-math.exp(ln_tries)))
    return min(0.0, ln_any / math.log(10.0)) + 0.0


def _ln_complement(ln_p: float) -> float:
    """Natural logarithm of 1 - p from ln p < 0, accurate at both ends."""
    return math.log(-math.expm1(ln_p)) if ln_p > -math.log(2.0) else math.log1p(-math.exp(ln_p))
