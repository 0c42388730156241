"""What the untouched rows of findings stand for, by the tokenizer beside the checkpoint or by their name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from birthmark.checkpoints.interface import Checkpoint
from birthmark.reports.reading import Finding, RowModel, StandsForModel
from birthmark.vocabulary.files import find_vocabulary
from birthmark.vocabulary.labels import find_labels
from birthmark.vocabulary.rows import tell

#: So many rows of a finding are listed with their tokens.
MOST_ROWS: Final = 4096


def with_meaning(checkpoint: Checkpoint, findings: Sequence[Finding]) -> tuple[list[Finding], list[str]]:
    """Findings that say what their survivors stand for, and what was wrong with the tokenizer, as notes.

    The tokenizer is read only where a finding lists survivors.

    Args:
        checkpoint: open; names the folder, and the shapes of its tensors.
        findings: of any kind.
    """
    vocabulary, trouble, labels = None, None, None
    if any(each.survivors.ids for each in findings):
        vocabulary, trouble = find_vocabulary(checkpoint.source)
        labels = find_labels(checkpoint.source)
    told = []
    for each in findings:
        info = checkpoint.tensors.get(each.tensor)
        meaning = None
        if info is not None and each.survivors.ids:
            found = each.survivors
            meaning = tell(each.tensor, info.shape, found.axis, found.ids or (), vocabulary, labels)
        if meaning is None:
            told.append(each)
            continue
        rows = [
            RowModel(id=row.id, kind=row.kind, text=row.text, script=row.script)
            for row in meaning.rows[:MOST_ROWS]
        ]
        model = StandsForModel(
            things=meaning.things, source=meaning.source, sentence=meaning.sentence, rows=rows
        )
        told.append(each.model_copy(update={"stands_for": model}))
    notes = [trouble] if trouble else []
    if any(each.stands_for is None for each in told):
        notes.append(
            "stands_for is null where neither a tokenizer beside the checkpoint nor the tensor's name says "
            "what its rows stand for, or where no survivors are listed."
        )
    return told, notes
