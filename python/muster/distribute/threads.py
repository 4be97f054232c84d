"""A group of threads in which the first error stops the other threads, and a barrier for threads."""
from __future__ import annotations

import logging
import threading
from typing import Any, Callable, Sequence

log = logging.getLogger("muster.distribute")


class EndOfData(Exception):
    """Raised by a worker function when it reaches the end of its data. A standalone client then asks the other
    functions to stop, without an error. No other exception has this effect. In independent-worker mode, the exception
    propagates to the caller.
    """


class Barrier:
    """A reusable barrier for threads. After the first failure, every wait raises threading.BrokenBarrierError."""

    def __init__(self, participants: Sequence[str]) -> None:
        self._participants = list(participants)
        self._changed = threading.Condition()  # protects the fields below
        self._round = 0
        self._arrived: set[int] = set()
        self._left: set[int] = set()
        self._failure = ""

    def wait(self, participant: int, timeout: float) -> None:
        with self._changed:
            of = self._round
            self._arrived.add(participant)
            if not self._failure and self._left:
                self._fail(f"{self._missing()} can no longer arrive at the barrier")
            if not self._failure and len(self._arrived) == len(self._participants):
                self._round += 1
                self._arrived.clear()
                self._changed.notify_all()
                return
            if not self._changed.wait_for(lambda: self._round != of or self._failure, timeout):
                self._fail(f"{len(self._arrived)} of {len(self._participants)} participants arrived within "
                           f"{timeout:g} s; "
                           f"missing: {self._missing()}")
            if self._round == of:
                raise threading.BrokenBarrierError("barrier: " + self._failure)

    def leave(self, participant: int) -> None:
        """Records that a participant has returned and will not arrive again."""
        with self._changed:
            self._left.add(participant)
            if self._arrived:
                self._fail(f"{self._participants[participant]} can no longer arrive at the barrier")

    def abort(self, reason: str) -> None:
        with self._changed:
            self._fail(reason)

    def _missing(self) -> str:
        return ", ".join(name for i, name in enumerate(self._participants)
                         if (i in self._left if self._left else i not in self._arrived))

    def _fail(self, reason: str) -> None:
        self._failure = self._failure or reason
        self._changed.notify_all()


class Threads:
    """A group of threads with a common stop event. The first error in a thread sets the stop event. Leaving the
    ``with`` block waits until all threads have finished.
    """

    def __init__(self, grace: float, on_stop: Callable[[str], None] = lambda why: None) -> None:
        """Creates the group. `on_stop` is called with the reason when the threads are asked to stop."""
        self.stop = threading.Event()
        self._grace, self._on_stop = grace, on_stop
        self._changed = threading.Condition()  # protects the fields below
        self._running: list[str] = []
        self._error: BaseException | None = None

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        """Waits at most `grace` seconds until the threads have finished. Raises the first error, or RuntimeError if
        threads are still running.
        """
        if error is not None:  # Ctrl-C was pressed, or a signal handler raised an exception
            self._request_stop("the program was interrupted", error)
        with self._changed:
            self._changed.wait_for(lambda: not self._running, self._grace)
            left = "these threads are still running after they were asked to stop: " + ", ".join(self._running)
        if self._error is not None:
            if self._running:
                log.warning(left)
            raise self._error
        if self._running:
            raise RuntimeError(left)

    def start(self, name: str, f: Callable[[], Any]) -> None:
        with self._changed:
            self._running.append(name)

        def body() -> None:
            self.run(name, f)
            with self._changed:
                self._running.remove(name)
                self._changed.notify_all()

        thread = threading.Thread(target=body, name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no thread was started; after an interruption, one was
            with self._changed:
                self._running.remove(name)
            raise

    def run(self, name: str, f: Callable[[], Any]) -> Any:
        """Calls `f` on this thread. If `f` raises an exception, the other threads are asked to stop, and the exception
        is raised at the end of the block.
        """
        try:
            return f()
        except EndOfData:
            log.info("%s has reached the end of the data; the other threads are asked to stop", name)
            self._request_stop(f"{name} has reached the end of the data", None)
        except BaseException as error:
            self._request_stop(f"{name} has failed", error)
        return None

    def _request_stop(self, why: str, error: BaseException | None) -> None:
        with self._changed:
            late = self.stop.is_set()
            if not late:
                self._error = error
            self.stop.set()
            self._changed.notify_all()
        if late and error is not None and not isinstance(error, threading.BrokenBarrierError):
            log.warning("%s after it was asked to stop; the exception is not raised", why, exc_info=error)
        self._on_stop(why)

    def wait(self) -> None:
        """Waits until all threads have finished, or until a thread has stopped the other threads. Call this method in
        the ``with`` block, which handles interruptions.
        """
        with self._changed:
            self._changed.wait_for(lambda: self.stop.is_set() or not self._running)
