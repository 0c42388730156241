"""Which tensors of a scan are asked for their layout without a seed, and what is said of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from birthmark.checkpoints import open_checkpoint
from birthmark.checkpoints.declarations import declarations
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.scan.searching import without_seed
from birthmark.scan.state import State
from birthmark.survivors.survivor import Survivors

UNSEEDED = 7214893347715870


def drawn(shape: tuple[int, int], threads: int, kind: str = "normal") -> NDArray[Any]:
    """A tensor as a GPU run without a seed drew it."""
    parameters = (0.0, 0.02) if kind == "normal" else (-0.05, 0.05)
    values: NDArray[Any] = Hypothesis(Draw(kind, parameters, shape), threads).tensor(UNSEEDED)  # type: ignore[arg-type]
    return values


def asked(folder: Path, tensors: dict[str, NDArray[Any]], **distribution: str) -> State:
    """The state after all tensors were offered, in their order, as untouched rows."""
    save_file(
        {name: np.ascontiguousarray(values) for name, values in tensors.items()}, folder / "m.safetensors"
    )
    with open_checkpoint(folder / "m.safetensors") as checkpoint:
        state = State(checkpoint, declarations(checkpoint), None)
        targets = [
            Survivors(
                name,
                values.shape,
                checkpoint.tensors[name].dtype,
                "row",
                np.arange(len(values)),
                np.ones(len(values)),
                "uniform" if distribution.get(name) == "uniform" else "normal",
                float(values.astype(np.float64).std()),
                0.001,
            )
            for name, values in tensors.items()
        ]
        without_seed(state, targets)
    return state


def test_tensors_of_one_wave_do_not_use_up_the_turns(tmp_path: Path) -> None:
    """Behind three tensors that cannot show a layout the large one is still asked."""
    small = {f"small{number}": drawn((60, 128), 28672) for number in range(3)}
    state = asked(tmp_path, {**small, "large": drawn((700, 128), 28672)})
    assert [found.threads for survivors, found in state.layouts if survivors.tensor == "large"] == [28672]


@pytest.mark.parametrize(
    ("dtype", "kind", "words"),
    [(np.float16, "normal", "too coarse"), (np.float32, "uniform", "only a normal draw comes in pairs")],
)
def test_what_cannot_be_read_says_so_once(tmp_path: Path, dtype: Any, kind: str, words: str) -> None:
    """Sixteen-bit and uniform tensors are refused with a reason, not passed over in silence."""
    tensors = {name: drawn((400, 128), 28672, kind).astype(dtype) for name in ("a", "b")}
    state = asked(tmp_path, tensors, a=kind, b=kind)
    assert [found.result for _, found in state.layouts] == ["refused"]
    assert words in state.layouts[0][1].reason
