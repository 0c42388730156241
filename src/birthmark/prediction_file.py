"""A prediction as an array file.

The file is a numpy `.npz` with `values`, and `bits` for bfloat16, which numpy does not have; `metadata` is a
JSON text that says how the values came about.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import numpy as np

from birthmark.cpu_prediction import CpuPrediction
from birthmark.errors import OutputError
from birthmark.prediction import Prediction


def save(path: str | Path, asked: Prediction | CpuPrediction) -> None:
    """Compute a prediction and write it; the file appears whole or not at all.

    Keys: `values` (float32, float16 or float64 as drawn or cast, float32 for bfloat16; int64 or bool for
    draws of integers or truth values), `bits` (uint16, for bfloat16 only), `metadata` (JSON text).

    Raises:
        OutputError: the file cannot be written there.
        UsageError: the values take more memory than this machine has.
    """
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir():
        raise OutputError(f"cannot write {target}: expected a file name in an existing folder.")
    if target.exists() and not target.is_file():
        raise OutputError(f"cannot write {target}: it is no ordinary file.")
    values = asked.values()
    arrays: dict[str, Any] = {"values": values}
    stored = asked.cast or asked.dtype
    if values.dtype == np.float32 and stored == "float16":
        arrays["values"] = values.astype(np.float16)
    if values.dtype == np.float32 and stored == "bfloat16":
        arrays["bits"] = (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    arrays["metadata"] = np.array(json.dumps(asked.metadata()))
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with partial.open("xb") as file:
            np.savez(file, **arrays)
        partial.replace(target)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}.") from error
    finally:
        partial.unlink(missing_ok=True)
