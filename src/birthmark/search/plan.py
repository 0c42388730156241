"""The plan: all that is settled before the first seed, and the fingerprint by which a search is known again.

A plan is a pure function of the selection and the options, so a resumed search makes the same one again, and
stages are a pure function of the plan (see `search.stages`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np

from birthmark import __version__
from birthmark.devices.catalogue import exhaustive_threads, table_threads
from birthmark.errors import NothingToSearch, UsageError
from birthmark.recipes.seeds import dictionary
from birthmark.recipes.sharding import SEED_SPACE, Sharding
from birthmark.search.confirm import decisive, kind_of, prepare
from birthmark.search.correlation import least_elements
from birthmark.search.elements import LARGEST_WITNESS, Elements, probe_candidates, usable, witnesses
from birthmark.search.families import (
    SIGMAS,
    SMALLER_WITNESS,
    Family,
    altered_families,
    looks_altered,
    looks_cut,
    other_families,
    own_family,
)
from birthmark.search.options import Options
from birthmark.search.seeds import Seeds, listed
from birthmark.search.space import Prediction, effective_dtype, predictions, shardings
from birthmark.survivors.split import Selection

#: So many seeds are tried with every family.
FEW_SEEDS = 1 << 22
#: A candidate counts as verified when its log10 p, after all trials of its search, is below this.
VERIFIED = -6.0


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """All that is settled before the first seed.

    Attributes:
        selection: what the search may see.
        options: what was asked for.
        cuts: the shardings.
        table: the distinct predictions of the table's layouts (or of those that were asked for).
        elements: probe candidates, then witnesses.
        candidates: how many of the elements are probe candidates.
        dictionary: the seeds that are tried first.
        double: whether the draw is in double precision.
        family: what is taken to have drawn the values.
    """

    selection: Selection
    options: Options
    cuts: tuple[Sharding, ...]
    table: tuple[Prediction, ...]
    elements: Elements
    candidates: int
    dictionary: Seeds
    double: bool
    family: Family

    @property
    def fingerprint(self) -> str:
        """A digest of everything that decides the plan: equal for the same search only."""
        selection, options = self.selection, self.options
        facts = {
            "version": __version__,
            "tensor": selection.tensor,
            "shape": selection.shape,
            "dtype": selection.dtype,
            "axis": selection.axis,
            "distribution": selection.distribution,
            "scale": [selection.scale.hex(), selection.scale_error.hex()],
            "options": repr(replace(options, workers=None, everything=False)),
            "layouts": [self.layouts(wide=False), self.layouts(wide=True)],
            "dictionary": self.dictionary.digest,
        }
        digest = blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16)
        for part in (selection.indices, selection.values, selection.unit, selection.probability):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def layouts(self, *, wide: bool) -> tuple[int, ...]:
        """The G's of the table, or all; those that were asked for instead of either."""
        if self.options.layouts is not None:
            return self.options.layouts
        return exhaustive_threads() if wide else table_threads()

    def predictions(self, layouts: Sequence[int]) -> tuple[Prediction, ...]:
        """The distinct predictions of these layouts."""
        return predictions(self.selection, layouts, self.cuts, self.options.offset, self.family)


def hidden_plans(plan: Plan) -> tuple[Plan, ...]:
    """A plan for each family that may hide behind what the values were taken for, as far as there is one."""
    found = []
    families = other_families(plan.selection) if plan.options.truncated else ()
    for family in (*families, *altered_families(plan.selection)):
        try:
            found.append(make_plan(plan.selection, plan.options, family))
        except NothingToSearch:
            continue
    return tuple(found)


def by_promise(plain: Plan, hidden: Sequence[Plan]) -> tuple[Plan, ...]:
    """The plans in the order in which every seed is tried: the plain one last if the values look cut off.

    Altered survivors cost most; they are supposed where the values look it, and where seeds are few.
    """
    first, stop = plain.options.seeds
    if stop - first > FEW_SEEDS and not looks_altered(plain.selection):
        hidden = [each for each in hidden if each.family.scale is None]
    cut = any(looks_cut(plain.selection, sigmas) for sigmas in SIGMAS if not math.isinf(sigmas))
    return (*hidden, plain) if cut else (plain, *hidden)


def make_plan(selection: Selection, options: Options, family: Family | None = None) -> Plan:
    """Settle what a search will do for one family, by default what the values were taken for.

    Raises:
        NothingToSearch: the selection has too few usable values for any answer to be verified.
        UsageError: the options do not fit the tensor.
    """
    if not (selection.scale > 0 and math.isfinite(selection.scale) and selection.scale_error >= 0):
        raise NothingToSearch(
            f"the scale of {selection.tensor} is {selection.scale} with an error of {selection.scale_error}: "
            "nothing can be predicted up to such a scale."
        )
    cuts = shardings(selection, options.ways)
    if not cuts:
        raise UsageError(
            f"{selection.tensor} of shape {selection.shape} cannot be cut into any of {options.ways} ways; "
            "leave the ways out, or add 1."
        )
    dtype = effective_dtype(selection)
    family = family or own_family(selection)
    elements = usable(selection, dtype, family)
    table = predictions(selection, options.layouts or table_threads(), cuts, options.offset, family)
    also = np.array([seed % SEED_SPACE for seed in options.also], np.uint64)
    first = listed(np.concatenate([dictionary(), also]) if options.dictionary else also)
    trials = max(len(table), 1) * max(options.seeds[1] - options.seeds[0], first.size, 1) * len(family.sigmas)
    least = least_elements(VERIFIED, trials)
    if len(elements) < least:
        raise NothingToSearch(
            f"{len(elements)} untouched values of {selection.tensor} can be searched with: "
            f"{least} are needed for an answer that stands out of {trials:.1e} trials."
        )
    largest = SMALLER_WITNESS if family.scale is not None else LARGEST_WITNESS
    asked = witnesses(elements, normal=family.source == "normal", largest=largest)
    double = dtype == "float64"
    if not decisive(prepare(asked, kind_of(family.source, double=double))):
        raise NothingToSearch(
            f"{len(asked)} untouched values of {selection.tensor} are too few, or their scale is too "
            f"uncertain ({selection.scale_error:.1%}), to tell a true seed from a false one."
        )
    candidates = probe_candidates(elements, normal=family.source == "normal")
    return Plan(
        selection,
        options,
        cuts,
        table,
        Elements.joined(candidates, asked),
        len(candidates),
        first,
        double,
        family,
    )
