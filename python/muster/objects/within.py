"""The object method that this thread is executing on a worker. Never imports grpc."""
from __future__ import annotations

import threading
from typing import Protocol, Sequence

from muster._pickled.buffers import Data

Name = tuple[int, bool, int]
"""A call: its caller, whether the caller is a worker, and the number of the call."""


class Shelf(Protocol):
    """Memory that stores large results until their callers have received them. See `muster.worker.shelf`."""

    def take(self, data: Data) -> bytes:
        """Copies data for the caller of the method that this thread is executing. Returns the name of the copy. Raises
        OSError if there is no room.
        """

    def undo(self) -> None:
        """Drops the copies that were made for the current call."""

    def show(self, names: Sequence[bytes]) -> None:
        """Allows other calls to use the named copies."""

    def again(self, names: Sequence[bytes]) -> bool:
        """Allows the current call to use copies that are already shown. Returns False if the copies no longer exist."""

    def hide(self, names: Sequence[bytes]) -> None:
        """Prevents further calls from using the named copies."""


class _Within(threading.local):
    call: Name | None = None
    shelf: Shelf | None = None
    """None if the caller accepts only whole results."""


within = _Within()
