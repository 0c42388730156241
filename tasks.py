#!/usr/bin/env python3
"""Everything a fresh machine needs, in one file of standard Python: `python3 tasks.py demo|test|check`.

Creates its own environment in .venv (or in $BIRTHMARK_VENV) and installs what the task needs.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = Path(os.environ.get("BIRTHMARK_VENV", ROOT / ".venv"))
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
OLDEST, NEWEST = (3, 11), (3, 14)


def suitable_python() -> None:
    """Go on under a Python that the package supports; start over with another one where this one is not."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        if found:
            os.execv(found, [found, *sys.argv])  # noqa: S606 - the same script under another interpreter
    version = ".".join(map(str, sys.version_info[:2]))
    sys.exit(f"tasks.py: this is Python {version}; birthmark needs 3.{OLDEST[1]} to 3.{NEWEST[1]}.")


def install(*extras: str) -> None:
    """Make the environment, or bring it up to date when pyproject.toml or the wish for extras changed."""
    wanted = hashlib.sha256(
        (ROOT / "pyproject.toml").read_bytes() + repr(sorted(extras)).encode()
    ).hexdigest()
    stamp = VENV / f"installed-{'-'.join(extras) or 'plain'}"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if not (BIN / "python").exists() and not (BIN / "python.exe").exists():
        print(f"Making an environment in {VENV}")
        venv.create(VENV, with_pip=True)
    what = f".[{','.join(extras)}]" if extras else "."
    print(f"Installing birthmark{what[1:]}")
    run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", what)
    stamp.write_text(wanted)


def run(program: str, *arguments: str) -> None:
    """Run a program of the environment in the project's folder; leave with its exit code when it fails."""
    finished = subprocess.run([BIN / program, *arguments], cwd=ROOT, check=False)  # noqa: S603
    if finished.returncode:
        sys.exit(finished.returncode)


def demo() -> None:
    """Scan the bundled example and show its reading."""
    install()
    run("birthmark", "scan", "examples/tiny-lm")


def test(arguments: list[str]) -> None:
    """Pass the tests, shared among the processors; arguments go to pytest, which then runs in one process."""
    install("test")
    run("python", "-m", "pytest", *(arguments or ["--numprocesses", "auto", "--dist", "worksteal"]))


def check() -> None:
    """Lint, format and types, as the integration run does."""
    install("test", "dev")
    run("ruff", "check", ".")
    run("ruff", "format", "--check", ".")
    run("mypy")


def main() -> None:
    """Parse the command line and do the task."""
    parser = argparse.ArgumentParser(description="birthmark: set up and run the common tasks.")
    parser.add_argument("task", choices=["demo", "test", "check"])
    options, rest = parser.parse_known_args()
    suitable_python()
    if options.task == "demo":
        demo()
    elif options.task == "test":
        test(rest)
    else:
        check()


if __name__ == "__main__":
    main()
