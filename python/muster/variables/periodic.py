"""Checkpoints that a thread saves periodically."""
from __future__ import annotations

import contextlib
import logging
import threading
from typing import TYPE_CHECKING, Any

from muster.errors import UnavailableError
from muster.variables import checkpoint
from muster.variables.checkpoint import Path
from muster.variables.known import Known

if TYPE_CHECKING:
    from muster.coordinator.session import Session

log = logging.getLogger("muster")


class Checkpoints:
    """Saves checkpoints until `stop` is called, the ``with`` block is exited, or the coordinator is closed. Returned by
    `ClusterCoordinator.checkpoints`. `last` is the number of the last checkpoint, or None if no checkpoint was saved.
    """

    def __init__(self, known: Known, session: Session, path: Path, every: float, keep: int | None,
                 quiesce: bool, timeout: float | None = None) -> None:
        if not 0 < every <= threading.TIMEOUT_MAX:
            raise ValueError(f"every: {every}, must be positive and at most {threading.TIMEOUT_MAX:g}")
        checkpoint.check_keep(keep)
        self.last: int | None = None
        self._known = known
        self._session = session
        self._path = path
        self._every = every
        self._keep = keep
        self._quiesce = quiesce
        self._timeout = timeout
        self._error: Exception | None = None
        self._stopped = False
        self._waits_for_restore = False  # whether the missing restore has been logged
        self._thread = threading.Thread(target=self._run, name="muster-checkpoints", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stops saving checkpoints. Waits for a checkpoint that is being saved."""
        self._stopped = True
        self._session.notify()
        self._thread.join()

    def _run(self) -> None:
        while not self._session.over_within(self._every, lambda: self._stopped):
            try:
                self._save()
            except UnavailableError as error:  # the session reports this error
                log.warning("no checkpoint was saved: %s", error)
            except Exception as error:
                log.warning("no checkpoint was saved: %s", error)
                self._error = error
                self._session.tell(error)

    def _save(self) -> None:
        with self._session.quiet(self._timeout) if self._quiesce else contextlib.nullcontext(True) as good:
            if not good:
                return  # an error has cancelled the scheduled calls, and has not been raised yet
            made = self._known.save_unless_restarted(self._path, self._keep)
        if made is not None:
            self.last = made
        elif not self._waits_for_restore:
            log.warning("no checkpoint is saved until restore() has been called; lost or recreated state would "
                        "replace the saved state")
        self._waits_for_restore = made is None

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()
        if error[0] is None and self._error is not None and self._session.untell(self._error):
            raise self._error
