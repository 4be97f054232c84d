"""Gives what a process holds to others of its user on this host: over a Unix socket whose name is random.

A packet b"G" and a name asks for it, b"O" the same once: who has asked by G is told when it goes. The answers are
b"A" and the name with a descriptor, b"N" and the name: it is not here, and b"D" and the name: it is dropped, so
whoever has taken it is to let go of it. Adding and dropping: any thread; the socket is the loop's. Never imports grpc.
"""
from __future__ import annotations

import os
import resource
import socket
import struct
import threading

from muster._shared.loop import Loop

NAME = 32
CONNECTIONS_MAX = 128
"""Processes that take from one. Those beyond are hung up on, and have it from the server."""
NAMES_MAX = 1024
"""Contents that one process holds; at most a quarter of the descriptors that it may have."""
_CREDENTIALS = struct.Struct("3i")


class Full(OSError):
    """It would be more than this process may hold."""


def peer_uid(sock: socket.socket) -> int:
    return int(_CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[1])


class _Peer:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.names: set[bytes] = set()
        """That it is told of."""


class Giver:
    def __init__(self, loop: Loop, bytes_max: int) -> None:
        self.socket_name = "muster-" + os.urandom(16).hex()
        self._loop = loop
        self._bytes_max = bytes_max
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._names_max = NAMES_MAX if soft == resource.RLIM_INFINITY else min(NAMES_MAX, soft // 4)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listening.bind("\0" + self.socket_name)
        self._listening.listen(CONNECTIONS_MAX)
        self._listening.setblocking(False)
        self._peers: set[_Peer] = set()
        """The loop's."""
        self._lock = threading.Lock()  # protects all below
        self._held: dict[bytes, tuple[int, int]] = {}
        self._bytes = 0
        self._reserved = 0
        self._closed = False
        loop.at_end(self._close)
        loop.soon(lambda: loop.read(self._listening, self._accept))

    def reserve(self, size: int) -> None:
        """Room for one that is to be added. Raises Full."""
        with self._lock:
            if self._closed or self._bytes + size > self._bytes_max or \
                    len(self._held) + self._reserved >= self._names_max:
                raise Full(f"{size} bytes are more than may be held: {self._bytes} of {self._bytes_max} are, "
                           f"in {len(self._held)} of {self._names_max} values")
            self._bytes += size
            self._reserved += 1

    def free(self) -> int:
        """Bytes that may still be held."""
        with self._lock:
            return self._bytes_max - self._bytes

    def unreserve(self, size: int) -> None:
        with self._lock:
            self._bytes -= size
            self._reserved -= 1

    def add(self, name: bytes, fd: int, size: int) -> None:
        """What there is room for. The descriptor is its own from here on."""
        with self._lock:
            self._reserved -= 1
            if self._closed:
                os.close(fd)
                return
            self._held[name] = (fd, size)

    def drop(self, name: bytes) -> bool:
        """False: it is not here."""
        with self._lock:
            found = self._held.pop(name, None)
            if found is None:
                return False
            self._bytes -= found[1]
            os.close(found[0])
        self._loop.soon(lambda: self._tell(name))
        return True

    def opened(self, name: bytes) -> int:
        """A descriptor of it for the caller. Raises KeyError."""
        with self._lock:
            return os.dup(self._held[name][0])

    def held(self) -> dict[bytes, int]:
        """With their sizes."""
        with self._lock:
            return {name: size for name, (_, size) in self._held.items()}

    # The loop's thread.

    def _accept(self) -> None:
        try:
            sock, _ = self._listening.accept()
        except OSError:  # it has hung up, or there are too many descriptors
            return
        if len(self._peers) >= CONNECTIONS_MAX or peer_uid(sock) != os.geteuid():
            sock.close()
            return
        sock.setblocking(False)
        peer = _Peer(sock)
        self._peers.add(peer)
        self._loop.read(sock, lambda: self._asked(peer))

    def _asked(self, peer: _Peer) -> None:
        try:
            packet = peer.sock.recv(1 + NAME + 1)
        except BlockingIOError:
            return
        except OSError:
            packet = b""
        if len(packet) != 1 + NAME or packet[:1] not in (b"G", b"O"):
            return self._hang_up(peer)
        name = packet[1:]
        try:
            with self._lock:  # so that nobody closes the descriptor
                found = self._held.get(name)
                if found is None:
                    peer.sock.send(b"N" + name)
                    return
                socket.send_fds(peer.sock, [b"A" + name], [found[0]])
            if packet[:1] == b"G":
                peer.names.add(name)
        except OSError:  # also: it does not read
            self._hang_up(peer)

    def _tell(self, name: bytes) -> None:
        for peer in list(self._peers):
            if name in peer.names:
                peer.names.discard(name)
                try:
                    peer.sock.send(b"D" + name)
                except OSError:
                    self._hang_up(peer)

    def _hang_up(self, peer: _Peer) -> None:
        self._peers.discard(peer)
        self._loop.forget(peer.sock)

    def _close(self) -> None:
        for peer in list(self._peers):
            peer.sock.close()
        self._peers.clear()
        self._listening.close()
        locked = self._lock.acquire(timeout=1.0)  # after a fork nobody may be there to release it
        try:
            self._closed = True
            held, self._held = self._held, {}
            self._bytes = 0
        finally:
            if locked:
                self._lock.release()
        for fd, _ in held.values():
            os.close(fd)
