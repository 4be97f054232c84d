"""Adds the `print` and `logging` output of running functions to the logs of their closures. In a child process, output
to descriptors 1 and 2 is also added.
"""
from __future__ import annotations

import io
import logging
import os
import select
import sys
import threading
from typing import Any, Callable, TextIO

from muster.worker import context as contexts
from muster.worker.descriptors import Descriptors, Ends
from muster.worker.lines import Line
from muster.worker.log_lines import LineFormatter

_LEVELS = ((logging.ERROR, 3), (logging.WARNING, 2), (logging.INFO, 0), (logging.NOTSET, 1))


class ClosureBuffer(io.BufferedIOBase):
    """Binary layer of a ClosureStream.

    Bytes that a thread writes while running a closure become log lines of that closure. Bytes from other threads are
    written to the worker's own stream. `close` does nothing, because a wrapper that a function creates around this
    object would otherwise close the stream.
    """

    def __init__(self, real: TextIO, level: int) -> None:
        self._real = real
        self._level = level
        self.name = getattr(real, "name", "")
        self._lock = threading.RLock()  # protects _lines; reentrant, because a finalizer may print
        self._lines: dict[int, tuple[contexts.Context, Line]] = {}
        """Unfinished lines of running closures, by closure number."""

    def write(self, data: Any) -> int:
        current = contexts.current()
        if current is None:
            return self._write_real(bytes(data))
        drain()  # preserves the order of the output
        data = bytes(data)
        with self._lock:
            _, line = self._lines.get(current.closure) or self._lines.setdefault(current.closure, (current, Line()))
            whole = line.add(data)
            if whole is not None:
                current._reporter.log(current, self._level, whole)
        return len(data)

    def _write_real(self, data: bytes) -> int:
        real = getattr(self._real, "buffer", None)
        if real is None:  # in a notebook
            self._real.write(data.decode("utf-8", "replace"))
        else:
            real.write(data)
            if b"\n" in data:
                real.flush()
        return len(data)

    def report_standing(self) -> None:
        if not self._lines:
            return
        with self._lock:
            for closure, line in self._lines.values():
                text = line.standing()
                if text is not None:
                    closure._reporter.log(closure, self._level, text, True)

    def end(self, ended: contexts.Context) -> None:
        """Reports the unfinished line of a closure. Called before the closure is answered."""
        if ended.closure not in self._lines:
            return
        with self._lock:
            found = self._lines.pop(ended.closure, None)
            if found is not None and found[1].begun:
                ended._reporter.log(ended, self._level, found[1].take())

    def flush(self) -> None:
        if contexts.current() is None:
            self._real.flush()

    def close(self) -> None:
        self.flush()

    @property
    def closed(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._real.fileno()

    def isatty(self) -> bool:
        return False


class ClosureStream(io.TextIOWrapper):
    """Replaces sys.stdout or sys.stderr. Text is not buffered, so the output of a thread is added to the closure that
    the thread runs.
    """

    def __init__(self, real: TextIO, level: int) -> None:
        self.below = ClosureBuffer(real, level)
        super().__init__(self.below, encoding="utf-8", errors="backslashreplace", write_through=True)

    @property
    def mode(self) -> str:
        return "w"


_LINE = LineFormatter()


class ClosureHandler(logging.Handler):
    """Adds the log records of a closure's thread to the closure's log."""

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


_descriptors: Descriptors | None = None
_streams: list[ClosureStream] = []  # this process's streams, even after a function has replaced sys.stdout
_running: list[contexts.Context] = []  # closures that this process is executing


def capture(ends: Ends | None = None) -> None:
    """Captures the streams and the root logger. Has an effect only once per process. If `ends` is set, also captures
    descriptors 1 and 2.
    """
    global _descriptors
    if _streams:
        return
    if ends is not None:
        for real in (sys.stdout, sys.stderr):
            real.flush()
            if isinstance(real, io.TextIOWrapper):
                real.reconfigure(line_buffering=True)  # for the output of other threads
        _descriptors = Descriptors(ends)
    os.register_at_fork(after_in_child=_forked)
    sys.stdout = ClosureStream(sys.stdout, contexts.LEVELS["stdout"])
    sys.stderr = ClosureStream(sys.stderr, contexts.LEVELS["stderr"])
    _streams.extend((sys.stdout, sys.stderr))
    root = logging.getLogger()
    root.addHandler(ClosureHandler())
    if root.level == logging.WARNING:
        root.setLevel(logging.INFO)


def _forked() -> None:
    """Prepares a process that a function has forked. The process writes to the descriptors but does not read the pipes.
    """
    global _descriptors
    _descriptors = None
    contexts.enter(None)


def drain() -> bool:
    """Adds the output of the descriptors to the log of the running closure. Returns whether there was a lot of output.
    """
    if _descriptors is None:
        return False
    return _descriptors.drain(_take if _running else None)


def idle_wait(*descriptors: int) -> Callable[[], list[tuple[int, int]]]:
    """Returns a function that waits until a descriptor is readable and returns the result of `select.poll`. The
    function must be called while no closure is running.

    During the wait, the output of processes started by functions is written to the worker's own output. A descriptor of
    -1 is ignored.
    """
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
            ready = [event for event in poll.poll() if event[0] != own]  # no deadline: woken by closures or the worker's end
            if ready:
                return ready
            d.drain(None)

    return wait


def _take(descriptor: int, text: str, unfinished: bool = False) -> None:
    try:
        running = _running[-1]
    except IndexError:  # the closure has just finished
        return
    running._reporter.log(running, contexts.LEVELS["stderr" if descriptor else "stdout"], text, unfinished)


def _take_unfinished(descriptor: int, text: str) -> None:
    _take(descriptor, text, True)


def running() -> list[contexts.Context]:
    """Returns a list with the closure that this process started last. The list is empty if no closure has started."""
    return _running[-1:]


begin_lines: Callable[[contexts.Context], None] = _running.append


def end_lines(ended: contexts.Context) -> None:
    for stream in _streams:
        try:
            if not stream.write_through:  # the function has enabled buffering, so the text belongs to it
                contexts.enter(ended)
                stream.reconfigure(write_through=True)  # also flushes the text
                contexts.enter(None)
        except ValueError:  # a function has detached the stream
            pass
    d = _descriptors
    if d is not None:
        d.flush()
        if d.begun or d.poll(0, 1):
            d.end(_take)
    try:
        _running.remove(ended)
    except ValueError:  # the closure was interrupted before begin_lines
        pass
    for stream in _streams:
        stream.below.end(ended)


def report_standing() -> None:
    """Reports lines that are still incomplete after a while. Must be called several times a second while closures are
    running.
    """
    if _descriptors is not None:
        _descriptors.report_standing(_take_unfinished)
    for stream in _streams:
        stream.below.report_standing()
