"""A client whose connection is lost without being closed, as in a partition or when a host is switched off."""
from __future__ import annotations

import pathlib
import socket
import threading
import time

import pytest

import muster
from conftest import Server, WorkerProcess
from muster import _tls


class Relay:
    """Forwards connections to an address. A frozen connection stays open and transfers nothing more."""

    def __init__(self, to: str) -> None:
        host, port = to.rsplit(":", 1)
        self._to = (host, int(port))
        self._sockets: list[socket.socket] = []
        self._frozen = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def freeze(self) -> None:
        """Freezes all connections; later connections work."""
        self._frozen.set()
        self._frozen = threading.Event()

    def close(self) -> None:
        self._frozen.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        for s in (self._listener, *self._sockets):
            s.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:  # closed
                return
            far = socket.create_connection(self._to)
            self._sockets += [near, far]
            for source, sink in (near, far), (far, near):
                threading.Thread(target=self._forward, args=(source, sink, self._frozen), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket, frozen: threading.Event) -> None:
        try:
            while data := source.recv(1 << 16):
                if frozen.is_set():
                    return
                sink.sendall(data)
            if not frozen.is_set():
                sink.shutdown(socket.SHUT_WR)
        except OSError:  # closed
            pass


def test_call_gets_its_value_although_the_connection_went_silent(tmp_path: pathlib.Path,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    # The same options with shorter times.
    monkeypatch.setattr(_tls, "KEEPALIVE", [(name, min(value, 1000)) for name, value in _tls.KEEPALIVE])
    server = Server(tmp_path)
    worker = WorkerProcess(tmp_path, 0, server.grpc, ("--processes", "1"))
    relay = Relay(server.grpc)
    try:
        with muster.ClusterCoordinator(relay.address) as c:
            assert c.submit(abs, -1).fetch(60) == 1
            value = c.submit(time.sleep, 1)
            relay.freeze()
            assert value.fetch(60) is None
    finally:
        relay.close()
        worker.stop()
        server.stop()
