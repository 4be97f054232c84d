"""Splits output into lines. Used for the streams of functions and for descriptors.

A line ends at a newline. Characters after a carriage return overwrite the line, as on a terminal. A line that is still
incomplete after STANDS_FOR is reported. The line is reported again after a change, at most once per STANDS_FOR. The
server replaces such a report with the next report of the closure's stream, so a progress bar occupies a single line.
"""
from __future__ import annotations

import time

UNFINISHED_MAX = 16 << 10
"""Maximum length of an unfinished line in bytes. A longer line counts as complete."""
STANDS_FOR = 1.0
"""Seconds after which an unfinished line is reported."""


def overwritten(line: str) -> str:
    """Returns the characters that a terminal displays for a line. A carriage return at the end of the line has no
    effect yet.
    """
    return line.rstrip("\r").rpartition("\r")[2] if "\r" in line else line


class Line:
    """The unfinished line of a stream, in bytes. Not thread-safe."""

    __slots__ = ("begun", "_changed", "_since")

    def __init__(self) -> None:
        self.begun = b""
        self._changed = False  # whether the line has changed since it was reported
        self._since = 0.0  # start of the time without a report; 0: standing() has not been called yet

    def add(self, data: bytes) -> str | None:
        """Adds output. Returns the lines that the output completes, without the last newline, or None if no line is
        complete.
        """
        end = data.rfind(b"\n")
        if end < 0:
            self._set(self.begun + data)
            return self.take() if len(self.begun) > UNFINISHED_MAX else None
        whole = self.begun + data[:end]
        self._set(data[end + 1:])
        self._since = 0.0
        return whole.decode("utf-8", "replace")

    def take(self) -> str:
        """Returns the unfinished line and starts a new line."""
        text = self.begun.decode("utf-8", "replace")
        self._set(b"")
        self._since = 0.0
        return text

    def standing(self) -> str | None:
        """Returns the line if it has been incomplete for long enough since the last report. Must be called often."""
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
