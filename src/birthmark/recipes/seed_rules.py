"""What frameworks make of the seed on a command line: one rule for each kind of stream.

Every rule is a product and a sum: seed = factor x base + constant + the rank along each axis times its step,
in 64 bits. The ranges of ranks are those that a search tries; a rule itself has no end. Recipes point here
for their streams, the dictionary of seeds is made of these rules, and so are the progressions that the seeds
of several processes are held against.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName
from birthmark.recipes.megatron import EXPERT, EXPERT_PARALLEL_STEP, MODEL_PARALLEL, PIPELINE_STEP
from birthmark.recipes.sharding import SEED_SPACE

#: What PaddleNLP's trainer adds to a base seed for its local and global streams.
PADDLE_LOCAL, PADDLE_GLOBAL = 59_999, 100_003
#: What Megatron-Core 0.19 adds for each rank where weights are made again under a generalised sharding.
REMADE = 65_536
#: What GPT-NeoX adds on stages that are neither first nor last.
INTERIOR = 1138


@dataclass(frozen=True, slots=True)
class Step:
    """What one kind of rank adds.

    Attributes:
        axis: which rank counts, such as "tp".
        size: what each rank adds.
        count: how many ranks a search tries.
    """

    axis: str
    size: int
    count: int


@dataclass(frozen=True, slots=True)
class SeedRule:
    """One framework's rule for one kind of stream.

    Attributes:
        name: by which recipes and readings call it.
        framework: whose rule it is, in words.
        constant: what every rank adds.
        steps: what the ranks add.
        factor: by what the base seed is multiplied.
        source: the public repository and file where it was read.
    """

    name: str
    framework: str
    constant: int
    steps: tuple[Step, ...]
    source: str
    factor: int = 1

    def seed(self, base: int, **ranks: int) -> int:
        """The seed of a stream, in 64 bits; ranks not named are 0, those of other axes do not count."""
        added = sum(step.size * ranks.get(step.axis, 0) for step in self.steps)
        return (base * self.factor + self.constant + added) % SEED_SPACE

    def base(self, seed: int, **ranks: int) -> int | None:
        """The base seed that gives `seed` on these ranks; None where none does.

        A factor above 1 leaves no unique base in 64 bits; the least is meant, found without wrapping.
        """
        added = sum(step.size * ranks.get(step.axis, 0) for step in self.steps)
        rest = seed - self.constant - added
        if self.factor == 1:
            return rest % SEED_SPACE
        return rest // self.factor if rest >= 0 and rest % self.factor == 0 else None

    @property
    def additions(self) -> NDArray[np.int64]:
        """What all ranks that a search tries add to the base; int64, one dimension."""
        added = np.array([self.constant], np.int64)
        for step in self.steps:
            added = np.add.outer(added, step.size * np.arange(step.count, dtype=np.int64)).ravel()
        return added

    def seeds(self, bases: Iterable[int]) -> NDArray[np.uint64]:
        """The seeds of all ranks that a search tries, for every base; uint64, with repeats."""
        scaled = np.fromiter((base * self.factor % SEED_SPACE for base in bases), np.uint64)
        return np.add.outer(scaled, self.additions.astype(np.uint64)).ravel()

    @property
    def formula(self) -> str:
        """The rule as people write it."""
        parts = ["base" if self.factor == 1 else f"{self.factor} base"]
        parts += [str(self.constant)] if self.constant else []
        parts += [step.axis if step.size == 1 else f"{step.size} {step.axis}" for step in self.steps]
        return " + ".join(parts)


_MEGATRON = "NVIDIA/Megatron-LM d98e8a64, megatron/core/tensor_parallel/random.py"
_PAIR = (Step("pp", PIPELINE_STEP, 32), Step("tp", 1, 16))

PLAIN: Final = SeedRule(
    "plain", "most trainers", 0, (), "huggingface/transformers 5.24.0, src/transformers/trainer_utils.py"
)
MEGATRON_MODEL: Final = SeedRule("megatron-model", "Megatron-LM", MODEL_PARALLEL, _PAIR, _MEGATRON)
MEGATRON_DATA: Final = SeedRule("megatron-data", "Megatron-LM", 0, _PAIR[:1], _MEGATRON)
MEGATRON_EXPERT: Final = SeedRule(
    "megatron-expert",
    "Megatron-LM",
    EXPERT,
    (Step("pp", PIPELINE_STEP, 1), Step("ep", EXPERT_PARALLEL_STEP, 256), Step("etp", 1, 8)),
    _MEGATRON,
)
#: The rank is the global one; within the first eight it is also the tensor-parallel rank, as on one machine.
MEGATRON_REMADE: Final = SeedRule(
    "megatron-remade", "Megatron-LM", MODEL_PARALLEL + REMADE, (Step("rank", REMADE + 1, 8),), _MEGATRON
)
#: `position` is stage x TP + tp; on the first and the last stage it is Megatron's rule without its pp term.
NEOX_INTERIOR: Final = SeedRule(
    "neox-interior",
    "GPT-NeoX",
    INTERIOR + MODEL_PARALLEL,
    (Step("position", 1, 256),),
    "EleutherAI/gpt-neox ea7aefd8, megatron/initialize.py",
)
#: `position` is mp x PP + pp.
FLEET: Final = SeedRule(
    "paddle-fleet",
    "Paddle fleet",
    1,
    (Step("position", 1, 256),),
    "PaddlePaddle/Paddle 1931481d, python/paddle/distributed/fleet/layers/mpu/random.py",
)
FLEET_OLD: Final = SeedRule(
    "paddle-fleet-old", "older Paddle fleet", 0, (Step("rank", 100, 16),), FLEET.source, factor=1024
)
PADDLENLP_LOCAL: Final = SeedRule(
    "paddlenlp-local",
    "PaddleNLP",
    PADDLE_LOCAL,
    (Step("tp", 10, 16), Step("pp", 1000, 32)),
    "PaddlePaddle/PaddleFormers 0082c6ed, trainer/trainer_utils.py",
)
PADDLENLP_GLOBAL: Final = SeedRule(
    "paddlenlp-global", "PaddleNLP", PADDLE_GLOBAL, (Step("rank", 1, 16),), PADDLENLP_LOCAL.source
)
INTERNEVO: Final = SeedRule(
    "internevo",
    "InternEvo",
    0,
    (Step("pp", 1024, 32), Step("tp", 1, 16)),
    "InternLM/InternEvo c628a8c",
)
NANOTRON: Final = SeedRule("nanotron", "nanotron", 0, (Step("tp", 1, 16),), "huggingface/nanotron 2411b022")
STAGED: Final = SeedRule(
    "staged",
    "torchtitan and OLMo-core",
    0,
    (Step("pp", 1, 32),),
    "pytorch/torchtitan b5bcd76c, torchtitan/distributed/utils.py",
)
RANKED: Final = SeedRule(
    "ranked",
    "nanoGPT, Composer and llm-foundry",
    0,
    (Step("rank", 1, 256),),
    "karpathy/nanoGPT 3adf61e1, train.py; mosaicml/composer 64051888",
)

#: All rules; of two that read a seed alike the earlier is the likelier.
RULES: Final = (
    PLAIN,
    MEGATRON_MODEL,
    MEGATRON_EXPERT,
    MEGATRON_DATA,
    FLEET_OLD,
    PADDLENLP_LOCAL,
    PADDLENLP_GLOBAL,
    FLEET,
    RANKED,
    NANOTRON,
    STAGED,
    INTERNEVO,
    NEOX_INTERIOR,
    MEGATRON_REMADE,
)


def rule(name: str) -> SeedRule:
    """A rule by its name.

    Raises:
        UnknownName: no such rule.
    """
    for each in RULES:
        if each.name == name:
            return each
    raise UnknownName("seed rule", name, [each.name for each in RULES])
