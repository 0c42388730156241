"""Several tensors of one stream solved at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from birthmark.checkpoints import open_checkpoint
from birthmark.errors import UsageError
from birthmark.search.solve.inversion import exact_uniforms
from birthmark.search.solve.sequence import starts
from birthmark.search.solve.solve import Unsolved
from birthmark.search.solve.together import Piece, Together, solve_together


def drawn_pieces() -> list[Piece]:
    """Eleven small draws in a row, a sixth of each known, each far too small alone."""
    torch.manual_seed(12)
    torch.rand(50)
    pieces = []
    at = 0
    for number in range(11):
        uniform = number % 2 == 0
        tensor = torch.empty(50, 16)
        values = tensor.uniform_(-0.25, 0.25) if uniform else tensor.normal_(0.0, 0.02)
        indices = np.arange(0, 128)
        pieces.append(
            Piece(at, values.numpy().ravel()[indices], indices, (50, 16), "uniform" if uniform else "normal",
                  (0.249, 0.2505) if uniform else (0.0195, 0.0205))
        )  # fmt: skip
        at += 800
    return pieces


def test_small_draws_solve_together() -> None:
    """Uniforms and normals of eleven tensors give one seed and one position."""
    found = solve_together(drawn_pieces())

    assert isinstance(found, Together), found
    assert (found.seed, found.index) == (12, 50)
    assert found.holdout.of >= 64
    assert [fit.equal.all() for fit in found.fits] == [True] * 11
    assert {fit.scale for fit in found.fits} == {0.25, 0.02}


def test_a_wrong_distance_contradicts() -> None:
    """One tensor a word too late leaves no seed."""
    pieces = drawn_pieces()
    late = [*pieces[:5], *(replace(piece, start=piece.start + 1) for piece in pieces[5:])]

    found = solve_together(late, attempts=1)

    assert isinstance(found, Unsolved)
    assert found.reason == "inconsistent"


def test_overlapping_draws_are_refused() -> None:
    """Two tensors that claim the same words are a usage error; none at all is too few."""
    piece = drawn_pieces()[0]

    with pytest.raises(UsageError, match="overlap"):
        solve_together([piece, replace(piece, start=3)])
    nothing = solve_together([])
    assert isinstance(nothing, Unsolved)
    assert nothing.reason == "too-few"


def test_cgcnn_is_solved_by_all_its_layers(cases: Path) -> None:
    """Five layers of the band-gap model, 3,072 untouched values in all, give the seed that 256 could not."""
    layers = ["embedding", *(f"convs.{i}.fc_full" for i in range(4))]
    prefix = "state_dict."
    pieces = []
    with open_checkpoint(cases / "real" / "cgcnn_band-gap.pth.tar") as checkpoint:
        parameters = [
            (name, info.shape) for name, info in checkpoint.tensors.items() if name.startswith(prefix)
        ]
        positions = starts(parameters, norms_draw=True)
        for layer in layers:
            name = f"{prefix}{layer}.weight"
            height, width = checkpoint.tensors[name].shape
            values = checkpoint.rows(name, 0, height).ravel()
            bound = width**-0.5
            lattice = exact_uniforms(
                values.astype(np.float64), np.arange(values.size), bound, "cpu-unfused"
            ).source
            on = np.isin(np.arange(values.size), lattice).reshape(height, width)
            where = (np.arange(height)[:, None] * width + np.flatnonzero(on.all(axis=0))).ravel()
            pieces.append(
                Piece(positions[name], values[where], where, (height, width), "uniform",
                      (0.999 * bound, 1.001 * bound), unit=where % width)
            )  # fmt: skip

    found = solve_together(pieces)

    assert isinstance(found, Together), found
    assert (found.seed, found.index) == (95003306, 0)
    assert set(found.arithmetics) == {"cpu-unfused"}
    assert all(fit.equal.all() for fit in found.fits)
