"""Servers with a cluster for agents, agents of this process, and a connection between them that can break."""
from __future__ import annotations

import concurrent.futures
import contextlib
import pathlib
import threading
from typing import Any, Callable, Iterator, TypeVar

import muster
from conftest import DEADLINE, Server
from proxies import Proxy

T = TypeVar("T")
_threads = concurrent.futures.ThreadPoolExecutor(32)


def beside(f: Callable[..., T], *args: Any, **kwargs: Any) -> concurrent.futures.Future[T]:
    """Runs `f` on a thread of its own."""
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
    """Returns whether at least `calls` tasks wait at barriers of users, or for keys."""
    tasks = server.get(f"/api/v1/clusters/{cluster}/tasks")["tasks"]
    return sum(1 for t in tasks if t.get("waiting_for")) >= calls


class Wire(Proxy):
    """Can hold back the server's answers, and can break the connections."""

    def __init__(self, address: str) -> None:
        self.answers = threading.Event()
        """Answers pass while this is set."""
        self.answers.set()
        super().__init__(address)

    def passes(self, data: bytes, up: bool) -> bool:
        return up or self.answers.wait()

    def cut(self) -> None:
        """Breaks the connections and accepts no further ones."""
        self.close()
        self.reset()
