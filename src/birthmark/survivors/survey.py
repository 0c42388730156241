"""The survey of a checkpoint: what has survived in which tensor, and how surely.

Each tensor is looked at by itself (see `look`). Small ones that look untouched are believed only in company:
sixty-four biases can look like a fresh draw by chance, but not in a net whose large tensors all do.
"""

from __future__ import annotations

import math

import numpy as np
from threadpoolctl import threadpool_limits

from birthmark.checkpoints.interface import Checkpoint, TensorInfo
from birthmark.survivors.look import SAMPLED_ROWS, SAMPLED_VALUES, Look, look_at
from birthmark.survivors.survivor import Survivors, TensorSurvey

#: Elements that likely survivors must hold together for a reading; with fewer, chance finds too many seeds.
LEAST_FOR_READING = 64
#: A tensor with a shorter side, or with fewer values, can look untouched by chance: it needs another's word.
STRONG_SIDE, STRONG_SIZE = 16, 4096
#: Probability of a small tensor that looks untouched: by itself, in a net whose large tensors all do, and, if
#: it is a matrix, where there is no large tensor.
ALONE, IN_COMPANY, UNOPPOSED = 0.3, 0.97, 0.8


def survey(checkpoint: Checkpoint, *, seed: int = 0) -> list[TensorSurvey]:
    """Look for survivors in every tensor, without knowing seeds or distributions.

    Args:
        checkpoint: what to look at.
        seed: decides which rows of large tensors are sampled, and nothing else.

    Returns:
        One survey a tensor, in file order.
    """
    infos = list(checkpoint.tensors.values())
    random = np.random.default_rng(seed)
    # Small matrices on many threads spend their time waiting for each other, tenfold on a busy machine.
    with threadpool_limits(1, user_api="blas"), np.errstate(all="ignore"):
        looks = [look_at(checkpoint, info, infos, random) for info in infos]
    wholes = {
        look.info.name: look.whole.probability for look in looks if look.whole and _is_strong(look.info)
    }
    return [_with_company(look, wholes) for look in looks]


def best_targets(surveys: list[TensorSurvey]) -> list[Survivors]:
    """The survivors that a search should start with: most promising first.

    Rows come before columns and whole tensors where they are about as many, because rows of an embedding
    reach far into a launch. Tensors whose likely survivors hold fewer than `LEAST_FOR_READING` values are
    left out.
    """
    worth = [(survivors, _worth(survivors)) for each in surveys if (survivors := each.survivors) is not None]
    return [survivors for survivors, value in sorted(worth, key=lambda pair: -pair[1]) if value > 0.0]


def likely_values(survivors: Survivors) -> int:
    """How many values the likely survivors hold together."""
    rows, columns = _matrix(survivors.shape)
    return len(survivors.likely()) * (rows if survivors.axis == "column" else columns)


def _matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    return (shape[0], math.prod(shape[1:])) if len(shape) > 1 else (1, math.prod(shape))


def _worth(survivors: Survivors) -> float:
    """Reach of the likely survivors into their tensor, by how sure they are; 0 where they are too few."""
    values = likely_values(survivors)
    if values < LEAST_FOR_READING:
        return 0.0
    sure = float(np.sort(survivors.probability)[::-1][:10].mean())
    size = math.log(math.prod(survivors.shape)) + 0.25 * math.log(values)
    return sure * size * {"row": 1.5, "tensor": 1.2, "column": 1.0}[survivors.axis]


def _with_company(look: Look, wholes: dict[str, float]) -> TensorSurvey:
    """The finished survey of a tensor, now that all others are known."""
    info = look.info
    survivors, reason = None, look.reason
    if look.judged is not None:
        judged = look.judged
        survivors = Survivors(
            info.name, info.shape, info.dtype, look.axis, judged.ids, judged.probability,
            judged.distribution, judged.scale, judged.scale_error,
        )  # fmt: skip
    elif look.ids is not None and look.whole is not None and reason is None:
        probability = look.whole.probability
        if look.grid is not None:
            probability = 0.9999
        elif not _is_strong(info):
            probability *= _company(info, wholes)
        if probability >= 0.5:
            survivors = _whole_survivors(look, probability)
        else:
            reason = (
                f"looks like a fresh draw, but {info.size} values are few, and no larger tensors beside it "
                "look untouched as well"
            )
    return TensorSurvey(info.name, info.shape, info.dtype, survivors, look.special, reason, look.sampled)


def _whole_survivors(look: Look, probability: float) -> Survivors:
    """All rows of an untouched tensor."""
    assert look.whole is not None
    assert look.ids is not None
    info, fit = look.info, look.whole.fit
    ids = look.ids
    seen = min(info.size, SAMPLED_VALUES, SAMPLED_ROWS * info.matrix_shape[1])
    scale, error = fit.parameter, math.sqrt((fit.shape.kurtosis - 1.0) / (4.0 * seen))
    distribution = fit.shape.distribution
    if look.grid is not None:
        scale, error, distribution = look.grid.scale, 2.0**-24, look.grid.distribution
    return Survivors(
        info.name, info.shape, info.dtype, "tensor", ids, np.full(len(ids), probability),
        distribution, scale, error,
    )  # fmt: skip


def _company(info: TensorInfo, wholes: dict[str, float]) -> float:
    """How far the large tensors of the same net vouch for a small one: all must look untouched."""
    net = info.name.split(".")[0] if "." in info.name else ""
    beside = [value for other, value in wholes.items() if other.startswith(f"{net}.") or not net]
    if not beside:
        return UNOPPOSED if min(info.matrix_shape) >= STRONG_SIDE else ALONE
    return IN_COMPANY if min(beside) >= 0.5 else ALONE


def _is_strong(info: TensorInfo) -> bool:
    """Whether a tensor is large enough to be believed on its own."""
    return min(info.matrix_shape) >= STRONG_SIDE and info.size >= STRONG_SIZE
