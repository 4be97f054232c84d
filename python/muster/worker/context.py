"""What a running function can learn about its closure, and how it tells how far it is."""
from __future__ import annotations

import threading
from typing import Any, Protocol

LEVELS = {"info": 0, "debug": 1, "warning": 2, "error": 3, "stdout": 4, "stderr": 5}


class Reporter(Protocol):
    """Where the reports of running functions go; any thread."""

    def log(self, context: Context, level: int, text: str, unfinished: bool = False) -> None: ...

    def progress(self, context: Context, fraction: float, text: str) -> None: ...


class Holder(Protocol):
    """Runs closures, and lets others run while some wait for values; any thread."""

    home: Any
    """A worker.home.Home, or None."""

    def begin_wait(self, running: Context) -> None: ...

    def end_wait(self, running: Context) -> None: ...


class Context:
    """The closure that this thread runs; see :func:`context`.

    Attributes: ``closure``, its number at the server; ``attempt``, 1 at first, more after its worker
    was lost; ``job`` and ``index`` of the task that runs it, as ``"worker"`` and 3; ``num_workers``,
    how many that job has, whoever is connected (with ``index`` what sharding needs): as the
    coordinator (``num_workers=``) or the cluster has declared, else the number of tasks that the server knows;
    ``server_version``.
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
        self._uploads: Any = None  # that its call has made active; None: it makes none so

    @property
    def task(self) -> str:
        """As ``"worker:3"``."""
        return f"{self.job}:{self.index}"

    def cancelled(self) -> bool:
        """Nobody waits for the result any more. A long function looks at this now and then, and
        returns or raises anything. One that goes on for a second is interrupted by
        :class:`muster.Cancelled` (not in a worker of threads)."""
        return self._stop.is_set()

    def wait_cancelled(self, timeout: float) -> bool:
        """Sleeps for `timeout` seconds, or until cancelled."""
        return self._stop.wait(timeout)

    def progress(self, fraction: float, text: str = "") -> None:
        """How far it is, 0 to 1, with a few words; the newest is sent, at most ten times a second."""
        self._reporter.progress(self, fraction, text)

    def log(self, text: str, level: str = "info") -> None:
        """Adds lines to the closure's log; `level` is debug, info, warning or error. ``print`` and
        ``logging`` do, too. A line longer than 8 KiB is cut."""
        self._reporter.log(self, LEVELS[level], text)


class _Current(threading.local):
    context: Context | None = None


_current = _Current()


def context() -> Context:
    """The closure that this thread runs. Raises RuntimeError outside of one."""
    found = _current.context
    if found is None:
        raise RuntimeError("muster.context() outside of a function that a worker runs")
    return found


def current() -> Context | None:
    return _current.context


def enter(entered: Context | None) -> None:
    _current.context = entered


class waiting:
    """``with waiting():`` around whatever waits for a value. A closure that this thread runs gives its
    slot back meanwhile, so that what it waits for can run there; other threads: nothing happens.
    Entering raises RuntimeError where too many closures of the worker wait already. It may be left
    by another thread."""

    __slots__ = ("_running",)

    def __enter__(self) -> None:
        self._running = running = _current.context
        if running is not None and running._holder is not None:
            running._holder.begin_wait(running)

    def __exit__(self, *error: object) -> None:
        running, self._running = self._running, None
        if running is not None and running._holder is not None:
            running._holder.end_wait(running)
