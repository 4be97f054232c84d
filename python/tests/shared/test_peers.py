"""Values sent from host to host with tickets. The protocol is tested in C++ (tests/client/blobs/peers_test.cpp)."""
from __future__ import annotations

import pathlib
from typing import Any, Callable

import numpy
import pytest

import muster
from conftest import Cluster, WorkerProcess, until
from muster._shared.store import NotTaken, Store
from muster._wire import addresses
from shared_closures import array, total


@pytest.mark.parametrize("text, expected", [("host", ("host", 0)), ("host:70", ("host", 70)), ("[::1]:70", ("::1", 70)),
                                            ("[::1]", ("::1", 0)), ("::1", ("::1", 0))])
def test_addresses_are_split_into_host_and_port(text: str, expected: tuple[str, int]) -> None:
    assert addresses.split(text) == expected


@pytest.mark.parametrize("text", [":70", "host:x", "host:70000", ""])
def test_invalid_addresses_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="HOST or HOST:PORT"):
        addresses.split(text)


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes this process appear to be on another host than the workers: their sockets cannot be reached."""
    def take(self: Any, holder: str, *rest: Any, **more: Any) -> None:
        raise NotTaken("another host")

    monkeypatch.setattr(Store, "take", take)


def taken(made: Cluster) -> dict[str, int]:
    return made.server.get("/api/v1/blobs")["taken_bytes"]  # type: ignore[no-any-return]


def test_value_comes_from_the_worker_of_another_host(make_cluster: Callable[..., Cluster], far: None) -> None:
    made = make_cluster()
    made.add()
    with made.coordinator() as c:
        value = c.schedule(array, args=(8, 3))
        found = value.fetch()
        assert numpy.array_equal(found, array(8, 3))
        found[0] = 1  # the array belongs to the program
        until(lambda: taken(made)["peer"] > 8 << 20)
        assert taken(made)["server"] == 0
        assert c.schedule(total, args=(value,)).fetch() == total(array(8, 3))


def test_value_comes_from_the_server_if_the_worker_has_no_port(make_cluster: Callable[..., Cluster], far: None) -> None:
    made = make_cluster()
    made.add("--transfer-listen", "off")
    with made.coordinator() as c:
        assert numpy.array_equal(c.schedule(array, args=(8, 3)).fetch(), array(8, 3))
        until(lambda: taken(made)["server"] > 8 << 20)
        assert taken(made)["peer"] == 0


def test_values_are_transferred_over_tls_if_the_server_uses_tls(tmp_path: pathlib.Path, far: None,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    from test_tls import SecureServer

    spoken: list[Any] = []
    taken = Store.take_from_peer

    def take(self: Store, peer: str, ticket: bytes, name: bytes, size: int, certificate: str) -> int:
        fd = taken(self, peer, ticket, name, size, certificate)
        spoken.append(certificate)
        return fd

    monkeypatch.setattr(Store, "take_from_peer", take)
    server = SecureServer(tmp_path)
    try:
        client = muster.Client(server.http, **server.who("client"))
        words = [word for flag, path in server.who("worker").items() for word in (f"--{flag}", path)]
        worker = WorkerProcess(tmp_path, 0, server.grpc, ("--processes", "1", *words))
        until(lambda: [t for t in client.tasks() if t["state"] == "CONNECTED"], worker.text())
        with muster.ClusterCoordinator(server.grpc, **server.who("client")) as c:
            assert numpy.array_equal(c.schedule(array, args=(8, 3)).fetch(), array(8, 3))
        assert len(spoken) == 1 and spoken[0].startswith("-----BEGIN CERTIFICATE-----")
        assert worker.stop() == 0
    finally:
        server.stop()
