"""Megatron-Core's draws: their order, sizes, streams, seeds and offsets, against worked tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.recipes.config import Config, Experts, Latent, Mamba, Model, Parallel
from birthmark.recipes.megatron_core import MegatronCore
from birthmark.recipes.positions import offsets
from birthmark.recipes.streams import RecipeDraw, Stream

A100, H100 = 221_184, 270_336
CORE = MegatronCore()


def small(**changes: Any) -> Model:
    """A small Llama-like model."""
    shape: dict[str, Any] = {
        "vocabulary": 300, "hidden": 32, "layers": 2, "heads": 8, "ffn": 48, "key_value_heads": 4,
    }  # fmt: skip
    return Model(**{**shape, **changes})


def on_stream(draws: Iterable[RecipeDraw], stream: Stream) -> list[tuple[str, tuple[int, ...]]]:
    """Short names and shapes of one stream's draws, in order."""
    return [(each.tensor.removesuffix(".weight"), each.draw.shape) for each in draws if each.stream == stream]


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        (42, (2760, 2761, 2763, 2767, 2860, 4260, 1066, 1166, 1766, 4166)),
        (1234, (3952, 3953, 3955, 3959, 4052, 5452, 2258, 2358, 2958, 5358)),
        (1337, (4055, 4056, 4058, 4062, 4155, 5555, 2361, 2461, 3061, 5461)),
        (6198, (8916, 8917, 8919, 8923, 9016, 10_416, 7222, 7322, 7922, 10_322)),
        (8888, (11_606, 11_607, 11_609, 11_613, 11_706, 13_106, 9912, 10_012, 10_612, 13_012)),
    ],
)
def test_worked_seeds(base: int, expected: tuple[int, ...]) -> None:
    """Streams have the seeds of the worked table: ranks 0, 1, 3, 7, stages 1 and 15, expert ranks."""
    streams = [
        *(Stream("model-parallel", tp=tp) for tp in (0, 1, 3, 7)),
        *(Stream("model-parallel", pp=pp) for pp in (1, 15)),
        *(Stream("expert-parallel", ep=ep) for ep in (0, 1, 7, 31)),
    ]
    what = Config(small())
    assert tuple(CORE.seed_of(stream, base, what) for stream in streams) == expected
    assert CORE.seed_of(Stream("data-parallel", pp=2, tp=5), base, what) == base + 200
    assert CORE.seed_of(Stream("cpu", pp=2), base, what) == base + 200


def test_unknown_streams_name_the_nearest() -> None:
    """A stream that Megatron does not have is refused by name."""
    with pytest.raises(UnknownName, match="expert-parallel"):
        CORE.seed_of(Stream("expert"), 1234, Config(small()))


@pytest.mark.parametrize(
    ("threads", "expected"),
    [(A100, (0, 468, 488, 548, 624, 700, 720)), (H100, (0, 384, 400, 448, 512, 576, 592))],
)
def test_worked_offsets(threads: int, expected: tuple[int, ...]) -> None:
    """Embedding, then projection, qkv, fc1 and fc2 of each layer begin where the worked table says."""
    model = Model(vocabulary=50_257, hidden=2048, layers=2, heads=16, ffn=8192, gated=False)
    placed = offsets(CORE.draws(Config(model)), threads)
    assert tuple(one.position for one in placed[:7]) == expected
    sizes = [one.draw.draw.size for one in placed[:5]]
    assert sizes == [103_022_592, 4_194_304, 12_582_912, 16_777_216, 16_777_216]


@pytest.mark.parametrize(("dtype", "offset"), [("float32", 6860), ("bfloat16", 3428)])
def test_a_huge_embedding_moves_what_follows(dtype: str, offset: int) -> None:
    """129,280 x 7,168 is cut in two in float32 and not in bfloat16; the next draw begins accordingly."""
    model = Model(vocabulary=129_280, hidden=7168, layers=1, heads=64, ffn=64)
    placed = offsets(MegatronCore(divisor=1280).draws(Config(model, dtype=dtype)), H100)
    assert [one.position for one in placed[:2]] == [0, offset]


def test_dense_layers_draw_the_projection_first() -> None:
    """Each rank draws its shard: projection by columns, qkv and fc1 by rows, fc2 by columns, head last."""
    draws = CORE.draws(Config(small(layers=1), Parallel(tp=2)))
    assert on_stream(draws, Stream("model-parallel", tp=1)) == [
        ("embedding.word_embeddings", (256, 32)),
        ("decoder.layers.0.self_attention.linear_proj", (32, 16)),
        ("decoder.layers.0.self_attention.linear_qkv", (32, 32)),
        ("decoder.layers.0.mlp.linear_fc1", (48, 32)),
        ("decoder.layers.0.mlp.linear_fc2", (32, 24)),
        ("output_layer", (256, 32)),
    ]
    std = {each.tensor: each.draw.parameters[1] for each in draws}
    assert std["decoder.layers.0.mlp.linear_fc2.weight"] == pytest.approx(0.02 / 2**0.5)
    assert std["decoder.layers.0.mlp.linear_fc1.weight"] == 0.02


def test_latent_attention_draws_two_projections() -> None:
    """The first projection is thrown away; what is not split is on the stream that all ranks share."""
    shape = Latent(query_rank=10, key_value_rank=6, plain=4, rotary=2, value=3)
    draws = CORE.draws(Config(small(layers=1, latent=shape), Parallel(tp=2)))
    name = "decoder.layers.0.self_attention.linear_"
    assert on_stream(draws, Stream("model-parallel"))[1:5] == [
        (f"{name}proj", (32, 16)),
        (f"{name}proj", (32, 12)),
        (f"{name}q_up_proj", (24, 10)),
        (f"{name}kv_up_proj", (28, 6)),
    ]
    assert on_stream(draws, Stream("data-parallel")) == [
        (f"{name}q_down_proj", (10, 32)),
        (f"{name}kv_down_proj", (8, 32)),
    ]
    assert [each.kept for each in draws if each.tensor == f"{name}proj.weight"] == [False, False, True, True]


def test_experts_follow_each_other_in_their_own_stream() -> None:
    """64 experts on 8 ranks: expert 17 is number 1 of rank 2; its matrices are draws 2 and 10 of 2458."""
    experts = Experts(count=64, width=16, dense_layers=0)
    what = Config(small(layers=1, experts=experts), Parallel(ep=8))
    stream = Stream("expert-parallel", ep=2)
    drawn = on_stream(CORE.draws(what), stream)
    name = "decoder.layers.0.mlp.experts.linear_fc"
    assert drawn[1] == (f"{name}1.weight1", (32, 32))
    assert drawn[9] == (f"{name}2.weight1", (32, 16))
    assert CORE.seed_of(stream, 1234, what) == 2458
    blocks = CORE.blocks(what, "model.layers.0.mlp.experts.17.up_proj.weight")
    assert [(block.stream, block.tensor, block.row) for block in blocks] == [(stream, f"{name}1.weight1", 16)]


def test_orders_of_experts() -> None:
    """Sequential experts alternate, older ones are one matrix each; routers are drawn on the CPU."""
    experts = Experts(count=4, width=16, shared_width=8, shared_gate=True)
    what = Config(small(layers=1, experts=experts), Parallel(ep=2))
    stream = Stream("expert-parallel", ep=1)
    sequential = on_stream(MegatronCore("sequential").draws(what), stream)
    assert [shape for _, shape in sequential] == [(32, 32), (32, 16)] * 2
    assert on_stream(MegatronCore("stacked").draws(what), stream) == [
        ("decoder.layers.0.mlp.experts.weight1", (32, 64)),
        ("decoder.layers.0.mlp.experts.weight2", (32, 32)),
    ]
    routers = [each for each in CORE.draws(what) if each.generator == "cpu"]
    assert [(each.tensor, each.draw.dtype, each.stored) for each in routers] == [
        ("decoder.layers.0.mlp.router.weight", "float32", "bfloat16"),
        ("decoder.layers.0.mlp.shared_experts.gate_weight", "float32", "bfloat16"),
    ]


def test_stages_have_streams_of_their_own() -> None:
    """With virtual chunks a stage draws chunk after chunk; a tied last stage spends an unseen draw."""
    draws = CORE.draws(Config(small(layers=8, tied=True), Parallel(pp=2, virtual=2)))
    for stage, layers in ((0, (0, 1, 4, 5)), (1, (2, 3, 6, 7))):
        names = [name for name, _ in on_stream(draws, Stream("model-parallel", stage))]
        order = [int(name.split(".")[2]) for name in names if name.endswith("linear_qkv")]
        assert tuple(order) == layers
    last = [each for each in draws if each.stream.pp == 1][-1]
    assert (last.tensor, last.kept) == ("output_layer.weight", False)
    assert all(each.tensor != "output_layer.weight" for each in CORE.draws(Config(small(tied=True))))


def test_further_tokens_copy_the_embedding_on_the_last_stage() -> None:
    """The last stage draws the embedding first, unseen, and the joining matrix before the extra layer."""
    draws = CORE.draws(Config(small(prediction_layers=1), Parallel(pp=2)))
    last = [each for each in draws if each.stream.pp == 1]
    assert (last[0].tensor, last[0].kept) == ("embedding.word_embeddings.weight", False)
    assert [each.tensor for each in last[5:7]] == [
        "mtp.layers.0.eh_proj.weight",
        "mtp.layers.0.transformer_layer.self_attention.linear_proj.weight",
    ]


def test_tables_of_positions_are_drawn_twice_on_the_cpu() -> None:
    """The constructor's draw is lost; the stages begin after one word an element, 16 more if ragged."""
    placed = offsets(CORE.draws(Config(small(positions=5, hidden=40, heads=4))), A100)
    table = [one for one in placed if one.draw.generator == "cpu"]
    assert [(one.position, one.draw.kept, one.draw.draw.parameters[1]) for one in table] == [
        (0, False, 1.0),
        (216, True, 0.02),
    ]


def test_mamba_layers() -> None:
    """In, the convolution as constructed and its weight again, two head-wise uniforms, out."""
    mamba = Mamba(heads=4, head_width=8, state=4, groups=2)
    model = small(layers=3, pattern="M*-", mamba=mamba)
    draws = CORE.draws(Config(model, Parallel(tp=2)))
    drawn = [each for each in draws if each.stream == Stream("model-parallel", tp=1)]
    assert [(each.tensor.split(".")[-2], each.draw.shape, each.kept) for each in drawn[1:7]] == [
        ("in_proj", (42, 32), True),
        ("conv1d", (24, 1, 4), False),
        ("conv1d", (24,), True),
        ("conv1d", (24, 1, 4), True),
        ("mixer", (2,), True),
        ("mixer", (2,), True),
    ]
    assert (drawn[6].draw.parameters, drawn[6].draw.dtype) == ((1.0, 16.0), "float32")
    assert drawn[7].draw.parameters[1] == pytest.approx(0.02 / 3**0.5)
    assert [each.tensor.split(".")[2] for each in drawn[8:12]] == ["1", "1", "2", "2"]


def test_drawing_on_the_cpu_takes_whole_matrices() -> None:
    """Every rank draws the same whole matrices in float32; padding still depends on TP."""
    draws = MegatronCore(on_cpu=True).draws(Config(small(), Parallel(tp=4)))
    assert {each.generator for each in draws} == {"cpu"}
    assert {each.stream for each in draws} == {Stream("cpu")}
    assert draws[0].draw.shape == (512, 32)
    assert draws[2].draw.shape == (64, 32)


@pytest.mark.parametrize(
    ("model", "parallel", "message"),
    [
        (small(), Parallel(tp=8), "heads of keys"),
        (small(layers=3), Parallel(pp=2), "3 layers do not divide"),
        (small(experts=Experts(count=6, width=8)), Parallel(ep=4), "6 experts"),
        (small(layers=1, pattern="M"), Parallel(), r"give Model\.mamba"),
    ],
)
def test_models_that_do_not_divide_are_refused(model: Model, parallel: Parallel, message: str) -> None:
    """What Megatron could not have built is a usage error."""
    with pytest.raises(UsageError, match=message):
        CORE.draws(Config(model, parallel))


def test_other_usage_errors() -> None:
    """Experts drawn on the CPU by several ranks, unknown orders, and positions without a layout."""
    several = Config(small(experts=Experts(count=4, width=8)), Parallel(ep=2))
    with pytest.raises(UsageError, match="same ones"):
        MegatronCore(on_cpu=True).draws(several)
    with pytest.raises(UsageError, match="'grouped'"):
        MegatronCore("packed")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="give the threads"):
        offsets(CORE.draws(Config(small())))
