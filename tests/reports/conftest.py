"""A reading made by hand, with every key filled, to be changed by the tests."""

from __future__ import annotations

from typing import Any

import pytest

from birthmark.reports.reading import Reading

SCORE = {"n": 2432, "r": 0.9968, "sigma": 49.2, "log10_p_local": -526.8, "log10_p_global": -526.8}
LOW = {"n": 2432, "r": 0.0281, "sigma": 1.4, "log10_p_local": -1.08, "log10_p_global": -1.08}
DEVICES = [
    {"name": "H100 PCIe", "sm_count": 114, "threads_per_sm": 2048},
    {"name": "H100 PCIe MIG 7g", "sm_count": 114, "threads_per_sm": 2048},
]


def finding_dict(**changes: Any) -> dict[str, Any]:
    """A finding as JSON, with keys replaced."""
    return {
        "tensor": "model.embed_tokens.weight",
        "outcome": "match",
        "survivors": {"axis": "row", "count": 5, "ids": [114, 202, 203, 204, 3992]},
        "altered": {"count": 2, "ids": [114, 202], "elements": 9},
        "scale": 0.02,
        "factor": 1.0,
        "generator": "philox",
        "platform": "cuda",
        "arithmetic": "nvidia-volta+",
        "arithmetics_not_excluded": ["nvidia-volta+", "amd"],
        "method": "search",
        "seed": 777,
        "seed_hex": "0x309",
        "seed_rule": None,
        "declared": None,
        "offset": 0,
        "index": None,
        "solve": None,
        "sampler": {"distribution": "normal", "parameters": [0.0, 0.02], "dtype": "float32", "version": None},
        "layout": {"threads": 233472, "not_excluded": [233472], "devices": DEVICES},
        "selection": SCORE,
        "holdout": SCORE,
        "trials": 2 * 10**11,
        "holdout_trials": 1,
        "bit_exact": {
            "equal": 5053,
            "of": 5120,
            "within_ulp": {"1": 5054, "2": 5054, "3": 5055},
            "holdout": {"equal": 2404, "of": 2432},
        },
        "share": None,
        "controls": {
            "seed_plus_one": {"score": LOW},
            "next_layout": {"threads": 261120, "score": SCORE, "differing": LOW},
            "decoys": {
                "count": 4096,
                "max_sigma": 3.8,
                "n": 1024,
                "mean": 0.01,
                "std": 1.0,
                "candidate_sigma": 31.9,
                "edges": [-2.0, -1.0, 0.0, 1.0, 2.0],
                "histogram": [600, 1448, 1448, 600],
            },
        },
        "vendor": {
            "discriminating": 3,
            "nvidia": 2,
            "amd": 0,
            "neither": 1,
            "statement": "The vendors stay open.",
        },
        **changes,
    }


def reading_of(**changes: Any) -> Reading:
    """A reading with one finding, with keys replaced."""
    return Reading.model_validate(
        {
            "schema": "birthmark.reading/1",
            "version": "0.1.0",
            "command": "birthmark scan partial-3pct",
            "checkpoint": {
                "source": "partial-3pct",
                "revision": None,
                "files": [{"name": "model.safetensors", "size": 1234, "sha256": "ab" * 32}],
                "bytes_read": 1_070_840,
                "tensors_read": ["model.embed_tokens.weight"],
            },
            "verdict": "match",
            "findings": [finding_dict()],
            "searched": {
                "seeds": [0, 4294967295],
                "layouts": [233472, 270336],
                "hypotheses": ["normal, whole tensor, offset 0"],
                "candidates_tested": 7,
                "complete": True,
                "trials": 2 * 10**11,
                "miss_chance": 1e-6,
                "stages": ["dictionary of seeds: done"],
            },
            "limits": ["It does not show where the hardware was."],
            "notes": ["Hold-out: 2,432 elements.", "index is null: it belongs to other generators."],
            **changes,
        }
    )


@pytest.fixture(scope="session")
def make_reading() -> Any:
    """Make a reading; see `reading_of`."""
    return reading_of


@pytest.fixture(scope="session")
def make_finding() -> Any:
    """Make a finding as JSON; see `finding_dict`."""
    return finding_dict
