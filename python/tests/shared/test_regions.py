"""Reuse of memory, from Python. Its limits are tested in C++ (tests/client/blobs/regions_test.cpp)."""
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

from memories import memories
from muster._shared import memory

MB = 1 << 20
ROOM = 64 * MB

pytestmark = pytest.mark.skipif(not memory.is_reused(), reason="this system grants no leases on memory")


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    memory.forget_unused()
    yield
    memory.forget_unused()
    assert not memories()


def held(what: bytes, fd: int) -> bytes:
    """Returns the content of the memory, and closes its descriptor."""
    try:
        memory.check(fd, what[:32], len(what))
        return bytes(memory.mapped(fd))
    finally:
        os.close(fd)


def content(size: int = MB) -> bytes:
    return secrets.token_bytes(64) * (size // 64)


def make(what: bytes) -> int:
    return memory.make(what[:32], [what[:100], memoryview(what)[100:]], ROOM)


def inode(fd: int) -> int:
    return os.stat(fd).st_ino


def test_unused_memory_is_reused() -> None:
    one, other = content(), content()
    fd = make(one)
    was = inode(fd)
    assert held(one, fd) == one
    fd = make(other)
    assert inode(fd) == was and held(other, fd) == other
    smaller = other[:MB - 8192]
    fd = make(smaller)
    assert inode(fd) == was and held(smaller, fd) == smaller
    for size in (MB // 2, 2 * MB):  # the memory would be much too large, or too small
        some = content(size)
        fd = make(some)
        assert inode(fd) != was and held(some, fd) == some


def has(what: bytes, fd: int, how: str) -> Any:
    """Returns a holder of the memory of the kind `how`."""
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
def test_memory_in_use_is_not_reused(how: str) -> None:
    one, other = content(), content()
    fd = make(one)
    was = inode(fd)
    holder = has(one, fd, how)
    fd = make(other)
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
        fd = make(one)
        found.add(inode(fd))
        os.close(fd)
    assert was in found


def test_forked_process_keeps_its_mappings_and_no_descriptors() -> None:
    one = content()
    fd = make(one)
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
        fd = make(content())
        assert inode(fd) != was
        os.close(fd)
    finally:
        os.write(wait, b"x")
        assert os.waitpid(pid, 0)[1] == 0
        for end in (said, say, go, wait):
            os.close(end)


def test_only_the_maker_can_write_to_the_memory() -> None:
    one = content()
    fd = make(one)
    again = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
    for which in (fd, again):
        for change in (lambda: os.pwrite(which, b"x", 0), lambda: os.ftruncate(which, 1), lambda: os.ftruncate(which, 9 * MB),
                       lambda: mmap.mmap(which, MB, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE),
                       lambda: fcntl.fcntl(which, 1033, 8)):
            with pytest.raises(OSError):
                change()
    os.close(again)
    private = memory.mapped(fd)
    private[:3] = b"abc"  # not visible to others
    assert held(one, fd) == one
