"""A trained checkpoint is rewound to the values that it was born with, and to no others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from birthmark.checkpoints import open_checkpoint
from birthmark.errors import UsageError
from birthmark.recipes.trace import Trace
from birthmark.replay import rewind as rewinding
from birthmark.replay.layouts import better_layout, layout_scores
from birthmark.replay.matching import match_trace
from birthmark.replay.replaying import Birth
from birthmark.replay.rewind import Account, NothingVerified, beside, rewind

from .conftest import G, saved, small_trace, state, trained


def rewound(path: Path, trace: Trace, birth: Birth, *, unverified: bool = False) -> Account:
    with open_checkpoint(path) as checkpoint:
        return rewind(checkpoint, trace, birth, path.parent / "step0.safetensors", unverified=unverified)


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_a_trained_model_is_rewound(tmp_path: Path, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tensor that a draw or a constant decides, bit for bit, whatever the size of the blocks."""
    monkeypatch.setattr(rewinding, "BLOCK", 1000)
    trace, birth = small_trace(device), Birth(11, G if device == "cuda" else None)
    born = state(trace, birth)
    account = rewound(saved(tmp_path / "a.safetensors", trained(born)), trace, birth)
    found = load_file(tmp_path / "step0.safetensors")

    assert list(found) == ["embed.weight", "layer.weight", "layer.bias", "norm.weight", "head.weight"]
    assert all(np.array_equal(values, born[name]) for name, values in found.items())
    assert account.left_out == {"lost": "a norm"}
    assert {each.name: each.state for each in account.tensors} == {
        "embed.weight": "survivors",
        "layer.weight": "weak-trace",
        "layer.bias": "unverified",
        "norm.weight": "differs",
        "head.weight": "survivors",
    }


def test_the_account_says_what_was_verified(tmp_path: Path, trace: Trace, birth: Birth) -> None:
    """Shares of equal values, rows, r and sigma of each tensor; nothing is NaN."""
    rewound(saved(tmp_path / "a.safetensors", trained(state(trace, birth))), trace, birth)
    document = json.loads((tmp_path / "step0.json").read_text())
    embedding = document["tensors"][0]

    assert (document["schema"], document["seed"], document["threads"]) == ("birthmark.rewind/1", 11, G)
    assert (document["verified"], document["drawn"]) == (3, 4)
    assert embedding["compared"]["rows"] == {"held": 1000, "judged": 1200}
    assert embedding["compared"]["equal_share"] == pytest.approx(5 / 6, abs=0.01)
    assert embedding["compared"]["sigma"] > 20
    assert abs(embedding["control"]) < 5
    assert document["left_out"] == {"lost": "a norm"}


def test_an_untouched_model_is_equal(tmp_path: Path, trace: Trace, birth: Birth) -> None:
    """Constants are the same, draws are equal to the last bit, also where they were cast when published."""
    account = rewound(saved(tmp_path / "a.safetensors", state(trace, birth)), trace, birth)

    assert [each.state for each in account.tensors] == ["equal", "equal", "equal", "constant", "equal"]


@pytest.mark.parametrize("wrong", [{"seed": 12}, {"threads": None, "seed": 11}])
def test_a_wrong_birth_writes_nothing(tmp_path: Path, birth: Birth, wrong: dict[str, int | None]) -> None:
    """Another seed, or the CPU's generator for what a GPU drew: the file does not appear."""
    trace = small_trace("cpu")
    path = saved(tmp_path / "a.safetensors", trained(state(trace, birth)))
    false = replace(birth, **wrong)  # type: ignore[arg-type]
    with pytest.raises(NothingVerified, match=r"shows|explains"):
        rewound(path, trace, false)

    assert [each.name for each in tmp_path.iterdir()] == ["a.safetensors"]
    assert rewound(path, trace, false, unverified=True).verified == ()
    assert beside(tmp_path / "step0.safetensors").exists()


def test_a_wrong_device_is_found_out(tmp_path: Path, trace: Trace) -> None:
    """Its first wave is right, and other layouts of the table explain the model better."""
    birth = Birth(11, 26_624)
    path = saved(tmp_path / "a.safetensors", trained(state(trace, birth)))
    wrong = replace(birth, threads=28_672)
    with open_checkpoint(path) as checkpoint:
        match = match_trace(trace, checkpoint.tensors)
        scores = layout_scores(checkpoint, trace, birth, match)

        assert max(scores, key=lambda threads: scores[threads]) == 26_624
        assert better_layout(checkpoint, trace, birth, match) is None
        rival = better_layout(checkpoint, trace, wrong, match)
        assert rival is not None
        assert rival.threads == 26_624
    with pytest.raises(NothingVerified, match="another layout"):
        rewound(path, trace, wrong)


def test_another_models_trace_is_refused(tmp_path: Path, trace: Trace, birth: Birth) -> None:
    """The first tensor that differs is named, and nothing is written."""
    born = state(trace, birth)
    born["layer.weight"] = born["layer.weight"][:, :100]
    path = saved(tmp_path / "a.safetensors", born)
    with pytest.raises(UsageError, match=r"layer.weight has the shape"):
        rewound(path, trace, birth)

    assert not (tmp_path / "step0.safetensors").exists()
