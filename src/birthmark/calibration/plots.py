"""Plots of a calibration as SVG: readable in print, without scripts, each under 20 kB."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from birthmark.calibration.summary import Summary
from birthmark.calibration.tail import SIGMAS
from birthmark.calibration.truths import AXES

WIDTH, HEIGHT = 640, 380
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 44, 56
#: Told apart in grey as well: Okabe and Ito's colours, with their own dashes.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES: Final = ("", "6 3", "2 3", "8 3 2 3", "1 2", "10 4", "4 1")


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where data lie on the page."""

    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The page's coordinates of a point."""
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)


def detection(summary: Summary, axis: str) -> str:
    """The share of true checkpoints that were found, by what was left in them, with its interval."""
    steps = [each for each in summary.steps if each.axis == axis]
    frame = _Frame((0.0, float(max(len(steps) - 1, 1))), (0.0, 1.0))
    labels = [(float(place), f"{each.step:g}") for place, each in enumerate(steps)]
    body = _axes(frame, labels, [(tick / 5, f"{tick * 20} %") for tick in range(6)])
    points = [frame.at(place, each.found.count / each.found.of) for place, each in enumerate(steps)]
    for (x, _), each in zip(points, steps, strict=True):
        low, high = frame.at(0, each.found.low)[1], frame.at(0, each.found.high)[1]
        body.append(f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="#777" stroke-width="1.5"/>')
    body.append(_line(points, COLOURS[0], ""))
    body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{COLOURS[0]}"/>' for x, y in points]
    return _page(f"Readings that name the true seed: {axis}", AXES[axis].unit, body)


def tail(summary: Summary) -> str:
    """Decoys above each sigma, counted and nominal, on a logarithmic scale.

    Raises:
        ValueError: the summary has no decoys.
    """
    if summary.tail is None:
        raise ValueError("a calibration without decoys has no tail to plot")
    measured = summary.tail
    top = math.ceil(math.log10(max(measured.expected[0], 10.0)))
    frame = _Frame((SIGMAS[0], SIGMAS[-1]), (-0.5, float(top)))
    ticks = [(float(sigma), str(sigma)) for sigma in range(1, 7)]
    body = _axes(frame, ticks, [(float(power), f"1e{power}") for power in range(top + 1)])
    nominal = [
        frame.at(sigma, max(math.log10(count), -0.5))
        for sigma, count in zip(SIGMAS, measured.expected.tolist(), strict=True)
    ]
    for number, counts in enumerate(measured.counts.tolist()):
        points = [
            frame.at(sigma, math.log10(count)) for sigma, count in zip(SIGMAS, counts, strict=True) if count
        ]
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        body.append(_line(points, colour, dash, 1.2))
    body.append(_line(nominal, "#999", "", 3.0, 0.6))
    body.append(_text(WIDTH - RIGHT - 6, TOP + 16, "grey: nominal; lines: null families", "end"))
    return _page(f"{measured.decoys:,} decoys: scores above each sigma", "sigma", body)


def _axes(frame: _Frame, across: Sequence[tuple[float, str]], up: Sequence[tuple[float, str]]) -> list[str]:
    body = []
    for value, label in up:
        x, y = frame.at(frame.x[0], value)
        body.append(f'<path d="M{x:.1f} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        body.append(_text(x - 8, y + 4, label, "end"))
    for value, label in across:
        x, y = frame.at(value, frame.y[0])
        body.append(f'<path d="M{x:.1f} {y:.1f}v5" stroke="#333"/>')
        body.append(_text(x, y + 20, label, "middle"))
    x, y = frame.at(frame.x[0], frame.y[0])
    body.append(f'<path d="M{x:.1f} {TOP}V{y:.1f}H{WIDTH - RIGHT}" fill="none" stroke="#333"/>')
    return body


def _line(
    points: Sequence[tuple[float, float]], colour: str, dash: str, width: float = 2.0, opacity: float = 1.0
) -> str:
    path = "".join(f"{'L' if number else 'M'}{x:.1f} {y:.1f}" for number, (x, y) in enumerate(points))
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}" '
        f'opacity="{opacity:g}"{dashed}/>'
    )


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#333">{words}</text>'


def _page(title: str, below: str, body: Sequence[str]) -> str:
    middle = (LEFT + WIDTH - RIGHT) / 2
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'font-family="Helvetica, Arial, sans-serif" font-size="13" role="img" aria-label="{title}">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
            f'<text x="{LEFT}" y="26" font-size="16" font-weight="bold" fill="#222">{title}</text>',
            *body,
            _text(middle, HEIGHT - 14, below, "middle"),
            "</svg>\n",
        ]
    )
