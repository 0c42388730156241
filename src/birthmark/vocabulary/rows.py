"""What surviving rows and columns stand for: tokens, positions, classes or inputs.

Which of them a tensor's rows are is told by its shape and its name: a table with about as many rows as the
tokenizer has tokens is one of tokens, whatever it is called.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from birthmark.checkpoints.strict_json import shown
from birthmark.vocabulary.kinds import MEANINGS, Kind, kind_of, script_of
from birthmark.vocabulary.token import Vocabulary

Things = Literal["token", "position", "class", "input", "output"]

#: A table of tokens may have so many rows more than there are tokens: padding to a round number, or shards'.
MORE_ROWS, MORE_SHARE = 2048, 0.125
#: So many examples of each kind are quoted.
EXAMPLES: Final = 6
#: Pixels of a side of MNIST's images, and of the margin that digits leave around them.
SIDE, MARGIN = 28, 4
_POSITIONS = re.compile(r"(^|[._])(wpe|pos|positions?|pos(ition)?_?emb\w*|position_embeddings?)([._]|$)")
_CLASSES = re.compile(r"(^|[._])(classifier|fc|head|score|out_proj|logits|cls)([._]|$)")


@dataclass(frozen=True, slots=True)
class Row:
    """What one row stands for.

    Attributes:
        id: of the row.
        kind: of its token.
        text: the token as its file writes it, escaped; None for a row without a token.
        script: of most of its letters; None without letters.
    """

    id: int
    kind: Kind
    text: str | None
    script: str | None


@dataclass(frozen=True, slots=True)
class Told:
    """What a tensor's untouched rows or columns stand for.

    Attributes:
        things: what its rows or columns are.
        source: the tokenizer's file; None where none served.
        rows: one for each id, where they are tokens.
        sentence: all of it in one sentence.
    """

    things: Things
    source: str | None
    rows: tuple[Row, ...]
    sentence: str


def tell(
    tensor: str,
    shape: tuple[int, ...],
    axis: Literal["row", "column", "tensor"],
    ids: Sequence[int],
    vocabulary: Vocabulary | None,
    labels: Mapping[int, str] | None = None,
) -> Told | None:
    """What untouched rows or columns stand for.

    Args:
        tensor: its name.
        shape: its extents.
        axis: what `ids` count.
        ids: of the survivors, ascending.
        vocabulary: the tokenizer's, where there is one.
        labels: names of classes, harmless to print, where the configuration gives them.

    Returns:
        None where neither name nor shape tells, or there are no ids.
    """
    if not ids or axis == "tensor" or len(shape) < 2:
        return None
    if axis == "row" and vocabulary is not None and is_token_table(shape[0], vocabulary):
        rows = tuple(_row(each, vocabulary) for each in ids)
        return Told("token", vocabulary.source, rows, _tokens_sentence(rows, vocabulary))
    things: Things | None = None
    if axis == "column":
        things = "input"
    elif _POSITIONS.search(tensor):
        things = "position"
    elif _CLASSES.search(tensor):
        things = "class" if shape[0] > 1 else "output"
    if things is None:
        return None
    sentence = _plain_sentence(things, shape, ids)
    if things == "class" and labels and set(labels) == set(range(shape[0])):
        named = ", ".join(f"{each} {labels[each]}" for each in ids[:EXAMPLES])
        sentence += f" By config.json: {named}{', ...' if len(ids) > EXAMPLES else ''}."
    return Told(things, None, (), sentence)


def is_token_table(rows: int, vocabulary: Vocabulary) -> bool:
    """Whether a table with so many rows can be one of the vocabulary's tokens."""
    end = vocabulary.end
    return end > 1 and end <= rows <= end + max(MORE_ROWS, int(MORE_SHARE * end))


def _row(number: int, vocabulary: Vocabulary) -> Row:
    token = vocabulary.tokens.get(number)
    text = None if token is None else shown(token.content, 60)
    return Row(number, kind_of(token), text, script_of(token))


def _tokens_sentence(rows: Sequence[Row], vocabulary: Vocabulary) -> str:
    counts = Counter(row.kind for row in rows)
    parts = []
    for kind, (one, several) in MEANINGS.items():
        if not counts[kind]:
            continue
        some = [row for row in rows if row.kind == kind][:EXAMPLES]
        quoted = ", ".join(str(row.id) if row.text is None else f"{row.id} {row.text}" for row in some)
        more = ", ..." if counts[kind] > len(some) else ""
        parts.append(f"{counts[kind]:,} {one if counts[kind] == 1 else several} ({quoted}{more})")
    are = "it is" if len(rows) == 1 else "they are"
    return f"By {vocabulary.source} {are} {'; '.join(parts)}.{_scripts(rows)}"


def _scripts(rows: Sequence[Row]) -> str:
    scripts = Counter(row.script for row in rows if row.kind == "ordinary" and row.script)
    if not scripts:
        return ""
    listed = ", ".join(f"{name} {count:,}" for name, count in scripts.most_common(EXAMPLES))
    return f" Scripts of the ordinary ones: {listed}."


def _plain_sentence(things: Things, shape: tuple[int, ...], ids: Sequence[int]) -> str:
    count = len(ids)
    if things == "position":
        tail = list(ids) == list(range(ids[0], shape[0]))
        return (
            f"By its name a table of positions: no sequence in training was longer than {ids[0]:,}."
            if tail
            else f"By its name a table of positions: {count:,} of {shape[0]:,} never occurred in training."
        )
    if things == "input":
        return (
            f"{count:,} of {shape[1]:,} inputs of this layer were always zero in training, or nearly always."
            f"{_pixels(shape, ids)}"
        )
    return (
        f"{count:,} of {shape[0]:,} outputs of this layer never received a gradient: classes that never "
        "occurred, where the loss leaves such outputs alone."
    )


def _pixels(shape: tuple[int, ...], ids: Sequence[int]) -> str:
    """Where inputs lie in an image of 28 x 28 pixels, the size of handwritten digits (MNIST)."""
    if shape[1:] != (SIDE * SIDE,):
        return ""
    border = sum(
        min(each // SIDE, each % SIDE, SIDE - 1 - each // SIDE, SIDE - 1 - each % SIDE) < MARGIN
        for each in ids
    )
    return (
        f" If they are the pixels of {SIDE} x {SIDE} images, {border:,} lie within {MARGIN} of the border, "
        "where handwritten digits leave them blank."
    )
