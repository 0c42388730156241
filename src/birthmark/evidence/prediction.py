"""A prediction held against stored values: computed once, asked by everything that follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.elements import Elements
from birthmark.evidence.exactness import Exactness, count, explained, same_bits
from birthmark.evidence.fit import Fit
from birthmark.numerics.dtypes import ulps


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What a fit and a seed predict for some elements, beside what is stored.

    Attributes:
        standard: standard normals, unit uniforms or standard truncated normals.
        equal: whether the stored bits are the predicted ones.
        distance: int64, units in the last place between stored and predicted values.
        near: whether rounding and the arithmetic's last bits explain the residual.
    """

    standard: NDArray[Any]
    equal: NDArray[np.bool_]
    distance: NDArray[np.int64]
    near: NDArray[np.bool_]

    def exactness(self, which: NDArray[np.bool_] | None = None) -> Exactness:
        """Bit-exact counts of all elements, or of some."""
        if which is None:
            return count(self.equal, self.distance)
        return count(self.equal[which], self.distance[which])


def predict(fit: Fit, seed: int, elements: Elements, dtype: str) -> Prediction:
    """Predict elements and compare them with what is stored."""
    raw = fit.hypothesis.raw(seed, elements.indices)
    stored = fit.stored(raw, dtype)
    distance = ulps(elements.values, stored, dtype)
    near = explained(elements.values, stored, distance, fit.scale.value, decayed=fit.decayed)
    standard = fit.hypothesis.draw.standard(raw)
    return Prediction(standard, same_bits(elements.values, stored), distance, near)
