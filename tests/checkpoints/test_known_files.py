"""The checkpoints with known answers: malformed ones, emulated ones, and real published weights."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from birthmark.checkpoints import Checkpoint, open_checkpoint
from birthmark.errors import CheckpointError

#: What each malformed file must say; None where it must be read.
MALFORMED = {
    "empty.safetensors": "too short for the 8-byte header length",
    "truncated-header.safetensors": "said to have 512 bytes, but 44 follow",
    "header-length-2pow60.safetensors": "1,152,921,504,606,846,976 bytes; the limit is",
    "truncated-data.safetensors": "cut short",
    "overlapping-offsets.safetensors": "'a' and 'b' .* overlap",
    "duplicate-keys.safetensors": "'model.embed_tokens.weight' twice",
    "wrong-size.safetensors": "needs 3,072 bytes, its offsets give 1,536",
    "nan-row.safetensors": None,
    "zero-rows.safetensors": None,
    "pickle-system.pt": r"'posix\.system'",
    "deflated-storage.pt": None,
    "missing-shard/model.safetensors.index.json": r"missing: 'model-00002-of-00002\.safetensors'",
}


def test_every_malformed_file_has_an_expectation_here(answers: dict[str, Any]) -> None:
    """The list of this test is the list of the answers, and refusals agree with them."""
    files = answers["malformed"]["files"]

    assert set(files) == set(MALFORMED)
    for name, reason in MALFORMED.items():
        assert files[name]["outcome"] in (("read", "refuse or warn") if reason is None else ("refuse",))


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_are_refused_in_one_line_or_read(
    cases: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    """Each file has the outcome of the answers, with its reason, and no payload runs."""
    path = cases / "malformed" / name
    reason = MALFORMED[name]
    if reason is None:
        with open_checkpoint(path) as checkpoint:
            assert every_value(checkpoint) > 0
    else:
        with pytest.raises(CheckpointError, match=reason) as caught:
            open_checkpoint(path)
        assert "\n" not in str(caught.value)
    assert capfd.readouterr().out == ""


def every_value(checkpoint: Checkpoint) -> int:
    """Read all tensors; how many values there are."""
    count = 0
    for name, info in checkpoint.tensors.items():
        count += checkpoint.rows(name, 0, info.matrix_shape[0]).size
    return count


def test_values_that_are_not_finite_are_read_as_they_are(cases: Path) -> None:
    """Row 5 of the NaN case is NaN, row 9 holds an infinity, all else is finite."""
    with open_checkpoint(cases / "malformed" / "nan-row.safetensors") as checkpoint:
        rows = checkpoint.rows("model.embed_tokens.weight", 0, 24)

    assert np.flatnonzero(np.isnan(rows).any(axis=1)).tolist() == [5]
    assert np.flatnonzero(np.isinf(rows).any(axis=1)).tolist() == [9]


def test_a_deflated_storage_is_all_zero_and_noted(cases: Path) -> None:
    """The compressed storage inflates to its 8 MiB of zeros, with a warning."""
    with open_checkpoint(cases / "malformed" / "deflated-storage.pt") as checkpoint:
        assert not checkpoint.rows("model.embed_tokens.weight", 0, 2048).any()
        assert "compressed" in checkpoint.notes[0]


FOLDERS = [
    "ada-4090", "blackwell-31bit", "cpu-1337", "decay-152", "hopper-42", "megatron-tp2-a100",
    "merged-two-layouts", "numpy-pcg64", "partial-3pct", "redrawn-offset", "rocm-mi300x-f32", "sharded",
    "step0-unseeded", "truncated-float32", "weak-r10",
]  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_are_read_as_by_the_reference_implementation(cases: Path, name: str) -> None:
    """Every value of every tensor equals what safetensors itself reads."""
    expected: dict[str, torch.Tensor] = {}
    for path in (cases / name).glob("*.safetensors"):
        expected |= load_file(path)

    with open_checkpoint(cases / name) as checkpoint:
        assert set(checkpoint.tensors) == set(expected)
        for tensor, info in checkpoint.tensors.items():
            rows = checkpoint.rows(tensor, 0, info.matrix_shape[0])
            assert np.array_equal(rows, expected[tensor].float().numpy().reshape(info.matrix_shape))


#: Real PyTorch files that stock PyTorch reads without running anything.
STATE_DICTS = {
    "pt-zip/pytorch_model.bin": "",
    "real/catniplab_music_50_initial_state_dict.pt": "",
    "real/catniplab_music_50_final_state_dict.pt": "",
    "real/cgcnn_band-gap.pth.tar": "state_dict.",
    "real/sb3zoo_ppo_Ant-v3_policy.pth": "",
    "real/shagunuppal_mnist_vae.pth": "",
}


@pytest.mark.parametrize("name", STATE_DICTS)
def test_pytorch_files_are_read_as_by_pytorch(cases: Path, name: str) -> None:
    """Names, shapes and every value equal those of torch.load(weights_only=True)."""
    prefix = STATE_DICTS[name]
    loaded = torch.load(cases / name, map_location="cpu", weights_only=True)
    state = loaded[prefix.rstrip(".")] if prefix else loaded

    with open_checkpoint(cases / name) as checkpoint:
        names = [each for each in checkpoint.tensors if each.startswith(prefix)]
        assert names == [prefix + each for each in state]
        for each, tensor in state.items():
            info = checkpoint.tensors[prefix + each]
            rows = checkpoint.rows(prefix + each, 0, info.matrix_shape[0])
            assert np.array_equal(rows, tensor.float().numpy().reshape(info.matrix_shape))


LAYERS = [f"classifier.{layer}.{part}" for layer in (0, 2, 4) for part in ("weight", "bias")]


@pytest.mark.parametrize(
    ("name", "names"),
    [
        (
            "ggl_lottery_fc1_pp0x1_seed3_co2False_T4.pt",
            [f"{when}_state_dict.{layer}" for when in ("initial", "best", "final") for layer in LAYERS],
        ),
        ("sparsenns_fc1_mnist_initial_lt.pth.tar", LAYERS),
        ("sparsenns_fc1_mnist_initial_magnitude.pth.tar", LAYERS),
    ],
)
def test_weights_drawn_on_gpus_are_found_under_their_names(cases: Path, name: str, names: list[str]) -> None:
    """State dicts among logs, and whole pickled modules, give the tensors of the net in its order."""
    with open_checkpoint(cases / "real" / name) as checkpoint:
        assert list(checkpoint.tensors) == names
        first = checkpoint.tensors[names[0]]
        assert (first.shape, first.dtype, first.strides) == ((300, 784), "float32", None)
        assert every_value(checkpoint) == 266_610 * len(names) // 6


def test_flax_parameters_in_a_pickle_are_found(cases: Path) -> None:
    """A plain pickle of flax parameters gives its kernels."""
    with open_checkpoint(cases / "real" / "gymnax_blines_FourRooms-misc_ppo.pkl") as checkpoint:
        kernel = checkpoint.tensors["network.params.Dense_0.kernel"]
        assert (kernel.shape, kernel.dtype) == ((338, 64), "float32")
        assert np.isfinite(checkpoint.rows(kernel.name, 0, 338)).all()
        assert "flax.core.frozen_dict.FrozenDict" in checkpoint.notes[0]


def test_reading_changes_nothing(cases: Path) -> None:
    """The real files are the ones of their checksums."""
    for line in (cases / "real" / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        path = cases / "real" / name.lstrip("*")
        assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
