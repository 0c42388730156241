"""The sentences about seeds, one for each seed, and the same as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from birthmark.evidence.maker import SameBase
from birthmark.lineage.origins import Seeds, SharedSeed
from birthmark.lineage.wording import NAMED, named


def about_seeds(seeds: Seeds) -> list[str]:
    """What the two readings say of each other, once for each seed."""
    told = [_shared_seed(each) for each in seeds.shared]
    base = seeds.base
    if base is not None and base.significant and not (base.same_rule and seeds.shared):
        rules = " and ".join(dict.fromkeys(rule.name for rule in base.rules.values()))
        told.append(
            f"Their seeds come from one base seed, {base.base}, under {rules} (log10 p {base.log10_p:.1f} of "
            f"that by accident, {base.trials:,} combination{'s' if base.trials != 1 else ''} of rules tried)."
        )
    elif base is not None and seeds.shared:
        told.append(
            f"That two who have nothing to do with each other use one seed: log10 p {base.log10_p:.1f}"
            + (", which excludes nothing." if not base.significant else ".")
        )
    if seeds.different is not None:
        one, other = (", ".join(str(seed) for seed in side[:NAMED]) for side in seeds.different)
        told.append(f"The readings find different seeds: {one} in the first, {other} in the second.")
    return told


def _shared_seed(shared: SharedSeed) -> str:
    layouts = ""
    if any(shared.threads):
        one, other = (
            ", ".join(f"{count:,}" for count in side) if side else "not determined" for side in shared.threads
        )
        layouts = f", G = {one}" if one == other else f", G = {one} in the first and {other} in the second"
    rule = f", {shared.rule}" if shared.rule else ""
    known = f" This seed is known: {shared.known}." if shared.known else ""
    where = f" in {named(shared.tensors)}" if shared.tensors else ", in different tensors"
    p = "" if shared.log10_p is None else f" (log10 p of the weaker {shared.log10_p:.0f})"
    return f"Both readings find {shared.generator} seed {shared.seed}{layouts}{rule}{where}{p}.{known}"


def about_base(base: SameBase) -> str:
    """What most of several readings share."""
    rules = " and ".join(dict.fromkeys(rule.name for rule in base.rules.values()))
    others = f"; not of {', '.join(base.others)}" if base.others else ""
    verdict = "" if base.significant else ", which excludes nothing"
    return (
        f"The seeds of {', '.join(base.rules)} come from one base seed, {base.base}, under {rules}{others}: "
        f"log10 p {base.log10_p:.1f} of that by accident ({base.trials:,} combinations of rules "
        f"tried){verdict}."
    )


def base_as_dict(base: SameBase | None) -> dict[str, Any] | None:
    """JSON types only."""
    if base is None:
        return None
    return {
        "base": base.base,
        "rules": {name: rule.name for name, rule in base.rules.items()},
        "others": list(base.others),
        "trials": base.trials,
        "log10_p": base.log10_p,
        "significant": base.significant,
    }


def seeds_as_dict(seeds: Seeds) -> dict[str, Any]:
    """JSON types only."""
    return {
        "shared": [asdict(each) for each in seeds.shared],
        "base": base_as_dict(seeds.base),
        "different": seeds.different,
    }
