"""A recipe from the command line: its name and options, the numbers of processes, and the base seed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from birthmark.cli.births import Place
from birthmark.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from birthmark.recipe_prediction import Birth
    from birthmark.recipes.config import Parallel
    from birthmark.recipes.recipe import Recipe


def built_of(
    recipe: str, declared: Mapping[str, Any], place: Place, *, parallel: str, dtype: str, prefix: str
) -> Birth:
    """A model as a recipe builds it.

    Args:
        recipe: see `recipe_of`.
        declared: the model's config.json.
        place: the base seed and where it was drawn, or what a reading found in one of its tensors.
        parallel: see `parallel_of`.
        dtype: of the parameters while they are drawn.
        prefix: what stands before the recipe's names in the checkpoint.

    Raises:
        UnknownName: no such recipe, option, dtype or kind of parallelism.
        UsageError: the recipe does not build such a model, or the reading's seed is none of its seeds.
    """
    from birthmark.recipe_prediction import Birth
    from birthmark.recipes.config import Config
    from birthmark.recipes.config_file import model_from

    scale = declared.get("initializer_range")
    std = float(scale) if isinstance(scale, int | float) and scale > 0 else 0.02
    config = Config(model_from(declared), parallel_of(parallel), dtype, std)
    built = Birth(recipe_of(recipe), config, place.seed, place.threads, place.arithmetic)
    if place.tensor is None:
        return built
    return dataclasses.replace(built, seed=_base(built, place.tensor.removeprefix(prefix)))


def recipe_of(text: str) -> Recipe:
    """A recipe such as "megatron-core", or with options of its own, "megatron-core:divisor=1,on_cpu=true".

    Raises:
        UnknownName: no such recipe or option.
        UsageError: something else stands there.
    """
    from birthmark.recipes.registry import recipe

    name, colon, options = text.partition(":")
    kind = recipe(name.strip())
    known = {each.name: each.default for each in dataclasses.fields(kind)}
    given: dict[str, Any] = {}
    for part in options.split(",") if colon else ():
        key, equals, value = (side.strip() for side in part.partition("="))
        if not equals or key in given:
            raise UsageError(f"--recipe {text!r}: expected NAME:OPTION=VALUE,..., each option once.")
        if key not in known:
            raise UnknownName(f"option of {name}", key, known)
        given[key] = _valued(text, key, value, known[key])
    try:
        made: Recipe = kind(**given)
    except TypeError as error:
        raise UsageError(f"--recipe {text!r}: {error}.") from None
    return made


def parallel_of(text: str) -> Parallel:
    """Numbers of processes such as "tp=2,pp=4".

    Raises:
        UnknownName: no such kind of parallelism.
        UsageError: something else stands there.
    """
    from birthmark.recipes.config import Parallel

    known = [each.name for each in dataclasses.fields(Parallel)]
    given: dict[str, int] = {}
    for part in text.split(",") if text.strip() else ():
        key, equals, value = (side.strip() for side in part.partition("="))
        if equals and key not in known:
            raise UnknownName("kind of parallelism", key, known)
        if not equals or key in given or not (value.isascii() and value.isdigit()):
            raise UsageError(f"--parallel {text!r}: expected numbers of processes such as tp=2,pp=4.")
        given[key] = int(value)
    return Parallel(**given)


def _valued(text: str, key: str, value: str, default: object) -> str | int | bool:
    """An option's value, of the kind that its default has."""
    if isinstance(default, bool):
        if value.lower() not in ("true", "false"):
            raise UsageError(f"--recipe {text!r}: {key} is true or false, not {value!r}.")
        return value.lower() == "true"
    if isinstance(default, int):
        if not (value.isascii() and value.isdigit()):
            raise UsageError(f"--recipe {text!r}: {key} is a number, not {value!r}.")
        return int(value)
    return value


def _base(built: Birth, tensor: str) -> int:
    """The base seed behind the one that a reading found in a tensor, whose first part it then drew."""
    recipe, config, seed = built.recipe, built.config, built.seed
    stream = recipe.blocks(config, tensor)[0].stream
    rule = recipe.rules[stream.name]
    base = rule.base(seed, **stream.ranks)
    if base is None or base >= 1 << 63 or recipe.seed_of(stream, base, config) != seed:
        raise UsageError(
            f"seed {seed} of {tensor} is none that {recipe.name} gives its first process ({rule.formula}).",
            advice="Give the base seed with --seed.",
        )
    return base
