"""Keeps copies of values from other processes. The worker's own closures use these copies, as do processes that the
server directs to this worker.

A copy is kept until the server reports that no value refers to the copy, or until the memory is needed. To free memory,
the worker removes the least recently used copies and reports their removal. A copy that the server does not list is
kept for a few seconds. Thread-safe.
"""
from __future__ import annotations

import os
import threading
import time

from muster._shared.process import Process, Taken
from muster._shared.store import Full

UNLISTED_STAYS = 10.0
"""Seconds for which a copy that the server does not list is kept for other closures."""


class Links:
    """Named links in a directory that point to descriptors of the worker. The worker's child processes open values
    through these links.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def add(self, name: bytes, fd: int) -> None:
        """Adds a link. Raises FileExistsError if the name exists, and OSError if the link cannot be created."""
        os.symlink(f"/proc/{os.getpid()}/fd/{fd}", self._path(name))

    def remove(self, name: bytes) -> None:
        try:
            if os.path.islink(self._path(name)):
                os.unlink(self._path(name))
        except FileNotFoundError:
            pass

    def used(self, name: bytes) -> float:
        """Returns when a child last opened the value, according to the file's modification time."""
        try:
            return os.stat(self._path(name)).st_mtime
        except OSError:
            return 0.0

    def _path(self, name: bytes) -> str:
        return os.path.join(self._folder, name.hex())


class Copies:
    def __init__(self, process: Process, links: Links) -> None:
        self._process = process
        self._links = links
        self._lock = threading.Lock()  # protects all below; held while the process holds or drops a copy
        self._held: dict[bytes, tuple[int, float]] = {}
        """For each copy, the size and the time until which the copy is kept."""

    def reserve(self, size: int) -> None:
        """Reserves memory for a value, removing copies if necessary. Raises Full if there is not enough memory."""
        store = self._process.store
        while True:
            try:
                return store.reserve(size)
            except Full:
                with self._lock:
                    if size > store.free() + sum(size for size, _ in self._held.values()) or not self._held:
                        raise
                    self._let_go(min(self._held, key=self._links.used))

    def add(self, taken: Taken) -> None:
        """Adds a copy for which memory has been reserved. Raises OSError if the copy cannot be added."""
        try:
            self._links.add(taken.name, taken.fd)
        except OSError as error:
            os.close(taken.fd)
            self._process.store.unreserve(taken.size)
            if isinstance(error, FileExistsError):  # the server has provided it
                return
            raise
        until = float("inf") if taken.may_copy else time.monotonic() + UNLISTED_STAYS
        with self._lock:
            self._process.hold_copy(taken)
            self._held[taken.name] = (taken.size, until)

    def unlisted(self, name: bytes) -> None:
        """Limits the retention time of a copy that the server does not list."""
        with self._lock:
            if name in self._held:
                self._held[name] = (self._held[name][0], time.monotonic() + UNLISTED_STAYS)

    def drop(self, name: bytes) -> bool:
        """Drops a copy. Returns False if the copy does not exist."""
        with self._lock:
            if name not in self._held:
                return False
            self._let_go(name)
            return True

    def tick(self, now: float) -> None:
        """Drops copies whose retention time has expired."""
        with self._lock:
            for name in [name for name, (_, until) in self._held.items() if until <= now]:
                self._let_go(name)

    def _let_go(self, name: bytes) -> None:
        """Drops a copy and its link. REQUIRES: _lock is held."""
        del self._held[name]
        self._links.remove(name)
        self._process.drop(name)
