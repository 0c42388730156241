"""A search that is killed at any moment goes on where it was: no seed skipped, none counted twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import birthmark
from birthmark.search.engine import search
from birthmark.search.ledger import Ledger
from birthmark.search.options import Options
from birthmark.survivors.split import Selection

SEED = 5_000_000
SEEDS = (4_000_000, 4_000_000 + (1 << 22))
UNIT = 1 << 16
OPTIONS = Options(seeds=SEEDS, dictionary=False, unit=UNIT, everything=True, workers=2)

#: What the killed process runs: the same search, in a process of its own.
SCRIPT = """
import sys
import numpy as np
from birthmark.search.engine import search
from birthmark.search.ledger import Ledger
from birthmark.search.options import Options
from birthmark.survivors.split import Selection

data = dict(np.load(sys.argv[1]))
facts = dict((name, data.pop(name).tolist()) for name in list(data) if data[name].ndim == 0)
selection = Selection(**facts, shape=tuple(data.pop("shape").tolist()), **data)
options = Options(seeds=({seeds[0]}, {seeds[1]}), dictionary=False, unit={unit}, everything=True, workers=2)
with Ledger(sys.argv[2], resume=sys.argv[3] == "resume") as ledger:
    search(selection, options, ledger=ledger)
"""


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def killed_after(path: Path, files: tuple[Path, Path], units: int) -> None:
    """Run the search until its ledger has grown by some units, then kill it."""
    script, data = files
    command = [sys.executable, str(script), str(data), str(path), "resume" if path.exists() else "new"]
    source = str(Path(birthmark.__file__).resolve().parents[1])
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": source})
    wanted = lines(path) + units
    deadline = time.monotonic() + 120
    while lines(path) < wanted and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL there")
def test_kills_lose_nothing(planted: Callable[..., Any], tmp_path: Path) -> None:
    """Killed twice at random, then finished: all tiled exactly, the same result as without kills."""
    selection: Selection = planted(seed=SEED, rows=(20, 60, 100, *range(8160, 8190))).selection()
    script, data, path = tmp_path / "run.py", tmp_path / "selection.npz", tmp_path / "killed.ledger"
    script.write_text(SCRIPT.format(seeds=SEEDS, unit=UNIT))
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in asdict(selection).items()}
    np.savez(data, **arrays)
    chance = np.random.default_rng(int(time.time()))
    for _ in range(2):
        killed_after(path, (script, data), int(chance.integers(1, 60)))
    before = lines(path)
    with Ledger(path, resume=True) as ledger:
        resumed = search(selection, OPTIONS, ledger=ledger)
    whole = search(selection, OPTIONS)

    assert before > 1
    assert resumed.candidates == whole.candidates
    assert [each.seed for each in resumed.candidates] == [SEED]
    assert resumed.searched.stages == whole.searched.stages
    passes: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for line in path.read_text().splitlines()[1:]:
        stage, number, start, stop = json.loads(line)["unit"]
        passes.setdefault((stage, number), []).append((start, stop))
    for ranges in passes.values():
        ranges.sort()
        assert (ranges[0][0], ranges[-1][1]) == (0, SEEDS[1] - SEEDS[0])
        assert all(a[1] == b[0] for a, b in pairwise(ranges))
