"""`print` and `logging` of running functions become lines of their closures; in a child process also
what is written to descriptors 1 and 2."""
from __future__ import annotations

import io
import logging
import os
import select
import sys
from typing import Any, Callable, Optional, TextIO

from muster.worker import context as contexts
from muster.worker.descriptors import Descriptors, Ends
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
        drain()  # what came before it stands before it
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


_descriptors: Optional[Descriptors] = None
_running: list[contexts.Context] = []  # those that have begun and not ended, of this process


def capture(ends: Optional[Ends] = None) -> None:
    """Once a process: streams and the root logger. `ends`: descriptors 1 and 2, too."""
    global _descriptors
    if isinstance(sys.stdout, ClosureStream):
        return
    if ends is not None:
        for real in (sys.stdout, sys.stderr):
            real.flush()
            if isinstance(real, io.TextIOWrapper):
                real.reconfigure(line_buffering=True)  # what other threads print
        _descriptors = Descriptors(ends)
    os.register_at_fork(after_in_child=_forked)
    sys.stdout = ClosureStream(sys.stdout, contexts.LEVELS["stdout"])
    sys.stderr = ClosureStream(sys.stderr, contexts.LEVELS["stderr"])
    root = logging.getLogger()
    root.addHandler(ClosureHandler())
    if root.level == logging.WARNING:
        root.setLevel(logging.INFO)


def _forked() -> None:
    """A function has forked this process: it prints to the descriptors, and does not read them."""
    global _descriptors
    _descriptors = None
    contexts.enter(None)


def drain() -> bool:
    """What is there of the descriptors goes to the closure that runs. Whether there was much."""
    if _descriptors is None:
        return False
    return _descriptors.drain(_take if _running else None)


def idle_wait(*descriptors: int) -> Callable[[], list[tuple[int, int]]]:
    """Returns a function that waits, while no closure runs, until one of the descriptors is readable, and returns these as
    `select.poll` does. Processes that functions have left behind print as the worker meanwhile. -1 is ignored."""
    poll = select.poll()
    for descriptor in descriptors:
        if descriptor >= 0:
            poll.register(descriptor, select.POLLIN)
    d = _descriptors
    if d is None:
        return poll.poll
    own = d.fileno()
    poll.register(own, select.POLLIN)

    def wait() -> list[tuple[int, int]]:
        while True:
            ready = [event for event in poll.poll() if event[0] != own]  # no deadline: closures come, or the end
            if ready:
                return ready
            d.drain(None)

    return wait


def _take(descriptor: int, text: str) -> None:
    try:
        running = _running[-1]
    except IndexError:  # it has just ended
        return
    running._reporter.log(running, contexts.LEVELS["stderr" if descriptor else "stdout"], text)


def running() -> list[contexts.Context]:
    """The closure of this process that has begun last, if there is one."""
    return _running[-1:]


begin_lines: Callable[[contexts.Context], None] = _running.append


def end_lines(ended: contexts.Context) -> None:
    d = _descriptors
    if d is not None:
        d.flush()
        if d.begun or d.poll(0, 1):
            d.end(_take)
    try:
        _running.remove(ended)
    except ValueError:  # it was interrupted before it had begun
        pass
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, ClosureStream):
            stream.end(ended)
