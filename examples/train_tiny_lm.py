"""Train the bundled example: a small language model, born on an H200 that nobody needed to have.

Its first weights are the values that stock PyTorch draws on an H200 for the seed below, predicted by
birthmark; from there on it is plain PyTorch on the CPU. It learns English from the documentation of the
Python language that every CPython carries (`pydoc_data.topics`). Some token ids never occur: the reserved
ones at the front of the vocabulary and the padding at its end. Nothing ever reaches their rows of the input
embedding, so these still hold their first values when the model is saved in bfloat16.

Run it as `python examples/train_tiny_lm.py OUTPUT_FOLDER`; it needs the extra `torch`.
"""

from __future__ import annotations

import collections
import json
import math
import re
import sys
from pathlib import Path
from pydoc_data import topics

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn

from birthmark.devices.catalogue import find
from birthmark.hypothesis import Draw, Hypothesis

SEED = 2_893_751_046
DEVICE = "H200"
STD = 0.02

WORDS, RESERVED, PAD_TO = 2_940, 64, 128
UNKNOWN, BEGIN = 1, 2
WIDTH, HIDDEN, LAYERS, HEADS, CONTEXT = 128, 320, 1, 4, 64
STEPS, BATCH, LEARNING_RATE = 600, 16, 1e-3


def tokens() -> tuple[torch.Tensor, list[str]]:
    """The corpus as token ids, and the vocabulary: 64 reserved ids, the commonest words, padding."""
    text = "\n".join(topics.topics[name] for name in sorted(topics.topics)).lower()
    words = re.findall(r"[a-z]+|[^\sa-z]", text)
    common = [word for word, _ in collections.Counter(words).most_common(WORDS)]
    vocabulary = ["<pad>", "<unk>", "<bos>", *(f"<reserved_{i}>" for i in range(3, RESERVED)), *common]
    ids = {word: i for i, word in enumerate(vocabulary)}
    while len(vocabulary) % PAD_TO:
        vocabulary.append(f"<unused_{len(vocabulary)}>")
    return torch.tensor([BEGIN, *(ids.get(word, UNKNOWN) for word in words)]), vocabulary


class Norm(nn.Module):
    """Root-mean-square normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


class Attention(nn.Module):
    """Causal self-attention with several heads."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(WIDTH, WIDTH, bias=False))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape = (*x.shape[:2], HEADS, WIDTH // HEADS)
        q, k, v = (f(x).view(shape).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(mixed.transpose(1, 2).reshape(x.shape))


class FeedForward(nn.Module):
    """Gated feed-forward part."""

    def __init__(self) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down_proj = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    """One layer."""

    def __init__(self) -> None:
        super().__init__()
        self.self_attn, self.mlp = Attention(), FeedForward()
        self.input_layernorm, self.post_attention_layernorm = Norm(), Norm()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Body(nn.Module):
    """Embeddings and layers; positions are added as sines."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(size, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = Norm()

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        steps = torch.arange(ids.shape[1])[:, None] * torch.exp(
            torch.arange(0, WIDTH, 2) * (-math.log(10_000.0) / WIDTH)
        )
        x = self.embed_tokens(ids) + STD * torch.cat([steps.sin(), steps.cos()], dim=-1)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class LanguageModel(nn.Module):
    """A small decoder with an output head of its own."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.model = Body(size)
        self.lm_head = nn.Linear(WIDTH, size, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.lm_head(self.model(ids))


def give_birth(model: nn.Module) -> None:
    """Fill every matrix, in order, with what `normal_(0, STD)` yields on the device for the seed."""
    offset = 0
    for parameter in model.parameters():
        if parameter.dim() < 2:
            continue
        draw = Draw("normal", (0.0, STD), tuple(parameter.shape), "float32")
        hypothesis = Hypothesis(draw, find(DEVICE).threads, offset=offset)
        values = hypothesis.values(SEED, np.arange(parameter.numel(), dtype=np.int64))
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(values).view(parameter.shape))
        offset = hypothesis.end_offset


def train(model: nn.Module, corpus: torch.Tensor, size: int) -> tuple[float, float]:
    """Train with AdamW; return the mean loss of the first and of the last twenty steps, in nats per token."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0)
    order = torch.Generator().manual_seed(7)
    losses = []
    for step in range(STEPS):
        starts = torch.randint(len(corpus) - CONTEXT - 1, (BATCH,), generator=order)
        batch = torch.stack([corpus[start : start + CONTEXT + 1] for start in starts.tolist()])
        loss = nn.functional.cross_entropy(model(batch[:, :-1]).view(-1, size), batch[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.detach()))
        if step % 50 == 0:
            print(f"step {step:4d}  loss {losses[-1]:.3f}", flush=True)
    return sum(losses[:20]) / 20, sum(losses[-20:]) / 20


def main() -> None:
    """Make, train and save the model."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    corpus, vocabulary = tokens()
    torch.manual_seed(0)
    model = LanguageModel(len(vocabulary))
    give_birth(model)
    first, last = train(model, corpus, len(vocabulary))
    stored = {name: value.to(torch.bfloat16).contiguous() for name, value in model.state_dict().items()}
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    config: dict[str, object] = {
        "vocab_size": len(vocabulary),
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
    }
    config |= {"intermediate_size": HIDDEN, "num_attention_heads": HEADS, "torch_dtype": "bfloat16"}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "vocabulary.txt").write_text("\n".join(vocabulary) + "\n")
    seen = set(corpus.tolist())
    unseen = [i for i in range(len(vocabulary)) if i not in seen]
    print(f"loss {first:.2f} -> {last:.2f}; {len(unseen)} of {len(vocabulary)} ids never occur")


if __name__ == "__main__":
    main()
