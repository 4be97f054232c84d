"""Closes a session when it is no longer used."""
from __future__ import annotations

import threading
import weakref
from typing import Any

from muster.coordinator.link import Link
from muster.coordinator.session import Session


class Owner:
    """Shared by a coordinator, its options, its values, per-worker values and datasets. The session stays open
    while one of them exists. The session has no reference to its owner.
    """

    __slots__ = ("session", "_beside", "_finalizer", "__weakref__")

    def __init__(self, session: Session, link: Link) -> None:
        self.session = session
        self._beside: list[Any] = []
        self._finalizer = weakref.finalize(self, _let_go, link, self._beside)

    def keep(self, beside: Any) -> None:
        """Keeps an object until the session has been closed."""
        self._beside.append(beside)

    def close(self) -> None:
        """Ends the session, and returns when it has ended. Does nothing if it was called before, or in a forked
        process.
        """
        found = self._finalizer.detach()
        if found is not None and not self.session.is_forked:
            link: Link = found[2][0]
            link.close()


def _let_go(link: Link, beside: list[Any]) -> None:
    """Closes the session on a new thread. The garbage collector calls this on any thread at any time, so it must
    not wait or take a lock. At the end of the program it closes directly, because no thread can be started then.
    """
    if link.is_forked:
        return
    if threading.main_thread().is_alive():
        threading.Thread(target=_close, args=(link, beside), name="muster-close", daemon=True).start()
    else:
        link.close()


def _close(link: Link, beside: list[Any]) -> None:
    link.close()
