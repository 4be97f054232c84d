"""What a process gives and takes, as one: a client's, or that of a worker's own process. Never of its children.

It holds at most `bytes_max`. Threads of its own: the loop's, the one of the stream to the server, and one that puts.
"""
from __future__ import annotations

import logging
import queue
from typing import Callable, Optional

import grpc

from muster._shared.giving import Giver
from muster._shared.holding import Channels, Holding
from muster._shared.loop import Loop
from muster._shared.peers import NotServed, PeerGiver, PeerTaker
from muster._shared.taking import Got, NotReached, Taker
from muster._wire import blobs

log = logging.getLogger("muster.shared")

LOCATE_WITHIN = 10.0


class Process:
    """Any thread."""

    def __init__(self, channels: Channels, bytes_max: int, task: str = "",
                 on_unneeded: Callable[[bytes], None] = lambda name: None,
                 on_dropped: Callable[[bytes], None] = lambda name: None,
                 peers: Callable[[Callable[[bytes], int]], Optional[PeerGiver]] = lambda opened: None) -> None:
        """`on_unneeded`: an output that no value names any more. `on_dropped`: what was taken, to be kept, is to go.
        `peers`: makes what gives to other hosts, if that is wanted."""
        self._channels = channels
        self._dropping: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._loop = Loop()
        self.giver = Giver(self._loop, bytes_max)
        self._taker = Taker(self._loop, on_dropped)
        self._peer_taker = PeerTaker()
        self._peers = peers(self.giver.opened)
        self.holding = Holding(self.giver, channels, task, on_unneeded, self._peers)

    def hold(self, name: bytes, fd: int, size: int) -> None:
        """What there is room for: `giver.reserve`. The descriptor is no longer the caller's."""
        self.giver.add(name, fd, size)
        self.holding.announce(name, size)

    def drop(self, name: bytes) -> None:
        if self.giver.drop(name):
            self.holding.dropped(name)

    def drop_soon(self, name: bytes) -> None:
        """The same for what runs while something is collected, which takes no lock."""
        self._dropping.put(name)
        self._loop.soon(self.drop_now)

    def drop_now(self) -> None:
        """What was to be dropped soon."""
        while True:
            try:
                name = self._dropping.get_nowait()
            except queue.Empty:
                return
            self.drop(name)

    def take(self, name: bytes, got: Got, keep: bool) -> bool:
        """False: it is to be had from the server. `got`: as `Taker` calls it."""
        if not self.holding.ready():
            return False
        try:
            place, = blobs.locate(self._channels.channel(), [name], LOCATE_WITHIN)
            if not place.unix_socket:
                return False
            self._taker.take(place.unix_socket, name, place.size, got, keep)
        except (grpc.RpcError, NotReached, ValueError):
            return False
        self.holding.taken(place.size)
        return True

    def copy(self, name: bytes, room: Callable[[int], None], got: Got) -> bool:
        """From the process of another host that holds it. False: it is to be had from the server. `room`: for so many
        bytes; raises OSError. `got` owns the descriptor of a copy."""
        if not self.holding.ready():
            return False
        try:
            place, = blobs.locate(self._channels.channel(), [name], LOCATE_WITHIN, peers=True)
            if not place.ticket:
                return False
            room(place.size)
            got(self._peer_taker.take(place.peer, place.ticket, name, place.size, place.certificate))
        except (grpc.RpcError, OSError, ValueError) as error:
            if isinstance(error, NotServed):
                log.info("%s", error)
            return False
        self.holding.copied(place.size)
        return True

    def is_lost(self, name: bytes) -> bool:
        """It is neither here nor at the server. False as well where nobody can say."""
        try:
            place, = blobs.locate(self._channels.channel(), [name], LOCATE_WITHIN)
        except (grpc.RpcError, ValueError):
            return False
        return not place.at_server and not place.unix_socket

    def close(self) -> None:
        if self._peers is not None:
            self._peers.close()
        self.holding.close()
        self._loop.close()
