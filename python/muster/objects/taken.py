"""Answers that are here: what of them is to be said, and what the server is not known to have heard.

What was said on a stream that broke may be lost, and the server would keep these answers for as long as it has
their caller. So it is said again on the next stream, unless an answer has shown that it was heard: that of a call
which went first with it or behind it.
"""
from __future__ import annotations

import collections
from typing import Any

TAKEN_MAX = 256
TAKEN_BYTES_MAX = 64 << 10
"""Answers that the server may keep for no reason, and bytes of them."""
PER_MESSAGE = 4096
"""The server takes 16,384 numbers in a message. What is left goes with the next one."""
UNHEARD_MAX = 65_536
"""Numbers that were said and are not known to be heard; the oldest go. Answers of calls that are under way are
fewer, so it is a bound and no rule."""


class Taken:
    """Under the lock of its calls."""

    def __init__(self) -> None:
        self._unsaid: list[int] = []
        self._bytes = 0
        self._said: collections.deque[tuple[int, list[int]]] = collections.deque()
        """With the first call whose answer shows that they were heard."""
        self._unheard = 0

    def __bool__(self) -> bool:
        return bool(self._unsaid)

    @property
    def due(self) -> bool:
        return len(self._unsaid) >= TAKEN_MAX or self._bytes >= TAKEN_BYTES_MAX

    def add(self, number: int, size: int) -> None:
        """An answer of so many bytes is here."""
        while self._said and self._said[0][0] <= number:
            self._unheard -= len(self._said.popleft()[1])
        self._unsaid.append(number)
        self._bytes += size

    def say(self, to: Any, first: int) -> None:
        """`first`: the number that the next call has which was never sent before, in this message or a later one."""
        now, self._unsaid = self._unsaid[:PER_MESSAGE], self._unsaid[PER_MESSAGE:]
        to.extend(now)
        self._said.append((first, now))
        self._unheard += len(now)
        while self._unheard > UNHEARD_MAX:
            self._unheard -= len(self._said.popleft()[1])
        self._bytes = 0

    def again(self) -> None:
        """There is another stream."""
        self._unsaid = [n for _, numbers in self._said for n in numbers] + self._unsaid
        self._said.clear()
        self._unheard = 0
