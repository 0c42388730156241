"""Rows that `resize_token_embeddings` of transformers adds to a vocabulary: the tail of a new matrix.

Up to 4.45 the whole new matrix is drawn by the class init and the old rows are copied over its beginning.
From 4.46 on (unless mean_resizing is off) added rows lie at the mean of the old ones: exactly there up to
4.48, whose test for a positive definite covariance can never pass, and from 4.49 on as draws around it with
the old covariance times 1e-9. An output layer of its own is treated likewise right after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.recipes.config import Config
from birthmark.recipes.hf import DEFAULT, linear_bound
from birthmark.recipes.mapping import Block
from birthmark.recipes.recipe import Recipe
from birthmark.recipes.seed_rules import PLAIN, SeedRule
from birthmark.recipes.streams import RecipeDraw, Source, Stream, Tape, keep_last

VERSIONS: Final = ("4.45-", "4.46-4.48", "4.49+")
#: By what the covariance of the old rows is multiplied.
SHRUNK: Final = 1e-9
EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"


@dataclass(frozen=True)
class HuggingFaceResize(Recipe):
    """A vocabulary that grew after the model had been loaded; `Config.model.vocabulary` is its new size.

    Attributes:
        old_rows: rows before.
        device: where the embedding is.
        version: of transformers: "4.45-" (also later ones with mean_resizing off), "4.46-4.48" or "4.49+".
        embedding: name of the embedding; `head` likewise.
    """

    name: ClassVar[str] = "hf-resize"
    assumptions: ClassVar[tuple[str, ...]] = (
        "The seed is set right before the call: loading a whole model draws nothing.",
        "Matrices are drawn in the dtype of the loaded ones; rows are only added.",
    )
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            "huggingface/transformers",
            "4.45.2, 4.46.3, 4.48.0, 4.49.0, 4.57.1, 5.24.0",
            "src/transformers/modeling_utils.py",
        ),
    )
    rules: ClassVar[Mapping[str, SeedRule]] = {DEFAULT: PLAIN}

    old_rows: int
    device: Literal["cpu", "cuda"] = "cpu"
    version: Literal["4.45-", "4.46-4.48", "4.49+"] = "4.45-"
    embedding: str = EMBEDDING
    head: str = HEAD

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            raise UnknownName("version of transformers", self.version, VERSIONS)
        if self.old_rows < 1:
            raise UsageError(f"a vocabulary that had {self.old_rows} rows: expected 1 or more.")

    def draws(self, config: Config) -> tuple[RecipeDraw, ...]:
        """Every draw, in order; see `Recipe.draws`."""
        rows, hidden = config.model.vocabulary, config.model.hidden
        added = rows - self.old_rows
        if added < 1:
            raise UsageError(f"{self.old_rows} rows grew to {rows}: expected more.")
        tape, stream = Tape(config.dtype, self.device), Stream(DEFAULT)
        for tensor in self.tensors(config):
            if tensor == self.embedding:
                tape.normal(stream, tensor, (rows, hidden), 1.0)
            else:
                bound = linear_bound(hidden)
                tape.uniform(stream, tensor, (rows, hidden), -bound, bound)
            if self.version == "4.45-":
                tape.normal(stream, tensor, (rows, hidden), config.std)
            elif self.version == "4.49+":
                then = "taken times a root of the old rows' covariance, plus their mean"
                tape.normal(stream, f"{tensor} added", (added, hidden), 1.0, dtype="float32", then=then)
        lost = () if self.version == "4.45-" else self.tensors(config)
        return keep_last(tape.made, lost)

    def tensors(self, config: Config) -> tuple[str, ...]:
        """The embedding, and the output layer where it is a matrix of its own."""
        return (self.embedding,) if config.model.tied else (self.embedding, self.head)

    def blocks(self, config: Config, tensor: str) -> tuple[Block, ...]:
        """The added rows; the old ones come from no draw."""
        self.check_name(config, tensor)
        rows, hidden = config.model.vocabulary, config.model.hidden
        if self.version == "4.45-":
            first, name = self.old_rows, tensor
        elif self.version == "4.49+":
            first, name = 0, f"{tensor} added"
        else:
            raise UsageError(
                f"transformers {self.version} puts added rows at the mean of the old ones: no draw."
            )
        return (Block(Stream(DEFAULT), name, (self.old_rows, rows), (0, hidden), first, 0, hidden),)


def at_mean(table: NDArray[np.floating], old_rows: int, *, spread: float = 1e-3) -> NDArray[np.bool_]:
    """Which rows after the first `old_rows` lie where mean resizing puts them.

    Args:
        table: the whole matrix, decoded.
        old_rows: rows that were there before.
        spread: how far a row may be from the mean in each column, in standard deviations of that column;
            draws with a covariance of 1e-9 stay within 2e-4, and rounding to bfloat16 adds 2^-8 of the value.

    Returns:
        bool, one entry for each later row.

    Raises:
        UsageError: there are no old rows, or none but old ones.
    """
    if not 1 < old_rows < len(table):
        raise UsageError(f"{old_rows} old rows of {len(table)}: expected at least 2 old ones and 1 added.")
    values = np.asarray(table, np.float64)
    mean, std = values[:old_rows].mean(axis=0), values[:old_rows].std(axis=0)
    allowed = spread * std + 2.0**-8 * np.abs(mean)
    found: NDArray[np.bool_] = (np.abs(values[old_rows:] - mean) <= allowed).all(axis=1)
    return found


def mean_resized(old: NDArray[np.floating], standard: NDArray[np.floating]) -> NDArray[np.float64]:
    """Added rows of transformers from 4.49 on, before they are rounded to the table's dtype.

    The order of sums on the device is not known, so they are near the real ones: to about 1e-6 of a column's
    spread.

    Args:
        old: the rows before, decoded, shape (old rows, hidden), at least hidden + 1 of them.
        standard: standard normals as the recipe draws them, shape (added rows, hidden).

    Raises:
        UsageError: the covariance is not positive definite; transformers then takes the mean.
    """
    rows = np.asarray(old, np.float64)
    mean = rows.mean(axis=0)
    centred = rows - mean
    try:
        root = np.linalg.cholesky(SHRUNK * (centred.T @ centred) / len(rows))
    except np.linalg.LinAlgError:
        raise UsageError("the old rows do not span their columns: added rows are their mean.") from None
    found: NDArray[np.float64] = mean + np.asarray(standard, np.float64) @ root.T
    return found
