"""All recipes by name. A new one is a module and a line here."""

from __future__ import annotations

from typing import Final

from birthmark.errors import UnknownName
from birthmark.recipes.hf import HuggingFace
from birthmark.recipes.hf_resize import HuggingFaceResize
from birthmark.recipes.lingua import Lingua
from birthmark.recipes.litgpt import LitGpt
from birthmark.recipes.megatron_core import MegatronCore
from birthmark.recipes.megatron_legacy import MegatronLegacy, NeoX
from birthmark.recipes.nanogpt import NanoGpt
from birthmark.recipes.olmo import Olmo, OlmoCore
from birthmark.recipes.paddle_fleet import PaddleFleet
from birthmark.recipes.recipe import Recipe
from birthmark.recipes.torchtitan import Torchtitan
from birthmark.recipes.zero_init import ZeroInit

#: The recipes; each is made with options of its own.
RECIPES: Final[dict[str, type[Recipe]]] = {
    each.name: each
    for each in (
        MegatronCore,
        MegatronLegacy,
        NeoX,
        HuggingFace,
        HuggingFaceResize,
        ZeroInit,
        Torchtitan,
        Lingua,
        Olmo,
        OlmoCore,
        NanoGpt,
        LitGpt,
        PaddleFleet,
    )
}


def recipe(name: str) -> type[Recipe]:
    """A recipe's class by its name; its options are its fields.

    Raises:
        UnknownName: no such recipe; the message lists the nearest.
    """
    if name not in RECIPES:
        raise UnknownName("recipe", name, RECIPES)
    return RECIPES[name]
