"""Exchanges large values with other processes. Used by clients and worker processes, but not by their child processes.

A Process holds at most `bytes_max` bytes. Three threads serve the store, the stream to the server, and the uploads.
"""
from __future__ import annotations

import logging
import queue
from typing import Any, Callable, NamedTuple

import grpc

from muster._shared.holding import Channels, Holding
from muster._shared.store import NotTaken, Store
from muster._wire import blobs

log = logging.getLogger("muster.shared")

LOCATE_WITHIN = 10.0


class Taken(NamedTuple):
    """A value that was taken from another process. The receiver owns the descriptor."""

    name: bytes
    fd: int
    size: int
    may_copy: bool
    """Whether the server also lists processes that hold a copy."""


class Process:
    """The large values of this process. Thread-safe."""

    def __init__(self, channels: Channels, bytes_max: int, task: str = "",
                 on_unneeded: Callable[[bytes], None] = lambda name: None,
                 on_dropped: Callable[[bytes], None] = lambda name: None,
                 listen: Callable[[Store], str] = lambda store: "",
                 on_unlisted: Callable[[bytes], None] = lambda name: None, host: str | None = None) -> None:
        """`on_unneeded` is called for an output to which no value refers. `on_dropped` is called for a kept value that
        must be released. `listen` makes the store serve other hosts if requested, and returns the store's address.
        `on_unlisted` is called for copies that the server does not list.
        """
        self._channels = channels
        self._dropping: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.store = Store(bytes_max, on_dropped)
        self.holding = Holding(self.store, channels, task, on_unneeded, listen(self.store), on_unlisted, host)

    def hold(self, name: bytes, fd: int, size: int) -> None:
        """Holds a value for which memory was reserved with `store.reserve`. Takes ownership of the descriptor."""
        self.store.add(name, fd, size)
        self.holding.announce(name, size)

    def hold_copy(self, taken: Taken) -> None:
        """Holds a value that another process has created. Takes ownership of the descriptor."""
        self.store.add(taken.name, taken.fd, taken.size)
        self.holding.announce_copy(taken.name, taken.size, taken.may_copy)

    def drop(self, name: bytes) -> None:
        if self.store.drop(name):
            self.holding.dropped(name)

    def soon(self, what: Callable[[], None]) -> None:
        """Calls `what` on the store's thread. Does not take a lock, so finalizers can call this method."""
        self.store.soon(what)

    def drop_soon(self, name: bytes) -> None:
        """Drops a value on the store's thread. Does not take a lock, so finalizers can call this method."""
        self._dropping.put(name)
        self.soon(self.drop_now)

    def drop_now(self) -> None:
        """Drops the values that were passed to `drop_soon`."""
        while True:
            try:
                name = self._dropping.get_nowait()
            except queue.Empty:
                return
            self.drop(name)

    def take(self, name: bytes, keep: bool, shared: Callable[[Taken], None], room: Callable[[int], None],
             copied: Callable[[Taken], None]) -> bool:
        """Takes a value from a process that holds the value, preferably on this host. Returns False if only the server
        can provide the value.

        `shared` is called with a value on this host. If `keep` is set, the holder reports when it drops the value. For
        a value on another host, `room` is called with the size, and `copied` is then called with a copy of the value.
        `shared`, `room` and `copied` may raise OSError.
        """
        if not self.holding.ready():
            return False
        shared_tried = False
        for host in dict.fromkeys((self.holding.host, "")):  # if the socket is unreachable, the port may be reachable
            place = self._place(name, host)
            if place is None:
                return False
            holders = list(place.holder) or [place]  # the answer of an older server
            for holder in holders:
                if holder.unix_socket and not shared_tried and self._share(holder.unix_socket, name, place, shared, keep):
                    return True
                if holder.ticket and self._copy(holder, name, place, room, copied):
                    return True
            if shared_tried or any(holder.ticket for holder in holders):
                return False
            shared_tried = True
        return False

    def _place(self, name: bytes, host: str) -> Any | None:
        try:
            place, = blobs.locate(self._channels.channel(), [name], LOCATE_WITHIN, peers=True, host=host)
            return place
        except (grpc.RpcError, ValueError):
            return None

    def _share(self, socket: str, name: bytes, place: Any, shared: Callable[[Taken], None], keep: bool) -> bool:
        def got(fd: int) -> None:
            shared(Taken(name, fd, place.size, place.may_copy))

        try:
            self.store.take(socket, name, place.size, got, keep)
        except OSError:
            return False
        self.holding.taken(place.size)
        return True

    def _copy(self, holder: Any, name: bytes, place: Any, room: Callable[[int], None],
              copied: Callable[[Taken], None]) -> bool:
        try:
            room(place.size)
            fd = self.store.take_from_peer(holder.peer, holder.ticket, name, place.size, holder.certificate)
            copied(Taken(name, fd, place.size, place.may_copy))
        except OSError as error:
            if isinstance(error, NotTaken):
                log.info("%s", error)
            return False
        self.holding.copied(place.size)
        return True

    def record_server_time(self, size: int, seconds: float) -> None:
        """Records how long the server took to send a value. Transfers from other hosts are aborted if they are slower
        than the server.
        """
        self.store.record_server_time(size, seconds)

    def is_lost(self, name: bytes) -> bool:
        """Returns whether the value is known to be missing both on this host and on the server."""
        try:
            place, = blobs.locate(self._channels.channel(), [name], LOCATE_WITHIN)
        except (grpc.RpcError, ValueError):
            return False
        return not place.at_server and not place.unix_socket

    def close(self) -> None:
        self.holding.close()
        self.store.close()
