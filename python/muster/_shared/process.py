"""What a process gives and takes, as one: a client's, or that of a worker's own process. Never of its children.

It holds at most `bytes_max`. Threads of its own: the store's, the one of the stream to the server, and one that puts.
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
    """A value of another process. The descriptor is whose who gets this."""

    name: bytes
    fd: int
    size: int
    may_copy: bool
    """The server lists who holds it, too."""


class Process:
    """Any thread."""

    def __init__(self, channels: Channels, bytes_max: int, task: str = "",
                 on_unneeded: Callable[[bytes], None] = lambda name: None,
                 on_dropped: Callable[[bytes], None] = lambda name: None,
                 listen: Callable[[Store], str] = lambda store: "",
                 on_unlisted: Callable[[bytes], None] = lambda name: None, host: str | None = None) -> None:
        """`on_unneeded`: an output that no value names any more. `on_dropped`: what was taken, to be kept, is to go.
        `listen`: makes the store give to other hosts, if that is wanted, and says where. `on_unlisted`: a copy that nobody is told of."""
        self._channels = channels
        self._dropping: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.store = Store(bytes_max, on_dropped)
        self.holding = Holding(self.store, channels, task, on_unneeded, listen(self.store), on_unlisted, host)

    def hold(self, name: bytes, fd: int, size: int) -> None:
        """What there is room for: `store.reserve`. The descriptor is no longer the caller's."""
        self.store.add(name, fd, size)
        self.holding.announce(name, size)

    def hold_copy(self, taken: Taken) -> None:
        """The same of what another has made."""
        self.store.add(taken.name, taken.fd, taken.size)
        self.holding.announce_copy(taken.name, taken.size, taken.may_copy)

    def drop(self, name: bytes) -> None:
        if self.store.drop(name):
            self.holding.dropped(name)

    def soon(self, what: Callable[[], None]) -> None:
        """On the store's thread. Takes no lock: also for what runs while something is collected."""
        self.store.soon(what)

    def drop_soon(self, name: bytes) -> None:
        """The same for what runs while something is collected, which takes no lock."""
        self._dropping.put(name)
        self.soon(self.drop_now)

    def drop_now(self) -> None:
        """What was to be dropped soon."""
        while True:
            try:
                name = self._dropping.get_nowait()
            except queue.Empty:
                return
            self.drop(name)

    def take(self, name: bytes, keep: bool, shared: Callable[[Taken], None], room: Callable[[int], None],
             copied: Callable[[Taken], None]) -> bool:
        """From one of the processes that hold it, those of this host first. False: it is to be had from the server.

        `shared` gets what a process of this host has; `keep`: that process tells when it goes.
        `copied` gets what came from another host, for which `room` is asked first. They may raise OSError."""
        if not self.holding.ready():
            return False
        shared_tried = False
        for host in dict.fromkeys((self.holding.host, "")):  # whom one cannot reach by its socket, one may by its port
            place = self._place(name, host)
            if place is None:
                return False
            holders = list(place.holder) or [place]  # of a server of before
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

    def by_server(self, size: int, seconds: float) -> None:
        """A value came from the server. Another host is to be faster."""
        self.store.by_server(size, seconds)

    def is_lost(self, name: bytes) -> bool:
        """It is neither here nor at the server. False as well where nobody can say."""
        try:
            place, = blobs.locate(self._channels.channel(), [name], LOCATE_WITHIN)
        except (grpc.RpcError, ValueError):
            return False
        return not place.at_server and not place.unix_socket

    def close(self) -> None:
        self.holding.close()
        self.store.close()
