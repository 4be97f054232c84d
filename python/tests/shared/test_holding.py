"""Reports of a process to the server about the memory that it holds."""
from __future__ import annotations

import hashlib
import os
import pathlib
import secrets
from typing import Any, Callable, Iterator

import grpc
import pytest

from conftest import until
from holder_server import OPTIONS, HolderServer
from muster._shared import holding, memory
from muster._shared.process import Process
from muster.worker import shared
from muster.worker.blobs import OFFER

MB = 1 << 20


class To:
    """The channels of a process."""

    def __init__(self, server: HolderServer) -> None:
        self.made = grpc.insecure_channel(server.address, OPTIONS)
        self.failures = 0

    def channel(self) -> Any:
        return self.made

    def failed(self) -> None:
        self.failures += 1


Make = Callable[..., Process]


@pytest.fixture
def server() -> Iterator[HolderServer]:
    made = HolderServer()
    yield made
    made.close()


@pytest.fixture
def make(server: HolderServer) -> Iterator[Make]:
    made: list[Process] = []

    def one(**words: Any) -> Process:
        made.append(Process(To(server), 64 * MB, **words))
        return made[-1]

    yield one
    for each in made:
        each.close()


def hold(process: Process, data: bytes) -> bytes:
    name = secrets.token_bytes(32)
    process.store.reserve(len(data))
    process.hold(name, memory.make(name, [data]), len(data))
    return name


def test_server_knows_held_contents_also_after_a_new_stream(server: HolderServer, make: Make) -> None:
    process = make(task="worker:3")
    early = hold(process, b"x" * MB)
    assert process.holding.ready(5) and process.holding.outputs_stay()
    late = hold(process, b"y" * 2 * MB)
    until(lambda: server.held == {early: MB, late: 2 * MB})
    assert server.first[0].unix_socket == process.store.socket_name and server.first[0].task == "worker:3"
    process.drop(early)
    until(lambda: server.held == {late: 2 * MB})
    server.hang_up()
    until(lambda: len(server.first) == 2 and server.held == {late: 2 * MB}, "it is told again")
    until(process.holding.ready)
    assert server.first[1].unix_socket == process.store.socket_name


def test_requested_content_is_uploaded_under_its_name(server: HolderServer, make: Make) -> None:
    process = make()
    assert process.holding.ready(5)
    data = bytes(range(256)) * 4096 * 5
    name, dropped = hold(process, data), hold(process, b"z" * MB)
    process.drop(dropped)
    server.say(wanted=[dropped, name])
    until(lambda: server.puts)
    (first, put), = server.puts
    assert put == data and (first.name, first.holder, first.size) == (name, 1, len(data))
    assert first.sha256 == hashlib.sha256(data).digest()
    until(lambda: process.holding.all_put() == [name])
    process.holding.gone([name])
    assert process.holding.all_put() == []


def test_content_requested_again_while_it_waits_is_uploaded_once(server: HolderServer, make: Make) -> None:
    process = make()
    assert process.holding.ready(5)
    name, last = hold(process, b"x" * 8 * MB), hold(process, b"y" * MB)
    server.say(wanted=[name, name, name])
    server.say(wanted=[last])
    until(lambda: any(first.name == last for first, _ in server.puts))
    assert [first.name for first, _ in server.puts] == [name, last]


def test_new_stream_names_the_former_holder_number(server: HolderServer, make: Make) -> None:
    process = make()
    assert process.holding.ready(5)
    server.hang_up()
    until(lambda: len(server.first) == 2)
    assert [first.former for first in server.first] == [0, 1]


def test_refused_content_is_announced_again_and_nothing_else_is_held(
        server: HolderServer, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "SAID_EVERY", 0.05)
    process = make()
    assert process.holding.ready(5)
    secret = secrets.token_bytes
    name = b"refused-" + secret(24)
    server.refuses.add(name)
    process.store.reserve(MB)
    process.hold(name, memory.make(name, [bytes(MB)]), MB)
    until(lambda: not process.holding.ready(), "nothing more is held")
    until(lambda: server.announced.count(name) > 2, "it is told again")
    server.refuses.clear()
    until(lambda: name in server.held)
    until(process.holding.ready)


def test_unneeded_outputs_are_passed_to_the_callback(server: HolderServer, make: Make) -> None:
    unneeded: list[bytes] = []
    process = make(on_unneeded=unneeded.append)
    assert process.holding.ready(5)
    name = hold(process, b"x" * MB)
    server.say(unneeded=[name])
    until(lambda: unneeded == [name])


def test_server_can_keep_outputs_itself(server: HolderServer, make: Make) -> None:
    server.outputs_stay = False
    process = make()
    assert process.holding.ready(5) and not process.holding.outputs_stay()


def test_older_server_is_asked_again_after_a_while(server: HolderServer, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "ASK_AGAIN", 0.2)
    server.knows = False
    process = make()
    assert not process.holding.ready(5)
    assert server.asked == 1  # without waiting for the five seconds
    assert not process.take(bytes(32), True, lambda taken: None, lambda size: None, lambda taken: None)
    server.knows = True
    until(process.holding.ready, "it is asked again once in a while")


def test_unreachable_server_is_reported_as_a_failure(server: HolderServer) -> None:
    to = To(server)
    server.close()
    process = Process(to, MB)
    try:
        assert not process.holding.ready(5)
        until(lambda: to.failures > 2, "the next one is tried")
    finally:
        process.close()


def test_bytes_taken_are_reported(server: HolderServer, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "SAID_EVERY", 0.05)
    process = make()
    process.holding.taken(5 * MB)
    process.holding.taken(MB)
    until(lambda: server.shared_bytes == 6 * MB)


def test_output_above_the_blob_limit_of_the_server_is_not_held(server: HolderServer, tmp_path: pathlib.Path) -> None:
    server.blob_bytes_max = 2 * MB
    made = shared.Shared(str(tmp_path), To(server), 8 * MB, "worker:0")
    try:
        assert made._process.holding.ready(5)
        for size, fits in ((2 * MB, True), (2 * MB + 1, False)):
            name = secrets.token_bytes(32)
            fd = memory.make(name, [bytes(size)])
            try:
                if fits:
                    made.offer(name, OFFER.pack(os.getpid(), fd, size))
                else:
                    with pytest.raises(OSError, match="outputs of this size"):
                        made.offer(name, OFFER.pack(os.getpid(), fd, size))
            finally:
                os.close(fd)
        assert list(made._process.store.held().values()) == [2 * MB]
    finally:
        made.close()


@pytest.fixture
def worker(server: HolderServer, tmp_path: pathlib.Path) -> Iterator[shared.Shared]:
    made = shared.Shared(str(tmp_path), To(server), 8 * MB, "worker:0")
    assert made._process.holding.ready(5)
    yield made
    made.close()


def test_worker_keeps_a_limited_number_of_contents_of_others(server: HolderServer, make: Make, worker: shared.Shared,
                                                             tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "TAKEN_MAX", 2)
    process = make()
    names = [hold(process, bytes([i]) * MB) for i in range(4)]
    for i, name in enumerate(names):
        assert not worker.take(name)  # the server has no place of this content yet
        server.places[name] = (process.store.socket_name, MB)
        assert worker.take(name)
        assert (tmp_path / name.hex()).read_bytes() == bytes([i]) * MB
    assert {path.name for path in tmp_path.iterdir()} == {name.hex() for name in names[2:]}
    process.drop(names[3])
    until(lambda: len(list(tmp_path.iterdir())) == 1, "the link goes with the content")
    process.close()
    until(lambda: not list(tmp_path.iterdir()), "and all with their holder")


def test_offered_contents_are_checked_and_held(server: HolderServer, worker: shared.Shared, tmp_path: pathlib.Path) -> None:
    def offer(size: int, said: int = 0, name: bytes = b"") -> bytes:
        name = name or secrets.token_bytes(32)
        fd = memory.make(name, [bytes(size)])
        try:
            worker.offer(name, OFFER.pack(os.getpid(), fd, said or size))
        finally:
            os.close(fd)
        return name

    before = len(os.listdir("/proc/self/fd"))
    name = offer(4 * MB)
    until(lambda: server.held == {name: 4 * MB})
    assert (tmp_path / name.hex()).stat().st_size == 4 * MB
    for wrong in (lambda: offer(5 * MB), lambda: offer(MB, MB + 1), lambda: offer(MB, name=name)):
        with pytest.raises(OSError):
            wrong()
    with pytest.raises(OSError):
        worker.offer(secrets.token_bytes(32), OFFER.pack(os.getpid(), 9999, MB))
    other = offer(4 * MB)  # the memory of the refused offers is free again
    server.say(unneeded=[name, other])
    until(lambda: not list(tmp_path.iterdir()))
    until(lambda: len(os.listdir("/proc/self/fd")) == before)
    server.outputs_stay = False
    server.hang_up()
    until(lambda: len(server.first) == 2 and worker._process.holding.ready())
    with pytest.raises(OSError, match="does not store outputs"):
        offer(MB)
