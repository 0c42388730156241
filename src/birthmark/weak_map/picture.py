"""The map as a picture: one line a tensor, one cell a band, darker where more of the initial values is left.

SVG without scripts, legible in print and in grey. Cells of one colour are one path, so that a model of
hundreds of tensors stays below half a megabyte.
"""

from __future__ import annotations

import math
from typing import Final
from xml.sax.saxutils import escape

from birthmark.weak_map.result import BandScores, TensorTrace, WeakMap

#: Page, in pixels: names, cells, numbers; height of a line.
NAMES, CELLS, NUMBERS, LINE = 330, 512, 190, 16
TOP, BOTTOM = 96, 62
#: Lines at most; of larger models the tensors with the most values are shown.
MOST_LINES: Final = 400
#: Steps of the scale, by the root of r: weak traces are what the map is for.
STEPS: Final = 24
#: From white over blue to near black; even steps in lightness.
_WHITE, _MIDDLE, _DARK = (255, 255, 255), (66, 133, 196), (8, 24, 58)
#: A band with less than this says nothing by itself.
LEAST_Z: Final = 3.0
_NOTHING: Final = "#ececec"


def svg(found: WeakMap) -> str:
    """A weak map as an SVG document."""
    shown = _shown(found.tensors)
    width, height = NAMES + CELLS + NUMBERS, TOP + LINE * len(shown) + BOTTOM
    body: list[str] = []
    cells: dict[str, list[str]] = {}
    for number, tensor in enumerate(shown):
        y = TOP + number * LINE
        body.append(_text(NAMES - 8, y + 12, _name(tensor), "end"))
        body.append(_text(NAMES + CELLS + 8, y + 12, _numbers(tensor), "start"))
        for colour, path in _line(tensor.bands, y):
            cells.setdefault(colour, []).append(path)
    body += [
        f'<path stroke="{colour}" stroke-width="{LINE - 2}" d="{"".join(paths)}"/>'
        for colour, paths in sorted(cells.items())
    ]
    left_out = len(found.tensors) - len(shown)
    more = f" The {left_out} smallest tensors are not shown." if left_out else ""
    body += _legend(TOP + LINE * len(shown) + 22)
    title = "What is left of the initial values"
    where = "the CPU" if found.threads is None else f"G = {found.threads:,}"
    lines = (
        f"{found.checkpoint} against seed {found.seed} on {where}, by {found.source}",
        f"{_verdict(found)}{more}",
        "One line a tensor, from its first band of rows (or head, or values) to its last; correlation r with "
        "95 % interval.",
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'font-family="Helvetica, Arial, sans-serif" font-size="11" role="img" aria-label="{title}">',
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            f'<text x="12" y="26" font-size="16" font-weight="bold" fill="#222">{title}</text>',
            *(_text(12, 46 + 16 * number, line, "start") for number, line in enumerate(lines)),
            *body,
            "</svg>\n",
        ]
    )


def _shown(tensors: tuple[TensorTrace, ...]) -> list[TensorTrace]:
    largest = sorted(tensors, key=lambda each: -each.n)[:MOST_LINES]
    names = {each.name for each in largest}
    return [each for each in tensors if each.name in names]


def _verdict(found: WeakMap) -> str:
    words = found.verdict.upper().replace("-", " ")
    pooled = found.pooled
    if pooled is None:
        return f"{words}: {found.reason}."
    return f"{words}: {found.reason}. Pooled r = {pooled.r:.4f}, {pooled.z:.1f} sigma."


def _line(scores: BandScores, y: int) -> list[tuple[str, str]]:
    """The cells of a tensor as paths, neighbours of one colour together."""
    count = len(scores.bands)
    found: list[tuple[str, str]] = []
    begun = 0
    colours = [_colour(r, z) for r, z in zip(scores.r, scores.z, strict=True)]
    for number in range(1, count + 1):
        if number == count or colours[number] != colours[begun]:
            left, right = (NAMES + round(CELLS * edge / count) for edge in (begun, number))
            found.append((colours[begun], f"M{left} {y + LINE // 2}h{right - left}"))
            begun = number
    return found


def _colour(r: float | None, z: float | None) -> str:
    """The colour of a band: grey where it says nothing by itself."""
    if r is None or z is None or z < LEAST_Z:
        return _NOTHING
    return _scale(math.ceil(math.sqrt(min(max(r, 0.0), 1.0)) * STEPS) / STEPS)


def _scale(share: float) -> str:
    ends = (_WHITE, _MIDDLE) if share < 0.5 else (_MIDDLE, _DARK)
    part = share * 2 if share < 0.5 else share * 2 - 1
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(*ends, strict=True))


def _legend(y: int) -> list[str]:
    body = [f'<path fill="{_NOTHING}" d="M{NAMES} {y}h24v12h-24z"/>']
    body.append(_text(NAMES + 30, y + 10, f"below {LEAST_Z:g} sigma", "start"))
    begin, wide = NAMES + 130, 11
    for step in range(1, STEPS + 1):
        x = begin + (step - 1) * wide
        body.append(f'<path fill="{_scale(step / STEPS)}" d="M{x} {y}h{wide}v12h-{wide}z"/>')
    for r in (0.01, 0.1, 0.25, 0.5, 1.0):
        tick = begin + round(math.sqrt(r) * STEPS * wide)
        body.append(f'<path d="M{tick} {y + 12}v4" stroke="#333"/>')
        body.append(_text(tick, y + 27, f"{r:g}", "middle"))
    body.append(_text(begin + STEPS * wide + 10, y + 10, "r of a band", "start"))
    return body


def _name(tensor: TensorTrace) -> str:
    name = tensor.name if len(tensor.name) <= 52 else f"...{tensor.name[-49:]}"
    return f"{name} ({tensor.bands.bands.kind})" if tensor.bands.bands.kind == "heads" else name


def _numbers(tensor: TensorTrace) -> str:
    if tensor.r is None:
        return "no score"
    return f"{tensor.r.value:.4f} ({tensor.r.low:.4f} to {tensor.r.high:.4f})"


def _text(x: int, y: int, words: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="#333">{escape(_plain(words))}</text>'


def _plain(words: str) -> str:
    """Without control characters, which XML cannot hold."""
    return "".join(each if each.isprintable() else "?" for each in words)
