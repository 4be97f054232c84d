"""Real servers and real workers. MUSTER_BINARY names the program; the default is `muster` in PATH."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from typing import Any, Callable, Iterator

import pytest

import muster

HERE = pathlib.Path(__file__).parent
DEADLINE = 20.0
"""Time limit in seconds for each wait."""


def binary() -> str:
    found = os.environ.get("MUSTER_BINARY") or shutil.which("muster")
    if not found:
        pytest.exit("set MUSTER_BINARY, or put the program muster into PATH", 2)
    return found


_reserved: list[socket.socket] = []


def reserved_address(host: str) -> str:
    """Returns an address for a server. The system gives its port to no other program until this process ends.

    The port has a bound socket that does not listen, so that a program that names the port can listen on it.
    """
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind((host, 0))
    _reserved.append(bound)
    return f"{host}:{bound.getsockname()[1]}"


def until(what: Callable[[], Any], said: str = "it") -> Any:
    """Returns the first true result."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        result = what()
        if result:
            return result
        time.sleep(0.01)
    raise AssertionError(f"{said}: not within {DEADLINE:g} s")


def state_and_parent(pid: int) -> tuple[str, int]:
    """Returns state and parent from /proc, such as ``("S", 1)``; ``("X", 0)`` if the process has ended."""
    try:
        state, parent = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return "X", 0
    return state, int(parent)


class Server:
    def __init__(self, folder: pathlib.Path, *words: str, host: str = "127.0.0.1") -> None:
        self.ready = folder / "ready.json"
        self.log = folder / "serve.log"
        self.words = words
        self.start(reserved_address(host), reserved_address(host))

    def start(self, grpc: str, http: str) -> None:
        self.ready.unlink(missing_ok=True)

        def begin() -> None:
            with self.log.open("ab") as log:
                self.process = subprocess.Popen(
                    [binary(), "serve", "--grpc", grpc, "--http", http, "--ready-file", str(self.ready),
                     *self.words], stderr=log, stdout=log)

        def is_ready() -> Any:
            assert not self.process.poll(), self.log.read_text()
            return self.ready.exists() and self.ready.stat().st_size

        begin()
        try:
            until(is_ready, "the server starts")
        except AssertionError as error:
            raise AssertionError(f"{error}; its log: {self.log.read_text()[-2000:]}") from None
        said = json.loads(self.ready.read_text())
        self.grpc, self.http = said["grpc"], "http://" + said["http"]

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.http + path, timeout=10) as answer:
            return json.loads(answer.read())

    def post(self, path: str, body: Any) -> Any:
        asked = urllib.request.Request(self.http + path, json.dumps(body).encode(),
                                       {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return json.loads(answer.read())

    def tasks(self) -> list[Any]:
        listed: list[Any] = self.get("/api/v1/clusters/default/tasks")["tasks"]
        return listed

    def running(self) -> int:
        return sum(t["running"] for t in self.tasks())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(15)


class WorkerProcess:
    """Runs ``python -m muster worker``."""

    def __init__(self, folder: pathlib.Path, number: int, server: str, words: tuple[str, ...]
                 ) -> None:
        self.log = folder / f"worker-{number}.log"
        folders = (HERE, HERE / "calls", HERE / "state", HERE / "shared", HERE / "processes", HERE.parent)
        self.path = os.pathsep.join(map(str, folders))
        environment = {**os.environ, "PYTHONPATH": self.path, "PYTHONUNBUFFERED": "1"}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "muster", "worker", "served", "--server", server, *words],
                stderr=log, stdout=log, env=environment, cwd=folder)

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(DEADLINE)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def text(self) -> str:
        return self.log.read_text()


class Cluster:
    def __init__(self, folder: pathlib.Path, *words: str) -> None:
        self.folder = folder
        self.server = Server(folder, *words)
        self.workers: list[WorkerProcess] = []
        self._coordinators: list[muster.ClusterCoordinator] = []

    def add(self, *words: str) -> WorkerProcess:
        """Waits until the worker is attached: `--processes` connected tasks that were not connected before.

        A higher count would not suffice: a process that was just killed may still be listed as connected.
        """
        before = self.connected()
        worker = WorkerProcess(self.folder, len(self.workers), self.server.grpc, words)
        self.workers.append(worker)
        found = re.search(r"--processes (\d+)", " ".join(words))
        count = int(found[1]) if found else 1
        until(lambda: len(self.connected() - before) >= count, f"{count} more tasks are connected")
        return worker

    def connected(self) -> set[tuple[int, str]]:
        """Returns the indexes and incarnations of the connected tasks."""
        return {(t["index"], t["incarnation"]) for t in self.server.tasks()
                if t["state"] == "CONNECTED"}

    def wait_connected(self, count: int) -> None:
        until(lambda: len(self.connected()) >= count, f"{count} tasks are connected")

    def coordinator(self, **options: Any) -> muster.ClusterCoordinator:
        made = muster.ClusterCoordinator(self.server.grpc, **options)
        self._coordinators.append(made)
        return made

    def close_coordinators(self) -> None:
        while self._coordinators:
            self._coordinators.pop().close()

    def close(self) -> None:
        self.close_coordinators()
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.process.send_signal(signal.SIGTERM)
                worker.process.send_signal(signal.SIGTERM)
        for worker in self.workers:
            try:
                worker.process.wait(5)
            except subprocess.TimeoutExpired:
                worker.kill()
        if self.server.process.poll() is None:
            self.server.stop()


class Workers:
    """Workers started by `muster worker --allow-programs` for a server; they end with the test."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.all: list[subprocess.Popen[bytes]] = []

    def start(self, server: Server, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"worker{len(self.all)}.log").open("wb") as log:
            worker = subprocess.Popen([binary(), "worker", "--server", server.grpc, "--allow-programs",
                                       *words], stdout=log, stderr=log)
        self.all.append(worker)
        return worker

    def stop(self) -> None:
        for worker in self.all:
            worker.send_signal(signal.SIGTERM)
        for worker in self.all:
            try:
                worker.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                worker.kill()


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.fixture(scope="session")
def _shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    made.add("--processes", "3", "--index", "0")
    yield made
    made.close()


@pytest.fixture
def cluster(_shared: Cluster) -> Iterator[Cluster]:
    """One cluster for all tests: three workers with one process each."""
    _shared.wait_connected(3)
    yield _shared
    _shared.close_coordinators()


@pytest.fixture
def make_cluster(tmp_path: pathlib.Path) -> Iterator[Callable[..., Cluster]]:
    """Starts clusters for a single test. The words are passed to the server; workers are added by the test."""
    made: list[Cluster] = []

    def make(*words: str) -> Cluster:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Cluster(folder, *words))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def workers(tmp_path: pathlib.Path) -> Iterator[Workers]:
    made = Workers(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def url(tmp_path: pathlib.Path, workers: Workers, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    server = Server(tmp_path)
    workers.start(server, "--resource", "gpu=4")
    monkeypatch.setenv("MUSTER_URL", server.http)
    yield server.http
    workers.stop()
    server.stop()


@pytest.fixture
def guarded(tmp_path: pathlib.Path) -> Iterator[Server]:
    server = Server(tmp_path, "--data-dir", str(tmp_path / "data"), "--auth", "on")
    yield server
    server.stop()
