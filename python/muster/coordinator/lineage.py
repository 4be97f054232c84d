"""Large arguments that may be needed again: of values that are in the memory of workers alone, and of what these were made of.

The server has a value made again, with what it was made of, although the program has let go of all handles but the last; it keeps
those closures, and large arguments in the memory of this process are kept here meanwhile. After KEPT_FOR seconds the server
has a copy of the value. Any thread.
"""
from __future__ import annotations

import itertools
import threading
import time
from typing import Any, Iterable, Sequence

KEPT_FOR = 15.0
"""Seconds from the end of a closure: after ten the server asks for a copy of its value."""
CONTENTS_MAX = 64
"""For one value. More: those that are used by what is furthest away are let go of."""


class Lineage:
    def __init__(self) -> None:
        self._lock = threading.Lock()  # protects all below
        self._closed = False
        self._of: dict[int, tuple[float, tuple[Any, ...]]] = {}
        """By the closure's token: until when, and contents; the first to go is the first."""

    def ended(self, token: int, contents: Sequence[Any], made_of: Iterable[int]) -> None:
        """A closure has, with a large value."""
        now = time.monotonic()
        with self._lock:
            inherited = [found[1] for found in map(self._of.get, made_of) if found is not None and now < found[0]]
            all = dict.fromkeys(itertools.chain(contents, *inherited))
            if all and not self._closed:
                self._of[token] = (now + KEPT_FOR, tuple(itertools.islice(all, CONTENTS_MAX)))

    def forget(self, token: int) -> None:
        """Nobody uses its value any more."""
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
        """Room is needed. False: there are none."""
        with self._lock:
            token = next(iter(self._of), None)
            gone = None if token is None else self._of.pop(token)
        return gone is not None

    def close(self) -> None:
        with self._lock:
            self._closed = True
            gone, self._of = self._of, {}
        del gone  # without the lock
