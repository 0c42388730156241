"""DeepSpeed's zero.Init over Hugging Face models: constructors that draw whole tensors on the GPU.

While its context is open, tensors are made on the accelerator and in the run's dtype. Every rank draws the
whole tensor, and after each module's constructor the values of rank 0 replace all others. So the picture is
that of one GPU. Under transformers 5 constructors draw nothing and the class init goes through the whole
model at the end, module by module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from birthmark.recipes.config import Config
from birthmark.recipes.hf import HuggingFace, initialised
from birthmark.recipes.streams import RecipeDraw, Source, Tape, keep_last


@dataclass(frozen=True)
class ZeroInit(HuggingFace):
    """A Hugging Face model built under DeepSpeed's stage 3; `Config.dtype` is the run's."""

    name: ClassVar[str] = "zero-init"
    assumptions: ClassVar[tuple[str, ...]] = (
        "Rank 0's stream decides; it has the seed that all ranks set.",
        "Tensors are drawn whole, on the GPU, in the dtype of the run's configuration.",
    )
    sources: ClassVar[tuple[Source, ...]] = (
        Source("deepspeedai/DeepSpeed", "edaa7221", "deepspeed/runtime/zero/partition_parameters.py"),
        *HuggingFace.sources,
        Source("huggingface/transformers", "5.24.0", "src/transformers/integrations/deepspeed.py"),
    )

    device: Literal["cpu", "cuda"] = "cuda"

    def draws(self, config: Config) -> tuple[RecipeDraw, ...]:
        """Every draw of rank 0, in order; see `Recipe.draws`."""
        if self.version != "5":
            return super().draws(config)
        base, head = self._modules(config)
        tape = Tape(config.dtype, self.device)
        initialised(tape, [*base, *head], config)
        return keep_last(tape.made, {head[-1].tensor} if config.model.tied else frozenset())
