"""TCP proxies between a client and a server."""
from __future__ import annotations

import contextlib
import socket
import threading


class Proxy:
    """Forwards connections to the address "host:port". Subclasses count, hold or refuse the data."""

    def __init__(self, server: str) -> None:
        host, _, port = server.rpartition(":")
        self._to = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._ends: list[socket.socket] = []
        self._frozen = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def passes(self, data: bytes, up: bool) -> bool:
        """Returns whether the data is forwarded. If not, the connection is closed. `up`: the data comes from the client."""
        return True

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._to)
            except OSError:
                return
            self._ends += [near, far]
            for source, to, up in ((near, far, True), (far, near, False)):
                threading.Thread(target=self._pump, args=(source, to, up, self._frozen), daemon=True).start()

    def _pump(self, source: socket.socket, to: socket.socket, up: bool, frozen: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while (data := source.recv(1 << 16)) and not frozen.is_set() and self.passes(data, up):
                to.sendall(data)
        if frozen.is_set():
            return
        for end in (source, to):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def freeze(self) -> None:
        """Makes the connections silent: they stay open and transfer nothing further. New connections work."""
        self._frozen.set()
        self._frozen = threading.Event()

    def reset(self) -> None:
        """Breaks the connections. New connections are accepted."""
        while self._ends:
            with contextlib.suppress(OSError):
                self._ends.pop().shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Accepts no further connections."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
