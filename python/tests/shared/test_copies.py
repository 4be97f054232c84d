"""Copies of a large value in several processes: they are passed on to others, and deleted when their memory is needed."""
from __future__ import annotations

import os
import pathlib
import secrets
from typing import Any, Callable, Iterator

import numpy
import pytest

from conftest import Cluster, until
from holder_server import HolderServer
from memories import memories
from muster._shared import memory
from muster._shared.process import Process
from muster._shared.store import Store
from muster.worker import copies, shared
from muster.worker.blobs import OFFER
from shared_closures import array, noted, total
from test_holding import MB, To, hold

FAR = "another host"


@pytest.fixture
def server() -> Iterator[HolderServer]:
    made = HolderServer()
    yield made
    made.close()


def listen(store: Store) -> str:
    return store.listen("127.0.0.1", "", "")


@pytest.fixture
def maker(server: HolderServer) -> Iterator[Process]:
    """A process of this host that also listens on a port."""
    made = Process(To(server), 64 * MB, listen=listen)
    assert made.holding.ready(5)
    yield made
    made.close()


Make = Callable[..., shared.Shared]


@pytest.fixture
def worker(server: HolderServer, tmp_path: pathlib.Path) -> Iterator[Make]:
    made: list[shared.Shared] = []

    def one(host: str = "", bytes_max: int = 4 * MB) -> shared.Shared:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(shared.Shared(str(folder), To(server), bytes_max, f"worker:{len(made)}", listen, host or None))
        assert made[-1]._process.holding.ready(5)
        return made[-1]

    yield one
    for each in made:
        each.close()


def place(server: HolderServer, name: bytes, size: int, *holders: dict[str, Any]) -> None:
    server.places[name] = ("", size)
    server.holders[name] = list(holders)


def at_socket(of: Any) -> dict[str, Any]:
    process = of._process if isinstance(of, shared.Shared) else of
    return {"unix_socket": process.store.socket_name, "host": process.holding.host}


def at_port(of: Any, name: bytes) -> dict[str, Any]:
    process = of._process if isinstance(of, shared.Shared) else of
    ticket = secrets.token_bytes(32)
    process.store.expect(ticket, name)
    return {"peer": process.holding.peer, "ticket": ticket}


def linked(of: shared.Shared, name: bytes) -> pathlib.Path:
    return pathlib.Path(of._links._path(name))


def made(maker: Process, server: HolderServer, seed: int = 0, size: int = MB) -> bytes:
    name = hold(maker, bytes([seed]) * size)
    place(server, name, size, at_socket(maker))
    return name


def test_copy_from_the_same_host_is_held_and_passed_on(server: HolderServer, maker: Process, worker: Make) -> None:
    name, one, other = made(maker, server), worker(), worker()
    assert one.take(name)
    until(lambda: name in server.copies)
    maker.drop(name)
    place(server, name, MB, at_socket(one))
    assert other.take(name) and linked(other, name).read_bytes() == bytes(MB)


def test_copy_from_another_host_is_held_and_passed_on(server: HolderServer, maker: Process, worker: Make) -> None:
    one, other, near = worker(FAR), worker("a third"), worker(FAR)
    name = hold(maker, b"x" * MB)
    place(server, name, MB, at_port(maker, name))
    assert one.take(name)
    until(lambda: name in server.copies)
    maker.drop(name)
    place(server, name, MB, at_port(one, name))
    assert other.take(name)
    place(server, name, MB, at_socket(one))
    assert near.take(name)
    assert [linked(each, name).read_bytes() for each in (one, other, near)] == [b"x" * MB] * 3


def test_holder_that_is_broken_slow_or_remote_is_skipped(server: HolderServer, maker: Process, worker: Make) -> None:
    import socket

    one = worker(FAR)
    name = hold(maker, b"x" * MB)
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.create_server(("127.0.0.1", 0)) as closed:
        slow, gone = ("%s:%d" % each.getsockname() for each in (silent, closed))
        closed.close()
        wrong = dict(at_port(maker, name), ticket=bytes(32))
        place(server, name, MB, {"peer": slow, "ticket": bytes(32)}, {"peer": gone, "ticket": bytes(32)},
              at_port(maker, name))
        assert one.take(name)
        assert one._process.store.free() == 3 * MB, "the memory of one copy is reserved"
    other = hold(maker, b"y" * MB)
    place(server, other, MB, wrong)
    assert not one.take(other), "the value has to come from the server"
    assert one._process.store.free() == 3 * MB


def test_port_is_used_if_no_socket_can_be_reached(server: HolderServer, maker: Process, worker: Make) -> None:
    name, one = hold(maker, b"x" * MB), worker()
    nobody = {"unix_socket": "muster-nobody", "host": one._process.holding.host}
    place(server, name, MB, nobody, dict(at_port(maker, name), host=FAR))
    assert one.take(name)
    assert [request.host for request in server.located] == [one._process.holding.host, ""]


def test_least_recently_used_copies_are_deleted_for_other_memory(
        server: HolderServer, maker: Process, worker: Make) -> None:
    one = worker()
    names = [made(maker, server, seed) for seed in range(4)]
    for name in names:
        assert one.take(name)
    os.utime(linked(one, names[0]))
    for at, name in enumerate(names[1:]):
        os.utime(linked(one, name), (at, at))
    until(lambda: server.copies == set(names))
    output = secrets.token_bytes(32)
    fd = memory.make(output, [bytes(2 * MB)])
    one.offer(output, OFFER.pack(os.getpid(), fd, 2 * MB))
    os.close(fd)
    until(lambda: server.copies == {names[0], names[3]} and output in server.held, "those that went are un-said")
    assert not linked(one, names[1]).exists() and linked(one, names[0]).exists()
    more = made(maker, server, 5, 3 * MB)
    assert one.take(more), "the content is linked, not copied, and is deleted with its holder"
    assert linked(one, names[0]).exists() and one._process.store.free() == 0, "no copy was deleted unnecessarily"
    maker.drop(more)
    until(lambda: not os.path.lexists(linked(one, more)))


def test_copies_without_a_value_are_deleted(server: HolderServer, maker: Process, worker: Make) -> None:
    name, one = made(maker, server), worker()
    assert one.take(name)
    until(lambda: name in server.copies)
    server.say(unneeded=[name])
    until(lambda: name not in server.held and not linked(one, name).exists())
    assert one._process.store.free() == 4 * MB


def test_unlisted_copy_is_kept_for_a_while(server: HolderServer, maker: Process, worker: Make,
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "UNLISTED_STAYS", 1000.0)
    name, one = made(maker, server), worker()
    server.unlists.add(name)
    assert one.take(name)
    until(lambda: one._copies._held[name][1] < float("inf"))
    one.tick(0.0)
    assert linked(one, name).exists()
    server.hang_up()
    until(lambda: len(server.first) == 3 and one._process.holding.ready())
    assert server.announced.count(name) == 2, "announced once by its maker and once by the other process"
    one.tick(float("inf"))
    assert not linked(one, name).exists() and one._process.store.free() == 4 * MB


def test_copies_are_announced_as_copies_on_the_next_stream(server: HolderServer, maker: Process, worker: Make) -> None:
    name, one = made(maker, server), worker()
    assert one.take(name)
    until(lambda: name in server.copies)
    server.hang_up()
    until(lambda: len(server.first) == 3 and name in server.copies)


def test_worker_that_leaves_uploads_only_requested_copies(server: HolderServer, maker: Process, worker: Make,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    one = worker()
    names = [made(maker, server, seed) for seed in range(2)]
    for name in names:
        assert one.take(name)
    until(lambda: server.copies == set(names))
    monkeypatch.setattr(one._process.holding, "_put_wanted", lambda: None)  # so that the upload has not happened yet
    server.say(wanted=[names[1]])
    until(lambda: one._process.holding._queued)
    one.leave()
    assert [first.name for first, _ in server.puts] == [names[1]]


# Real servers and workers.

def holders(c: Cluster) -> list[str]:
    """Returns the holders of the only value."""
    found = c.server.get("/api/v1/remote_values?status=READY&sort=size&order=desc")["remote_values"]
    return list(c.server.get(f"/api/v1/remote_values/{found[0]['id']}/preview").get("holders", []))


def test_value_outlives_its_maker_if_another_worker_has_a_copy(make_cluster: Callable[..., Cluster],
                                                               tmp_path: pathlib.Path) -> None:
    made, path, big = make_cluster(), tmp_path / "runs", array(4)
    expected = array(4, 3) + big[0]
    with made.coordinator() as c:
        made.add("--index", "0", "--processes", "1")
        value = c.schedule(noted, args=(str(path), big, 3))
        until(value.done)
        made.add("--index", "1", "--processes", "1")
        # Until the second worker has identified itself, it gets values from the server.
        until(lambda: made.server.get("/api/v1/blobs")["elsewhere"]["processes"] == 3)
        made.server.post("/api/v1/clusters/default/tasks/worker/0/cordon", {})
        assert c.schedule(total, args=(value,)).fetch() == total(expected)
        until(lambda: holders(made) == ["worker:0", "worker:1"])
        told = made.server.get("/api/v1/blobs")["elsewhere"]
        assert (told["copies"], told["copy_bytes"] >> 20) == (1, 4)
        made.workers[0].kill()
        until(lambda: holders(made) == ["worker:1"])
        until(lambda: made.server.get("/api/v1/blobs")["blobs"] == 1, "the server has it before its room is needed")
        assert c.schedule(total, args=(value,)).fetch() == total(expected)
        assert numpy.array_equal(value.fetch(), expected)
        assert path.read_text() == "made\n", "the value was not computed again"
        del value
        until(lambda: not made.server.get("/api/v1/blobs")["elsewhere"]["outputs"])
        until(lambda: not memories(made.workers[1].process.pid), "its copy is free, too")
