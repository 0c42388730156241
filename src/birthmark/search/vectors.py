"""One hint to the compiler: use the processor's widest vectors in a kernel.

LLVM prefers 256-bit vectors on most processors that have 512-bit ones, for the sake of code that mixes few
vector instructions with many others. The scan is nothing but vector instructions and gains about a third
from the full width (its ratio to a fixed C program is what `birthmark bench --compare-c` prints). Where there
are no 512-bit vectors the hint changes nothing; results never depend on it.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import intrinsic

#: A function attribute as LLVM's assembly language spells it (LLVM Language Reference).
_ATTRIBUTE = '"prefer-vector-width"="512"'


@intrinsic  # type: ignore[untyped-decorator]
def widest_vectors(typingctx: Any) -> Any:  # noqa: ANN401, ARG001 - numba's own signature
    """Mark the function that calls this, once, anywhere in it. Takes and returns nothing, costs nothing."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ANN401, ARG001
        attributes = builder.function.attributes
        if isinstance(attributes, set):
            # llvmlite's own `add` knows only attributes without values; the set prints whatever is in it.
            set.add(attributes, _ATTRIBUTE)
        return context.get_dummy_value()

    return types.void(), generate
