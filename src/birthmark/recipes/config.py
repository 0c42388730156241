"""What is built and on how many processes: the numbers that a recipe needs.

A `Model` says what the tensors are, `Parallel` how they are cut, and a `Config` both, with the dtype and the
scale of the draws.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from birthmark.errors import UsageError

Kind = Literal["attention", "mlp", "mamba", "transformer"]


@dataclass(frozen=True, slots=True)
class Latent:
    """Multi-head latent attention, as in DeepSeek-V2 and later.

    Attributes:
        query_rank: width of the compressed query; 0 where queries are not compressed.
        key_value_rank: width of the compressed keys and values.
        plain: head width of the part without positions.
        rotary: head width of the part with positions.
        value: head width of the values.
    """

    query_rank: int
    key_value_rank: int
    plain: int
    rotary: int
    value: int


@dataclass(frozen=True, slots=True)
class Experts:
    """Routed experts, and those that every token takes.

    Attributes:
        count: routed experts of a layer.
        width: their inner width.
        shared_width: inner width of the shared experts together; 0 for none.
        shared_gate: whether a gate of one row weighs the shared expert.
        dense_layers: layers before the first one with experts.
    """

    count: int
    width: int
    shared_width: int = 0
    shared_gate: bool = False
    dense_layers: int = 0


@dataclass(frozen=True, slots=True)
class Mamba:
    """State-space layers of the second kind.

    Attributes:
        heads: heads; `heads` x `head_width` is the inner width.
        head_width: width of a head.
        state: size of the state.
        groups: groups that share B and C.
        convolution: taps of the convolution.
    """

    heads: int
    head_width: int = 64
    state: int = 128
    groups: int = 8
    convolution: int = 4

    @property
    def inner(self) -> int:
        """The inner width."""
        return self.heads * self.head_width


@dataclass(frozen=True, slots=True)
class Model:
    """The shape of a language model.

    Attributes:
        vocabulary: ids of the tokenizer, before any padding.
        hidden: width of the residual stream.
        layers: how many there are.
        heads: attention heads.
        ffn: inner width of the feed-forward part.
        key_value_heads: heads of keys and values; 0 for as many as `heads`.
        head_width: width of a head; 0 for hidden / heads.
        gated: whether the feed-forward part has a gate beside its first matrix.
        tied: whether the output layer is the embedding.
        positions: rows of a learned table of positions; 0 for none.
        token_types: rows of a table of token types; 0 for none.
        biases: which linear layers have one: any of "qkv", "output", "mlp", "head".
        latent: latent attention instead of the ordinary one.
        experts: routed experts.
        mamba: the state-space layers of a hybrid model.
        pattern: kinds of the layers of a hybrid model, one letter each: M Mamba, * attention, - feed-forward,
            E experts; empty for ordinary layers.
        prediction_layers: layers that predict further tokens (MTP).
        padding_id: the row of the embedding that is kept at 0; None for none.
        family: whose names and particulars the published tensors have, such as "llama".
    """

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    ffn: int
    key_value_heads: int = 0
    head_width: int = 0
    gated: bool = True
    tied: bool = False
    positions: int = 0
    token_types: int = 0
    biases: frozenset[str] = frozenset()
    latent: Latent | None = None
    experts: Experts | None = None
    mamba: Mamba | None = None
    pattern: str = ""
    prediction_layers: int = 0
    padding_id: int | None = None
    family: str = "llama"

    def __post_init__(self) -> None:
        for name in ("vocabulary", "hidden", "layers", "heads"):
            if getattr(self, name) < 1:
                raise UsageError(f"a model with {name} {getattr(self, name)}: expected 1 or more.")
        if self.heads % self.kv_heads:
            raise UsageError(
                f"{self.heads} heads share {self.kv_heads} of keys and values: expected a divisor."
            )
        if self.pattern and (len(self.pattern) != self.layers or set(self.pattern) - set("M*-E")):
            raise UsageError(
                f"pattern {self.pattern!r} of {self.layers} layers: expected one of M, *, - and E for each."
            )

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values."""
        return self.key_value_heads or self.heads

    @property
    def width(self) -> int:
        """The width of a head."""
        return self.head_width or self.hidden // self.heads

    @property
    def fused_rows(self) -> int:
        """Rows of queries, keys and values together."""
        return (self.heads + 2 * self.kv_heads) * self.width

    def has_experts(self, layer: int) -> bool:
        """Whether a layer's feed-forward part is routed experts."""
        if self.experts is None:
            return False
        if self.pattern and layer < self.layers:
            return self.pattern[layer] == "E"
        return layer >= self.experts.dense_layers

    def kind(self, layer: int) -> Kind:
        """What a layer is made of: attention and feed-forward ("transformer"), or one of them alone."""
        if not self.pattern or layer >= self.layers:
            return "transformer"
        kinds: dict[str, Kind] = {"M": "mamba", "*": "attention", "-": "mlp", "E": "mlp"}
        return kinds[self.pattern[layer]]


@dataclass(frozen=True, slots=True)
class Parallel:
    """On how many processes a model is built.

    Attributes:
        tp: tensor-parallel ranks.
        pp: pipeline stages.
        ep: expert-parallel ranks.
        etp: ranks that share one expert's matrices.
        virtual: chunks of layers that each stage holds.
        shards: ranks of fully sharded data parallelism that cut every tensor's first dimension.
    """

    tp: int = 1
    pp: int = 1
    ep: int = 1
    etp: int = 1
    virtual: int = 1
    shards: int = 1

    def __post_init__(self) -> None:
        for name in ("tp", "pp", "ep", "etp", "virtual", "shards"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} of {getattr(self, name)}: expected 1 or more.")


@dataclass(frozen=True, slots=True)
class Config:
    """What is built, how it is cut, and how it is drawn.

    Attributes:
        model: the shape.
        parallel: the cut.
        dtype: the dtype of the parameters while they are drawn.
        std: standard deviation of the ordinary draws.
        embedding_std: that of the embedding; None for `std`.
    """

    model: Model
    parallel: Parallel = field(default_factory=Parallel)
    dtype: str = "bfloat16"
    std: float = 0.02
    embedding_std: float | None = None

    def on(self, **sizes: int) -> Config:
        """The same model on other numbers of processes."""
        return replace(self, parallel=replace(self.parallel, **sizes))


def check_plain(model: Model, recipe: str) -> None:
    """Refuse models that a recipe for plain layers does not build.

    Raises:
        UsageError: routed experts, latent attention, a hybrid, or layers for further tokens.
    """
    if model.experts or model.latent or model.pattern or model.prediction_layers:
        raise UsageError(f"{recipe} is known for layers of plain attention and feed-forward parts only.")


def divided(amount: int, ways: int, what: str) -> int:
    """A part of something that must divide evenly.

    Raises:
        UsageError: it does not.
    """
    if amount % ways:
        raise UsageError(f"{amount} {what} do not divide into {ways}: choose a divisor.")
    return amount // ways
