"""Values that go from host to host, by tickets."""
from __future__ import annotations

import os
import pathlib
import secrets
import socket
import ssl
import subprocess
import threading
import time
from typing import Any, Callable, Iterator

import numpy
import pytest

import muster
from conftest import Cluster, WorkerProcess, until
from muster._shared import memory, peers, regions, taking
from muster.worker import shared
from shared_closures import array, total

NAME = b"n" * 32
CONTENT = bytes(range(256)) * 20_000


@pytest.fixture
def giver() -> Iterator[peers.PeerGiver]:
    fd = memory.make(NAME, [CONTENT])

    def opened(name: bytes) -> int:
        if name != NAME:
            raise KeyError(name)
        return os.dup(fd)

    made = peers.PeerGiver(opened, ("127.0.0.1", 0))
    yield made
    made.close()
    os.close(fd)


def take(giver: peers.PeerGiver, ticket: bytes, name: bytes = NAME, size: int = len(CONTENT), certificate: str = "") -> bytes:
    fd = peers.PeerTaker().take(giver.address, ticket, name, size, certificate)
    try:
        memory.check(fd, name, size)
        return bytes(memory.mapped(fd))
    finally:
        os.close(fd)


def certificate(tmp_path: pathlib.Path) -> tuple[str, str]:
    key, cert = tmp_path / f"{secrets.token_hex(4)}.key", tmp_path / f"{secrets.token_hex(4)}.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                    key, "-out", cert, "-days", "2", "-subj", "/CN=muster", "-addext", "subjectAltName=DNS:muster"],
                   check=True, capture_output=True)
    return cert.read_text(), key.read_text()


def test_who_brings_a_ticket_is_given_the_value_once(giver: peers.PeerGiver) -> None:
    giver.expect(b"t" * 32, NAME)
    assert take(giver, b"t" * 32) == CONTENT
    with pytest.raises(peers.NotServed):
        take(giver, b"t" * 32)


def test_a_ticket_that_comes_before_the_word_of_it_is_good(giver: peers.PeerGiver) -> None:
    threading.Timer(0.2, giver.expect, (b"t" * 32, NAME)).start()
    assert take(giver, b"t" * 32) == CONTENT


def test_nothing_is_given_without_its_ticket(giver: peers.PeerGiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "TICKET_COMES_WITHIN", 0.05)
    with pytest.raises(peers.NotServed):
        take(giver, secrets.token_bytes(32))
    giver.expect(b"t" * 32, b"m" * 32)
    with pytest.raises(peers.NotServed):
        take(giver, b"t" * 32)  # it is for another value
    giver.expect(b"t" * 32, b"m" * 32)
    with pytest.raises(peers.NotServed):
        take(giver, b"t" * 32, b"m" * 32)  # which is not here
    monkeypatch.setattr(peers, "TICKET_AGE", -1.0)
    giver.expect(b"t" * 32, NAME)
    with pytest.raises(peers.NotServed):
        take(giver, b"t" * 32)  # it is too old


def test_the_oldest_of_too_many_tickets_go(giver: peers.PeerGiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "TICKETS_MAX", 3)
    monkeypatch.setattr(peers, "TICKET_COMES_WITHIN", 0.05)
    for i in range(4):
        giver.expect(bytes([i]) * 32, NAME)
    with pytest.raises(peers.NotServed):
        take(giver, bytes([0]) * 32)
    assert take(giver, bytes([1]) * 32) == CONTENT


def test_those_beyond_the_limit_are_hung_up_on(giver: peers.PeerGiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "SERVED_AT_ONCE", 2)
    idle = [socket.create_connection(peers.split(giver.address)) for _ in range(2)]
    giver.expect(b"t" * 32, NAME)
    until(lambda: len(giver._serving) == 2)
    with pytest.raises(peers.NotServed):
        take(giver, b"t" * 32)
    for sock in idle:
        sock.close()
    until(lambda: not giver._serving)
    assert take(giver, b"t" * 32) == CONTENT


def test_who_says_nothing_is_hung_up_on(giver: peers.PeerGiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "STALL", 0.1)
    with socket.create_connection(peers.split(giver.address)) as idle:
        idle.settimeout(10)
        assert idle.recv(1) == b""


def test_who_cannot_be_reached_or_stands_still_is_not_tried_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "TAKER_STALL", 0.2)
    taker = peers.PeerTaker()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = peers.joined(*silent.getsockname()[:2])
        began = time.monotonic()
        with pytest.raises(peers.NotServed, match="timed out"):
            taker.take(address, b"t" * 32, NAME, 5, "")
        assert time.monotonic() - began < 2
    with pytest.raises(peers.NotServed, match="a moment ago"):
        taker.take(address, b"t" * 32, NAME, 5, "")
    with pytest.raises(peers.NotServed, match="not reached"):
        peers.PeerTaker().take(address, b"t" * 32, NAME, 5, "")  # nobody listens there any more


class Throttled:
    """Stands between a giver and who takes, and hands on so many bytes a second; and all that it was given, or so many."""

    def __init__(self, to: str, rate: float, bytes_max: int = 1 << 40) -> None:
        self._to, self._rate, self._left = to, rate, bytes_max
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = peers.joined(*self._listening.getsockname()[:2])
        self.over = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        sock, _ = self._listening.accept()
        with sock, socket.create_connection(peers.split(self._to)) as giver:
            giver.sendall(sock.recv(64, socket.MSG_WAITALL))
            while not self.over.is_set() and (data := giver.recv(min(16 << 10, self._left))):
                self._left -= len(data)
                try:
                    sock.sendall(data)
                except OSError:
                    return
                if not self._left:
                    self.over.wait()  # the link is cut: nobody hangs up
                self.over.wait(len(data) / self._rate)

    def close(self) -> None:
        self.over.set()
        self._listening.close()


def test_one_that_is_slower_than_the_server_is_given_up(giver: peers.PeerGiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "PACE_AFTER", 0.2)
    slow = Throttled(giver.address, 2e6)
    try:
        giver.expect(b"t" * 32, NAME)
        taker = peers.PeerTaker()
        began = time.monotonic()
        with pytest.raises(peers.NotServed, match="the server is faster"):
            taker.take(slow.address, b"t" * 32, NAME, len(CONTENT), "")
        assert 0.2 <= time.monotonic() - began < 2
        with pytest.raises(peers.NotServed, match="a moment ago"):
            taker.take(slow.address, b"t" * 32, NAME, len(CONTENT), "")
    finally:
        slow.close()


def test_one_that_is_as_fast_as_the_server_was_is_not(giver: peers.PeerGiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "PACE_AFTER", 0.2)
    slow = Throttled(giver.address, 5e6)
    try:
        giver.expect(b"t" * 32, NAME)
        taker = peers.PeerTaker()
        taker.by_server(10 << 20, 60.0)  # the network is slow
        taker.by_server(1 << 10, 0.0)  # so little says nothing
        fd = taker.take(slow.address, b"t" * 32, NAME, len(CONTENT), "")
        assert bytes(memory.mapped(fd)) == CONTENT
        os.close(fd)
    finally:
        slow.close()


def test_a_link_that_is_cut_is_noticed(giver: peers.PeerGiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "TAKER_STALL", 0.3)
    cut = Throttled(giver.address, 1e9, 1 << 20)
    try:
        giver.expect(b"t" * 32, NAME)
        with pytest.raises(peers.NotServed, match="timed out"):
            peers.PeerTaker().take(cut.address, b"t" * 32, NAME, len(CONTENT), "")
    finally:
        cut.close()


def test_what_is_given_is_held_until_it_was_received(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel sends is the memory itself, and its maker writes to it again when nobody has it."""
    made = regions.Regions()
    fd = made.make(NAME, [CONTENT], 1 << 30)
    opened = [fd]
    giver = peers.PeerGiver(lambda name: opened.pop(), ("127.0.0.1", 0))
    try:
        giver.expect(b"t" * 32, NAME)
        with socket.create_connection(peers.split(giver.address)) as sock:
            sock.sendall(b"t" * 32 + NAME)
            got = sock.recv(8 + 1000, socket.MSG_WAITALL)
            assert not made._regions[0].is_free()
            while len(got) < 8 + len(CONTENT):
                got += sock.recv(1 << 20)
            assert got[8:] == CONTENT and not made._regions[0].is_free()
        until(lambda: made._regions[0].is_free(), "it is free once the other end has hung up")
    finally:
        giver.close()
        made.clear()


def test_a_value_of_another_size_is_not_taken(giver: peers.PeerGiver) -> None:
    giver.expect(b"t" * 32, NAME)
    with pytest.raises(peers.NotServed, match="has 5120000 bytes, not 7"):
        take(giver, b"t" * 32, size=7)


def test_over_tls_one_certificate_is_trusted(giver: peers.PeerGiver, tmp_path: pathlib.Path) -> None:
    shown, key = certificate(tmp_path)
    other, _ = certificate(tmp_path)
    giver.use_certificate(shown, key)
    giver.expect(b"t" * 32, NAME)
    with pytest.raises(peers.NotServed, match="CERTIFICATE_VERIFY_FAILED"):
        take(giver, b"t" * 32, certificate=other)
    with pytest.raises(peers.NotServed):
        take(giver, b"t" * 32)  # plaintext
    assert take(giver, b"t" * 32, certificate=shown) == CONTENT
    with socket.create_connection(peers.split(giver.address)) as sock:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(sock) as over:
            assert over.version() == "TLSv1.3"


@pytest.mark.parametrize("text, expected", [("host", ("host", 0)), ("host:70", ("host", 70)), ("[::1]:70", ("::1", 70)),
                                            ("[::1]", ("::1", 0)), ("::1", ("::1", 0))])
def test_addresses(text: str, expected: tuple[str, int]) -> None:
    assert peers.split(text) == expected


@pytest.mark.parametrize("text", [":70", "host:x", "host:70000", ""])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="HOST or HOST:PORT"):
        peers.split(text)


def test_it_listens_where_the_server_is_reached() -> None:
    assert peers.listen_address("", "127.0.0.1:8476") == ("127.0.0.1", 0)
    assert peers.listen_address("0.0.0.0:7000", "10.1.1.1:8476") == ("0.0.0.0", 7000)


def test_all_interfaces_are_told_as_the_one_by_which_the_server_is_reached() -> None:
    made = shared.peer_giver("0.0.0.0", "", "127.0.0.1:8476")(lambda name: -1)
    assert made is not None and made.address.startswith("127.0.0.1:")
    made.close()


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process is on another host than the workers: it does not reach their sockets."""
    def take(self: Any, holder: str, *rest: Any, **more: Any) -> None:
        raise taking.NotReached("another host")

    monkeypatch.setattr(taking.Taker, "take", take)


def taken(made: Cluster) -> dict[str, int]:
    return made.server.get("/api/v1/blobs")["taken_bytes"]  # type: ignore[no-any-return]


def test_a_value_comes_from_the_worker_of_another_host(make_cluster: Callable[..., Cluster], far: None) -> None:
    made = make_cluster()
    made.add()
    with made.coordinator() as c:
        value = c.schedule(array, args=(8, 3))
        found = value.fetch()
        assert numpy.array_equal(found, array(8, 3))
        found[0] = 1  # it is the program's own
        until(lambda: taken(made)["peer"] > 8 << 20)
        assert taken(made)["server"] == 0
        assert c.schedule(total, args=(value,)).fetch() == total(array(8, 3))


def test_without_a_port_it_comes_from_the_server(make_cluster: Callable[..., Cluster], far: None) -> None:
    made = make_cluster()
    made.add("--transfer-listen", "off")
    with made.coordinator() as c:
        assert numpy.array_equal(c.schedule(array, args=(8, 3)).fetch(), array(8, 3))
        until(lambda: taken(made)["server"] > 8 << 20)
        assert taken(made)["peer"] == 0


def test_over_a_server_with_tls_values_are_taken_over_tls(tmp_path: pathlib.Path, far: None,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    from test_tls import SecureServer

    spoken: list[Any] = []
    trusting = peers._trusting
    monkeypatch.setattr(peers, "_trusting", lambda certificate: spoken.append(certificate) or trusting(certificate))
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
