"""Who has a session: it is closed when nobody does any more."""
from __future__ import annotations

import threading
import weakref
from typing import Any

from muster.coordinator.link import Link
from muster.coordinator.session import Session


class Owner:
    """What a coordinator, its options, its values, per-worker values and datasets have in common: the
    session lives as long as one of them. The session itself does not know it."""

    __slots__ = ("session", "_beside", "_finalizer", "__weakref__")

    def __init__(self, session: Session, link: Link) -> None:
        self.session = session
        self._beside: list[Any] = []
        self._finalizer = weakref.finalize(self, _let_go, link, self._beside)

    def keep(self, beside: Any) -> None:
        """It goes after the session has been closed, at the earliest."""
        self._beside.append(beside)

    def close(self) -> None:
        """Ends the session, once; returns when it has ended. Does nothing in a process that was forked from the session's."""
        found = self._finalizer.detach()
        if found is not None and not self.session.is_forked:
            link: Link = found[2][0]
            link.close()


def _let_go(link: Link, beside: list[Any]) -> None:
    """The collector calls it on any thread, in the midst of anything, so it neither waits nor takes a
    lock. At the end of the program nothing else runs, and no thread can be started."""
    if link.is_forked:
        return
    if threading.main_thread().is_alive():
        threading.Thread(target=_close, args=(link, beside), name="muster-close", daemon=True).start()
    else:
        link.close()


def _close(link: Link, beside: list[Any]) -> None:
    link.close()
