"""Values that were lost with the only worker that stored the values. When a lost value is fetched, the server repeats
its call.

This module never imports grpc, because functions on workers use RemoteValues as well.
"""
from __future__ import annotations

import queue
import threading
import time
from typing import Any, Callable

from muster._wire import messages
from muster.errors import UnavailableError, WaitTimeout

LOST_WITHIN = 60.0
"""Seconds within which the server detects that a worker is lost, for example after a power failure of its host."""
LOOK_EVERY = 0.25
RUN_AGAIN_WITHIN = 600.0
"""Seconds for the repeated call, which may have to wait for a worker."""
THREADS_MAX = 4
"""Maximum number of threads that fetch large values for futures and callbacks, or results of calls of objects.
Additional work is queued.
"""
NOT_READY, READY = 0, 1


class LostValue(UnavailableError):
    """Raised if a value was lost and its call can be repeated."""


def decoded(session: Any, record: Any, decode: Callable[[int, Any, Any], Any], timeout: float | None = None) -> Any:
    """Returns the value of a record whose closure has ended. If the value is lost, waits until the value has been
    computed again.

    Raises:
        UnavailableError: The value is lost, and its call cannot be repeated.
        WaitTimeout: The value has not been computed again within `timeout` seconds.
    """
    raw = record.raw
    began = time.monotonic()
    end = began + LOST_WITHIN
    while True:
        try:
            return decode(record.encoding, raw, session.blobs)
        except LostValue as lost:
            left = RUN_AGAIN_WITHIN if timeout is None else min(began + timeout - time.monotonic(), RUN_AGAIN_WITHIN)
            if left <= 0:
                raise WaitTimeout("the value was lost with its worker and has not been recomputed yet") from lost
            if not record.closure or time.monotonic() > end:
                raise
            answer = session.link.ask("Fetch", messages.FetchRequest(
                closure=record.closure, timeout_ms=max(1, int(left * 1000))), messages.FetchResponse, left + 10,
                min(left, session.patience))
            if answer.state == NOT_READY and timeout is not None:
                continue  # not computed in time; the next iteration raises WaitTimeout if no time is left
            if answer.state != READY or answer.HasField("failure"):
                raise lost
            if answer.value == raw:  # the server is still waiting for the worker
                time.sleep(LOOK_EVERY)
            else:
                raw = answer.value
                end = time.monotonic() + LOST_WITHIN


class Apart:
    """A pool of threads that exist only while there is work."""

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
    """Calls `f`, which fetches a value whose call has ended. If the value is large, `f` is called on a separate thread,
    so that the fetch does not delay other outcomes.
    """
    if is_large:
        _apart.run(f)
    else:
        f()
