"""Memory that goes from process to process, without a server."""
from __future__ import annotations

import os
import pathlib
import secrets
import signal
import socket
import subprocess
import sys
from typing import Any, Iterator

import pytest

from conftest import until
from memories import nowhere
from muster._shared import giving, memory, taking
from muster._shared.giving import Full, Giver
from muster._shared.loop import Loop
from muster._shared.taking import NotReached, Taker

MB = 1 << 20


class Side:
    """A process' side, in this one."""

    def __init__(self, bytes_max: int = 64 * MB) -> None:
        self.loop = Loop()
        self.giver = Giver(self.loop, bytes_max)
        self.dropped: list[bytes] = []
        self.taker = Taker(self.loop, self.dropped.append)

    def hold(self, size: int = MB, name: bytes | None = None) -> bytes:
        name = name or secrets.token_bytes(32)
        self.giver.reserve(size)
        self.giver.add(name, memory.make(name, [name, bytes(size - 32)]), size)
        return name

    def take(self, holder: str, name: bytes, size: int = MB, keep: bool = True) -> memoryview:
        found: list[memoryview] = []

        def got(fd: int) -> None:
            found.append(memory.mapped(fd))
            os.close(fd)

        self.taker.take(holder, name, size, got, keep)
        return found[0]


@pytest.fixture
def sides() -> Iterator[list[Side]]:
    before = len(os.listdir("/proc/self/fd"))
    made = [Side() for _ in range(4)]
    yield made
    for side in made:
        side.loop.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_is_taken_is_the_same_memory_and_told_of_when_it_goes(sides: list[Side]) -> None:
    one, other, third, _ = sides
    name, kept = one.hold(), one.hold()
    view = other.take(one.giver.socket_name, name)
    assert view[:32] == name
    other.take(one.giver.socket_name, kept)
    third.take(one.giver.socket_name, name, keep=False)
    assert one.giver.drop(name) and not one.giver.drop(name)
    until(lambda: other.dropped == [name])
    assert view[:32] == name  # whoever has mapped it keeps it
    with pytest.raises(NotReached, match="not held any more"):
        other.take(one.giver.socket_name, name)
    assert third.dropped == [] and list(one.giver.held()) == [kept]


def test_all_names_of_a_holder_go_with_it(sides: list[Side]) -> None:
    one, other, *_ = sides
    names = {one.hold() for _ in range(3)}
    for name in names:
        other.take(one.giver.socket_name, name)
    one.loop.close()
    until(lambda: set(other.dropped) == names)
    with pytest.raises(NotReached):
        other.take(one.giver.socket_name, names.pop())


HOLDS = """
import os, sys, time
sys.path[:0] = [{tests!r}, {here!r}]
from test_giving import Side
side = Side()
names = [side.hold(8 << 20) for _ in range(2)]
child = os.fork() if {forks} else 1
if child:
    print(side.giver.socket_name, *[n.hex() for n in names], child, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("forks", [False, True])
def test_a_holder_is_killed(sides: list[Side], forks: bool) -> None:
    """Also where it has forked a process that goes on."""
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
        with pytest.raises(NotReached):
            sides[0].take(where, names[0], 8 * MB)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()  # type: ignore[union-attr]
        if forks:
            os.kill(int(child), signal.SIGKILL)


def test_another_user_gets_nothing(sides: list[Side], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, third, _ = sides
    name = one.hold()
    monkeypatch.setattr(giving, "peer_uid", lambda sock: os.geteuid() + 1)
    with pytest.raises(NotReached, match="hung up|reset|pipe"):
        other.take(one.giver.socket_name, name)
    monkeypatch.undo()
    monkeypatch.setattr(taking, "peer_uid", lambda sock: os.geteuid() + 1)
    with pytest.raises(NotReached, match="another user's"):
        third.take(one.giver.socket_name, name)
    monkeypatch.undo()
    assert sides[3].take(one.giver.socket_name, name)[:32] == name


def test_more_takers_and_holders_than_the_limit(sides: list[Side], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, third, fourth = sides
    name = one.hold()
    monkeypatch.setattr(giving, "CONNECTIONS_MAX", 2)
    other.take(one.giver.socket_name, name)
    third.take(one.giver.socket_name, name)
    with pytest.raises(NotReached):
        fourth.take(one.giver.socket_name, name)
    monkeypatch.setattr(taking, "HOLDERS_MAX", 1)
    with pytest.raises(NotReached, match="not tried"):
        other.take(third.giver.socket_name, third.hold())
    assert other.take(one.giver.socket_name, name)[:32] == name


def test_a_holder_that_is_not_here_is_not_tried_again_for_a_while(sides: list[Side],
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotReached, match="refused"):
        sides[0].take("muster-not-here", bytes(32))
    with pytest.raises(NotReached, match="not tried"):
        sides[0].take("muster-not-here", bytes(32))
    monkeypatch.setattr(taking, "AVOIDED_MAX", 1)
    for i in range(3):
        with pytest.raises(NotReached, match="refused"):
            sides[0].take(f"muster-not-here-{i}", bytes(32))
        assert len(sides[0].taker._avoided) == 1


def test_what_is_held_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(giving, "NAMES_MAX", 3)
    side = Side(bytes_max=4 * MB)
    try:
        names = [side.hold(), side.hold()]
        with pytest.raises(Full, match="of 4194304 are, in 2 of 3 values"):
            side.giver.reserve(3 * MB)
        side.giver.reserve(MB)
        with pytest.raises(Full):
            side.giver.reserve(1)
        side.giver.unreserve(MB)
        side.giver.drop(names[0])
        side.giver.reserve(3 * MB)
    finally:
        side.loop.close()
    with pytest.raises(Full):
        side.giver.reserve(1)


def test_one_that_talks_nonsense_or_does_not_read_is_hung_up_on(sides: list[Side]) -> None:
    one, other, *_ = sides
    name = one.hold()

    def connected() -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        made.connect("\0" + one.giver.socket_name)
        return made

    for packet in (b"", b"G", b"G" + name + b"x", b"X" + name):
        with connected() as wrong:
            wrong.settimeout(5)
            wrong.send(packet or b"x")
            assert wrong.recv(10) == b""
    with connected() as deaf:
        deaf.settimeout(5)
        with pytest.raises(OSError):
            for _ in range(100_000):
                deaf.send(b"G" + name)
    assert other.take(one.giver.socket_name, name)[:32] == name


def test_an_answer_of_another_memory_is_not_taken(sides: list[Side]) -> None:
    one, other, *_ = sides
    name = one.hold()
    with pytest.raises(NotReached, match="is not the memory of"):
        other.take(one.giver.socket_name, name, 2 * MB)
    wrong: Any = secrets.token_bytes(32)
    one.giver.reserve(MB)
    one.giver.add(wrong, memory.make(name, [bytes(MB)]), MB)
    with pytest.raises(NotReached, match="is not the memory of"):
        other.take(one.giver.socket_name, wrong)
