"""nanoGPT against the same modules built with stock torch."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.recipe_prediction import birth
from birthmark.recipes.config import Config, Model
from birthmark.recipes.nanogpt import NanoGpt
from birthmark.recipes.streams import Stream

torch = pytest.importorskip("torch")

TINY = Config(Model(vocabulary=70, hidden=24, layers=2, heads=2, ffn=96, positions=9, gated=False, tied=True))


@pytest.mark.parametrize("biased", [False, True])
def test_a_model_built_by_stock_torch(biased: bool) -> None:
    """Tables, matrices and the shared output layer equal the prediction bit for bit."""
    hidden, wide = 24, 96
    torch.manual_seed(1337)
    tables = {"wte": torch.nn.Embedding(70, hidden), "wpe": torch.nn.Embedding(9, hidden)}
    layers = {
        f"h.{layer}.{name}": torch.nn.Linear(inputs, outputs, bias=biased)
        for layer in range(2)
        for name, inputs, outputs in (
            ("attn.c_attn", hidden, 3 * hidden),
            ("attn.c_proj", hidden, hidden),
            ("mlp.c_fc", hidden, wide),
            ("mlp.c_proj", wide, hidden),
        )
    }
    head = torch.nn.Linear(hidden, 70, bias=False)
    tables["wte"].weight = head.weight
    for module in (*tables.values(), *layers.values(), head):
        torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
    for name, module in layers.items():
        if name.endswith("c_proj"):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02 / math.sqrt(2 * 2))
    shape = replace(TINY.model, biases=frozenset({"qkv", "output", "mlp"} if biased else ()))
    made = birth(NanoGpt(), replace(TINY, model=shape), 1337)
    for name, module in (*tables.items(), *layers.items()):
        wanted = module.weight.detach().numpy()
        assert np.array_equal(made.rows(f"transformer.{name}.weight", 0, len(wanted)), wanted), name
    assert np.array_equal(made.rows("lm_head.weight", 0, 70), head.weight.detach().numpy())


def test_ranks_and_names() -> None:
    """Rank 3 would have drawn under 1340; what nanoGPT lacks is refused."""
    assert NanoGpt().seed_of(Stream("default", shard=3), 1337, TINY) == 1340
    with pytest.raises(UsageError, match="block size"):
        NanoGpt().draws(replace(TINY, model=replace(TINY.model, positions=0)))
    with pytest.raises(UnknownName, match="wpe"):
        NanoGpt().blocks(TINY, "transformer.wqe.weight")
