"""Parts of one file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.lineage.zoo import InMemory, born

from birthmark.errors import UnknownName, UsageError
from birthmark.lineage.parts import Part, opened, parts_of, split_name


def nested(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Nets under prefixes, as one."""
    return {f"{prefix}.{name}": values for prefix, net in parts.items() for name, values in net.items()}


def names(whole: InMemory) -> list[str]:
    """The prefixes of its parts."""
    return [each.source.partition("#")[2] for each in parts_of(whole)]


def test_siblings_with_the_same_tensors() -> None:
    """Groups of the same names are parts, at whatever depth; an optimizer's state beside them is none."""
    net = born(1)
    apart: dict[str, Any] = {
        "model.student": net,
        "model.teacher": born(2),
        "model.optimizer": {"step": np.ones(300)},
    }

    assert names(InMemory(nested({"initial": net, "best": born(2), "ema": born(3)}))) == [
        "initial",
        "best",
        "ema",
    ]
    assert names(InMemory(nested(apart))) == ["model.student", "model.teacher"]


def test_layers_are_no_parts() -> None:
    """Numbered layers of one model are not compared with each other, nor two small heads of it."""
    head = {"weight": np.ones((20, 20)), "bias": np.ones(300)}
    layers: dict[str, Any] = {"layers.0": born(1), "layers.1": born(2)}
    heads: dict[str, Any] = {"body": born(1), "start": head, "end": head}
    for one in (layers, heads):
        with pytest.raises(UsageError, match="FILE#PREFIX"):
            parts_of(InMemory(nested(one)))


def test_a_part_reads_its_own() -> None:
    """A part has the names without the prefix and the values with it."""
    net = born(1)
    part = Part(InMemory(nested({"a": net, "b": born(2)})), "a")
    rows = np.array([3, 1])

    assert list(part.tensors) == list(net)
    assert part.tensors["embed"].name == "embed"
    np.testing.assert_array_equal(part.take("embed", rows), net["embed"][rows])
    np.testing.assert_array_equal(part.rows("embed", 2, 4), net["embed"][2:4])
    np.testing.assert_array_equal(part.elements("embed", rows), net["embed"].ravel()[rows])
    with pytest.raises(UnknownName, match="Nearest: a"):
        Part(InMemory(nested({"a": net})), "aa")


def test_names_on_the_command_line(tmp_path: Path) -> None:
    """A mark separates file and prefix, unless a file of the whole name exists."""
    odd = tmp_path / "odd#name"
    odd.write_bytes(b"x")

    assert split_name("net.pt#best") == ("net.pt", "best")
    assert split_name("net.pt#best.") == ("net.pt", "best")
    assert split_name(str(odd)) == (str(odd), "")
    assert split_name("#best") == ("#best", "")


def test_a_published_file_of_three(cases: Path) -> None:
    """A published file of initial, best and final weights is compared with itself."""
    (path,) = (cases / "real").glob("ggl*.pt")

    with opened([str(path)]) as parts:
        assert [each.source.partition("#")[2] for each in parts] == [
            "initial_state_dict",
            "best_state_dict",
            "final_state_dict",
        ]
    with opened([f"{path}#best_state_dict", f"{path}#final_state_dict"]) as parts:
        assert len(parts) == 2
