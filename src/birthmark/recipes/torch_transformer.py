"""Transformers of `torch.nn` as steps, and every layer by torch's name.

Source: pytorch `torch/nn/modules/transformer.py`, 1.13.1 to 2.14.1. Compared with stock torch 2.13.0, whole
state dicts bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from birthmark.recipes import torch_init
from birthmark.recipes import torch_layers as layers
from birthmark.recipes.torch_steps import Layer, Random, clones, module


def encoder_layer(width: int, inner: int = 2048, *, bias: bool = True, dtype: str = "float32") -> Layer:
    """`torch.nn.TransformerEncoderLayer(width, heads, inner)`."""
    return module(
        {
            "self_attn": layers.attention(width, bias=bias, dtype=dtype),
            "linear1": layers.linear(width, inner, bias=bias, dtype=dtype),
            "linear2": layers.linear(inner, width, bias=bias, dtype=dtype),
            "norm1": layers.norm(width, bias=bias, dtype=dtype),
            "norm2": layers.norm(width, bias=bias, dtype=dtype),
        }
    )


def decoder_layer(width: int, inner: int = 2048, *, bias: bool = True, dtype: str = "float32") -> Layer:
    """`torch.nn.TransformerDecoderLayer(width, heads, inner)`."""
    return module(
        {
            "self_attn": layers.attention(width, bias=bias, dtype=dtype),
            "multihead_attn": layers.attention(width, bias=bias, dtype=dtype),
            "linear1": layers.linear(width, inner, bias=bias, dtype=dtype),
            "linear2": layers.linear(inner, width, bias=bias, dtype=dtype),
            "norm1": layers.norm(width, bias=bias, dtype=dtype),
            "norm2": layers.norm(width, bias=bias, dtype=dtype),
            "norm3": layers.norm(width, bias=bias, dtype=dtype),
        }
    )


def transformer(
    width: int = 512,
    encoders: int = 6,
    decoders: int = 6,
    inner: int = 2048,
    *,
    bias: bool = True,
    dtype: str = "float32",
) -> Layer:
    """`torch.nn.Transformer`: clones of one layer each, and then every matrix drawn anew (Xavier uniform)."""
    built = module(
        {
            "encoder": module(
                {
                    "layers": clones(encoder_layer(width, inner, bias=bias, dtype=dtype), encoders),
                    "norm": layers.norm(width, bias=bias, dtype=dtype),
                }
            ),
            "decoder": module(
                {
                    "layers": clones(decoder_layer(width, inner, bias=bias, dtype=dtype), decoders),
                    "norm": layers.norm(width, bias=bias, dtype=dtype),
                }
            ),
        }
    )
    anew = tuple(
        Random(name, torch_init.xavier_uniform(shape, dtype=dtype))
        for name, shape in built.shapes().items()
        if len(shape) > 1
    )
    return Layer((*built.steps, *anew), built.names)


#: Layers by torch's names.
LAYERS: Final[dict[str, Callable[..., Layer]]] = {
    "Linear": layers.linear,
    "Bilinear": layers.bilinear,
    "Conv": layers.convolution,
    "Embedding": layers.embedding,
    "EmbeddingBag": layers.embedding,
    "RNN": lambda *sizes, **options: layers.recurrent("RNN", *sizes, **options),
    "LSTM": lambda *sizes, **options: layers.recurrent("LSTM", *sizes, **options),
    "GRU": lambda *sizes, **options: layers.recurrent("GRU", *sizes, **options),
    "RNNCell": lambda *sizes, **options: layers.recurrent_cell("RNN", *sizes, **options),
    "LSTMCell": lambda *sizes, **options: layers.recurrent_cell("LSTM", *sizes, **options),
    "GRUCell": lambda *sizes, **options: layers.recurrent_cell("GRU", *sizes, **options),
    "MultiheadAttention": layers.attention,
    "TransformerEncoderLayer": encoder_layer,
    "TransformerDecoderLayer": decoder_layer,
    "Transformer": transformer,
    "Norm": layers.norm,
    "PReLU": layers.prelu,
}
