"""Collects log lines and progress of running functions until they are sent in messages.

Never blocks. If more than 1 MiB of log lines is waiting, additional lines are dropped, and a single line reports the
number of dropped lines.
"""
from __future__ import annotations

import threading
import time
from typing import Any

from muster.worker.context import Context
from muster.worker.lines import overwritten

LINE_BYTES_MAX = 8 << 10
WAITING_BYTES_MAX = 1 << 20
PROGRESS_EVERY = 0.1
"""Minimum seconds between two progress reports."""
PROGRESS_TEXT_MAX = 200
DROPPED = 6
UNFINISHED = "\r"
"""Ends a line that the next line of its closure and level replaces."""


class Reports:
    """Log lines and progress reports that are waiting to be sent. Any thread can add reports; the sending thread
    removes them.
    """

    def __init__(self) -> None:
        # Protects all below. Reentrant, because a finalizer that prints can run at any allocation,
        # even while the lock is held. The data is consistent at these points.
        self._lock = threading.RLock()
        self._lines: list[tuple[int, int, int, int, str]] = []
        self._bytes = 0
        self._dropped: dict[tuple[int, int], int] = {}
        self._progress: dict[int, tuple[int, float, str]] = {}
        self._progress_due = 0.0
        self.waiting = False
        """Whether there are reports. May be read without the lock."""

    def log(self, context: Context, level: int, text: str, unfinished: bool = False) -> None:
        """Adds each line of `text`. If `unfinished` is set, `text` is a single line without a newline, which the next
        line of this level replaces.
        """
        now = int(time.time() * 1000)
        lines = text.split("\n")
        if len(lines) > 1 and not lines[-1]:
            del lines[-1]
        with self._lock:
            for line in map(overwritten, lines):
                size = len(line) + 64
                if self._bytes + size > WAITING_BYTES_MAX:
                    key = (context.closure, context.attempt)
                    self._dropped[key] = self._dropped.get(key, 0) + 1
                    continue
                self._bytes += size
                line = _clean(line) + UNFINISHED if unfinished else _clean(line)
                self._lines.append((context.closure, context.attempt, level, now, line))
            self.waiting = True

    def progress(self, context: Context, fraction: float, text: str) -> None:
        within = min(max(float(fraction), 0.0), 1.0) if fraction == fraction else 0.0
        first = _clean((text.splitlines() or [""])[0][:PROGRESS_TEXT_MAX])
        with self._lock:
            self._progress[context.closure] = (context.attempt, within, first)
            self.waiting = True

    def drain(self, to: Any, now: float, ending: bool) -> None:
        """Moves all reports into a WorkerMessage. Progress is included only if it is due, or if the message also
        contains an answer.
        """
        if not self.waiting:
            return
        with self._lock:
            self.waiting = False
            lines, self._lines, self._bytes = self._lines, [], 0
            for closure, attempt, level, at, text in lines:
                _add_line(to, closure, attempt, level, at, text)
            dropped, self._dropped = self._dropped, {}
            for (closure, attempt), count in dropped.items():
                word = "line" if count == 1 else "lines"
                _add_line(to, closure, attempt, DROPPED, 0, f"… {count} {word} dropped")
            if self._progress and (ending or now >= self._progress_due):
                progress, self._progress = self._progress, {}
                for closure, (attempt, fraction, text) in progress.items():
                    to.progress_closure.append(closure)
                    to.progress_attempt.append(attempt)
                    to.progress_fraction.append(fraction)
                    to.progress_text.append(text)
                self._progress_due = now + PROGRESS_EVERY
            if self._progress:
                self.waiting = True


def _add_line(to: Any, closure: int, attempt: int, level: int, at: int, text: str) -> None:
    to.log_closure.append(closure)
    to.log_attempt.append(attempt)
    to.log_level.append(level)
    to.log_time_ms.append(at)
    to.log_text.append(text)


def _clean(line: str) -> str:
    """Returns the line as valid UTF-8, truncated to the maximum length."""
    data = line.encode("utf-8", "replace")
    if len(data) <= LINE_BYTES_MAX:
        return data.decode()
    return data[:LINE_BYTES_MAX].decode("utf-8", "ignore") + f" … {len(data) - LINE_BYTES_MAX} bytes cut"
