"""How kernels are compiled: one decorator and the one machine operation that numba does not offer.

Kernels are compiled on first use and cached on disk beside the source. Rules that keep them right:
constants are unsigned and typed (`np.uint32(...)`, `np.uint64(...)`), because uint64 with int64 becomes
float64 in numba; every 32-bit operation is cast back to uint32, because numba widens to 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import types
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])


def kernel(*, parallel: bool = False, inline: bool = False) -> Callable[[F], F]:
    """Compile a function to machine code, without the interpreter lock and without relaxed arithmetic.

    Args:
        parallel: compile `numba.prange` loops for all cores.
        inline: let LLVM inline the function into its callers (for scalar helpers).

    Returns:
        A decorator that leaves the function's static type as it was.
    """

    def decorate(function: F) -> F:
        compiled: F = numba.njit(
            cache=True,
            nogil=True,
            fastmath=False,
            error_model="numpy",
            parallel=parallel,
            forceinline=inline,
        )(function)
        return compiled

    return decorate


@intrinsic  # type: ignore[untyped-decorator]
def fma(typingctx: Any, a: Any, b: Any, c: Any) -> Any:  # noqa: ANN401, ARG001 - numba's own signature
    """Multiply and add, a * b + c, with one rounding: float32 or float64 (LLVM's `llvm.fma`)."""
    if not (a == b == c and a in (types.float32, types.float64)):
        return None
    signature = a(a, a, a)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ANN401, ARG001
        return builder.fma(*args)

    return signature, generate
