"""Rows of CPU draws as a request, against stock torch, and as a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from birthmark.cpu_prediction import cpu_prediction
from birthmark.errors import UnknownName, UsageError
from birthmark.prediction_file import save


def test_rows_equal_torch() -> None:
    """Rows of a matrix drawn after other words equal torch's; the metadata says where the draw ends."""
    torch.manual_seed(3)
    torch.rand(1_000)
    truth = torch.empty(40, 33).normal_(0.0, 0.02)
    asked = cpu_prediction(3, (40, 33), index=1_000, parameters=(0.0, 0.02), rows=(5, 9))
    facts = asked.metadata()

    assert np.array_equal(asked.values(), truth[5:9].numpy())
    assert facts["end_index"] == 1_000 + 40 * 33 + 16
    assert facts["exact"]
    assert facts["generator"] == "mt19937"
    assert not np.any(cpu_prediction(4, (40, 33), index=1_000, rows=(5, 9)).values() == truth[5:9].numpy())


def test_a_request_can_name_its_numbers_and_be_cast() -> None:
    """Numbers by name, a cast after the draw, the places of redraws and of the normal that is kept."""
    torch.manual_seed(1)
    truth = torch.empty(3).uniform_(-0.5, 0.5).bfloat16().double().numpy()
    uniform = cpu_prediction(
        1, (3,), distribution="uniform", parameters={"low": -0.5, "high": 0.5}, cast="bfloat16"
    )
    small = cpu_prediction(1, (3,))
    torch.manual_seed(1)
    torch.nn.init.trunc_normal_(torch.empty(50), std=0.02, a=-0.02, b=0.02)
    following = torch.rand(1).item()
    truncated = cpu_prediction(1, (50,), distribution="truncated-normal", parameters=(0.0, 0.02, -0.02, 0.02))

    assert np.array_equal(uniform.values(), truth)
    assert small.metadata()["end_kept_at"] == 4
    end = truncated.metadata()["end_index"]
    assert cpu_prediction(1, (1,), index=end, distribution="uniform").values()[0] == following


def test_the_arithmetic_follows_the_release() -> None:
    """Without a name it is that of the official x86 wheels."""
    assert cpu_prediction(1, (3,), torch="1.5.1").draw.arithmetic == "cpu-unfused"
    assert cpu_prediction(1, (3,), torch="1.6.0").draw.arithmetic == "cpu-fused"
    assert cpu_prediction(1, (3,), torch="2.6", arithmetic="cpu-scalar-fused").draw.version == "2.6"


def test_a_file_holds_values_and_metadata(tmp_path: Path) -> None:
    """Written and read back, bfloat16 with its bit patterns."""
    asked = cpu_prediction(9, (4, 8), dtype="bfloat16", parameters=(0.0, 0.02))
    save(tmp_path / "rows.npz", asked)

    with np.load(tmp_path / "rows.npz") as file:
        assert np.array_equal(file["values"], asked.values())
        assert file["bits"].dtype == np.uint16
        assert json.loads(str(file["metadata"]))["seed"] == 9


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"index": -1}, "index -1"),
        ({"rows": (0, 5)}, "range in 0:4"),
        ({"shape": (4, 0)}, "no elements"),
        ({"shape": ()}, "no elements"),
        ({"seed": 1 << 64}, "manual_seed"),
        ({"distribution": "permutation"}, "one extent"),
        ({"dtype": "bfloat16", "cast": "float16"}, "cast"),
        ({"distribution": "integers", "parameters": {"low": 3}, "dtype": "int64"}, "upper one"),
        ({"torch": "old"}, "such as"),
    ],
)
def test_what_cannot_be_predicted_is_refused(request_: dict[str, Any], message: str) -> None:
    """The message says what was wrong."""
    asked: dict[str, Any] = {"seed": 1, "shape": (4, 5)} | request_

    with pytest.raises(UsageError, match=message):
        cpu_prediction(**asked)


def test_unknown_names_are_answered_with_near_ones() -> None:
    """Distributions and arithmetics."""
    with pytest.raises(UnknownName, match="uniform"):
        cpu_prediction(1, (3,), distribution="uniforn")
    with pytest.raises(UnknownName, match="cpu-scalar"):
        cpu_prediction(1, (3,), arithmetic="cpu-scalr")
