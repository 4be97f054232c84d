"""Takes memory from the processes of this host that hold it; see `giving` for what is said.

Any thread asks, and waits for the answer, which the loop reads. What was taken to be kept is told of when its holder
drops it or dies. A holder that cannot be reached, as one on another host, is not tried again for a while. Never imports grpc.
"""
from __future__ import annotations

import os
import socket
import threading
import time
from typing import Callable

from muster._shared import memory
from muster._shared.giving import NAME, peer_uid
from muster._shared.loop import Loop

HOLDERS_MAX = 128
"""Connections to holders; more are not reached."""
AVOIDED_FOR = 30.0
"""Seconds for which a holder is not tried again."""
AVOIDED_MAX = 1000
ANSWER_WITHIN = 5.0

Got = Callable[[int], None]
"""Owns the descriptor. The loop's thread, before anything that the holder says later. May raise OSError."""


class NotReached(OSError):
    """It cannot be taken: have it from the server."""


class _Asked:
    def __init__(self, size: int, got: Got, keep: bool) -> None:
        self.size = size
        self.got = got
        self.keep = keep
        self.over = threading.Event()
        self.error: str | None = None


class _Holder:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.kept: set[bytes] = set()
        """The loop's."""
        self.lock = threading.Lock()  # protects all below
        self.asked: dict[bytes, list[_Asked]] = {}
        self.gone = False


class Taker:
    def __init__(self, loop: Loop, on_dropped: Callable[[bytes], None]) -> None:
        """`on_dropped`: the loop's thread; of what was taken to be kept."""
        self._loop = loop
        self._on_dropped = on_dropped
        self._lock = threading.Lock()  # protects all below, and is held while a connection is made
        self._holders: dict[str, _Holder] = {}
        self._avoided: dict[str, float] = {}
        self._closed = False
        loop.at_end(self._close)

    def take(self, holder: str, name: bytes, size: int, got: Got, keep: bool) -> None:
        """`got` has been called when this returns. Raises NotReached."""
        asked = _Asked(size, got, keep)
        try:
            to = self._connected(holder)
            with to.lock:
                if to.gone:
                    raise OSError("it has hung up")
                to.sock.send((b"G" if keep else b"O") + name)
                to.asked.setdefault(name, []).append(asked)  # the answer is read under the lock, too
        except OSError as error:
            self._avoid(holder)
            raise NotReached(f"the process that holds {name.hex()} is not reached: {error}") from error
        if not asked.over.wait(ANSWER_WITHIN):
            self._avoid(holder)
            self._loop.soon(lambda: self._gone(holder, to))  # whoever comes next does not wait for it, too
            raise NotReached(f"the process that holds {name.hex()} does not answer")
        if asked.error is not None:
            raise NotReached(asked.error)

    def _connected(self, holder: str) -> _Holder:
        with self._lock:
            found = self._holders.get(holder)
            if found is not None and not found.gone:
                return found
            if self._closed or len(self._holders) >= HOLDERS_MAX or \
                    self._avoided.get(holder, 0.0) > time.monotonic():
                raise OSError("it is not tried")
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                sock.settimeout(1.0)
                sock.connect("\0" + holder)
                if peer_uid(sock) != os.geteuid():
                    raise OSError("it is another user's")
                sock.setblocking(False)
            except OSError:
                sock.close()
                raise
            made = self._holders[holder] = _Holder(sock)
        self._loop.soon(lambda: self._loop.read(sock, lambda: self._said(holder, made)))
        return made

    def _avoid(self, holder: str) -> None:
        with self._lock:
            if len(self._avoided) >= AVOIDED_MAX:
                self._avoided.clear()
            self._avoided[holder] = time.monotonic() + AVOIDED_FOR

    # The loop's thread.

    def _said(self, holder: str, by: _Holder) -> None:
        try:
            packet, fds, _, _ = socket.recv_fds(by.sock, 1 + NAME + 1, 1, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return
        except OSError:
            packet, fds = b"", []
        if len(packet) != 1 + NAME:
            for fd in fds:
                os.close(fd)
            return self._gone(holder, by)
        said, name = packet[:1], packet[1:]
        if said == b"D":
            if name in by.kept:
                by.kept.discard(name)
                self._on_dropped(name)
            return
        with by.lock:
            waiting = by.asked.get(name, [])
            asked = waiting.pop(0) if waiting else None
            if not waiting:
                by.asked.pop(name, None)
        if asked is None:
            for fd in fds:
                os.close(fd)
        elif not fds:
            asked.error = f"{name.hex()} is not held any more"
        else:
            try:
                self._check(fds[0], name, asked.size)
                asked.got(fds[0])
                if asked.keep:
                    by.kept.add(name)
            except OSError as error:
                asked.error = str(error)
        if asked is not None:
            asked.over.set()

    def _check(self, fd: int, name: bytes, size: int) -> None:
        try:
            memory.check(fd, name, size)
        except OSError:
            os.close(fd)
            raise

    def _gone(self, holder: str, by: _Holder) -> None:
        with self._lock:
            if self._holders.get(holder) is by:
                del self._holders[holder]
        self._loop.forget(by.sock)
        with by.lock:
            by.gone = True
            waiting = [asked for each in by.asked.values() for asked in each]
            by.asked.clear()
        for name in by.kept:
            self._on_dropped(name)
        for asked in waiting:
            asked.error = "the process that holds it has hung up"
            asked.over.set()

    def _close(self) -> None:
        self._closed = True
        for by in self._holders.values():
            by.gone = True
            by.sock.close()
        self._holders.clear()
