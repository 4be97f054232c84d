"""Values that were in the memory of a worker alone, and are lost with it: the server has their closures run again for who asks.

Never imports grpc: functions on workers have RemoteValues, too.
"""
from __future__ import annotations

import queue
import threading
import time
from typing import Any, Callable

from muster._wire import messages
from muster.errors import UnavailableError, WaitTimeout

LOST_WITHIN = 60.0
"""Seconds for the server to find that the worker does not come back, its host perhaps without power."""
LOOK_EVERY = 0.25
RUN_AGAIN_WITHIN = 600.0
"""Seconds for the closure to be run again: it may wait for a worker as the first time."""
THREADS_MAX = 4
"""That fetch large values for futures and callbacks, or take those of calls of objects; others wait for these."""
NOT_READY, READY = 0, 1


class LostValue(UnavailableError):
    """Its closure can run again."""


def decoded(session: Any, record: Any, decode: Callable[[int, Any, Any], Any], timeout: float | None = None) -> Any:
    """The value of a record that has ended. Raises UnavailableError: it is lost, and its closure cannot run again;
    WaitTimeout after `timeout` seconds of waiting for that."""
    raw = record.raw
    began = time.monotonic()
    end = began + LOST_WITHIN
    while True:
        try:
            return decode(record.encoding, raw, session.blobs)
        except LostValue as lost:
            left = RUN_AGAIN_WITHIN if timeout is None else min(began + timeout - time.monotonic(), RUN_AGAIN_WITHIN)
            if left <= 0:
                raise WaitTimeout("the value was lost with its worker and is not made again yet") from lost
            if not record.closure or time.monotonic() > end:
                raise
            answer = session.link.ask("Fetch", messages.FetchRequest(
                closure=record.closure, timeout_ms=max(1, int(left * 1000))), messages.FetchResponse, left + 10,
                min(left, session.patience))
            if answer.state == NOT_READY and timeout is not None:
                continue  # it is not made again in time, or there is a little left
            if answer.state != READY or answer.HasField("failure"):
                raise lost
            if answer.value == raw:  # the server waits for the worker
                time.sleep(LOOK_EVERY)
            else:
                raw = answer.value
                end = time.monotonic() + LOST_WITHIN


class Apart:
    """Threads that are there while there is something to do."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()  # protects _threads
        self._threads = 0

    def run(self, f: Callable[[], None]) -> None:
        self._waiting.put(f)
        with self._lock:
            if self._threads >= THREADS_MAX:
                return
            self._threads += 1
        threading.Thread(target=self._run, name="muster-large", daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                with self._lock:
                    f = self._waiting.get_nowait()
            except queue.Empty:
                with self._lock:
                    if not self._waiting.empty():
                        continue
                    self._threads -= 1
                    return
            f()


_apart = Apart()


def when_here(is_large: bool, f: Callable[[], None]) -> None:
    """Calls `f`, which fetches a value that has ended: at once, or on a thread of its own where that may take long, so
    that other outcomes come meanwhile."""
    if is_large:
        _apart.run(f)
    else:
        f()
