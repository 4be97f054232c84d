"""Watches all keys below a folder.

The protocol has no call that waits for a change, so the folder is listed repeatedly. If a key changes several times
between two listings, only the last change is reported.
"""
from __future__ import annotations

import contextlib
import logging
import threading
from typing import Callable, Optional

from muster.agent.connection import Connection
from muster.agent.errors import AgentError, CoordinationError
from muster.agent.service import Waiter, wait_time

OnChange = Callable[[str, Optional[bytes]], None]


class KeyWatch:
    """A watch of a folder. The watch runs on a separate thread until stop() is called or the agent's run ends."""

    def __init__(self, at: Connection, folder: str, on_change: OnChange, interval: float, timeout: float) -> None:
        self._at, self._folder, self._on_change = at, folder, on_change
        self._interval, self._timeout = wait_time(interval, "interval"), timeout
        if self._interval <= 0:
            raise ValueError(f"interval: {interval} is not positive")
        self._run = at.current()
        with self._run.waiting():  # raises an exception if the run has ended
            pass
        self._stopped = threading.Event()
        self._refused = ""
        self._waiter, self._pause = Waiter(), Waiter()
        self._thread = threading.Thread(target=self._watch, name="muster-key-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stops the watch. The handler is not called after stop() has returned. If the handler itself calls stop(), the
        call returns without waiting for the end of the watch.
        """
        self._stopped.set()
        for waiter in (self._waiter, self._pause):
            waiter.cut(CoordinationError("CANCELLED", "the watch was stopped"))
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _watch(self) -> None:
        with contextlib.suppress(CoordinationError):  # the run has ended
            with self._run.waiting(self._pause):
                self._until_over()

    def _until_over(self) -> None:
        known: dict[str, bytes] = {}
        while not self._run.over.is_set() and not self._stopped.is_set():
            try:
                answer = self._at.ask("GetKeyValueDir", self._timeout, waiter=self._waiter, directory_key=self._folder)
            except CoordinationError as error:  # heartbeats detect an unreachable service
                self._note(error)
            else:
                self._refused = ""
                now = {kv.key: bytes(kv.value) for kv in answer.kv}
                for key in [k for k in known if k not in now]:
                    self._tell(key, None)
                for key, value in now.items():
                    if known.get(key) != value:
                        self._tell(key, value)
                known = now
            self._pause.pause(self._interval)

    def _note(self, error: CoordinationError) -> None:
        """Logs a refusal of the service, but does not log repeated refusals."""
        over = self._stopped.is_set() or isinstance(error, AgentError) or error.code == "CANCELLED"
        if over or error.code == self._refused:
            return
        self._refused = error.code
        logging.getLogger("muster").warning("the watch of %r cannot receive changes: %s", self._folder, error)

    def _tell(self, key: str, value: bytes | None) -> None:
        if self._stopped.is_set() or self._run.over.is_set():
            return
        try:
            self._on_change(key, value)
        except Exception:
            logging.getLogger("muster").exception("the on_change callback of a key watch raised an exception")
