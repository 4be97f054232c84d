"""Store for values that processes exchange, implemented by the library (``client/blobs/values.h``).

Each store has a Python thread that waits for notifications from the library. In a forked process, all stores are
closed. Never imports grpc.
"""
from __future__ import annotations

import concurrent.futures
import ctypes
import logging
import os
import queue
import threading
from typing import Any, Callable

from muster._shared import library

log = logging.getLogger("muster.shared")

NAME = 32

Got = Callable[[int], None]
"""Takes ownership of a descriptor. May raise OSError."""


class Full(OSError):
    """Raised if a value would exceed the memory limits of this process."""


class NotTaken(OSError):
    """Raised if a process does not provide a value. The caller should try another process or the server."""


class Store:
    """A store of large values. Thread-safe."""

    def __init__(self, bytes_max: int, on_dropped: Callable[[bytes], None] = lambda name: None) -> None:
        """Opens a store that holds at most `bytes_max` bytes.

        `on_dropped` is called when the holder of a kept value drops the value or exits. The call is made on the store's
        thread, or on the thread that takes the value. Raises OSError if the library cannot open the store.
        """
        self._library = library.loaded()
        self._number = self._library.open(bytes_max)
        self._on_dropped = on_dropped
        self.socket_name = self._library.text(self._library.socket, self._number)
        self._asked: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()  # protects all below
        self._taking: dict[bytes, int] = {}
        """For each value, the number of threads that are taking the value in order to keep it."""
        self._gone: set[bytes] = set()
        """Values in `_taking` that were dropped while threads were taking them."""
        self._thread = threading.Thread(target=self._run, name="muster-shared", daemon=True)
        self._thread.start()

    def soon(self, what: Callable[[], None]) -> None:
        """Calls `what` on the store's thread. Does not take a lock, so finalizers can call this method."""
        self._asked.put(what)
        try:
            self._library.wake(self._number)
        except library.Failed:  # the store is closed
            pass

    def close(self) -> None:
        """Closes the store and stops its threads. Runs the pending calls of `soon` first."""
        try:
            self._library.close(self._number)
        except library.Failed:
            pass
        if threading.current_thread() is not self._thread:
            self._thread.join(5.0)

    def reserve(self, size: int) -> None:
        """Reserves memory for a value that will be added. Raises Full if there is not enough memory."""
        try:
            self._library.reserve(self._number, size)
        except library.Failed as error:
            raise Full(str(error)) from error

    def unreserve(self, size: int) -> None:
        """Releases the memory that was reserved for a value that will not be added."""
        try:
            self._library.unreserve(self._number, size)
        except library.Failed:
            pass

    def free(self) -> int:
        """Returns how many more bytes can be stored."""
        try:
            return int(self._library.free(self._number))
        except library.Failed:
            return 0

    def add(self, name: bytes, fd: int, size: int) -> None:
        """Adds a value for which memory has been reserved. The store takes ownership of the descriptor."""
        try:
            self._library.add(self._number, name, fd, size)
        except library.Failed:
            pass

    def drop(self, name: bytes) -> bool:
        """Drops a value. Returns False if the store does not hold the value."""
        try:
            self._library.drop(self._number, name)
            return True
        except library.Failed:
            return False

    def opened(self, name: bytes) -> int:
        """Returns a descriptor that the caller owns. Raises KeyError if the store does not hold the value."""
        try:
            return int(self._library.opened(self._number, name))
        except library.Failed as error:
            raise KeyError(name) from error

    def held(self) -> dict[bytes, int]:
        """Returns the names and sizes of all values."""
        room = 64
        while True:
            names, sizes = ctypes.create_string_buffer(room * NAME), (ctypes.c_uint64 * room)()
            try:
                count = self._library.held(self._number, names, sizes, room)
            except library.Failed:
                return {}
            if count <= room:
                raw = names.raw
                return {raw[i * NAME:(i + 1) * NAME]: sizes[i] for i in range(count)}
            room = count

    def take(self, holder: str, name: bytes, size: int, got: Got, keep: bool) -> None:
        """Takes a value from a process on this host, and calls `got` with its descriptor.

        If `keep` is set, the holder reports when it drops the value. Raises NotTaken, and the exceptions of `got`.
        """
        if keep:
            with self._lock:
                self._taking[name] = self._taking.get(name, 0) + 1
        try:
            got(self._taken(self._library.take, holder.encode(), name, size, keep))
        finally:
            if keep and self._is_gone(name):
                self._on_dropped(name)

    def take_from_peer(self, peer: str, ticket: bytes, name: bytes, size: int, certificate: str) -> int:
        """Takes a value from a process on another host. Returns a descriptor that the caller owns. Raises NotTaken."""
        def take() -> int:
            return self._taken(self._library.take_from_peer, peer.encode(), ticket, certificate.encode(), name, size)

        return _interruptible(take) if threading.current_thread() is threading.main_thread() else take()

    def record_server_time(self, size: int, seconds: float) -> None:
        """Records how long the server took to send a value. Transfers from other hosts are aborted if they are slower
        than the server.
        """
        try:
            self._library.record_server_time(self._number, size, seconds)
        except library.Failed:
            pass

    def listen(self, listen: str, advertise: str, server: str) -> str:
        """Starts serving other hosts. Returns the address to which other hosts connect. Raises OSError if listening
        fails.
        """
        return self._library.text(self._library.listen, self._number, listen.encode(), advertise.encode(), server.encode())

    def use_certificate(self, certificate: str, key: str) -> None:
        """Sets the PEM certificate and key for connections from other hosts. If both are empty, connections are in
        plaintext. Raises OSError if the certificate or key cannot be used.
        """
        self._library.certificate(self._number, certificate.encode(), key.encode())

    def expect(self, ticket: bytes, name: bytes) -> None:
        """Accepts this ticket once for the value `name`. Raises OSError if the library reports an error."""
        self._library.expect(self._number, ticket, name)

    def _taken(self, function: Any, *arguments: Any) -> int:
        try:
            return int(function(self._number, *arguments))
        except library.Failed as error:
            raise NotTaken(str(error)) from error

    def _is_gone(self, name: bytes) -> bool:
        """Removes a thread from the threads that are taking a value. Returns whether no such threads remain and the
        value was dropped in the meantime.
        """
        with self._lock:
            self._taking[name] -= 1
            if self._taking[name]:
                return False
            del self._taking[name]
            if name not in self._gone:
                return False
            self._gone.discard(name)
            return True

    # The store's thread.

    def _run(self) -> None:
        name = ctypes.create_string_buffer(NAME)
        while True:
            try:
                reported = self._library.wait(self._number, name)
            except library.Failed:
                reported = -1
            if reported == 1:
                self._call(lambda: self._dropped(name.raw))
            while not self._asked.empty():
                self._call(self._asked.get())
            if reported < 0:
                return

    def _dropped(self, name: bytes) -> None:
        with self._lock:
            if name in self._taking:
                self._gone.add(name)
                return
        self._on_dropped(name)

    def _call(self, what: Callable[[], None]) -> None:
        try:
            what()
        except Exception:  # the thread must continue
            log.exception("sharing memory")


def _interruptible(take: Callable[[], int]) -> int:
    """Calls `take` on a separate thread, so that the main thread handles signals such as Ctrl-C during a transfer.

    If the main thread stops waiting, the descriptor is closed.
    """
    taken: concurrent.futures.Future[int] = concurrent.futures.Future()

    def run() -> None:
        try:
            taken.set_result(take())
        except Exception as error:
            taken.set_exception(error)

    try:
        threading.Thread(target=run, name="muster-taking", daemon=True).start()
    except RuntimeError:  # the system has no more threads
        return take()
    try:
        return taken.result()
    except BaseException:
        taken.add_done_callback(lambda of: None if of.exception() else os.close(of.result()))
        raise
