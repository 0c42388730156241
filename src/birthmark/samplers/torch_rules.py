"""What a PyTorch release decides about draws on a GPU: one table from version numbers to version rules.

A release is named as people name it ("2.13", "2.4.1", "2.11.0+cu128"). Each rule is named by the releases
that share it, and the modules that follow it say what differs. Releases older than 1.7 had their kernels
elsewhere and are not predicted; newer ones than the last that was read may have changed anything, so they are
refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from birthmark.errors import UsageError

#: The first and the last release whose source these rules were read in.
FIRST, LAST = (1, 7), (2, 15)

_FORM: Final = re.compile(r"(\d+)\.(\d+)(?:\.\d+)?(?:[a-z.]+\d*)?(?:\+(?:cu(\d+)(\d)|rocm[\d.]+|cpu|\w*))?")
_CUDA: Final = re.compile(r"(\d+)(?:\.(\d+))?(?:\.\d+)*")


@dataclass(frozen=True, slots=True)
class TorchRules:
    """The version rules of one release.

    Attributes:
        release: (major, minor).
        cuda: (major, minor) of the CUDA version it was built for; None where nobody said.
        uniform: the end points of `uniform_`: "2.1+" or "2.0-".
        truncated: what `torch.nn.init.trunc_normal_` does: "2.0-", "2.1+", "2.1+cuda13" or "2.12+".
        offsets: how far double draws move the offset: "2.5+" or "2.4-".
        integers: from which range on an integer takes two words: "2.7+" or "2.6-".
        exponential: what `exponential_` makes of uniforms near 1: "1.10+" or "1.9-".
    """

    release: tuple[int, int]
    cuda: tuple[int, int] | None
    uniform: str
    truncated: str
    offsets: str
    integers: str
    exponential: str


def parse(version: str) -> tuple[tuple[int, int], tuple[int, int] | None]:
    """A release's (major, minor), and that of CUDA where the text names one.

    Raises:
        UsageError: no version of torch looks like this.
    """
    match = _FORM.fullmatch(version.strip())
    if match is None:
        raise UsageError(f"torch version {version!r}: expected a release such as 2.13 or 2.11.0+cu128.")
    named = (int(match[3]), int(match[4])) if match[3] else None
    return (int(match[1]), int(match[2])), named


def rules(version: str, cuda: str | None = None) -> TorchRules:
    """The rules of a release.

    Args:
        version: a release, such as "2.13" or "2.11.0+cu128".
        cuda: the CUDA version it was built for, such as "12.8"; where neither text names one, up to 12 is
            taken. It matters for truncated normals up to 2.11 alone.

    Raises:
        UsageError: no such version, or none that is predicted.
    """
    release, named = parse(version)
    if not FIRST <= release <= LAST:
        raise UsageError(
            f"torch {version}: draws on a GPU are predicted for 1.7 to 2.15; name the nearest of those."
        )
    if cuda is not None:
        match = _CUDA.fullmatch(cuda.strip())
        if match is None:
            raise UsageError(f"CUDA version {cuda!r}: expected a number such as 12.8.")
        named = (int(match[1]), int(match[2] or 0))
    if release >= (2, 12):
        truncated = "2.12+"
    elif release <= (2, 0):
        truncated = "2.0-"
    else:
        truncated = "2.1+cuda13" if named is not None and named >= (13, 0) else "2.1+"
    return TorchRules(
        release=release,
        cuda=named,
        uniform="2.1+" if release >= (2, 1) else "2.0-",
        truncated=truncated,
        offsets="2.5+" if release >= (2, 5) else "2.4-",
        integers="2.7+" if release >= (2, 7) else "2.6-",
        exponential="1.10+" if release >= (1, 10) else "1.9-",
    )
