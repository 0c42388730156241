"""What needs PyTorch (the extra `torch`): a virtual GPU on any computer, and the check of a real one.

No other room imports PyTorch. Without it, importing this one ends in one clear line.
"""

from __future__ import annotations

from birthmark.errors import MissingExtra

try:
    import torch as _torch  # noqa: F401 - asked for here once, so that its absence is told once
except ImportError as error:
    raise MissingExtra(
        "birthmark.torch needs PyTorch, and it is not installed here.",
        advice="Install it with: pip install 'birthmark[torch]'.",
    ) from error

from birthmark.torch.virtual_device import VirtualDevice, virtual_device

__all__ = ["VirtualDevice", "virtual_device"]
