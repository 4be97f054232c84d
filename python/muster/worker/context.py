"""Describes the closure that a thread runs, with its identity, cancellation, progress and log."""
from __future__ import annotations

import threading
from typing import Any, Protocol

LEVELS = {"info": 0, "debug": 1, "warning": 2, "error": 3, "stdout": 4, "stderr": 5}


class Reporter(Protocol):
    """Receives the progress and log lines of running functions. Thread-safe."""

    def log(self, context: Context, level: int, text: str, unfinished: bool = False) -> None: ...

    def progress(self, context: Context, fraction: float, text: str) -> None: ...


class Holder(Protocol):
    """Runs closures, and runs additional closures while some closures are waiting for values. Thread-safe."""

    home: Any
    """The worker.home.Home of the worker, or None."""

    def begin_wait(self, running: Context) -> None: ...

    def end_wait(self, running: Context) -> None: ...


class Context:
    """The call that this thread executes. `context` returns it.

    Attributes:
        closure: Number that the server assigned to the call.
        attempt: Number of the attempt, from 1. The number increases if the worker that executes the call is lost.
        job: Job of the task that executes the call, for example ``"worker"``.
        index: Index of the task in its job. Together with `num_workers` it identifies a shard.
        num_workers: Number of tasks of the job, including disconnected tasks. The coordinator (``num_workers=``) or the
            cluster declares this number; otherwise it is the number of tasks that the server knows.
        server_version: Version of the server.
    """

    __slots__ = ("closure", "attempt", "job", "index", "num_workers", "server_version", "_stop",
                 "_reporter", "_holder", "_held", "_uploads")

    def __init__(self, closure: int, attempt: int, job: str, index: int, num_workers: int,
                 server_version: str, stop: threading.Event, reporter: Reporter,
                 holder: Holder | None = None, held: Any = None) -> None:
        self.closure = closure
        self.attempt = attempt
        self.job = job
        self.index = index
        self.num_workers = num_workers
        self.server_version = server_version
        self._stop = stop
        self._reporter = reporter
        self._holder = holder
        self._held = held
        self._uploads: Any = None  # the uploads that the call has activated, or None

    @property
    def task(self) -> str:
        """The task that executes the call, for example ``"worker:3"``."""
        return f"{self.job}:{self.index}"

    def cancelled(self) -> bool:
        """Returns whether the call was cancelled, so that its result is no longer needed.

        A long function should call this method regularly. When the result is True, return any value or raise any
        exception. A function that is still running after one second is interrupted by `muster.Cancelled`, except in a
        threaded worker.
        """
        return self._stop.is_set()

    def wait_cancelled(self, timeout: float) -> bool:
        """Sleeps until the call is cancelled or the timeout expires.

        Args:
            timeout: Seconds to sleep.

        Returns:
            Whether the call was cancelled.
        """
        return self._stop.wait(timeout)

    def progress(self, fraction: float, text: str = "") -> None:
        """Reports the progress of the call. At most ten times a second, the newest report is sent.

        Args:
            fraction: Completed fraction, from 0 to 1.
            text: Short description of the current state.
        """
        self._reporter.progress(self, fraction, text)

    def log(self, text: str, level: str = "info") -> None:
        """Adds lines to the log of the call. ``print`` and ``logging`` write to the same log.

        Args:
            text: The lines. A line longer than 8 KiB is truncated.
            level: ``"debug"``, ``"info"``, ``"warning"`` or ``"error"``.
        """
        self._reporter.log(self, LEVELS[level], text)


class _Current(threading.local):
    context: Context | None = None


_current = _Current()


def context() -> Context:
    """Returns the call that this thread executes.

    Raises:
        RuntimeError: This thread is not executing a call of a worker.

    Example:
        ```python
        def work(n):
            for i in range(n):
                if muster.context().cancelled():
                    return i
                muster.context().progress(i / n)
        ```
    """
    found = _current.context
    if found is None:
        raise RuntimeError("muster.context() can only be called in a function that a worker executes")
    return found


def current() -> Context | None:
    return _current.context


def enter(entered: Context | None) -> None:
    _current.context = entered


class waiting:
    """Context manager for code that waits for a value.

    If this thread runs a closure, the closure releases its slot so that the awaited closure can run there. On other
    threads, the context manager has no effect. Entering raises RuntimeError if too many closures of the worker are
    already waiting. The block can be exited on a different thread.
    """

    __slots__ = ("_running",)

    def __enter__(self) -> None:
        self._running = running = _current.context
        if running is not None and running._holder is not None:
            running._holder.begin_wait(running)

    def __exit__(self, *error: object) -> None:
        running, self._running = self._running, None
        if running is not None and running._holder is not None:
            running._holder.end_wait(running)
