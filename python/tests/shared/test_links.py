"""Values between two hosts whose link is slow or cut. Needs root, because the other host is a network namespace."""
from __future__ import annotations

import os
import pathlib
import select
import socket
import subprocess
import sys
import time
from typing import Any, Callable, Iterator

import pytest

import muster
from conftest import DEADLINE, HERE, Server, until
from shared_closures import array, total

SIZE = 32
AVOIDED_FOR = 30.0
"""Seconds for which a host that could not be reached is not tried again (client/blobs/peer_taking.hpp)."""
BEYOND = 2.0
"""Seconds that a fetch can take longer than a transfer through the server."""


def ip(*words: str, check: bool = True) -> bool:
    return subprocess.run(["ip", *words], check=check, stderr=subprocess.DEVNULL).returncode == 0


def can_be() -> bool:
    if os.geteuid() != 0:
        return False
    name = f"mst{os.getpid()}"
    try:
        return ip("netns", "add", name, check=False) and ip("netns", "exec", name, "true", check=False)
    except FileNotFoundError:
        return False
    finally:
        if os.path.exists(f"/run/netns/{name}"):
            ip("netns", "del", name, check=False)


pytestmark = pytest.mark.skipif(not can_be(), reason="needs root and ip netns")


class Hosts:
    """This host and another one, with two links: one to the server, one between the holders of values."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.name = f"mst{os.getpid()}"
        self.links = [f"mst{os.getpid()}l{i}" for i in range(2)]
        ip("netns", "add", self.name)
        net = f"10.{200 + os.getpid() // 250 % 50}.{os.getpid() % 250}"
        self.here = [f"{net}.{1 + 4 * i}" for i in range(2)]
        self.there = [f"{net}.{2 + 4 * i}" for i in range(2)]
        for link, here, there in zip(self.links, self.here, self.there):
            ip("link", "add", link, "type", "veth", "peer", "name", link + "b", "netns", self.name)
            ip("addr", "add", here + "/30", "dev", link)
            ip("link", "set", link, "up")
            ip("-n", self.name, "addr", "add", there + "/30", "dev", link + "b")
            ip("-n", self.name, "link", "set", link + "b", "up")
        self.processes: list[subprocess.Popen[Any]] = []

    def cut(self) -> None:
        """Cuts the link between the holders of values, without any notification."""
        ip("-n", self.name, "link", "set", self.links[1] + "b", "down")

    def joined(self) -> None:
        ip("-n", self.name, "link", "set", self.links[1] + "b", "up")

    def worker(self, server: str, index: int, there: bool, *words: str) -> None:
        command = [sys.executable, "-m", "muster", "worker", "--server", server, "--index", str(index), "--processes", "1", *words]
        path = os.pathsep.join(map(str, (HERE, HERE / "shared", HERE.parent)))
        with open(self.folder / f"worker-{index}.log", "w") as log:
            self.processes.append(subprocess.Popen((["ip", "netns", "exec", self.name] if there else []) + command,
                                                   stderr=log, stdout=log, env={**os.environ, "PYTHONPATH": path}))

    def log(self, index: int) -> str:
        return (self.folder / f"worker-{index}.log").read_text()

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        for link in self.links:  # a deleted namespace removes its links only after a while
            ip("link", "del", link)
        ip("netns", "del", self.name)


@pytest.fixture
def hosts(tmp_path: pathlib.Path) -> Iterator[Hosts]:
    made = Hosts(tmp_path)
    yield made
    made.close()


class Relay:
    """A slow link: a process that forwards `rate` bytes a second, and reports when a transfer starts."""

    CODE = """
import socket, sys, threading, time
host, port, rate = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
listening = socket.create_server((host, 0))
print(listening.getsockname()[1], flush=True)
def serve(sock):
    giver = socket.create_connection((host, port))
    giver.sendall(sock.recv(64, socket.MSG_WAITALL))
    while data := giver.recv(16 << 10):
        sock.sendall(data)
        print("begun", flush=True)
        time.sleep(len(data) / rate)
    sock.close()
while True:
    threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()
"""

    def __init__(self, hosts: Hosts, host: str, port: int, rate: float) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", self.CODE, host, str(port), str(rate)],
                                        stdout=subprocess.PIPE, text=True)
        hosts.processes.append(self.process)
        assert self.process.stdout
        self.said = self.process.stdout
        self.port = int(self.said.readline())

    def begun(self) -> None:
        assert select.select([self.said], [], [], DEADLINE)[0], "no value was sent through the relay"
        assert self.said.readline() == "begun\n"


class Between:
    """A server, workers 0 and 2 on this host, and worker 1 on the other. Values of worker 2 are sent through the server."""

    def __init__(self, hosts: Hosts, rate: float | None = None) -> None:
        self.hosts = hosts
        self.server = Server(hosts.folder, "--insecure", host=hosts.here[0])
        hosts.processes.append(self.server.process)
        with socket.create_server((hosts.here[1], 0)) as sock:
            port = int(sock.getsockname()[1])
        words = ["--transfer-listen", f"{hosts.here[1]}:{port}"]
        if rate is not None:
            self.relay = Relay(hosts, hosts.here[1], port, rate)
            words += ["--transfer-advertise", f"{hosts.here[1]}:{self.relay.port}"]
        hosts.worker(self.server.grpc, 0, False, *words)
        hosts.worker(self.server.grpc, 1, True)
        hosts.worker(self.server.grpc, 2, False, "--transfer-listen", "off")
        until(lambda: sum(t["state"] == "CONNECTED" for t in self.server.tasks()) == 3, "three workers")
        self.record_server_time = 0.0

    def coordinator(self) -> muster.ClusterCoordinator:
        return muster.ClusterCoordinator(self.server.grpc)

    def by_peer(self) -> int:
        return int(self.server.get("/api/v1/blobs")["taken_bytes"]["peer"])

    def fetched(self, c: muster.ClusterCoordinator, seed: int, holder: int = 0,
                meanwhile: Callable[[], None] = lambda: None) -> float:
        """Returns the seconds until the other host has a value, and checks the value."""
        value = c.options(task=f"worker:{holder}").schedule(array, args=(SIZE, seed))
        until(value.done)
        began = time.monotonic()
        sum_there = c.options(task="worker:1").schedule(total, args=(value,))
        meanwhile()
        found = sum_there.fetch()
        took = time.monotonic() - began
        assert found == total(array(SIZE, seed))
        return took

    def measured(self, c: muster.ClusterCoordinator) -> float:
        """Returns the seconds of a transfer through the server, under the present load."""
        return max(self.fetched(c, seed, 2) for seed in range(100, 103))


def test_value_over_a_slow_link_comes_from_the_server(hosts: Hosts) -> None:
    made = Between(hosts, 2e6)
    with made.coordinator() as c:
        took = made.fetched(c, 1)
        assert "the server is faster" in hosts.log(1)
        assert made.fetched(c, 2) + BEYOND < SIZE * 2**20 / 2e6
        assert "was unreachable recently" in hosts.log(1)
        assert took < made.measured(c) + BEYOND
        assert made.by_peer() == 0


def test_value_comes_from_the_server_if_the_link_is_cut_during_the_transfer(hosts: Hosts) -> None:
    made = Between(hosts, 16e6)

    def cut() -> None:
        made.relay.begun()
        hosts.cut()

    with made.coordinator() as c:
        took = made.fetched(c, 1, meanwhile=cut)
        assert "timed out" in hosts.log(1)
        assert took < made.measured(c) + BEYOND
        assert made.by_peer() == 0


def test_unreachable_host_is_avoided_and_tried_again(hosts: Hosts) -> None:
    made = Between(hosts)
    with made.coordinator() as c:
        made.fetched(c, 1)
        until(lambda: made.by_peer() > SIZE << 20)
        hosts.cut()
        took = made.fetched(c, 2)
        assert "cannot be fetched from" in hosts.log(1)
        again = made.fetched(c, 3)
        assert "was unreachable recently" in hosts.log(1)
        known = made.by_peer()
        measured = made.measured(c)
        assert took < measured + BEYOND and again < measured + BEYOND
        hosts.joined()

        def by_peer_again() -> bool:
            made.fetched(c, 4)
            return made.by_peer() > known

        end = time.monotonic() + AVOIDED_FOR + 20
        while not by_peer_again():
            assert time.monotonic() < end, "the host is not tried again"
