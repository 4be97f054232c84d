"""Values between C++ and Python on two hosts. Needs root, because the other host is a network namespace."""
from __future__ import annotations

import os
import pathlib
import subprocess
from typing import Any, Iterator

import numpy
import pytest

import muster
from conftest import Server, binary, until
from muster._pickled import buffers
from shared_closures import MB, array
from test_links import Hosts, can_be

BLOBS = pathlib.Path(binary()).with_name("example_blobs")
pytestmark = [pytest.mark.skipif(not can_be(), reason="needs root and ip netns"),
              pytest.mark.skipif(not BLOBS.exists(), reason="only beside the examples in C++")]


@pytest.fixture
def hosts(tmp_path: pathlib.Path) -> Iterator[Hosts]:
    made = Hosts(tmp_path)
    yield made
    made.close()


class Both:
    """A server and worker:0 in Python on this host, worker:1 in C++ on the other host."""

    def __init__(self, hosts: Hosts, tls: bool = False, listen: str = "", memory: int = 1 << 30) -> None:
        self.hosts = hosts
        self.files = hosts.folder / "tls"
        self.tls: dict[str, str] = {}
        words = ["--insecure"]
        if tls:
            subprocess.run([binary(), "tls", "init", str(self.files), "--host", hosts.here[0]], check=True, stdout=subprocess.DEVNULL)
            words = ["--tls-cert", str(self.files / "server.pem"), "--tls-key", str(self.files / "server.key"), "--insecure"]
            self.tls = {"ca": str(self.files / "ca.pem")}
        self.server = Server(hosts.folder, *words, host=hosts.here[0])
        hosts.processes.append(self.server.process)
        self.client = muster.Client(self.server.http.replace("http:", "https:" if tls else "http:"), **self.tls)
        hosts.worker(self.server.grpc, 0, False, *(["--ca", self.tls["ca"]] if tls else []))
        self.connected(1)
        self.cpp(True, "worker", self.server.grpc, str(memory), listen)
        self.connected(2)

    def connected(self, count: int) -> None:
        until(lambda: sum(t["state"] == "CONNECTED" for t in self.client.tasks()) == count, f"{count} workers")

    def cpp(self, there: bool, *words: str) -> subprocess.Popen[Any]:
        """Starts the example, on the other host if `there`."""
        within = ["ip", "netns", "exec", self.hosts.name] if there else []
        environment = {**os.environ, **({"MUSTER_CA": self.tls["ca"]} if self.tls else {})}
        with (self.hosts.folder / "cpp.log").open("ab") as log:
            made = subprocess.Popen([*within, str(BLOBS), *words], stdout=log, stderr=log, env=environment)
        self.hosts.processes.append(made)
        return made

    def log(self) -> str:
        return (self.hosts.folder / "cpp.log").read_text()

    def coordinator(self) -> muster.ClusterCoordinator:
        return muster.ClusterCoordinator(self.server.grpc, **self.tls)  # type: ignore[arg-type]

    def blobs(self) -> Any:
        return self.client._http.json("GET", "/api/v1/blobs")

    def taken(self) -> dict[str, int]:
        return self.blobs()["taken_bytes"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("tls", [False, True])
def test_python_and_cpp_workers_fetch_values_from_each_other(hosts: Hosts, tls: bool) -> None:
    made = Both(hosts, tls)
    with made.coordinator() as c:
        value = c.options(task="worker:0").schedule(array, args=(8, 3))
        copying = c.options(task="worker:1").schedule("copied", args=(value,))
        copied = copying.fetch()
        assert copied["bytes"] > 8 * MB  # the pickle of the array
        found = buffers.load(c._session.blobs.get(bytes.fromhex(copied["$blob"])))
        assert numpy.array_equal(found, array(8, 3))
        until(lambda: made.taken()["peer"] >= 2 * copied["bytes"], "there, and back")
        assert made.taken()["server"] == 0


@pytest.mark.parametrize("tls", [False, True])
def test_cpp_client_fetches_values_of_a_cpp_worker_on_another_host(hosts: Hosts, tls: bool) -> None:
    made = Both(hosts, tls)
    client = made.cpp(False, "send", made.server.grpc, "8")
    assert client.wait(60) == 0, made.log()
    assert "8 MiB there and back" in made.log()
    until(lambda: made.taken()["peer"] >= 8 * MB, "what the worker has made")
    assert made.taken()["server"] >= 8 * MB, "a client does not serve other hosts"


def test_copy_outlives_its_maker(hosts: Hosts) -> None:
    made = Both(hosts)
    with made.coordinator() as c:
        value = c.options(task="worker:0").schedule(array, args=(8, 3))
        length = c.options(task="worker:1").schedule("length", args=(value,)).fetch()
        until(lambda: made.blobs()["elsewhere"]["copies"] == 1)
        python = hosts.processes[1]
        python.kill()
        python.wait()
        again = c.options(task="worker:1").schedule("copied", args=(value,)).fetch()
        assert again["bytes"] == length
        assert numpy.array_equal(value.fetch(), array(8, 3))


def test_copies_are_deleted_when_memory_is_needed_or_they_are_unneeded(hosts: Hosts) -> None:
    made = Both(hosts, memory=12 * MB)
    with made.coordinator() as c:
        here, there = c.options(task="worker:0"), c.options(task="worker:1")

        def taken(seed: int) -> Any:
            value = here.schedule(array, args=(8, seed))
            assert there.schedule("length", args=(value,)).fetch() > 8 * MB
            until(lambda: made.blobs()["elsewhere"]["copies"] == 1, "it is held there, too")
            return value

        value = taken(1)
        filled = there.schedule("filled", args=(8,))
        filled.fetch()
        until(lambda: made.blobs()["elsewhere"]["copies"] == 0, "for want of room")
        assert made.blobs()["elsewhere"]["outputs"] == 2
        del filled, value
        until(lambda: made.blobs()["elsewhere"]["values"] == 0)
        value = taken(2)
        del value
        until(lambda: made.blobs()["elsewhere"]["values"] == 0, "nobody needs it")


def test_unreachable_holder_is_skipped(hosts: Hosts) -> None:
    made = Both(hosts, listen=hosts.there[1])
    with made.coordinator() as c:
        hosts.cut()
        filled = c.options(task="worker:1").schedule("filled", args=(8,))
        assert bytes(c._session.blobs.get(bytes.fromhex(filled.fetch()["$blob"]))) == b"x" * (8 * MB)
        until(lambda: made.taken()["server"] >= 8 * MB)
        assert made.taken()["peer"] == 0
        hosts.joined()


def test_cpp_worker_gets_values_of_unreachable_hosts_from_the_server(hosts: Hosts) -> None:
    made = Both(hosts)
    hosts.worker(made.server.grpc, 2, False, "--transfer-listen", hosts.here[1])
    made.connected(3)
    with made.coordinator() as c:
        hosts.cut()
        value = c.options(task="worker:2").schedule(array, args=(8, 3))
        assert c.options(task="worker:1").schedule("length", args=(value,)).fetch() > 8 * MB
        until(lambda: made.taken()["server"] > 8 * MB)
        assert made.taken()["peer"] == 0
        assert "cannot be fetched from" in made.log()
        hosts.joined()


def test_worker_does_not_listen_with_transfers_off(hosts: Hosts) -> None:
    made = Both(hosts, listen="off")
    with made.coordinator() as c:
        filled = c.options(task="worker:1").schedule("filled", args=(8,))
        assert len(c._session.blobs.get(bytes.fromhex(filled.fetch()["$blob"]))) == 8 * MB
        assert made.taken()["peer"] == 0
