"""Closes a session when the program no longer uses it."""
from __future__ import annotations

import threading
import weakref
from typing import Any

from muster.coordinator.link import Link
from muster.coordinator.session import Session


class Owner:
    """Keeps a session open. A coordinator, its options, its values, per-worker values and datasets share one owner, and
    the session stays open while one of them exists. The session has no reference to its owner.
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
        """Ends the session and waits until it has ended. Does nothing in a forked process or if it was called before.
        """
        found = self._finalizer.detach()
        if found is not None and not self.session.is_forked:
            link: Link = found[2][0]
            link.close()


def _let_go(link: Link, beside: list[Any]) -> None:
    """Closes the session on a new thread. The garbage collector calls this function on any thread at any time, so it
    must not wait or take a lock. At the end of the program it closes the session on the current thread, because no
    thread can be started then.
    """
    if link.is_forked:
        return
    if threading.main_thread().is_alive():
        threading.Thread(target=_close, args=(link, beside), name="muster-close", daemon=True).start()
    else:
        link.close()


def _close(link: Link, beside: list[Any]) -> None:
    link.close()
