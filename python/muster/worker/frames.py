"""Messages over a socket between a worker and its child. Each message consists of its length (4 bytes) and its bytes.
"""
from __future__ import annotations

import socket
import struct
import threading

from muster import _forks

_LENGTH = struct.Struct("<I")


class Frames:
    """Sends and receives frames. A single thread may receive, and any number of threads may send."""

    def __init__(self, over: socket.socket) -> None:
        self.socket = over
        self._writing = threading.Lock()  # serializes frames
        _forks.notify_in_forks(self)

    def forked(self) -> None:
        """Closes the socket in a forked process. Later calls of `send` raise OSError."""
        self._writing = threading.Lock()
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Sends a frame. Blocks while the other side is not reading. Raises OSError if the other side has exited."""
        with self._writing:
            if len(data) < 65536:
                self.socket.sendall(_LENGTH.pack(len(data)) + data)
            else:
                self.socket.sendall(_LENGTH.pack(len(data)))
                self.socket.sendall(data)

    def receive(self) -> bytes | None:
        """Returns the next frame, or None if the other side has exited."""
        head = self._exactly(_LENGTH.size)
        return None if head is None else self._exactly(_LENGTH.unpack(head)[0])

    def _exactly(self, size: int) -> bytes | None:
        if size == 0:
            return b""
        try:
            data = self.socket.recv(size, socket.MSG_WAITALL)
            while 0 < len(data) < size:  # interrupted by a signal, or the other side has exited
                more = self.socket.recv(size - len(data), socket.MSG_WAITALL)
                if not more:
                    return None
                data += more
            return data or None
        except OSError:
            return None
