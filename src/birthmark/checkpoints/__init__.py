"""Checkpoints: one reader interface over every file format, lazy, exact, and wary of strangers' files.

`open_checkpoint` is the way in; `Checkpoint` and `TensorInfo` are what comes out.
"""

from birthmark.checkpoints.interface import Checkpoint, FileInfo, TensorInfo, Values
from birthmark.checkpoints.opening import open_checkpoint

__all__ = ["Checkpoint", "FileInfo", "TensorInfo", "Values", "open_checkpoint"]
