"""The user's own files as programs: found, run, and their errors told in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from birthmark.errors import UnknownName, UsageError
from birthmark.torch.programs import from_file
from birthmark.torch.tracing import trace

TEXT = """
import torch
from beside import SIZE
def build():
    return torch.nn.Linear(SIZE, 4)
def fails():
    raise ValueError("no such\\n layer")
def leaves():
    raise SystemExit(3)
def inside():
    return torch.nn.Linear("seven", 4)
other = 3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A program with a file beside it."""
    (tmp_path / "beside.py").write_text("SIZE = 7\n")
    (tmp_path / "my_model.py").write_text(TEXT)
    return tmp_path / "my_model.py"


def test_a_function_of_a_file_is_traced(file: Path) -> None:
    """With the files beside it, as Python would run it."""
    program = from_file(f"{file}:build")

    assert trace(program.build).tensors[0].shape == (4, 7)
    assert program.notes == ()


def test_a_file_that_seeds_while_it_is_loaded_is_noted(file: Path) -> None:
    """Its trace begins with the function all the same."""
    file.write_text(f"import torch\ntorch.manual_seed(3)\n{TEXT}")
    before = torch.get_rng_state()
    try:
        assert "seeds or draws while it is loaded" in from_file(f"{file}:build").notes[0]
    finally:
        torch.set_rng_state(before)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("{}", "a file and a function"),
        ("{}:", "a file and a function"),
        ("{}x:build", "no file"),
        ("{}:other", "expected a function"),
    ],
)
def test_a_wrong_target_is_told(target: str, message: str, file: Path) -> None:
    """What was got, and what is expected."""
    with pytest.raises(UsageError, match=message):
        from_file(target.format(file))


def test_an_unknown_function_lists_the_nearest(file: Path) -> None:
    """A name with a slip is answered with the right one."""
    with pytest.raises(UnknownName, match="build"):
        from_file(f"{file}:bild")


def test_errors_of_the_program_are_one_line_with_the_place(file: Path) -> None:
    """While it is loaded, and while it builds."""
    with pytest.raises(UsageError, match=r"ValueError: no such layer \(my_model.py:7\)"):
        trace(from_file(f"{file}:fails").build)
    with pytest.raises(UsageError, match=r"left the program .*exit code 3"):
        trace(from_file(f"{file}:leaves").build)
    with pytest.raises(UsageError, match=r"TypeError.*\(my_model.py:11\)"):  # not a line of torch's own
        trace(from_file(f"{file}:inside").build)
    file.write_text("import nothing_of_this_name\n")
    with pytest.raises(UsageError, match="ModuleNotFoundError"):
        from_file(f"{file}:build")
