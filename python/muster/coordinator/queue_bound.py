"""Keeps a coordinator from scheduling more than its queue_capacity."""
from __future__ import annotations

from typing import Any


class QueueBound:
    """Counts the closures that wait, by the server's reports: how many closures of this stream it has taken, and
    how many of the session's closures waited then. Under the session's lock."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._server_reports = True
        self._sent = self._taken = self._waiting = 0

    def begin_stream(self, count: int) -> None:
        """A stream begins with `count` closures to send."""
        self._sent, self._taken, self._waiting = count, 0, 0

    def add(self) -> None:
        self._sent += 1

    def remove(self, count: int) -> None:
        """So many closures of this stream will not be sent."""
        self._sent -= count

    def take(self, m: Any) -> bool:
        """Takes what a SessionResponse reports. Returns whether it has reported something."""
        reported = bool(m.HasField("queue"))
        if m.HasField("opened"):
            self._server_reports = reported  # older servers do not
        if reported:
            self._taken, self._waiting = m.queue.taken, m.queue.waiting
        return reported

    def is_full(self, streaming: bool, unfinished: int) -> bool:
        """`unfinished` closures have no outcome. They count while there is no stream. `capacity` is positive."""
        return self._server_reports and (self._waiting + self._sent - self._taken if streaming else unfinished) >= self.capacity
