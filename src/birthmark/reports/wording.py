"""Numbers and names as people read them, and nothing that a terminal would obey."""

from __future__ import annotations

from collections.abc import Sequence

from birthmark.reports.reading import Finding, LikelihoodModel, ScoreModel, ShareModel

#: Characters of a histogram from empty to full, and what stands for them where only ASCII can be shown.
BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII_BLOCKS = " .:-=+*#@"


def safe(text: str) -> str:
    """Text from a file without control characters, which could move a cursor or colour a lie."""
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )


def power_of_ten(log10: float | None) -> str:
    """A probability from its logarithm: 0.31, or 10^-553.9 where it is small."""
    if log10 is None:
        return "-"
    return f"{10.0**log10:.2g}" if log10 > -3.0 else f"10^{log10:.1f}"


def score_cells(score: ScoreModel) -> tuple[str, str, str, str, str]:
    """Elements, r, sigma, local and global probability as table cells."""
    return (
        f"{score.n:,}",
        "-" if score.r is None else correlation(score.r),
        "-" if score.sigma is None else f"{score.sigma:+.1f}",
        power_of_ten(score.log10_p_local),
        power_of_ten(score.log10_p_global),
    )


def correlation(r: float) -> str:
    """R with enough digits that it shows 1 only where it is 1 to nine of them."""
    if abs(r) < 0.9995:
        return f"{r:+.4f}"
    return f"{r:+.9f}" if abs(r) < 1.0 - 5e-10 else f"{r:+.1f}"


def ids(numbers: Sequence[int], most: int = 12) -> str:
    """Ids in a line: runs joined, the middle left out where there are many."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    words = [f"{first}" if first == last else f"{first}-{last}" for first, last in runs]
    if len(words) > most:
        half = most // 2
        words = [*words[:half], "...", *words[-half:]]
    return ", ".join(words)


def listed(threads: Sequence[int], most: int = 6) -> str:
    """G's in a line, the middle left out where there are many."""
    words = [f"{each:,}" for each in threads]
    if len(words) > most:
        words = [*words[: most // 2], "...", *words[-(most // 2) :]]
    return f"{'; '.join(words)} ({len(threads)})" if len(threads) > 1 else f"only {words[0]}"


def likelihood(one: LikelihoodModel) -> str:
    """A likelihood ratio in a line."""
    return (
        f"10^{one.log10:.1f} on the hold-out, 10^{one.log10_after_trials:.1f} after all trials: {one.words} "
        "for H1 against H0."
    )


def share(one: ShareModel) -> str:
    """A share with its interval, in as many digits as the interval allows."""
    digits = 2
    while digits < 9 and 10.0**-digits > one.hi - one.lo:
        digits += 1
    return f"{one.value:.{digits}f}, 95 % interval {one.lo:.{digits}f} to {one.hi:.{digits}f}"


def histogram(counts: Sequence[int], blocks: str = BLOCKS) -> str:
    """One character a bin; any bin that is not empty shows."""
    top = max(counts, default=0)
    if top == 0:
        return blocks[0] * len(counts)
    levels = len(blocks) - 1
    return "".join(
        blocks[0] if not count else blocks[max(1, round(levels * count / top))] for count in counts
    )


def draw_call(finding: Finding) -> str:
    """The draw as somebody would have written it."""
    sampler = finding.sampler
    name = "trunc_normal" if sampler.distribution == "truncated-normal" else sampler.distribution
    if finding.outcome == "weak-trace":  # what changed the values since has hidden the parameters
        return f"a {name}_ call"
    inside = ", ".join(f"{value:.8g}" for value in sampler.parameters)
    return f"{name}_({inside})"


def origin(finding: Finding) -> str:
    """Seed and layout in words."""
    parts = []
    if finding.seed is not None:
        parts.append(f"seed {finding.seed}")
    if finding.layout is not None and finding.layout.threads is not None:
        parts.append(f"a layout of {finding.layout.threads:,} threads")
    words = " and ".join(parts) or "no seed and no layout"
    return f"{words} on a CPU" if finding.platform == "cpu" else words


def position(finding: Finding) -> str:
    """Where in the generator's stream the draw starts."""
    if finding.index is not None:
        return f"index {finding.index:,} of the stream"
    return "an unknown offset" if finding.offset is None else f"offset {finding.offset}"


def units(count: int, axis: str) -> str:
    """A number of rows or columns."""
    noun = "row" if axis == "tensor" else axis
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
