"""Servers with a cluster for agents, agents of this process, and a wire between them that can break."""
from __future__ import annotations

import concurrent.futures
import contextlib
import pathlib
import socket
import threading
from typing import Any, Callable, Iterator, Optional, TypeVar

import muster
from conftest import DEADLINE, Server

T = TypeVar("T")
_threads = concurrent.futures.ThreadPoolExecutor(32)


def beside(f: Callable[..., T], *args: Any, **kwargs: Any) -> concurrent.futures.Future[T]:
    """In a thread of its own."""
    return _threads.submit(f, *args, **kwargs)


@contextlib.contextmanager
def serving(folder: pathlib.Path, cluster: str, *words: str) -> Iterator[Server]:
    folder.mkdir(exist_ok=True)
    server = Server(folder, "--cluster", cluster, *words)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()


@contextlib.contextmanager
def connected(address: str, tasks: list[Any], **options: Any) -> Iterator[list[muster.Agent]]:
    made = [muster.Agent(address, task=task, **{"heartbeat_timeout": 20.0, "connect_timeout": DEADLINE, **options})
            for task in tasks]
    try:
        for connecting in [beside(a.connect) for a in made]:
            connecting.result(DEADLINE)
        yield made
    finally:
        for a in made:
            a.close()


def parked(server: Server, calls: int, cluster: str = "train") -> bool:
    """Whether so many tasks wait at barriers of users, or for keys."""
    tasks = server.get(f"/api/v1/clusters/{cluster}/tasks")["tasks"]
    return sum(1 for t in tasks if t.get("waiting_for")) >= calls


class Wire:
    """Passes bytes on to an address; can be broken, and cut."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._to = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        self._ends: list[socket.socket] = []
        self.answers = threading.Event()
        """What the other side says is passed on while it is set."""
        self.answers.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._to)
            except OSError:
                return
            self._ends += [near, far]
            for a, b, may in ((near, far, None), (far, near, self.answers)):
                threading.Thread(target=self._pass, args=(a, b, may), daemon=True).start()

    @staticmethod
    def _pass(a: socket.socket, b: socket.socket, may: Optional[threading.Event]) -> None:
        with contextlib.suppress(OSError):
            while data := a.recv(65536):
                if may is not None:
                    may.wait()
                b.sendall(data)
        for end in (a, b):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def reset(self) -> None:
        """Breaks what there is."""
        while self._ends:
            with contextlib.suppress(OSError):
                self._ends.pop().shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """For good."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.reset()
