"""`print` and `logging` of running functions become lines of their closures."""
from __future__ import annotations

import io
import logging
import sys
from typing import Any, TextIO

from muster.worker import context as contexts
from muster.worker.log_lines import LineFormatter

_LEVELS = ((logging.ERROR, 3), (logging.WARNING, 2), (logging.INFO, 0), (logging.NOTSET, 1))


class ClosureStream(io.TextIOBase):
    """In place of sys.stdout or sys.stderr: of a thread that runs a closure, lines go there; of any
    other, to the real one."""

    def __init__(self, real: TextIO, level: int) -> None:
        self._real = real
        self._level = level
        self._begun: dict[int, str] = {}  # what a closure has printed of a line; by its number

    def write(self, text: str) -> int:
        current = contexts.current()
        if current is None:
            return self._real.write(text)
        if "\n" not in text and len(text) < 4096:
            self._begun[current.closure] = self._begun.get(current.closure, "") + text
            return len(text)
        whole, newline, rest = (self._begun.pop(current.closure, "") + text).rpartition("\n")
        if not newline:
            whole, rest = rest, ""
        if rest:
            self._begun[current.closure] = rest
        current._reporter.log(current, self._level, whole)
        return len(text)

    def end(self, ended: contexts.Context) -> None:
        """The closure is about to be answered: what it printed without a newline is a line, too."""
        if self._begun and ended.closure in self._begun:
            ended._reporter.log(ended, self._level, self._begun.pop(ended.closure))

    def flush(self) -> None:
        if contexts.current() is None:
            self._real.flush()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._real.fileno()

    def isatty(self) -> bool:
        return False

    encoding = "utf-8"

    @property
    def buffer(self) -> Any:
        return self._real.buffer


_LINE = LineFormatter()


class ClosureHandler(logging.Handler):
    """Of records that a closure's thread makes."""

    def emit(self, record: logging.LogRecord) -> None:
        current = contexts.current()
        if current is None:
            if record.levelno >= logging.WARNING and sys.__stderr__:
                sys.__stderr__.write(_LINE.format(record) + "\n")
            return
        try:
            level = next(to for least, to in _LEVELS if record.levelno >= least)
            current._reporter.log(current, level, self.format(record))
        except Exception:
            self.handleError(record)


def capture() -> None:
    """Once a process: streams and the root logger."""
    if isinstance(sys.stdout, ClosureStream):
        return
    sys.stdout = ClosureStream(sys.stdout, contexts.LEVELS["stdout"])
    sys.stderr = ClosureStream(sys.stderr, contexts.LEVELS["stderr"])
    root = logging.getLogger()
    root.addHandler(ClosureHandler())
    if root.level == logging.WARNING:
        root.setLevel(logging.INFO)


def end_lines(ended: contexts.Context) -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, ClosureStream):
            stream.end(ended)
