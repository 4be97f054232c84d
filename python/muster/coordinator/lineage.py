"""Keeps large arguments that may be needed to compute lost values again.

Some values are stored only in the memory of one worker. If such a value is lost, the server repeats its call and the
earlier calls whose values the call used. These earlier calls are repeated even if the program has dropped their
handles. The server stores the calls, and this module keeps their large arguments in shared memory of this process.
After KEPT_FOR seconds, the server has a copy of the value. Methods can be called from any thread.
"""
from __future__ import annotations

import itertools
import threading
import time
from typing import Any, Iterable, Sequence

KEPT_FOR = 15.0
"""Seconds for which arguments are kept after the end of a closure. The server requests a copy of the closure's value
after ten seconds.
"""
CONTENTS_MAX = 64
"""Maximum number of arguments that are kept for a value. Beyond this limit, arguments of the most distant calls are
dropped.
"""


class Lineage:
    def __init__(self) -> None:
        self._lock = threading.Lock()  # protects the fields below
        self._closed = False
        self._of: dict[int, tuple[float, tuple[Any, ...]]] = {}
        """Expiry time and kept arguments by the closure's token, in order of expiry."""

    def ended(self, token: int, contents: Sequence[Any], made_of: Iterable[int]) -> None:
        """Keeps the large arguments of a closure that has returned a large value. Also keeps the large arguments of the
        closures `made_of`, whose values the closure used.
        """
        now = time.monotonic()
        with self._lock:
            inherited = [found[1] for found in map(self._of.get, made_of) if found is not None and now < found[0]]
            all = dict.fromkeys(itertools.chain(contents, *inherited))
            if all and not self._closed:
                self._of[token] = (now + KEPT_FOR, tuple(itertools.islice(all, CONTENTS_MAX)))

    def forget(self, token: int) -> None:
        """Drops the kept arguments of a closure whose value is no longer referenced."""
        with self._lock:
            gone = self._of.pop(token, None)
        del gone  # without the lock

    def tick(self, now: float) -> None:
        gone = []
        with self._lock:
            while self._of:
                token = next(iter(self._of))
                if now < self._of[token][0]:
                    break
                gone.append(self._of.pop(token))
        del gone  # without the lock

    def give_up_oldest(self) -> bool:
        """Drops the kept arguments of one closure to make room. Returns False if no arguments are kept."""
        with self._lock:
            token = next(iter(self._of), None)
            gone = None if token is None else self._of.pop(token)
        return gone is not None

    def close(self) -> None:
        with self._lock:
            self._closed = True
            gone, self._of = self._of, {}
        del gone  # without the lock
