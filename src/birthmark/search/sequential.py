"""The bounds of the sequential test by which seeds are told true or false (A. Wald, 1945).

A. Wald, "Sequential tests of statistical hypotheses", Annals of Mathematical Statistics 16. Each witness
either holds its standard value's interval or not: with probability HELD at the least if the seed is true,
even where a third of the units are impostors; as often as chance says if it is false. The log-likelihood
ratio of the two grows or shrinks with every witness, and the test ends when it leaves [REJECT, ACCEPT]. A
true seed is then lost with probability below exp(REJECT), a false one kept with probability below
exp(-ACCEPT).
"""

from __future__ import annotations

#: The least share of witnesses that a true seed predicts.
HELD = 0.6
#: Natural logarithms: a true seed is lost once in 36,000, a false one kept once in 7e10.
REJECT, ACCEPT = -10.5, 25.0
#: Where the witnesses run out undecided, this much is enough.
UNDECIDED = 14.0
#: One witness alone never counts for more than a chance of 1 in 1,000.
LEAST_CHANCE = 1e-3
#: A witness so blunt that a false seed holds it nearly as often counts as this much rarer among false ones.
LEAST_LEAD = 0.1
