"""Which closures have ended processes of this worker."""
from __future__ import annotations

import collections
import threading

CLOSURES_MAX = 1024
"""The one whose process died longest ago is forgotten."""


class Deaths:
    """For all attachments of a worker. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # protects _of
        self._of: collections.OrderedDict[int, tuple[int, int]] = collections.OrderedDict()

    def note(self, closure: int, attempt: int) -> int:
        """One more; returns how many there were of it. Attempts only grow, unless another server
        uses the number again."""
        with self._lock:
            last, count = self._of.pop(closure, (0, 0))
            count = count + 1 if attempt > last else 1
            self._of[closure] = (attempt, count)
            while len(self._of) > CLOSURES_MAX:
                self._of.popitem(last=False)
            return count
