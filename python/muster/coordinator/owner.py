"""Closes a session when the program no longer uses it."""
from __future__ import annotations

import threading
import weakref
from typing import Any

from muster.coordinator.link import Link
from muster.coordinator.session import Session


class Owner:
    """Keeps a session open. A coordinator shares its owner with its options, values, per-worker values and datasets,
    and the session stays open while any of these objects exists. The session has no reference to its owner.
    """

    __slots__ = ("session", "_beside", "_finalizer", "__weakref__")

    def __init__(self, session: Session, link: Link) -> None:
        self.session = session
        self._beside: list[Any] = []
        self._finalizer = weakref.finalize(self, _let_go, link, self._beside)

    def keep(self, beside: Any) -> None:
        """Keeps a reference to an object until the session has been closed."""
        self._beside.append(beside)

    def close(self) -> None:
        """Ends the session and waits until the session has ended. Does nothing in a forked process or on later calls.
        """
        found = self._finalizer.detach()
        if found is not None and not self.session.is_forked:
            link: Link = found[2][0]
            link.close()


def _let_go(link: Link, beside: list[Any]) -> None:
    """Closes the session on a new thread. The garbage collector can call this function on any thread at any time, so
    the function must not wait or take a lock. When the program exits, the session is closed on the current thread,
    because no new thread can be started.
    """
    if link.is_forked:
        return
    if threading.main_thread().is_alive():
        threading.Thread(target=_close, args=(link, beside), name="muster-close", daemon=True).start()
    else:
        link.close()


def _close(link: Link, beside: list[Any]) -> None:
    link.close()
