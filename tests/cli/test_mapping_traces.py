"""`birthmark traces` from options to files, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner, Result

from birthmark.cli.app import app
from birthmark.cli.births import Place
from birthmark.cli.recipes import built_of, parallel_of, recipe_of
from birthmark.errors import BirthmarkError, UnknownName, UsageError
from birthmark.recipe_prediction import birth
from birthmark.recipes.config import Config, Parallel
from birthmark.recipes.config_file import model_from
from birthmark.recipes.litgpt import LitGpt
from birthmark.recipes.megatron_core import MegatronCore
from birthmark.recipes.trace import Trace, TracedDraw, TracedStream, TracedTensor
from birthmark.recipes.trace_file import save
from birthmark.recipes.trace_values import Drawn
from birthmark.replay.replaying import Birth, Replay

RUNNER = CliRunner()
G = 2048
LLAMA: dict[str, Any] = {
    "model_type": "llama", "vocab_size": 512, "hidden_size": 32, "num_hidden_layers": 1,
    "num_attention_heads": 4, "intermediate_size": 64, "initializer_range": 0.02,
}  # fmt: skip


def run(*options: str | Path, code: int = 0) -> Result:
    finished = RUNNER.invoke(app, ["traces", "-q", *map(str, options)], catch_exceptions=False)
    assert finished.exit_code == code, finished.output
    return finished


@pytest.fixture
def traced(tmp_path: Path) -> tuple[Path, Path]:
    """A trained checkpoint of one table, and its trace."""
    draws = (TracedDraw("normal", (0.0, 0.05), (400, 32), tensor="w"),)
    trace = Trace(draws, (TracedTensor("w", (400, 32), "float32", Drawn(0)),), (TracedStream("cuda"),))
    values = Replay(trace, Birth(42, G)).run("w", 0, 12_800).reshape(400, 32)
    noise = np.random.default_rng(1).normal(0, 0.1, values.shape)
    save_file({"w": (values + noise).astype(np.float32)}, tmp_path / "model.safetensors")
    save(tmp_path / "draws.json", trace)
    return tmp_path / "model.safetensors", tmp_path / "draws.json"


def test_found(traced: tuple[Path, Path], tmp_path: Path) -> None:
    """Exit code 0; the same document on stdout and in the file; a picture beside it."""
    model, trace = traced
    options = (model, "--trace", trace, "--seed", 42, "--threads", G, "--decoys", 5)
    shown = run(*map(str, options), "--json", "-o", tmp_path / "map.json", "--svg", tmp_path / "map.svg")
    document = json.loads(shown.stdout)

    assert document["verdict"] == "found"
    assert json.loads((tmp_path / "map.json").read_text()) == document
    assert (tmp_path / "map.svg").read_text().startswith("<svg")
    assert "INITIAL VALUES FOUND" in run(*map(str, options)).stdout


def test_not_found(traced: tuple[Path, Path]) -> None:
    """Exit code 3 for another seed."""
    model, trace = traced

    assert (
        "NOTHING FOUND"
        in run(model, "--trace", trace, "--seed", "43", "--threads", str(G), "--decoys", "0", code=3).stdout
    )


def test_a_recipe(tmp_path: Path) -> None:
    """With the config beside the weights or a named one, on two ranks, from the base seed."""
    config = Config(model_from(LLAMA), Parallel(tp=2))
    built = birth(MegatronCore(divisor=1), config, 1234, threads=G)
    tensors = {
        name: built.rows(name, 0, built.published(name).matrix[0]) for name in MegatronCore().tensors(config)
    }
    save_file(tensors, tmp_path / "model.safetensors")
    recipe = ("--recipe", "megatron-core:divisor=1", "--parallel", "tp=2", "--decoys", "2", "--json")
    with pytest.raises(UsageError, match=r"config\.json"):
        run(tmp_path / "model.safetensors", *recipe, "--seed", "1234", "--threads", str(G))
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    found = json.loads(run(tmp_path, *recipe, "--seed", "1234", "--threads", str(G)).stdout)
    named = run(
        tmp_path, *recipe, "--seed", "1235", "--threads", str(G), "--config", tmp_path / "config.json", code=3
    )

    assert {each["state"] for each in found["tensors"]} == {"held"}
    assert any(each["bands"]["kind"] == "heads" for each in found["tensors"])
    assert json.loads(named.stdout)["verdict"] == "nothing"


def test_the_base_seed_behind_a_reading() -> None:
    """A reading has the first shard's seed; the rule leads to the base, if it is one of its seeds."""

    def built(seed: int, recipe: str = "megatron-core", tensor: str = "x.model.embed_tokens.weight") -> int:
        place = Place(seed, G, tensor=tensor)
        return built_of(recipe, LLAMA, place, parallel="tp=2", dtype="bfloat16", prefix="x.").seed

    assert built(3952) == 1234
    assert built(42, "litgpt", "x.lm_head.weight") == 42
    assert built_of("litgpt", LLAMA, Place(7, G), parallel="", dtype="float32", prefix="").seed == 7
    with pytest.raises(UsageError, match="gives its first process"):
        built(43)


def test_recipes_and_their_options() -> None:
    """Numbers, words and yes or no, each of the kind that the recipe has."""
    assert recipe_of("megatron-core:divisor=1,on_cpu=true") == MegatronCore(divisor=1, on_cpu=True)
    assert recipe_of("litgpt") == LitGpt()
    assert parallel_of("tp=2, pp=4") == Parallel(tp=2, pp=4)
    assert parallel_of("") == Parallel()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("megatron", UnknownName),
        ("megatron-core:divisors=1", UnknownName),
        ("megatron-core:divisor", UsageError),
        ("megatron-core:divisor=1,divisor=2", UsageError),
        ("megatron-core:divisor=many", UsageError),
        ("megatron-core:on_cpu=1", UsageError),
        ("megatron-core:experts=none", UsageError),
    ],
)
def test_recipes_that_are_none(text: str, error: type[BirthmarkError]) -> None:
    """Names, options and values that do not exist."""
    with pytest.raises(error):
        recipe_of(text)


@pytest.mark.parametrize(("text", "error"), [("dp=2", UnknownName), ("tp", UsageError), ("tp=0", UsageError)])
def test_parallel_that_is_none(text: str, error: type[BirthmarkError]) -> None:
    """Kinds and numbers that do not exist."""
    with pytest.raises(error):
        parallel_of(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "a trace with --trace, or a recipe"),
        (("--trace", "t", "--recipe", "litgpt"), "a trace with --trace, or a recipe"),
        (("--recipe", "litgpt", "--threads", "2048"), "--reading, or a seed"),
        (("--recipe", "litgpt", "--seed", "1"), "not settled"),
        (("--recipe", "litgpt", "--seed", "1", "--cpu", "--threads", "2048"), "not settled"),
        (("--recipe", "litgpt", "--seed", "1", "--cpu", "-o", "x", "--svg", "x"), "name the same file"),
        (("--recipe", "litgpt", "--seed", "1", "--cpu", "--config", "none.json"), "cannot read"),
    ],
)
def test_usage(
    traced: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], message: str
) -> None:
    """What contradicts itself or leaves something open is refused in one line."""
    monkeypatch.chdir(traced[0].parent)
    with pytest.raises(UsageError, match=message):
        run(traced[0], *options)
