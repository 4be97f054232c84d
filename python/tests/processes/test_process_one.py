"""Programs of Muster that are process 1 of a container reap the orphans that they inherit."""
from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
from typing import Any, Iterator

import pytest

import muster
from conftest import DEADLINE, Server, binary, state_and_parent, until

IN_NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


def can_make_namespaces() -> bool:
    try:
        return subprocess.run([*IN_NAMESPACE, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


pytestmark = pytest.mark.skipif(os.environ.get("CI") != "true" and not can_make_namespaces(),
                                reason="needs root, to make a PID namespace")


def children_of(pid: int) -> list[int]:
    return [int(p) for p in os.listdir("/proc") if p.isdecimal() and state_and_parent(int(p))[1] == pid]


class Container:
    """A program as process 1 of a PID namespace."""

    def __init__(self, words: list[str], **environment: str) -> None:
        self.outside = subprocess.Popen([*IN_NAMESPACE, *words], env={**os.environ, **environment})
        self.one = int(until(lambda: children_of(self.outside.pid), "process 1")[0])

    def zombies(self) -> list[int]:
        return [pid for pid in children_of(self.one) if state_and_parent(pid)[0] == "Z"]

    def stop(self) -> int:
        os.kill(self.one, signal.SIGTERM)
        return self.outside.wait(DEADLINE)

    def close(self) -> None:
        if self.outside.poll() is None:
            self.outside.kill()
            self.outside.wait()


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[Server]:
    made = Server(tmp_path)
    yield made
    made.stop()


ORPHAN = ["sh", "-c", "(sleep 0.05; : > $0) & exit 3"]


def leave_orphan(file: str) -> int:
    return subprocess.run([*ORPHAN, file]).returncode


def has_worker(server: Server) -> bool:
    return any(t["state"] == "CONNECTED" for t in server.tasks())


def test_cpp_worker_as_process_one_reaps_orphans(server: Server, tmp_path: pathlib.Path) -> None:
    container = Container([binary(), "worker", "--server", server.grpc, "--allow-exec"])
    try:
        until(lambda: has_worker(server), "the worker")
        client = muster.Client(server.http)
        for i in range(5):
            job = client.submit("muster.exec", [*ORPHAN, str(tmp_path / str(i))],
                                kwargs={"check": False}).join(DEADLINE)
            ended: Any = next(job.results())
            assert ended["exit_code"] == 3, "the worker has the status of its own child"
        until(lambda: all((tmp_path / str(i)).exists() for i in range(5)), "the orphans have ended")
        until(lambda: not container.zombies(), "they are reaped")
        assert container.stop() == 0
    finally:
        container.close()


@pytest.mark.parametrize("how", [("--processes", "1"), ("--threads", "1")], ids=["processes", "threads"])
def test_python_worker_as_process_one_reaps_orphans(server: Server, tmp_path: pathlib.Path, how: tuple[str, ...]) -> None:
    here = pathlib.Path(__file__).resolve().parent
    container = Container([sys.executable, "-m", "muster", "worker", "--server", server.grpc, *how],
                          PYTHONPATH=os.pathsep.join(map(str, (here, here.parent, here.parent.parent))))
    try:
        until(lambda: has_worker(server), "the worker")
        with muster.ClusterCoordinator(server.grpc) as c:
            files = [str(tmp_path / str(i)) for i in range(5)]
            assert c.fetch([c.submit(leave_orphan, file) for file in files], DEADLINE) == [3] * 5
        until(lambda: all(map(os.path.exists, files)), "the orphans have ended")
        until(lambda: not container.zombies(), "they are reaped")
        assert container.stop() == 0
    finally:
        container.close()


def test_run_as_process_one_reaps_orphans(tmp_path: pathlib.Path) -> None:
    file, go = str(tmp_path / "ended"), str(tmp_path / "go")
    program = ["sh", "-c", "setsid sh -c '(sleep 0.05; : > $0) & exit 3' $0; "
               "while ! test -e $1; do sleep 0.05; done; exit 5", file, go]
    container = Container([binary(), "run", "-n", "1", "--", *program])
    try:
        until(lambda: os.path.exists(file), "the orphan has ended")
        until(lambda: not container.zombies(), "it is reaped")
        pathlib.Path(go).touch()
        assert container.outside.wait(DEADLINE) == 5
    finally:
        container.close()


def test_supervising_server_as_process_one_reaps_orphans(tmp_path: pathlib.Path) -> None:
    ready, file = tmp_path / "ready.json", str(tmp_path / "ended")
    container = Container([binary(), "serve", "--supervise", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--ready-file",
                           str(ready)])
    try:
        until(ready.exists, "the server")
        # Like `docker exec`: a process of the container that leaves a child behind.
        subprocess.run(["nsenter", "--target", str(container.one), "--pid", "--", *ORPHAN, file])
        until(lambda: os.path.exists(file), "the orphan has ended")
        until(lambda: not container.zombies(), "it is reaped")
        assert container.stop() == 0
    finally:
        container.close()
