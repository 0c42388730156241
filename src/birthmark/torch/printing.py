"""How a tensor on a virtual GPU prints: as PyTorch prints one on a real GPU."""

from __future__ import annotations

import torch


def with_device(text: str, device: str) -> str:
    """The `repr` of a tensor of the CPU with a device in it, where PyTorch puts it: first after the values.

    Args:
        text: what PyTorch prints.
        device: the device's name.
    """
    head, last = text.rfind("tensor(") + len("tensor("), text.rstrip()
    bracket = text.rfind("]")
    end = bracket + 1 if bracket > head else _end_of_number(text, head)
    values, rest = text[:end], last[end:].removesuffix(")").lstrip(", \n")
    # PyTorch breaks lines by the length of what stands before a suffix (`torch/_tensor_str.py`).
    indent = " " * len("tensor(")
    width = torch._tensor_str.PRINT_OPTS.linewidth  # noqa: SLF001 - PyTorch's own setting
    length = len(values) - values.rfind("\n") + 1
    for suffix in (f"device='{device}'", *filter(None, _split(rest))):
        if length + len(suffix) + 2 > width:
            values, length = f"{values},\n{indent}{suffix}", len(indent) + len(suffix)
        else:
            values, length = f"{values}, {suffix}", length + len(suffix) + 2
    return values + ")"


def _end_of_number(text: str, start: int) -> int:
    """Where the value of a tensor without dimensions ends."""
    ends = [position for position in (text.find(",", start), text.find(")", start)) if position >= 0]
    return min(ends)


def _split(rest: str) -> list[str]:
    """The suffixes of a printed tensor; a comma inside brackets parts none."""
    parts, depth, begin = [], 0, 0
    for position, character in enumerate(rest):
        depth += (character in "([<") - (character in ")]>")
        if character == "," and depth == 0:
            parts.append(rest[begin:position].strip())
            begin = position + 1
    return [*parts, rest[begin:].strip()]
