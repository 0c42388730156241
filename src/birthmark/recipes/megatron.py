"""Megatron-LM's seed rule: from the base seed on a command line to the seed of every stream, and back.

Source: NVIDIA/Megatron-LM `megatron/training/initialize.py` and `megatron/core/tensor_parallel/random.py`,
tags v1.0 to core_v0.19.0. With a base seed s (positive, default 1234) and pipeline rank pp, r = s + 100 pp.
Parameters that all tensor-parallel ranks share are drawn under r; those they split (embeddings, attention,
MLP, output layer) under r + 2718 + tp; routed experts under r + 1024 + 100 ep + etp.
"""

from __future__ import annotations

from birthmark.recipes.sharding import SEED_SPACE

DEFAULT_BASE = 1234
PIPELINE_STEP = 100
MODEL_PARALLEL = 2718
EXPERT = 1024
EXPERT_PARALLEL_STEP = 100


def stream_seed(base: int, tp: int = 0, pp: int = 0) -> int:
    """The seed under which tensor-parallel rank `tp` of pipeline stage `pp` draws its shards."""
    return (base + PIPELINE_STEP * pp + MODEL_PARALLEL + tp) % SEED_SPACE


def expert_seed(base: int, ep: int = 0, etp: int = 0, pp: int = 0) -> int:
    """The seed under which expert-parallel rank `ep`, expert-tensor rank `etp`, draws its routed experts."""
    return (base + PIPELINE_STEP * pp + EXPERT + EXPERT_PARALLEL_STEP * ep + etp) % SEED_SPACE


def base_seed(shard_0: int) -> int | None:
    """The base seed, given that `shard_0` drew tensor-parallel shard 0 on pipeline stage 0.

    None where the rule cannot have given this seed: a base seed is positive.
    """
    base = shard_0 - MODEL_PARALLEL
    return base if base > 0 else None


def rule_text(shard_0: int, ways: int) -> str:
    """In words: what the seed of shard 0 says about the command line, and what it leaves open.

    Args:
        shard_0: the seed found for the first shard.
        ways: how many shards were seen, each with the seed of the one before plus 1.
    """
    base = base_seed(shard_0)
    if base is None:
        return (
            f"Each of the {ways} shards has the seed of the one before plus 1: base seed {shard_0} plus the "
            f"rank would give them. Megatron-LM's rule (seed = base + {PIPELINE_STEP} pp + {MODEL_PARALLEL} "
            f"+ tp, base positive) does not give the seed {shard_0} to shard 0."
        )
    rule = (
        f"Megatron-LM's rule (seed = base + {PIPELINE_STEP} pp + {MODEL_PARALLEL} + tp) gives base seed "
        f"{base} if this is tensor-parallel rank 0 of pipeline stage 0, where the word embedding lives"
    )
    stages = f"on a later stage pp (an untied output layer) it is {base} - {PIPELINE_STEP} pp"
    if ways > 1:
        return f"{rule}; the {ways} shards with seeds {shard_0} to {shard_0 + ways - 1} fix tp; {stages}."
    return f"{rule}; one shard alone also fits rank tp of base seed {base} - tp; {stages}."
