"""What has been scanned for every seed, and which predictions that serves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from birthmark.search.space import Prediction

#: A prediction by its sharding, draw dtype and smallest G.
Identity = tuple[int, str, int]


def identity(prediction: Prediction) -> Identity:
    """What tells a prediction from all others of a search."""
    hypothesis = prediction.hypothesis
    return hypothesis.sharding.ways, hypothesis.draw.dtype, prediction.threads[0]


@dataclass(frozen=True, slots=True)
class Scan:
    """One probe in one place, scanned for every seed.

    Attributes:
        element: the probe.
        packed: its packed place.
        served: the predictions whose other elements were compared.
        at_least: every layout from this G up is served as well; None for no others.
    """

    element: int
    packed: int
    served: frozenset[Identity]
    at_least: int | None


@dataclass(slots=True)
class Coverage:
    """The scans of a plan's stages so far, by probe and place."""

    scans: dict[tuple[int, int], list[Scan]] = field(default_factory=dict)

    def add(self, scans: Iterable[Scan]) -> None:
        """Take note of more scans."""
        for scan in scans:
            self.scans.setdefault((scan.element, scan.packed), []).append(scan)

    def serving(self, prediction: Prediction, places: dict[int, int]) -> frozenset[int]:
        """The probes that were scanned for a prediction.

        Args:
            prediction: the prediction.
            places: the packed place of each probe candidate under it.
        """
        name, threads = identity(prediction), prediction.threads[0]
        return frozenset(
            element
            for element, packed in places.items()
            for scan in self.scans.get((element, packed), ())
            if name in scan.served or (scan.at_least is not None and threads >= scan.at_least)
        )

    @property
    def elements(self) -> frozenset[int]:
        """Every probe that was scanned anywhere."""
        return frozenset(element for element, _ in self.scans)
