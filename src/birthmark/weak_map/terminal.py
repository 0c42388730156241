"""A weak map on a terminal: one line a tensor, then what all of them say and what the controls say."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from birthmark.devices.catalogue import sharing
from birthmark.evidence.measured import statement
from birthmark.reports import wording
from birthmark.weak_map.result import TensorTrace, WeakMap

#: Tensors that get a line each; of larger models those with the highest scores.
MOST_LINES = 60
#: Letters of a tensor's name.
NAME = 28
#: Tensors that are named when they cannot be predicted.
MOST_NAMED = 5
HEADLINES = {
    "found": "INITIAL VALUES FOUND",
    "another-layout": "ANOTHER LAYOUT",
    "nothing": "NOTHING FOUND",
}


def render(found: WeakMap, console: Console) -> None:
    """Print a weak map."""
    where = "the CPU" if found.threads is None else f"G = {found.threads:,}{_devices(found.threads)}"
    console.print()
    console.print(Text(f"{HEADLINES[found.verdict]}  {found.reason}.", style="bold"))
    console.print(Text(wording.safe(f"{found.checkpoint}, seed {found.seed} on {where}, by {found.source}")))
    console.print()
    console.print(_table(found.tensors))
    console.print()
    for line in _summary(found):
        console.print(Padding(Text(f"- {line}"), (0, 0, 0, 2)))
    console.print()


def _devices(threads: int) -> str:
    names = [each.name for each in sharing(threads)]
    return f" ({', '.join(names[:3])}{' and others' if len(names) > 3 else ''})" if names else ""


def _table(tensors: tuple[TensorTrace, ...]) -> Table:
    """One line a tensor; what all names have in common stands in the heading."""
    best = sorted(tensors, key=lambda each: -(each.z or 0.0))[:MOST_LINES]
    chosen = {each.name for each in best}
    shown = [each for each in tensors if each.name in chosen]
    front, back = _common([each.name for each in shown])
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(wording.safe(f"{front}*{back}") if front or back else "tensor", no_wrap=True)
    for name in ("values", "r", "sigma", "kept", "norm"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("left", overflow="fold")
    for each in shown:
        table.add_row(_short(each.name[len(front) : len(each.name) - len(back)]), *_row(each))
    if len(tensors) > len(shown):
        table.add_row(f"and {len(tensors) - len(shown)} more")
    return table


def _common(names: list[str]) -> tuple[str, str]:
    """The parts between dots that all names begin and end with."""
    parts = [name.split(".") for name in names]
    most = min(len(each) for each in parts) - 1
    front = next((n for n in range(most) if len({each[n] for each in parts}) > 1), most)
    back = next((n for n in range(most - front) if len({each[-1 - n] for each in parts}) > 1), most - front)
    begin = "".join(f"{each}." for each in parts[0][:front])
    return begin, "".join(f".{each}" for each in parts[0][len(parts[0]) - back :])


def _short(name: str) -> str:
    """A name that leaves the numbers their place."""
    name = wording.safe(name)
    return name if len(name) <= NAME else f"{name[: NAME // 2 - 2]}...{name[-NAME // 2 + 1 :]}"


def _row(each: TensorTrace) -> tuple[str, ...]:
    words = {"trace": "trace", "none": "-", "refuted": "refuted", "too-small": "too few", "held": ""}[
        each.state
    ]
    if each.equal == each.n and each.state == "held":
        words = "all"
    elif each.held_rows and each.state == "held":
        words = f"{each.held_rows:,} rows"
    elif each.state == "held":
        words = f"{each.equal:,} values"
    if each.r is None or each.z is None:
        return f"{each.n:,}", "-", "-", "-", "-", words
    reach = max(each.r.high - each.r.value, each.r.value - each.r.low)
    return (
        f"{each.n:,}",
        f"{each.r.value:.4f} ±{reach:.4f}",
        f"{each.z:.1f}",
        "-" if each.kept is None else f"{each.kept.value:.3f}",
        "-" if each.norm_share is None else f"{each.norm_share:.1%}",
        words,
    )


def _summary(found: WeakMap) -> list[str]:
    """What all tensors together say, what the controls say, and what is not shown."""
    lines = []
    pooled = found.pooled
    if pooled is not None:
        chance = "" if found.log10_p is None else f", p = 10^{found.log10_p:.1f} after {found.trials} trials"
        lines.append(
            f"Pooled over {pooled.tensors} tensors with {pooled.n:,} values: r = {pooled.r:.4f} "
            f"({pooled.low:.4f} to {pooled.high:.4f}), {pooled.z:.1f} sigma{chance}."
        )
    if found.kept is not None and found.norm_share is not None:
        lines.append(
            f"What is stored is {found.kept:.3f} times the initial values, and a rest; that explains "
            f"{found.norm_share:.2%} of its squared norm."
        )
    if found.pooled_shifted:
        worst = max(found.pooled_shifted)
        lines.append(f"Predictions of rows further on score {worst:.1f} sigma at the most, pooled.")
    if (background := found.background) is not None:
        counted = statement(background.reached, background.count, decoys="false seeds")
        lines.append(
            f"{background.count:,} false seeds on a sample: {background.pooled_largest:.1f} sigma at the "
            f"most, pooled, this one {background.z:.1f}; in single tensors mean {background.mean:.2f} and "
            f"standard deviation {background.std:.2f}. {counted}"
        )
    if found.layouts is not None and found.threads is not None:
        lines.append(_layouts(found))
    if found.left_out:
        named = [f"{name} ({why})" for name, why in list(found.left_out.items())[:MOST_NAMED]]
        more = len(found.left_out) - len(named)
        rest = f" and {more} more" if more > 0 else ""
        lines.append(f"Not predicted: {wording.safe('; '.join(named))}{rest}.")
    lines.append(
        "A correlation shows that these values began as that draw. It does not show who trained them, where, "
        "or on what."
    )
    return lines


def _layouts(found: WeakMap) -> str:
    compared = found.layouts
    assert compared is not None
    if len(compared.same) > 1:
        others = ", ".join(f"{each:,}" for each in compared.same if each != found.threads)
        return f"On the samples these layouts predict as this one does and cannot be told from it: {others}."
    if compared.refuted or compared.next is None:
        return (
            f"Sum of squared sigmas on the samples: {compared.claimed:,.0f}; best, G = {compared.best[0]:,}: "
            f"{compared.best[1]:,.0f}."
        )
    return (
        f"Sum of squared sigmas on the samples: {compared.claimed:,.0f}; next best, "
        f"G = {compared.next[0]:,}: {compared.next[1]:,.0f}."
    )
