"""What recipes suppose about one tensor of a published model: where in a stream it began, and how it was cut.

A search that tries offset 0 finds what was drawn first. Other recipes draw the same tensor later: behind an
output layer, behind all constructors, at the end of a pipeline stage, or in the shards of DTensor. Recipes
that suppose the same are one supposition, and each counts once among the trials. One of them needs no recipe:
that a tensor was filled by its constructor and drawn again at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from birthmark.devices.layout import INDEX_LIMIT, Layout
from birthmark.errors import UnknownName, UsageError
from birthmark.numerics.dtypes import itemsize
from birthmark.recipes.config import Config, Parallel
from birthmark.recipes.config_file import model_from
from birthmark.recipes.hf import HuggingFace
from birthmark.recipes.lingua import Lingua
from birthmark.recipes.litgpt import LitGpt
from birthmark.recipes.megatron_core import MegatronCore
from birthmark.recipes.megatron_legacy import MegatronLegacy
from birthmark.recipes.nanogpt import NanoGpt
from birthmark.recipes.olmo import Olmo, OlmoCore
from birthmark.recipes.positions import advance, offsets
from birthmark.recipes.recipe import Recipe
from birthmark.recipes.sharding import WHOLE, Sharding
from birthmark.recipes.torchtitan import Torchtitan
from birthmark.recipes.zero_init import ZeroInit
from birthmark.samplers.draw import Draw

#: The name of what no recipe needs to suppose: that rows were dealt to ranks with one seed.
DISTRIBUTED: Final = "a distributed tensor"
#: Tensor-parallel ranks, pipeline stages and ranks of FSDP2 that are supposed.
WAYS: Final = (1, 2, 4, 8, 16)
STAGES: Final = (1, 2, 4, 8, 16)
SHARDS: Final = (8, 16, 32, 64, 128, 256, 512, 1024)

#: The name of what no recipe supposes: a draw right behind the constructor's own.
REDRAWN: Final = "code that draws again what a constructor drew"


@dataclass(frozen=True, slots=True)
class Variant:
    """What may differ where the order of draws is the same; a generator or dtype of None is the recipe's."""

    name: str
    generator: Literal["cpu", "cuda"] | None = None
    dtype: str | None = None


@dataclass(frozen=True, slots=True)
class Supposition:
    """How a tensor may have been drawn.

    Attributes:
        recipes: the names of the recipes that suppose so, with the number of ranks where it is not one.
        generator: "cuda" or "cpu".
        draw: the call on the whole tensor, in the shape that is published.
        sharding: vocabulary-parallel ranks with seeds of their own.
        shards: ranks of DTensor, which share a seed; 1 for none.
        offsets: where the draw of rank 0 begins: by G an offset on CUDA; on the CPU, under 0, words.
    """

    recipes: tuple[str, ...]
    generator: str
    draw: Draw
    sharding: Sharding
    shards: int
    offsets: Mapping[int, int]

    @property
    def plain(self) -> bool:
        """Whether an ordinary search covers it: a draw on CUDA at offset 0, whole or vocabulary-parallel."""
        return self.generator == "cuda" and self.shards == 1 and not any(self.offsets.values())

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others: everything but the recipes and the scale."""
        cut = -(-self.draw.size * itemsize(self.draw.dtype) // (INDEX_LIMIT + 1)) > 1
        # What a plain normal is before it is rounded depends on its dtype only where a tensor is huge.
        dtype = str(cut) if self.draw.distribution == "normal" else self.draw.dtype
        kind = (self.generator, self.draw.distribution, dtype, self.draw.version)
        bounds = tuple(round(bound / self.draw.parameters[1], 6) for bound in self.draw.parameters[2:])
        return (*kind, bounds, self.sharding, self.shards, tuple(sorted(self.offsets.items())))


def suppositions(
    declared: Mapping[str, Any], tensor: str, shape: tuple[int, int], threads: Sequence[int]
) -> tuple[Supposition, ...]:
    """The distinct ways in which recipes draw a tensor of a model.

    Args:
        declared: the model's config.json.
        tensor: a published name, such as "model.embed_tokens.weight" or "lm_head.weight".
        shape: its published extents.
        threads: the G's that are possible.

    Returns:
        The likelier first; each counts as one trial for each of its offsets. Empty where the config describes
        no language model that a recipe builds, or no recipe draws the tensor.
    """
    found: dict[tuple[object, ...], Supposition] = {}
    try:
        model = replace(model_from(declared), vocabulary=shape[0])
    except UsageError:
        return ()
    for recipe, config, variants in _ways(Config(model), shape[0]):
        for one in _supposed(recipe, config, variants, tensor, shape, threads):
            same = found.setdefault(one.key, one)
            if same is not one:
                recipes = tuple(dict.fromkeys((*same.recipes, *one.recipes)))
                found[one.key] = replace(same, recipes=recipes)
    return tuple(found.values())


def redrawn(shape: tuple[int, ...], threads: Sequence[int]) -> Supposition:
    """A normal draw right behind another of the same tensor: code initialises what its constructor filled.

    Args:
        shape: the tensor's extents.
        threads: the G's that are possible.
    """
    draw = Draw("normal", (0.0, 1.0), shape)
    begun = {each: advance(draw.size, draw.dtype, Layout(each)) for each in sorted(set(threads))}
    return Supposition((REDRAWN,), "cuda", draw, WHOLE, 1, begun)


def sharded(shape: tuple[int, ...], threads: Sequence[int], offset: int = 0) -> tuple[Supposition, ...]:
    """A normal draw of a distributed tensor with equal shards of rows, for each number of ranks that fits.

    Args:
        shape: the whole tensor's extents.
        threads: the G's that are possible.
        offset: where the draw of rank 0 begins.
    """
    draw, begun = Draw("normal", (0.0, 1.0), shape), dict.fromkeys(sorted(set(threads)), offset)
    counts = [each for each in (2, 4, *SHARDS) if shape and shape[0] % each == 0]
    return tuple(Supposition((DISTRIBUTED,), "cuda", draw, WHOLE, each, begun) for each in counts)


def trials(supposed: Sequence[Supposition]) -> int:
    """How many predictions they make of one seed: every supposition with every distinct offset."""
    return sum(len(set(one.offsets.values())) for one in supposed)


def _ways(config: Config, rows: int) -> Iterator[tuple[Recipe, Config, tuple[Variant, ...]]]:
    """Recipes, numbers of processes, and what else may differ in the same order of draws; likelier first."""
    model = config.model
    if model.experts is not None:
        # Experts have a stream of their own: how many there are moves no table.
        model = replace(model, experts=replace(model.experts, count=1, width=1))
    for pp in STAGES:
        for tp in WAYS:
            if rows % tp == 0 and model.layers % pp == 0:
                on = Config(model, Parallel(tp=tp, pp=pp), config.dtype)
                where = f" of TP {tp} and PP {pp}" if tp * pp > 1 else ""
                for megatron in (MegatronCore(divisor=1), MegatronLegacy(divisor=1)):
                    yield megatron, on, (Variant(megatron.name + where),)
    single = replace(config, dtype="float32")
    plain = (Variant("hf", "cpu"), Variant("hf on cuda", "cuda"))
    zero = tuple(Variant("zero-init", "cuda", dtype) for dtype in ("bfloat16", "float16"))
    yield HuggingFace(version="5"), single, plain
    yield ZeroInit(version="5"), single, zero
    yield HuggingFace(version="4.27+"), single, (*plain, *zero)
    yield LitGpt(), single, (Variant("litgpt", "cuda", "bfloat16"), Variant("litgpt"))
    for recipe in (OlmoCore(), OlmoCore("llama"), Olmo(), NanoGpt()):
        yield recipe, single, (Variant(recipe.name),)
    for titan in (Torchtitan(), Torchtitan(version="2.1+"), Lingua()):
        yield titan, replace(single, parallel=Parallel(shards=2)), (Variant(titan.name),)


def _supposed(
    recipe: Recipe,
    config: Config,
    variants: Sequence[Variant],
    tensor: str,
    shape: tuple[int, int],
    threads: Sequence[int],
) -> Iterator[Supposition]:
    """What one recipe supposes; nothing where it does not build the model or not this tensor."""
    try:
        published = recipe.published(config, _own_name(recipe, tensor), shape)
        draws = recipe.draws(config)
    except (UsageError, UnknownName):
        return
    first = published.blocks[0]
    stream = [each for each in draws if each.stream == first.stream]
    place = next((n for n, each in enumerate(stream) if each.tensor == first.tensor and each.kept), None)
    if place is None or stream[place].then or stream[place].draw.shape[-1] != shape[-1]:
        return
    ways = len({block.stream for block in published.blocks})
    shards = config.parallel.shards
    sharding = Sharding(ways, "megatron") if ways > 1 and shards == 1 else WHOLE
    before, kept = stream[:place], stream[place]
    before = [one for one in before if one.generator == kept.generator]
    if not sharding.fits(shape) or any(one.draw.redraws for one in before):
        return
    sizes = Counter((one.draw.size, one.draw.dtype) for one in before)
    for variant in variants:
        generator, dtype = variant.generator or kept.generator, variant.dtype or kept.draw.dtype
        draw = replace(kept.draw, shape=shape, dtype=dtype)
        if generator == "cpu" or kept.whole:
            on_cpu = [replace(one, generator="cpu") for one in before] if generator == "cpu" else before
            place = offsets((*on_cpu, replace(kept, generator=generator)))[-1].position or 0
            begun = dict.fromkeys((0,) if generator == "cpu" else threads, place)
        else:
            begun = {
                each: sum(
                    count * advance(size, variant.dtype or own, Layout(each))
                    for (size, own), count in sizes.items()
                )
                for each in sorted(set(threads))
            }
        # The offset of DTensor's rank 0 is the same however many ranks there are.
        for count in SHARDS if shards > 1 else (1,):
            name = f"{variant.name} on {count} ranks" if count > 1 else variant.name
            yield Supposition((name,), generator, draw, sharding, count, begun)


def _own_name(recipe: Recipe, tensor: str) -> str:
    """The name that a recipe gives a table, where it knows no export's."""
    if isinstance(recipe, Lingua):
        own = {"model.embed_tokens.weight": "tok_embeddings.weight", "lm_head.weight": "output.weight"}
        return own.get(tensor, tensor)
    return tensor
