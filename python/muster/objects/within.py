"""What this thread executes, where that is a method of an object on a worker. Never imports grpc."""
from __future__ import annotations

import threading
from typing import Protocol, Sequence

from muster._pickled.buffers import Data

Name = tuple[int, bool, int]
"""Of a call: its caller, whether that is a worker, and its number."""


class Shelf(Protocol):
    """Where large results stay until their callers have them. See `muster.worker.shelf`."""

    def take(self, data: Data) -> bytes:
        """A copy, for who made the call that this thread executes; its name. Raises OSError: there is no room."""

    def undo(self) -> None:
        """What was taken of this call is for nobody."""

    def show(self, names: Sequence[bytes]) -> None:
        """Other calls may have these, too."""

    def again(self, names: Sequence[bytes]) -> bool:
        """This call has what was shown. False: it is gone."""

    def hide(self, names: Sequence[bytes]) -> None:
        """No other call may have what was shown."""


class _Within(threading.local):
    call: Name | None = None
    shelf: Shelf | None = None
    """None: its caller takes results whole."""


within = _Within()
