"""Where output becomes lines: one rule for streams of functions and for descriptors.

A line ends at a newline. Text behind a carriage return replaces the text before it in the line, as on a terminal. A line
that has stood for STANDS_FOR without a newline is reported as it is, and again after a change, at most once in this time. The
server replaces such a report by the next one of the closure's stream, so a progress bar is one line."""
from __future__ import annotations

import time

UNFINISHED_MAX = 16 << 10
"""Bytes of a line that has not ended. More: it is taken as one."""
STANDS_FOR = 1.0
"""Seconds."""


def overwritten(line: str) -> str:
    """Returns what a terminal shows of a line. A carriage return at the end changes nothing yet."""
    return line.rstrip("\r").rpartition("\r")[2] if "\r" in line else line


class Line:
    """The line of a stream that has not ended, in bytes. One thread at a time."""

    __slots__ = ("begun", "_changed", "_since")

    def __init__(self) -> None:
        self.begun = b""
        self._changed = False  # since it was reported
        self._since = 0.0  # it stands unreported; 0: nobody has looked yet

    def add(self, data: bytes) -> str | None:
        """Returns the lines that these data complete, without the last newline; None if they complete no line."""
        end = data.rfind(b"\n")
        if end < 0:
            self._set(self.begun + data)
            return self.take() if len(self.begun) > UNFINISHED_MAX else None
        whole = self.begun + data[:end]
        self._set(data[end + 1:])
        self._since = 0.0
        return whole.decode("utf-8", "replace")

    def take(self) -> str:
        """Returns the line, which ends here."""
        text = self.begun.decode("utf-8", "replace")
        self._set(b"")
        self._since = 0.0
        return text

    def standing(self) -> str | None:
        """Returns the line if it has stood for long enough since the last call that returned it. Call it often."""
        if not self._changed:
            return None
        now = time.monotonic()
        if not self._since:
            self._since = now
        if now < self._since + STANDS_FOR:
            return None
        self._since = now
        self._changed = False
        return self.begun.decode("utf-8", "replace")

    def _set(self, begun: bytes) -> None:
        if b"\r" in begun:
            text = begun.rstrip(b"\r")
            begun = text.rpartition(b"\r")[2] + (b"\r" if len(text) < len(begun) else b"")
        self.begun = begun
        self._changed = bool(begun)
