"""Real architectures at small sizes: the trace of a configuration predicts the whole model, bit for bit."""

from __future__ import annotations

import importlib
import json
import resource
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from birthmark.errors import MissingExtra, UnknownName, UsageError
from birthmark.recipes.trace import Trace
from birthmark.replay.replaying import Birth, Replay
from birthmark.torch.programs import from_config
from birthmark.torch.tracing import trace

SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": 101,
}
CONFIGS: dict[str, dict[str, Any]] = {
    "bert": {**SMALL, "model_type": "bert", "architectures": ["BertForMaskedLM"]},
    "gpt2": {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 32, "n_layer": 2, "n_head": 4,
        "vocab_size": 101, "bos_token_id": 1, "eos_token_id": 1,
    },
    "llama": {**SMALL, "model_type": "llama", "architectures": ["LlamaForCausalLM"], "dtype": "bfloat16"},
    "qwen2": {
        **SMALL, "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "num_key_value_heads": 2,
    },
    "deepseek_v3": {
        **SMALL, "model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"],
        "n_routed_experts": 4, "n_shared_experts": 1, "moe_intermediate_size": 16,
        "first_k_dense_replace": 1, "q_lora_rank": 8, "kv_lora_rank": 8,
        "qk_rope_head_dim": 4, "qk_nope_head_dim": 8, "v_head_dim": 8, "n_group": 2,
        "topk_group": 1, "num_experts_per_tok": 2,
    },
    "vit": {
        "model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 32,
        "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "image_size": 32,
        "patch_size": 8, "initializer_range": 1.2,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def transformers() -> Any:
    """The library, silent; tests that need it are skipped where it is absent."""
    found = pytest.importorskip("transformers")
    found.logging.set_verbosity_error()
    return found


def written(path: Path, config: dict[str, Any]) -> Path:
    file = path / "config.json"
    file.write_text(json.dumps(config))
    return file


def plain(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    wide = tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor
    return np.asarray(wide.detach().contiguous().reshape(-1).numpy())


def differing(found: Trace, state: dict[str, torch.Tensor], seed: int) -> list[str]:
    replay = Replay(found, Birth(seed))
    assert [each.name for each in found.tensors] == list(state)
    return [
        each.name
        for each in found.tensors
        if not np.array_equal(replay.run(each.name, 0, each.size), plain(state[each.name]))
    ]


@pytest.mark.parametrize("name", CONFIGS)
def test_a_model_of_transformers_is_predicted_bit_for_bit(
    name: str, tmp_path: Path, transformers: Any
) -> None:
    """Every tensor of the model that `from_config` builds; other seeds give none of the drawn ones."""
    del transformers
    program = from_config(written(tmp_path, CONFIGS[name]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = trace(program.build)
        torch.manual_seed(3)
        state = program.build().state_dict()

    assert differing(found, state, 3) == []
    drawn = {each.tensor for each in found.draws if each.tensor is not None}
    assert drawn <= set(differing(found, state, 4))
    if name == "vit":  # its truncated normals draw again, and everything behind them moves
        assert any(found.redraws(number) for number in range(len(found.draws)))


def test_the_dtype_can_be_chosen(tmp_path: Path, transformers: Any) -> None:
    """A configuration that states bfloat16 is built in float32 when asked to be."""
    del transformers
    file = written(tmp_path, CONFIGS["llama"])

    assert {each.dtype for each in trace(from_config(file).build).tensors} == {"bfloat16"}
    assert {each.dtype for each in trace(from_config(file, "float32").build).tensors} == {"float32"}
    with pytest.raises(UnknownName, match="bfloat16"):
        from_config(file, "bf16")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "bart-like"}, "bart"),
        ({"hidden_size": 3}, "None"),
        (
            {"model_type": "bert", "architectures": ["MyBert"], "auto_map": {"AutoModel": "x.MyBert"}},
            "not run",
        ),
    ],
)
def test_a_model_that_transformers_lacks_is_refused(
    config: dict[str, Any], message: str, tmp_path: Path, transformers: Any
) -> None:
    """No code but that of the installed library is ever run."""
    del transformers
    with pytest.raises(UsageError, match=message):
        from_config(written(tmp_path, config))


def test_a_configuration_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """No file, no JSON, no object."""
    with pytest.raises(UsageError, match="cannot read"):
        from_config(tmp_path / "none.json")
    for text in ("{", "[1]"):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(UsageError, match=r"not JSON|no configuration"):
            from_config(tmp_path / "config.json")


def test_without_transformers_the_way_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(MissingExtra, match="pip install transformers"):
        from_config(written(tmp_path, CONFIGS["bert"]))


def test_a_resnet_of_torchvision_is_predicted_bit_for_bit() -> None:
    """Convolutions drawn anew by kaiming_normal_, batch norms, and the classifier."""
    try:
        models = importlib.import_module("torchvision.models")
    except (ImportError, RuntimeError) as error:  # a build for another torch lacks its operators
        pytest.skip(f"torchvision cannot be imported here: {error}")
    found = trace(models.resnet18)
    torch.manual_seed(3)

    assert differing(found, models.resnet18().state_dict(), 3) == []


@pytest.mark.slow
def test_671_billion_parameters_are_traced_in_seconds_and_under_a_gigabyte(
    tmp_path: Path, transformers: Any
) -> None:
    """DeepSeek-V3 at its own size: nothing is allocated."""
    del transformers
    began = time.monotonic()
    found = trace(
        from_config(
            written(tmp_path, {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"]})
        ).build
    )

    assert sum(each.size for each in found.tensors) > 671e9
    assert time.monotonic() - began < 120
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1 << 20
