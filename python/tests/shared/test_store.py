"""Stores of the C library, from Python. The library itself is tested in C++ (tests/client/blobs)."""
from __future__ import annotations

import os
import pathlib
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Iterator

import pytest

from conftest import until
from memories import nowhere
from muster._shared import memory
from muster._shared.store import Full, NotTaken, Store

MB = 1 << 20


class Side:
    """One of several stores, each acting for another process."""

    def __init__(self, bytes_max: int = 64 * MB) -> None:
        self.dropped: list[bytes] = []
        self.store = Store(bytes_max, self.dropped.append)

    def hold(self, size: int = MB, name: bytes | None = None) -> bytes:
        name = name or secrets.token_bytes(32)
        self.store.reserve(size)
        self.store.add(name, memory.make(name, [name, bytes(size - 32)]), size)
        return name

    def take(self, holder: str, name: bytes, size: int = MB, keep: bool = True) -> memoryview:
        found: list[memoryview] = []

        def got(fd: int) -> None:
            found.append(memory.mapped(fd))
            os.close(fd)

        self.store.take(holder, name, size, got, keep)
        return found[0]


@pytest.fixture
def sides() -> Iterator[list[Side]]:
    before = len(os.listdir("/proc/self/fd"))
    made = [Side() for _ in range(3)]
    yield made
    for side in made:
        side.store.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_taken_content_is_the_same_memory_and_its_end_is_reported(sides: list[Side]) -> None:
    one, other, third = sides
    name, kept = one.hold(), one.hold()
    view = other.take(one.store.socket_name, name)
    assert view[:32] == name
    other.take(one.store.socket_name, kept)
    third.take(one.store.socket_name, name, keep=False)
    assert one.store.drop(name) and not one.store.drop(name)
    until(lambda: other.dropped == [name])
    assert view[:32] == name  # a mapping remains valid
    with pytest.raises(NotTaken, match="no longer stores the value"):
        other.take(one.store.socket_name, name)
    assert third.dropped == [] and one.store.held() == {kept: MB}


def test_all_contents_end_with_their_holder(sides: list[Side]) -> None:
    one, other, _ = sides
    names = {one.hold() for _ in range(3)}
    for name in names:
        other.take(one.store.socket_name, name)
    one.store.close()
    until(lambda: set(other.dropped) == names)
    with pytest.raises(NotTaken):
        other.take(one.store.socket_name, names.pop())


def test_content_that_ends_while_it_is_taken_is_reported_afterwards(sides: list[Side]) -> None:
    one, other, _ = sides
    name, begun, goes_on = one.hold(), threading.Event(), threading.Event()
    seen: list[int] = []

    def got(fd: int) -> None:
        os.close(fd)
        begun.set()
        assert goes_on.wait(20)
        seen.append(len(other.dropped))

    taking = threading.Thread(target=other.store.take, args=(one.store.socket_name, name, MB, got, True))
    taking.start()
    assert begun.wait(20)
    one.store.drop(name)
    until(lambda: other.store._gone == {name}, "it is told of its end")
    goes_on.set()
    taking.join()
    assert seen == [0] and other.dropped == [name] and not other.store._taking and not other.store._gone


def test_failed_takes_raise_and_keep_nothing(sides: list[Side]) -> None:
    one, other, _ = sides
    name = one.hold()

    def refuses(fd: int) -> None:
        os.close(fd)
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        other.store.take(one.store.socket_name, name, MB, refuses, True)
    with pytest.raises(NotTaken, match="does not contain"):
        other.take(one.store.socket_name, name, 2 * MB)
    with pytest.raises(NotTaken, match="refused"):
        other.take("muster-not-here", name)
    with pytest.raises(NotTaken, match="is not contacted"):
        other.take("muster-not-here", name)


HOLDS = """
import os, sys, time
sys.path[:0] = [{tests!r}, {here!r}]
from test_store import Side
side = Side()
names = [side.hold(8 << 20) for _ in range(2)]
child = os.fork() if {forks} else 1
if child:
    print(side.store.socket_name, *[n.hex() for n in names], child, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("forks", [False, True])
def test_contents_of_a_killed_holder_are_reported_and_freed(sides: list[Side], forks: bool) -> None:
    """This holds even if the holder has forked a process that still runs."""
    here = pathlib.Path(__file__).parent
    code = HOLDS.format(tests=str(here.parent), here=str(here), forks=forks)
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout
        where, *said, child = holder.stdout.readline().split()
        names = [bytes.fromhex(name) for name in said]
        for name in names:
            sides[0].take(where, name, 8 * MB)
        assert not nowhere({names[0].hex()})
        holder.kill()
        until(lambda: set(sides[0].dropped) == set(names), "told of its end")
        until(lambda: nowhere(set(said)), "the memory is free")
        with pytest.raises(NotTaken):
            sides[0].take(where, names[0], 8 * MB)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()  # type: ignore[union-attr]
        if forks:
            os.kill(int(child), signal.SIGKILL)


def test_held_bytes_are_limited() -> None:
    side = Side(bytes_max=4 * MB)
    try:
        names = [side.hold(), side.hold()]
        with pytest.raises(Full, match=r"of 4194304 are in use, in 2 of \d+ values"):
            side.store.reserve(3 * MB)
        side.store.reserve(2 * MB)
        assert side.store.free() == 0
        side.store.unreserve(2 * MB)
        side.store.drop(names[0])
        side.store.reserve(3 * MB)
    finally:
        side.store.close()
    with pytest.raises(Full):
        side.store.reserve(1)
    assert side.store.held() == {} and not side.store.drop(names[1]) and side.store.free() == 0


def test_many_contents_can_be_held() -> None:
    side = Side()
    try:
        names = {side.hold(32) for _ in range(150)}
        assert side.store.held() == dict.fromkeys(names, 32)
    finally:
        side.store.close()


def test_requests_before_close_are_completed() -> None:
    side, done = Side(), []
    for i in range(100):
        side.store.soon(lambda i=i: done.append(i))  # type: ignore[misc]
    side.store.close()
    assert done == list(range(100))
    side.store.soon(lambda: done.append(-1))


def test_forked_process_has_a_store_of_its_own(sides: list[Side]) -> None:
    one, other, _ = sides
    name = one.hold()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            with pytest.raises(Full):
                one.store.reserve(1)
            assert one.store.held() == {} and not one.store.drop(name)
            one.store.soon(lambda: None)
            mine = Side()
            assert mine.take(one.store.socket_name, name)[:32] == name
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    assert other.take(one.store.socket_name, name)[:32] == name


def test_ticket_can_be_used_once(sides: list[Side]) -> None:
    one, other, _ = sides
    name, ticket = one.hold(), b"t" * 32
    at = one.store.listen("127.0.0.1", "", "")
    assert at.startswith("127.0.0.1:")
    one.store.expect(ticket, name)
    fd = other.store.take_from_peer(at, ticket, name, MB, "")
    try:
        memory.check(fd, name, MB)
        assert memory.mapped(fd)[:32] == name
    finally:
        os.close(fd)
    with pytest.raises(NotTaken, match="cannot be fetched from"):
        other.store.take_from_peer(at, ticket, name, MB, "")
    with pytest.raises(OSError):
        other.store.use_certificate("no", "certificate")
    with pytest.raises(OSError, match="HOST or HOST:PORT"):
        other.store.listen("host:x", "", "")


def test_ctrl_c_ends_the_wait_for_another_host(sides: list[Side]) -> None:
    """The holder never answers. No connection stays open."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        at = "%s:%d" % silent.getsockname()[:2]
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            sides[0].store.take_from_peer(at, b"t" * 32, bytes(32), MB, "")
        assert time.monotonic() - began < 1.0, "the wait ended before the library's own timeout"
        until(lambda: not any(thread.name == "muster-taking" for thread in threading.enumerate()))
