"""A whole map: what is found where it is predicted, and nothing where something of it is wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from birthmark.checkpoints import open_checkpoint
from birthmark.checkpoints.declarations import declared_model
from birthmark.errors import UsageError
from birthmark.recipe_prediction import birth
from birthmark.recipes.config import Config, Parallel
from birthmark.recipes.config_file import model_from
from birthmark.recipes.megatron_core import MegatronCore
from birthmark.recipes.trace import Trace, TracedDraw, TracedStream, TracedTensor
from birthmark.recipes.trace_values import Drawn
from birthmark.replay.matching import match_trace
from birthmark.replay.replaying import Birth
from birthmark.weak_map import controls
from birthmark.weak_map.bands import Heads, heads_of
from birthmark.weak_map.births import from_recipe, from_trace, only
from birthmark.weak_map.mapping import weak_map
from birthmark.weak_map.result import WeakMap

from .conftest import SHAPES, G, Memory, born, predicted, structured, traced

H100, T4 = 270_336, 40_960


def states(found: WeakMap) -> dict[str, str]:
    return {each.name: each.state for each in found.tensors}


def listed(case: dict[str, Any], device: str = "cuda") -> Trace:
    """A trace of the draws that a case's answers list."""
    draws = tuple(
        TracedDraw(
            "normal",
            (each["mean"], each["std"]),
            tuple(each["shape"]),
            each["dtype"],
            tensor=each["tensor"],
            after=number - 1 if number else None,
        )
        for number, each in enumerate(case["draws"])
    )
    tensors = tuple(
        TracedTensor(each["tensor"], tuple(each["shape"]), "float32", Drawn(number))
        for number, each in enumerate(case["draws"])
    )
    return Trace(draws, tensors, (TracedStream(device),))


def of_case(cases: Path, answers: dict[str, Any], name: str, seed: int, threads: int) -> WeakMap:
    """The map of a case along its own draws."""
    with open_checkpoint(cases / name) as checkpoint:
        trace = listed(answers[name])
        match = match_trace(trace, checkpoint.tensors, partial=True)
        by = from_trace(checkpoint, trace, Birth(seed, threads), match)
        return weak_map(checkpoint, by, heads=heads_of(declared_model(checkpoint)), decoys=5)


class TestMade:
    """The small model, on a layout that is in no table; a few others are compared, to save time."""

    @pytest.fixture(autouse=True)
    def few_layouts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(controls, "table_threads", lambda: (1024, 4096))

    def test_everything_is_found(self, model: Memory) -> None:
        """Every tensor that is large enough, with what was left alone as runs of rows."""
        found = weak_map(model, predicted(model, traced()), heads=Heads(4, 4, 16), decoys=20)
        of = {each.name: each for each in found.tensors}

        assert found.found
        assert states(found) == dict.fromkeys(SHAPES, "trace") | {
            "embed.weight": "held",
            "layers.0.mlp.up_proj.bias": states(found)["layers.0.mlp.up_proj.bias"],
        }
        assert of["embed.weight"].held == ((850, 899),)
        assert of["embed.weight"].equal >= 50 * 64
        assert of["layers.0.self_attn.q_proj.weight"].bands.bands.kind == "heads"
        assert found.left_out == {"norm.weight": "no draw decides it"}
        assert found.trials == len(SHAPES) + 1
        for each in found.tensors:
            assert each.kept is not None
            assert each.kept.low - 0.5 < 1.0 < each.kept.high + 0.5

    def test_levelling_finds_more(self, model: Memory) -> None:
        """Structure drowns the stored correlation, and not the levelled one."""
        found = weak_map(model, predicted(model, traced()), decoys=0)

        assert sum((each.r.value if each.r else 0.0) > (each.r_stored or 0.0) for each in found.tensors) >= 4

    @pytest.mark.parametrize(
        "wrong",
        [
            pytest.param({"seed": 43}, id="the next seed"),
            pytest.param({"order": (*list(SHAPES)[1:], "embed.weight")}, id="another order"),
        ],
    )
    def test_a_wrong_birth_is_not_found(self, model: Memory, wrong: dict[str, Any]) -> None:
        """Negative twins: nothing in any tensor, and nothing pooled."""
        trace = traced(wrong.get("order", tuple(SHAPES)))
        found = weak_map(model, predicted(model, trace, wrong.get("seed", 42)), decoys=30)

        assert (found.verdict, found.found) == ("nothing", False)
        assert set(states(found).values()) <= {"none", "too-small"}

    def test_tensors_in_another_order_among_right_ones(self, model: Memory) -> None:
        """Two tensors of one shape that were swapped show nothing; those before them do."""
        names = list(SHAPES)
        names[1], names[2] = names[2], names[1]
        found = weak_map(model, predicted(model, traced(tuple(names))), decoys=0)

        assert found.found
        assert [states(found)[name] for name in list(SHAPES)[:3]] == ["held", "none", "none"]

    def test_shuffled_rows_are_not_found(self) -> None:
        """The right values in the wrong rows."""
        generator = np.random.default_rng(1)
        values = born(traced(), Birth(42, G))
        shuffled = Memory({name: np.roll(generator.permutation(each), 1) for name, each in values.items()})
        found = weak_map(shuffled, predicted(shuffled, traced()), decoys=20)

        assert found.verdict == "nothing"

    def test_untrained(self) -> None:
        """A model as it was born: all values equal, small tensors too, r and kept 1."""
        checkpoint = Memory(born(traced(), Birth(42, G)))
        found = weak_map(checkpoint, predicted(checkpoint, traced()), decoys=10)

        assert set(states(found).values()) == {"held"}
        assert all(each.equal == each.n for each in found.tensors)
        assert found.kept == pytest.approx(1.0)
        assert found.norm_share == pytest.approx(1.0)

    def test_decayed(self) -> None:
        """Weight decay shows as what is kept, and moves no correlation."""
        checkpoint = Memory({name: 0.25 * each for name, each in born(traced(), Birth(42, G)).items()})
        found = weak_map(checkpoint, predicted(checkpoint, traced()), decoys=0)

        assert found.kept == pytest.approx(0.25)
        assert states(found)["embed.weight"] == "held"
        assert sum(each.equal for each in found.tensors) == 0

    def test_a_cpu(self) -> None:
        """A model that was built on the CPU; no layouts are compared."""
        trace = traced(device="cpu")
        start = born(trace, Birth(42))
        checkpoint = Memory({name: each + structured(each.shape, 5) for name, each in start.items()})
        found = weak_map(checkpoint, predicted(checkpoint, trace, threads=None), decoys=10)
        wrong = weak_map(checkpoint, predicted(checkpoint, trace, 43, None), decoys=0)

        assert (found.verdict, found.threads, found.layouts) == ("found", None, None)
        assert wrong.verdict == "nothing"

    def test_quantised(self, model: Memory) -> None:
        """Five levels for every value still show the trace."""
        coarse = Memory(
            {
                name: np.round(each / each.std()).clip(-2, 2) * each.std()
                for name, each in model.arrays.items()
            }
        )
        found = weak_map(coarse, predicted(coarse, traced()), decoys=20)

        assert found.found
        assert states(found)["embed.weight"] in ("trace", "held")

    def test_workers_do_not_matter(self, model: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same document, to the last digit."""
        monkeypatch.setattr("birthmark.weak_map.scanning.BLOCK", 2000)
        documents = {
            weak_map(model, predicted(model, traced()), decoys=3, workers=workers).to_json()
            for workers in (1, 3)
        }

        assert len(documents) == 1

    def test_nothing_predicted(self, model: Memory) -> None:
        """A trace without draws in common with the checkpoint is a usage error that says why."""
        by = replace(predicted(model, traced()), aims=())
        with pytest.raises(UsageError, match=r"norm\.weight: no draw decides it"):
            weak_map(model, by)

    def test_the_order_is_told(self, model: Memory) -> None:
        """Progress names every tensor."""
        heard: list[tuple[str, int, int]] = []
        weak_map(model, predicted(model, traced()), decoys=0, tell=lambda *said: heard.append(said))

        assert heard == [(name, number, len(SHAPES)) for number, name in enumerate(SHAPES)]


class TestCases:
    """Checkpoints with known answers."""

    def test_weak_traces(self, cases: Path, answers: dict[str, Any]) -> None:
        """r = 0.1 and less in all nine tensors, as the answers have it; the stored r to three digits."""
        found = of_case(cases, answers, "weak-r10", 1234, H100)
        truth = answers["weak-r10"]["trace_r"]

        assert found.found
        assert set(states(found).values()) == {"trace"}
        assert found.layouts is not None
        assert found.layouts.best[0] == H100
        for each in found.tensors:
            assert each.r_stored == pytest.approx(truth[each.name], abs=6e-4)
            assert each.r is not None
            assert each.r.value > truth[each.name]

    def test_survivors(self, cases: Path, answers: dict[str, Any]) -> None:
        """The rows that were never trained, as runs; the trained ones as a trace."""
        found = of_case(cases, answers, "hopper-42", 42, H100)
        embedding = next(each for each in found.tensors if each.name == "model.embed_tokens.weight")
        rows = [row for first, last in embedding.held for row in range(first, last + 1)]

        assert rows == answers["hopper-42"]["survivors"]["rows"]
        assert all(each.state in ("held", "trace") for each in found.tensors)

    def test_a_neighbouring_layout(self, cases: Path, answers: dict[str, Any]) -> None:
        """It predicts the first wave, so that it correlates; the right one is named, and nothing is found."""
        found = of_case(cases, answers, "hopper-42", 42, 261_120)

        assert found.verdict == "another-layout"
        assert "270,336" in found.reason
        assert not found.found

    def test_a_recipe(self, cases: Path) -> None:
        """Two tensor-parallel ranks of Megatron; on one rank it is another model, but for the first rows."""
        with open_checkpoint(cases / "megatron-tp2-a100") as checkpoint:
            model = model_from(declared_model(checkpoint))
            maps = []
            for tp in (2, 1):
                config = Config(model, Parallel(tp=tp))
                by = from_recipe(checkpoint, birth(MegatronCore(), config, 1234, "A100"))
                layers = [aim.stored for aim in by.aims if "layers" in aim.stored]
                maps.append(weak_map(checkpoint, only(by, layers), decoys=0))

        assert [len(each.tensors) for each in maps] == [7, 7]
        assert all(each.state == "trace" for each in maps[0].tensors)
        assert [each.found for each in maps] == [True, False]
        assert all(each.state == "none" for each in maps[1].tensors)

    @pytest.mark.parametrize("seed", [3, 4])
    def test_real_weights(self, cases: Path, seed: int) -> None:
        """A net drawn on a Tesla T4: best and final weights still correlate, under its own seed only."""
        shapes = {"0.weight": (300, 784), "0.bias": (300,), "2.weight": (100, 300), "2.bias": (100,)}
        shapes |= {"4.weight": (10, 100), "4.bias": (10,)}
        entries = [
            {"tensor": f"classifier.{name}", "shape": shape, "dtype": "float32", "mean": 0.0, "std": 1.0}
            for name, shape in shapes.items()
        ]
        with open_checkpoint(cases / "real" / "ggl_lottery_fc1_pp0x1_seed3_co2False_T4.pt") as checkpoint:
            for prefix in ("best_state_dict.", "final_state_dict."):
                trace = listed({"draws": entries})
                match = match_trace(trace, checkpoint.tensors, prefix=prefix)
                found = weak_map(checkpoint, from_trace(checkpoint, trace, Birth(seed, T4), match), decoys=20)

                assert found.found == (seed == 3)
                if seed == 3:
                    assert [each.state for each in found.tensors] == ["trace"] * 5 + ["too-small"]


def test_structure_alone_is_nothing() -> None:
    """Weights without any birth: shared rows, low rank, heavy tails, in every tensor."""
    for number in range(2):
        made = {name: structured(shape, 100 * number + len(name)) for name, shape in SHAPES.items()}
        made["embed.weight"] = np.repeat(made["embed.weight"][:30], 30, axis=0)
        checkpoint = Memory(made)
        found = weak_map(checkpoint, predicted(checkpoint, traced(), seed=number), decoys=0)

        assert found.verdict == "nothing"
        assert json.loads(found.to_json())["verdict"] == "nothing"
