"""Limits the number of waiting calls of a coordinator to its queue_capacity."""
from __future__ import annotations

from typing import Any


class QueueBound:
    """Counts the waiting closures. The server reports the number of closures that this stream has delivered, and the
    number of the session's waiting closures. The session's lock protects this data.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._server_reports = True
        self._sent = self._taken = self._waiting = 0

    def begin_stream(self, count: int) -> None:
        """Starts a new stream, on which `count` closures will be sent."""
        self._sent, self._taken, self._waiting = count, 0, 0

    def add(self) -> None:
        self._sent += 1

    def remove(self, count: int) -> None:
        """Subtracts `count` closures of this stream that will not be sent."""
        self._sent -= count

    def take(self, m: Any) -> bool:
        """Reads the queue report of a SessionResponse. Returns whether the response contains a report."""
        reported = bool(m.HasField("queue"))
        if m.HasField("opened"):
            self._server_reports = reported  # older servers do not report the queue
        if reported:
            self._taken, self._waiting = m.queue.taken, m.queue.waiting
        return reported

    def is_full(self, streaming: bool, unfinished: int) -> bool:
        """Returns whether the queue is full. `unfinished`, the number of closures without an outcome, is used while
        there is no stream. `capacity` must be positive.
        """
        return self._server_reports and (self._waiting + self._sent - self._taken if streaming else unfinished) >= self.capacity
