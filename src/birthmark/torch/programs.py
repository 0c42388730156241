"""What a trace can be made of: a function of the user's own file, or a transformers configuration.

A user's file is run as a program, with everything that it does. A configuration is data: the model's class is
taken from the installed transformers by the name that the configuration states; code that a repository
carries beside it is never fetched nor run.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

from birthmark.errors import BirthmarkError, MissingExtra, UnknownName, UsageError
from birthmark.torch.random_calls import Result

Build = Callable[[], Result]


@dataclass(frozen=True, slots=True)
class Program:
    """What builds a model.

    Attributes:
        build: does it.
        notes: what a user should know about it.
    """

    build: Build
    notes: tuple[str, ...] = ()


#: Dtypes that a model can be asked to be built in.
DTYPES: Final = ("float32", "bfloat16", "float16", "float64")


def from_file(target: str) -> Program:
    """The function that "my_model.py:build" names; loading the file runs it.

    Raises:
        UsageError: no such file or function, or the file does not run.
    """
    path, _, name = target.rpartition(":")
    file = Path(path)
    if not path or not name.isidentifier():
        raise UsageError(f"{target!r}: expected a file and a function, such as my_model.py:build.")
    if not file.is_file():
        raise UsageError(f"there is no file {path}.", advice="Name a Python file that builds the model.")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file: expected a name that ends in .py.")
    module = importlib.util.module_from_spec(spec)
    before = torch.get_rng_state()
    with _beside(file), _told(path):
        sys.modules[file.stem] = module
        spec.loader.exec_module(module)
    notes: tuple[str, ...] = ()
    if not torch.equal(before, torch.get_rng_state()):
        text = (
            f"{path} seeds or draws while it is loaded; the trace begins with {name}, as if seeded just then."
        )
        notes = (text,)
    build = getattr(module, name, None)
    if build is None:
        functions = [key for key, value in vars(module).items() if callable(value) and key[0] != "_"]
        raise UnknownName(f"function of {path}", name, functions or ["(none)"])
    if not callable(build):
        raise UsageError(f"{name} in {path} is a {type(build).__name__}: expected a function.")

    def run() -> Result:
        with _beside(file), _told(target):
            return build()

    return Program(run, notes)


def from_config(file: str | Path, dtype: str | None = None) -> Program:
    """The model of a transformers config.json, as its class's `from_config` builds it.

    Args:
        file: the configuration.
        dtype: the dtype to build in; None for what the configuration states, else float32.

    Raises:
        UsageError: the file is no configuration, or of a model that the installed transformers does not have.
        MissingExtra: transformers is not installed.
    """
    given = _read(Path(file))
    try:
        transformers: Any = importlib.import_module("transformers")
    except ImportError as error:
        raise MissingExtra(
            "a trace of a configuration needs transformers, and it is not installed here.",
            advice="Install it with: pip install transformers.",
        ) from error
    if dtype is not None and dtype not in DTYPES:
        raise UnknownName("dtype", dtype, DTYPES)
    kinds = transformers.models.auto.configuration_auto.CONFIG_MAPPING
    kind = given.get("model_type")
    if kind not in kinds:
        raise UnknownName(
            f"model type of transformers {transformers.__version__} in {file}", str(kind), list(kinds.keys())
        )
    named = given.get("architectures") or []
    model = getattr(transformers, str(named[0]), None) if named else None
    if named and model is None:
        raise UsageError(
            f"{file} is of a {named[0]}, which transformers {transformers.__version__} does not have; code "
            "from a repository is not run.",
            advice="Build the model in a file of your own, and trace that.",
        )

    def run() -> Result:
        with _told(str(file)):
            config = kinds[kind].from_dict(dict(given))
            options = {} if dtype is None else {"torch_dtype": getattr(torch, dtype)}
            if model is None:
                return transformers.AutoModel.from_config(config, **options)
            return model._from_config(config, **options)  # noqa: SLF001 - what from_config itself calls

    return Program(run)


def _read(file: Path) -> dict[str, Any]:
    try:
        given = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}.") from error
    except ValueError as error:
        raise UsageError(f"{file} is not JSON: {error}.") from None
    if not isinstance(given, dict):
        raise UsageError(f"{file} is no configuration: expected a JSON object.")
    return given


@contextmanager
def _beside(file: Path) -> Iterator[None]:
    """While this lasts, the files beside a program can be imported, as when it is run by Python."""
    folder = str(file.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Errors of the user's program in one line, with the place where they came up."""
    try:
        yield
    except BirthmarkError:
        raise
    except SystemExit as error:
        raise UsageError(f"{what} left the program while it was traced (exit code {error.code}).") from error
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if not _installed(frame.filename)] or frames
        place = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "?"
        text = " ".join(str(error).split())[:300]
        raise UsageError(
            f"{what} failed while it was traced: {type(error).__name__}: {text} ({place})."
        ) from error


def _installed(filename: str) -> bool:
    """Whether a line of a traceback lies in an installed package or in birthmark itself."""
    parts = Path(filename).parts
    return (
        "site-packages" in parts
        or filename.startswith("<")
        or Path(__file__).parents[1] in Path(filename).parents
    )
