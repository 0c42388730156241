"""What a reader should know about a layout or a family that was read without a seed, sentence by sentence."""

from __future__ import annotations

import math

from birthmark.devices.catalogue import sharing
from birthmark.evidence.arrangement import AS_STORED
from birthmark.evidence.lattices import ADJACENT, CPU, GPU, JAX, WIDE
from birthmark.evidence.seed_free import SeedFree
from birthmark.evidence.significance import SIGNIFICANT

#: Where the pairs' mean phase is shorter than this, something was done to the values; the widest window's is
#: shorter anyway.
WHOLE, WHOLE_WIDE = 0.9, 0.75
#: The share of pairs that an arithmetic gives to the last bit where the scale is that of the draw.
BITS = 0.8
#: The largest value says nothing about a bound that a normal without one would respect this often.
UNINFORMATIVE = 0.1


def seed_free_notes(found: SeedFree, tensor: str) -> list[str]:
    """What a reader should know about a seed-free reading, whatever came of it."""
    if found.result == "layout":
        return _layout_notes(found, tensor)
    if found.result == "family":
        assert found.selection is not None
        assert found.holdout is not None
        scale = "" if found.scale is None else f" Scale {found.scale:.8g}."
        return [
            f"{tensor}, without any seed: {found.reason}. R = {found.selection.r:.1f} on the "
            f"{found.selection.numbers:,} numbers that chose among {found.trials:,} suppositions, and "
            f"{found.holdout.r:.1f} on {found.holdout.numbers:,} others (log10 p "
            f"{found.holdout.log10_p_global:.1f}).{scale}"
        ]
    word = "not tried" if found.result == "refused" else "nothing found"
    return [f"{tensor}, layout without the seed: {word}, because {found.reason}."]


def _layout_notes(found: SeedFree, tensor: str) -> list[str]:
    assert found.together is not None
    assert found.scale is not None
    notes = [
        f"Verdict on {tensor}: layout-only, because {found.reason}: R = {found.together.r:.1f} on all "
        f"{found.together.numbers:,} pairs with a half sum of squares below {found.window:g} (of "
        f"{found.pairs:,} surviving pairs). The scores are coherences of pairs: n counts pairs, sigma is R, "
        "and p is exp(-R^2).",
        "seed, offset and seed_hex are null: the layout was read without them. bit_exact is empty: without "
        "a seed no value is predicted.",
    ]
    if found.arrangement != AS_STORED:
        notes.append(
            f"The pairs are partners if the tensor was {found.arrangement.words}: so its layout shows."
        )
    notes += _other_cuts(found)
    length = found.together.length
    if length < (WHOLE if found.window != WIDE else WHOLE_WIDE):
        notes.append(
            f"The pairs' mean phase has a length of {length:.2f} where an untouched draw has nearly 1: some "
            "values were changed, a decay was rounded after every step, or several launches drew parts of "
            "this tensor."
        )
    if found.background is not None and (rival := found.background.next_best) is not None:
        notes.append(
            f"Decoys are the {len(found.background.layouts):,} other layouts at the same scale, seeds take "
            f"no part: the best of them reaches R = {rival[1].r:.1f}."
        )
    if found.odd_waves is not None and found.odd_waves.numbers:
        chance = found.odd_waves.log10_p_local > SIGNIFICANT
        notes.append(
            f"Elements as far apart that are no partners (odd waves) reach R = {found.odd_waves.r:.1f} on "
            f"{found.odd_waves.numbers:,} pairs, "
            + (
                "as chance does."
                if chance
                else "more than chance does: parts of this tensor were drawn by launches of their own, which "
                "begin at other places."
            )
        )
    if found.nominal is not None:
        plain = found.nominal.formula == f"{found.scale:g}"
        name = "a short decimal" if plain else found.nominal.formula
        notes.append(f"Scale {found.scale:.8g}, {name}: found from the pairs{_unlike(found)}.")
    elif found.arithmetic is not None:
        notes.append(
            f"Scale {found.scale:.9g}, found from the pairs: with this float32 they have their bits."
        )
    else:
        notes.append(
            f"Scale {found.scale:.8g} was found from the pairs; it is none that people write down, so it was "
            "perhaps changed after the draw."
        )
    if found.arithmetic is None:
        notes.append("vendor is null: the exact scale of the draw is not known, so no pair was inverted.")
    notes.append(_largest(found))
    return notes


def _unlike(found: SeedFree) -> str:
    """A doubt about a scale that people write down: with the scale of the draw the pairs have their bits."""
    test = found.arithmetic
    if test is None or max(test.nvidia, test.amd) >= BITS * test.pairs:
        return ""
    return (
        f", but with it only {max(test.nvidia, test.amd):,} of {test.pairs:,} have their bits: the values "
        "were perhaps drawn with another one and scaled since, or other tables made them"
    )


def _other_cuts(found: SeedFree) -> list[str]:
    """Layouts that show alike where a tensor was joined from shards of columns."""
    if found.threads is None or not found.alike:
        return []
    known = "" if sharing(found.threads) else f"No device of the table has G = {found.threads:,}. "
    texts = [f"{threads:,} in {ways} shards ({sharing(threads)[0].name})" for ways, threads in found.alike]
    return [
        f"{known}G is that of one launch for the whole tensor. If shards of columns were drawn by a launch "
        f"each and joined, the same pairs would mean G = {' or '.join(texts)}; pairs cannot tell these apart."
    ]


def _largest(found: SeedFree) -> str:
    """What the largest magnitude says about the family, and whether it says anything."""
    assert found.largest is not None
    bounds = (("JAX", JAX), ("TensorFlow or MindSpore", ADJACENT), ("PyTorch on a CPU", CPU), ("a GPU", GPU))
    said = ", ".join(f"{name} {family.most:.2f}" for name, family in bounds)
    beyond = [name for name, family in bounds if found.largest > family.most]
    text = (
        f"The largest of {found.survivors:,} values lies {found.largest:.2f} standard deviations out "
        f"(normals can reach: {said})"
    )
    if beyond:
        return f"{text}: beyond what {' or '.join(beyond)} can draw, unless it was altered."
    below = math.exp(-found.survivors * math.erfc(JAX.most / math.sqrt(2.0)))
    if below > UNINFORMATIVE:
        return (
            f"{text}, which says nothing: without a bound so many stay below the lowest with a chance of "
            f"{below:.2f}."
        )
    return f"{text}: without JAX's bound so many would stay below it with a chance of {below:.2g}."
