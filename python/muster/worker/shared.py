"""Shared memory of a worker. The worker's own process receives and holds the memory, and the child processes open it
through links in the blob directory.

A link is named after the value and points to a descriptor of the worker's own process, so child processes can map the
value like a file. Outputs are held until the server reports that no value refers to them, even if the child process has
exited. Copies of other processes' outputs are also held; see `copies`. An argument is dropped when the process that
holds the original drops it. Values for calls of objects belong to a child process and are held until the child drops
them or exits. Thread-safe.
"""
from __future__ import annotations

import logging
import os
import threading
from typing import Callable

from muster._shared import memory
from muster._shared.holding import Channels
from muster._shared.process import Process, Taken
from muster._shared.store import Full, Store
from muster.worker.blobs import OFFER
from muster.worker.copies import Copies, Links

TAKEN_MAX = 256
"""Maximum number of other processes' values whose descriptors are kept. The oldest value is dropped and can be received
again.
"""
LEAVE_WITHIN = 10.0
"""Time limit in seconds for uploading outputs when the worker leaves."""


log = logging.getLogger("muster.worker")


def listening(listen: str, advertise: str, server: str) -> Callable[[Store], str]:
    """Returns a function that starts serving values to other hosts; see `WorkerOptions`. This function logs an error if
    listening fails.
    """

    def begin(store: Store) -> str:
        if listen == "off":
            return ""
        try:
            return store.listen(listen, advertise, server)
        except OSError as error:
            log.error("transfer_listen: %s: cannot listen, so workers on other hosts fetch values of this host from "
                      "the server: %s",
                      listen or "the interface towards the server", error)
            return ""

    return begin


class Shared:
    def __init__(self, folder: str, channels: Channels, bytes_max: int, task: str,
                 listen: Callable[[Store], str] = lambda store: "", host: str | None = None) -> None:
        """`host` is used instead of this host's identity."""
        self._links = Links(folder)
        self._lock = threading.Lock()  # protects _taken and _owned
        self._taken: dict[bytes, int] = {}
        self._owned: dict[bytes, int] = {}
        """Process that owns each value."""
        self._process = Process(channels, bytes_max, task, self._unneeded, self._dropped, listen, self._unlisted, host)
        self._copies = Copies(self._process, self._links)

    def take(self, name: bytes) -> bool:
        """Receives a value from another process. Returns False if only the server can provide the value."""
        reserved = 0

        def room(size: int) -> None:
            nonlocal reserved
            if not reserved:  # memory may already be reserved for an attempt with another holder
                self._copies.reserve(size)
                reserved = size

        def copied(taken: Taken) -> None:
            nonlocal reserved
            reserved = 0
            self._copies.add(taken)

        try:
            return self._process.take(name, True, self._took, room, copied)
        finally:
            if reserved:
                self._process.store.unreserve(reserved)

    def record_server_time(self, size: int, seconds: float) -> None:
        """Records how long the server took to send a value."""
        self._process.record_server_time(size, seconds)

    def is_lost(self, name: bytes) -> bool:
        """Returns whether the server does not know any process that holds the value."""
        return self._process.is_lost(name)

    def tick(self, now: float) -> None:
        """Drops expired copies. Called regularly."""
        self._copies.tick(now)

    def offer(self, name: bytes, beside: bytes, owned: bool = False) -> None:
        """Holds a value of a child process. Raises OSError if the child has to upload the value or, if `owned` is set,
        send it in the message.
        """
        pid, number, size = OFFER.unpack(beside)
        holding = self._process.holding
        if not (holding.ready() if owned else holding.outputs_stay()) or not holding.may_hold(size):
            raise OSError("the worker does not store outputs, or not outputs of this size")
        self._copies.reserve(size)
        try:
            fd = os.open(f"/proc/{pid}/fd/{number}", os.O_RDONLY | os.O_CLOEXEC)
            try:
                memory.check(fd, name, size)
                self._links.add(name, fd)
            except OSError:
                os.close(fd)
                raise
        except OSError:
            self._process.store.unreserve(size)
            raise
        if owned:
            with self._lock:
                self._owned[name] = pid
        self._process.hold(name, fd, size)
        if owned and not os.path.exists(f"/proc/{pid}/fd/{number}"):
            self.drop(name)  # the child has exited

    def owns(self, name: bytes) -> bool:
        with self._lock:
            return name in self._owned

    def put(self, name: bytes) -> None:
        """Uploads a value that a child owns. Raises OSError if the upload fails."""
        if not self._process.holding.put(name):
            raise OSError(f"{name.hex()} cannot be uploaded")

    def drop(self, name: bytes) -> None:
        """Drops a value that a child owns."""
        with self._lock:
            if self._owned.pop(name, None) is None:
                return
        self._forget(name)

    def left(self, pid: int) -> None:
        """Drops the values of a child process that has exited."""
        with self._lock:
            names = [name for name, by in self._owned.items() if by == pid]
        for name in names:
            self.drop(name)

    def look(self) -> None:
        """Reconnects if the server has changed."""
        self._process.holding.look()

    def leave(self) -> None:
        """Uploads the worker's values that other processes need. Values that child processes own are not uploaded,
        because all calls of objects have already been answered.
        """
        with self._lock:
            owned = set(self._owned)
        self._process.holding.put_all(LEAVE_WITHIN, owned)

    def close(self) -> None:
        self._process.close()
        with self._lock:
            for fd in self._taken.values():
                os.close(fd)
            self._taken.clear()

    def _took(self, taken: Taken) -> None:
        if taken.may_copy:
            try:
                self._copies.reserve(taken.size)
            except Full:
                pass  # the value is dropped when its holder drops it
            else:
                return self._copies.add(taken)
        with self._lock:
            try:
                self._links.add(taken.name, taken.fd)
            except FileExistsError:  # the server has already provided the value
                os.close(taken.fd)
                return
            except OSError:
                os.close(taken.fd)
                raise
            self._taken[taken.name] = taken.fd
            if len(self._taken) > TAKEN_MAX:
                self._let_go(next(iter(self._taken)))

    def _dropped(self, name: bytes) -> None:
        """Handles a value that its holder has dropped. Called by the store's thread, or by the thread that receives the
        value.
        """
        with self._lock:
            if name in self._taken:
                self._let_go(name)

    def _let_go(self, name: bytes) -> None:
        """Removes the link and closes the descriptor. REQUIRES: _lock is held."""
        self._links.remove(name)
        os.close(self._taken.pop(name))

    def _unneeded(self, name: bytes) -> None:
        """Drops a value to which no RemoteValue refers. Owned values are kept, because RemoteValues never refer to
        owned values.
        """
        if not self._copies.drop(name) and not self.owns(name):
            self._forget(name)

    def _forget(self, name: bytes) -> None:
        self._links.remove(name)
        self._process.drop(name)

    def _unlisted(self, name: bytes) -> None:
        self._copies.unlisted(name)
