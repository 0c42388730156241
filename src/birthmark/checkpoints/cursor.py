"""Reading a stream of small pieces out of a byte source, with large pieces left where they lie."""

from __future__ import annotations

from typing import Final

from birthmark.checkpoints.pickled import Span
from birthmark.checkpoints.sources import ByteSource
from birthmark.errors import MalformedFile

#: Bytes read ahead at a time.
WINDOW: Final = 2**16

#: Longest line of a text instruction: protocol 0 writes whole arrays as one.
MAX_LINE: Final = 2**26


class Cursor:
    """A position in a byte source that moves forward.

    Args:
        source: the bytes.
        position: where to begin.
    """

    __slots__ = ("_next", "_start", "_window", "source")

    def __init__(self, source: ByteSource, position: int = 0) -> None:
        self.source = source
        self._window = b""
        #: Where the window starts in the source.
        self._start = position
        #: The next byte inside the window.
        self._next = 0

    @property
    def position(self) -> int:
        """The next byte's place in the source."""
        return self._start + self._next

    @property
    def left(self) -> int:
        """Bytes from here to the end of the source."""
        return self.source.size - self.position

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        first = self._next
        last = first + count
        if last > len(self._window):
            self._fill(count)
            first, last = 0, count
        self._next = last
        return self._window[first:last]

    def byte(self) -> int:
        """The next byte as a number."""
        if self._next >= len(self._window):
            self._fill(1)
        value = self._window[self._next]
        self._next += 1
        return value

    def number(self, width: int) -> int:
        """The next `width` bytes as an unsigned little-endian number."""
        return int.from_bytes(self.take(width), "little")

    def line(self) -> bytes:
        """The bytes up to the next newline, without it."""
        end = self._window.find(b"\n", self._next)
        while end < 0:
            seen = len(self._window) - self._next
            if seen >= min(self.left, MAX_LINE):
                raise MalformedFile(f"the pickle in {self.source.name} has a line without an end.")
            self._fill(min(self.left, 2 * seen + 1))
            end = self._window.find(b"\n", seen)
        found = self._window[self._next : end]
        self._next = end + 1
        return found

    def skip(self, count: int) -> Span:
        """Pass over `count` bytes without reading them."""
        self._require(count)
        span = Span(self.position, count)
        self._start = span.start + count
        self._window = b""
        self._next = 0
        return span

    def _require(self, count: int) -> None:
        if count > self.left:
            raise MalformedFile(
                f"the pickle in {self.source.name} is cut short: {count:,} bytes are needed at byte "
                f"{self.position:,}, {self.left:,} are left."
            )

    def _fill(self, count: int) -> None:
        """Let the window begin here and hold at least `count` bytes."""
        self._require(count)
        start = self.position
        stop = min(self.source.size, start + max(count, WINDOW))
        self._window = self.source.read(start, stop).tobytes()
        self._start = start
        self._next = 0
