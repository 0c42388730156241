"""Seeds that a program derives from the one its authors declare: named rules, tried on a pair of seeds.

A seed found in weights often is not the one in the configuration, because a framework drew it from there.
Each rule here is a few lines of a public program. Agreement is a matter of chance as well: a rule that makes
4,096 numbers below 10^9 hits a wrong one once in 240,000 times, so each explanation says how many numbers
were tried for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from birthmark.generators.numpy_seeding import seed_sequence
from birthmark.generators.python_random import numpy_integers, python_integers

#: Functions and calls that Sacred's chain is followed through.
FUNCTIONS: Final = 64
CALLS: Final = 16
#: Ranks, workers and draws that other rules are followed through.
STEPS: Final = 64
#: Sacred's and Keras's largest seed.
BILLION: Final = 10**9

_WORD = 1 << 32


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a seed follows from a declared one.

    Attributes:
        rule: its short name.
        text: in words, with the places counted from the first.
        tried: numbers that were compared before this one, this one included.
    """

    rule: str
    text: str
    tried: int


def explain(declared: int, found: int) -> Explanation | None:
    """How the seed found in weights follows from the declared one; None where no rule here says so.

    Args:
        declared: the seed that a configuration or paper names.
        found: the seed that the weights say; for MT19937 its low 32 bits are enough.
    """
    for tried, (rule, text, number) in enumerate(_candidates(declared), 1):
        if number == found or (found < _WORD and number % _WORD == found):
            return Explanation(rule, text, tried)
    return None


def sacred_seed(declared: int, function: int, call: int = 0) -> int:
    """The `_seed` that Sacred gives a captured function.

    Source: IDSIA/sacred `sacred/initialize.py`, `config/captured_function.py`, `randomness/legacy.py`, 0.7 to
    0.8. The experiment's seed starts a RandomState, which draws a seed for each captured function; that one
    starts the function's own, which draws one for each call.

    Args:
        declared: the experiment's seed.
        function: number of the captured function, from 0, in the order of their definition.
        call: number of the call, from 0.
    """
    own = numpy_integers(declared, 1, BILLION, function + 1)[function]
    return numpy_integers(own, 1, BILLION, call + 1)[call]


def keras_seed(declared: int, number: int) -> int:
    """The seed of the layer weight number `number`, from 0, after `keras.utils.set_random_seed(declared)`.

    Source: keras-team/keras `keras/src/random/seed_generator.py`, 3.0 to 3.15 (run on 3.15.1 with
    TensorFlow): every initialiser without a seed takes `random.randint(1, 10**9)`.
    """
    return python_integers(declared, 1, BILLION, number + 1)[number]


def tensorflow_seed(declared: int, number: int) -> int:
    """The second seed of operator `number`, from 0, after `tf.random.set_seed(declared)` in eager mode.

    Source: tensorflow `python/eager/context.py`, 2.0 to 2.21: `random.Random(seed).randint(0, 2**31 - 1)`.
    """
    return python_integers(declared, 0, (1 << 31) - 1, number + 1)[number]


def _candidates(declared: int) -> Iterator[tuple[str, str, int]]:
    yield "same", "the declared seed itself", declared
    for rank in range(1, STEPS):
        yield "plus", f"the declared seed plus {rank}: a rank, a worker or a run", declared + rank
    yield (
        "times-1024",
        "the declared seed times 1024: the first process of older Paddle fleet",
        declared * 1024,
    )
    if declared < 0:
        return
    for i, word in enumerate(seed_sequence(declared, STEPS).tolist()):
        yield "seed-sequence", f"word {i} of NumPy's SeedSequence of the declared seed", word
    for i, number in enumerate(python_integers(declared, 1, BILLION, STEPS)):
        text = f"draw {i} of Python's random.randint(1, 10**9): Keras's seed of weight {i}"
        yield "keras", text, number
    ranges = ((1, BILLION), (0, BILLION), (0, 1 << 31), (0, (1 << 31) - 1), (0, 1 << 32), (0, (1 << 32) - 1))
    for low, high in (*ranges, (0, 10_000), (0, 1_000_000)):
        for i, number in enumerate(python_integers(declared, low, high - 1, STEPS)):
            yield "python", f"draw {i} of Python's random.randint({low}, {high - 1})", number
    if declared >= _WORD:
        return
    for low, high in (*ranges, (0, 10_000), (0, 1_000_000)):
        for i, number in enumerate(numpy_integers(declared, low, high, STEPS)):
            yield "numpy", f"draw {i} of numpy.random.randint({low}, {high})", number
    for i, own in enumerate(numpy_integers(declared, 1, BILLION, FUNCTIONS)):
        yield "sacred-function", f"Sacred's seed of captured function {i}", own
        for j, number in enumerate(numpy_integers(own, 1, BILLION, CALLS)):
            yield "sacred", f"Sacred's seed of captured function {i}, call {j}", number
