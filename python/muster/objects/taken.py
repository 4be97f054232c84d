"""Acknowledgements of received answers that have not been sent yet, or that the server may not have received.

The server keeps an answer until it is acknowledged or its caller is closed. An acknowledgement on a broken stream can
be lost. Therefore each acknowledgement is sent again on the next stream. The exception is an acknowledgement that was
sent before or with a call that the server has answered.
"""
from __future__ import annotations

import collections
from typing import Any

TAKEN_MAX = 256
TAKEN_BYTES_MAX = 64 << 10
"""Limits for the number and the total size of answers that the server keeps unnecessarily."""
PER_MESSAGE = 4096
"""Maximum number of acknowledgements in a message. The server accepts up to 16,384. The remaining acknowledgements are
sent in the next message.
"""
UNHEARD_MAX = 65_536
"""Maximum number of sent acknowledgements that may be lost. Beyond this limit, the oldest are dropped. The limit is
never reached, because fewer calls are in progress.
"""


class Taken:
    """Unsent and unconfirmed acknowledgements of a caller. Protected by the lock of the Calls object."""

    def __init__(self) -> None:
        self._unsaid: list[int] = []
        self._bytes = 0
        self._said: collections.deque[tuple[int, list[int]]] = collections.deque()
        """Sent acknowledgements, with the first call whose answer proves that the server has received them."""
        self._unheard = 0

    def __bool__(self) -> bool:
        return bool(self._unsaid)

    @property
    def due(self) -> bool:
        return len(self._unsaid) >= TAKEN_MAX or self._bytes >= TAKEN_BYTES_MAX

    def add(self, number: int, size: int) -> None:
        """Adds the answer to call `number`, which has `size` bytes."""
        while self._said and self._said[0][0] <= number:
            self._unheard -= len(self._said.popleft()[1])
        self._unsaid.append(number)
        self._bytes += size

    def say(self, to: Any, first: int) -> None:
        """Appends acknowledgements to the message `to`. `first` is the number of the next call that is sent for the
        first time, in this message or later.
        """
        now, self._unsaid = self._unsaid[:PER_MESSAGE], self._unsaid[PER_MESSAGE:]
        to.extend(now)
        self._said.append((first, now))
        self._unheard += len(now)
        while self._unheard > UNHEARD_MAX:
            self._unheard -= len(self._said.popleft()[1])
        self._bytes = 0

    def again(self) -> None:
        """Prepares for a new stream, on which all possibly lost acknowledgements are sent again."""
        self._unsaid = [n for _, numbers in self._said for n in numbers] + self._unsaid
        self._said.clear()
        self._unheard = 0
