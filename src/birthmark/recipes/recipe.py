"""A recipe: the ordered draws of a framework for a model, and the rule that gives each process its seed.

Draws are listed by stream, for draws of one stream follow each other and draws of two do not touch. A stream
is one state of one generator on one process; processes that only repeat each other's draws share one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from birthmark.errors import UnknownName
from birthmark.recipes.config import Config
from birthmark.recipes.mapping import Block, Published
from birthmark.recipes.seed_rules import SeedRule
from birthmark.recipes.streams import RecipeDraw, Source, Stream


@dataclass(frozen=True)
class Recipe(ABC):
    """One framework's way of building a model.

    Attributes:
        name: by which it is called.
        assumptions: what it takes for granted, one sentence each.
        sources: where its rules were read.
        rules: the seed rule of each kind of stream.
    """

    name: ClassVar[str]
    assumptions: ClassVar[tuple[str, ...]]
    sources: ClassVar[tuple[Source, ...]]
    rules: ClassVar[Mapping[str, SeedRule]]

    @abstractmethod
    def draws(self, config: Config) -> tuple[RecipeDraw, ...]:
        """Every draw of every stream; those of one stream in their order.

        Raises:
            UsageError: the recipe does not build such a model, or not on so many processes.
        """

    @abstractmethod
    def tensors(self, config: Config) -> tuple[str, ...]:
        """The names under which the drawn tensors are published."""

    @abstractmethod
    def blocks(self, config: Config, tensor: str) -> tuple[Block, ...]:
        """Which draw each part of a published tensor comes from.

        Raises:
            UnknownName: the recipe draws no tensor of this name.
        """

    def seed_of(self, stream: Stream, base: int, config: Config) -> int:
        """The seed of a stream, given the base seed.

        Args:
            stream: one of the recipe's own.
            base: what was set on the command line.
            config: the number of processes, on which some rules depend.

        Raises:
            UnknownName: the recipe has no such stream.
        """
        del config
        if stream.name not in self.rules:
            raise UnknownName("stream", stream.name, self.rules)
        return self.rules[stream.name].seed(base, **stream.ranks)

    def published(self, config: Config, tensor: str, shape: tuple[int, ...]) -> Published:
        """Where the elements of a published tensor come from.

        Args:
            config: what was built.
            tensor: its published name.
            shape: its published extents; fewer rows than were drawn are fine, as after trimming.

        Raises:
            UnknownName: the recipe draws no tensor of this name.
            UsageError: the shape does not fit the draws.
        """
        return Published(tensor, shape, self.blocks(config, tensor))

    def check_name(self, config: Config, tensor: str) -> None:
        """Refuse names that the recipe does not draw.

        Raises:
            UnknownName: with the nearest ones.
        """
        known = self.tensors(config)
        if tensor not in known:
            raise UnknownName("tensor of the recipe", tensor, known)
