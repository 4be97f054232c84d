"""Memory that is used again."""
from __future__ import annotations

import fcntl
import mmap
import os
import secrets
import signal
import subprocess
import sys
from typing import Any, Iterator

import pytest

from conftest import until
from memories import memories
from muster._shared import memory, regions
from muster._shared.regions import Regions

MB = 1 << 20
ROOM = 64 * MB

pytestmark = pytest.mark.skipif(not regions.can_be(), reason="this system grants no leases on memory")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[Regions]:
    monkeypatch.setattr(regions, "LOOK_EVERY", 0.02)
    regions.regions.clear()
    found = Regions()
    yield found
    found.clear()
    assert not memories()


def held(what: bytes, fd: int) -> bytes:
    """What a content says; closes it."""
    try:
        memory.check(fd, what[:32], len(what))
        return bytes(memory.mapped(fd))
    finally:
        os.close(fd)


def content(size: int = MB) -> bytes:
    return secrets.token_bytes(64) * (size // 64)


def make(by: Regions, what: bytes, free_max: int = ROOM) -> int:
    return by.make(what[:32], [what[:100], memoryview(what)[100:]], free_max)


def inode(fd: int) -> int:
    return os.stat(fd).st_ino


def test_memory_that_nobody_has_is_used_again(made: Regions) -> None:
    one, other = content(), content()
    fd = make(made, one)
    was = inode(fd)
    assert held(one, fd) == one
    fd = make(made, other)
    assert inode(fd) == was and held(other, fd) == other
    smaller = other[:MB - 8192]
    fd = make(made, smaller)
    assert inode(fd) == was and held(smaller, fd) == smaller
    for size in (MB // 2, 2 * MB):  # too much would be unused, or it does not fit
        some = content(size)
        fd = make(made, some)
        assert inode(fd) != was and held(some, fd) == some


def has(what: bytes, fd: int, how: str) -> Any:
    """Something that has it."""
    if how == "descriptor":
        return fd
    if how == "mapping":
        mapping = memory.mapped(fd)
        os.close(fd)
        return mapping
    if how == "another descriptor":
        opened = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
        os.close(fd)
        return opened
    script = "import sys; sys.stdin.read()"
    process = subprocess.Popen([sys.executable, "-c", script], pass_fds=[fd], stdin=subprocess.PIPE)
    os.close(fd)
    return process


@pytest.mark.parametrize("how", ["descriptor", "mapping", "another descriptor", "process"])
def test_memory_that_somebody_has_is_left_alone(made: Regions, how: str) -> None:
    one, other = content(), content()
    fd = make(made, one)
    was = inode(fd)
    holder = has(one, fd, how)
    fd = make(made, other)
    assert inode(fd) != was and held(other, fd) == other
    if how == "process":
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdin.close()
    elif how == "mapping":
        assert holder == one
        del holder
    else:
        assert held(one, holder) == one
    found = set()
    for _ in range(2):
        fd = make(made, one)
        found.add(inode(fd))
        os.close(fd)
    assert was in found


def test_a_process_that_was_forked_keeps_what_it_has_and_nothing_else(made: Regions) -> None:
    one = content()
    fd = make(made, one)
    was, mapping = inode(fd), memory.mapped(fd)
    os.close(fd)
    said, say = os.pipe()
    go, wait = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(wait)
        mine = [os.readlink(f"/proc/self/fd/{f}") for f in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{f}")]
        os.write(say, b"%d" % sum("memfd" in m for m in mine))
        os.read(go, 1)
        os._exit(0 if bytes(mapping) == one else 1)
    try:
        assert os.read(said, 10) == b"0"
        del mapping
        fd = make(made, content())
        assert inode(fd) != was
        os.close(fd)
    finally:
        os.write(wait, b"x")
        assert os.waitpid(pid, 0)[1] == 0
        for end in (said, say, go, wait):
            os.close(end)


def test_nobody_but_its_maker_writes_to_it(made: Regions) -> None:
    one = content()
    fd = make(made, one)
    again = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
    for which in (fd, again):
        for change in (lambda: os.pwrite(which, b"x", 0), lambda: os.ftruncate(which, 1), lambda: os.ftruncate(which, 9 * MB),
                       lambda: mmap.mmap(which, MB, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE),
                       lambda: fcntl.fcntl(which, 1033, 8)):
            with pytest.raises(OSError):
                change()
    os.close(again)
    private = memory.mapped(fd)
    private[:3] = b"abc"  # nobody else sees it
    assert held(one, fd) == one


def test_who_comes_late_is_not_given_another_content(made: Regions) -> None:
    one = content()
    fd = make(made, one)
    os.close(fd)
    region, = made._regions
    late = os.open(f"/proc/self/fd/{region.fd}", os.O_RDONLY)
    assert memory.is_named(late, one[:32])  # it came in time, and so keeps it
    other = content()
    fd = make(made, other)
    assert inode(fd) != inode(late) and held(one, late) == one and held(other, fd) == other
    assert region.is_free()
    late = os.open(f"/proc/self/fd/{region.fd}", os.O_RDONLY)
    assert not memory.is_named(late, one[:32]) and memory.size_of(late) == 0
    os.close(late)


def test_what_stays_unused_goes(made: Regions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "FREE_STAYS", 0.1)
    one = content()
    holder = make(made, one)
    os.close(make(made, one))
    until(lambda: len(made._regions) == 1, "the one that nobody has goes")
    os.close(holder)
    until(lambda: not made._regions)
    until(lambda: not made._tended, "its thread ends")
    os.close(make(made, one))
    until(lambda: not made._regions, "and is there again")


def test_what_stays_has_limits(made: Regions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "FREE_STAYS", 60.0)
    monkeypatch.setattr(regions, "USED_MAX", 3)
    monkeypatch.setattr(regions, "FREE_MAX", 2)
    one = content()
    holders = [make(made, one) for _ in range(6)]
    assert len(made._regions) == 3
    for holder in holders:
        assert held(one, holder) == one  # whoever has it keeps it
    until(lambda: len(made._regions) == regions.FREE_MAX, "the rest goes")
    made.clear()
    for holder in [make(made, one, MB + 8192) for _ in range(2)]:
        os.close(holder)
    until(lambda: len(made._regions) == 1, "two are more than may stay")
    made.clear()
    os.close(make(made, one, MB - 1))
    assert not made._regions  # so large ones are not used again


def test_what_stays_goes_when_others_need_its_room(made: Regions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "FREE_STAYS", 60.0)
    for holder in [make(made, content(size)) for size in (MB, 2 * MB)]:
        os.close(holder)
    until(lambda: all(region.is_free() for region in made._regions))
    one = content(4 * MB)
    fd = make(made, one, 3 * MB // 2)
    assert sum(region.room for region in made._regions if region.is_free()) <= 3 * MB // 2
    assert held(one, fd) == one
    fd = make(made, one, 0)
    assert not made._regions and held(one, fd) == one


def test_a_full_memory_is_an_error(made: Regions, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(memory, "write", full)
    with pytest.raises(OSError, match="no space left"):
        make(made, content())


def test_where_there_are_no_leases_it_is_sealed_memory(made: Regions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "can_be", lambda: False)
    one = content()
    fd = make(made, one)
    assert not made._regions and held(one, fd) == one


def test_a_lease_kills_nobody(made: Regions) -> None:
    """Whoever opens it meanwhile has its signal sent, which is ignored."""
    os.close(make(made, content()))
    region, = made._regions
    fcntl.fcntl(region.fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    try:
        with pytest.raises(BlockingIOError):
            os.open(f"/proc/self/fd/{region.fd}", os.O_RDONLY | os.O_NONBLOCK)
    finally:
        fcntl.fcntl(region.fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
