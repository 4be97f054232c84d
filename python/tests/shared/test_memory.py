"""Sealed memory."""
from __future__ import annotations

import fcntl
import mmap
import os
import secrets

import pytest

from muster._shared import memory
from muster.coordinator.options import CoordinatorOptions
from muster.worker import command
from muster.worker.options import WorkerOptions

NAME = secrets.token_bytes(32)
MB = 1 << 20


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_nobody_changes_what_is_sealed() -> None:
    fd = memory.make(NAME, [b"abc", memoryview(b"defg")])
    for change in (lambda: os.write(fd, b"x"), lambda: os.ftruncate(fd, 1), lambda: os.ftruncate(fd, 100),
                   lambda: mmap.mmap(fd, 7, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE),
                   lambda: fcntl.fcntl(fd, 1033, 1)):
        with pytest.raises(OSError):
            change()
    assert os.pread(fd, 100, 0) == b"abcdefg"
    assert not os.get_inheritable(fd)
    os.close(fd)


def test_a_mapping_is_private_and_needs_no_descriptor() -> None:
    before = open_descriptors()
    fd = memory.make(NAME, [b"x" * MB])
    one, other = memory.mapped(fd), memory.mapped(fd)
    os.close(fd)
    assert open_descriptors() == before
    one[:3] = b"abc"
    assert one[:4] == b"abcx" and other[:4] == b"xxxx"
    assert one.format == "B" and len(one) == MB


def test_what_it_is_not_is_refused() -> None:
    fd = memory.make(NAME, [b"abc"])
    memory.check(fd, NAME, 3)
    with pytest.raises(OSError, match="is not the memory of"):
        memory.check(fd, secrets.token_bytes(32), 3)
    with pytest.raises(OSError, match="is not the memory of"):
        memory.check(fd, NAME, 4)
    os.close(fd)
    unsealed = os.memfd_create(memory.PREFIX + NAME.hex(), os.MFD_ALLOW_SEALING)
    os.write(unsealed, b"abc")
    with pytest.raises(OSError, match="not sealed"):
        memory.check(unsealed, NAME, 3)
    os.close(unsealed)


def test_same() -> None:
    one = bytearray(b"x" * MB)
    assert memory.same(memoryview(one), b"x" * MB)
    one[-1] = 0
    assert not memory.same(memoryview(one), b"x" * MB)
    assert not memory.same(b"x", b"xx")
    assert memory.address(memoryview(one)[10:20])[1] == 10


def test_how_much(monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory.bytes_max(0) == 0 and memory.bytes_max(5) == 5
    assert MB < memory.bytes_max(None) <= memory.BYTES_MAX
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)  # /proc/self is another's then
    assert memory.bytes_max(None) == memory.bytes_max(5) == 0


def test_what_is_asked_for_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    for text, size in (("0", 0), ("7B", 7), ("5MiB", 5 * MB), ("4GiB", 4 << 30)):
        assert command.parser().parse_args(["--shm-bytes-max", text]).shm_bytes_max == size
    with pytest.raises(SystemExit):
        command.parser().parse_args(["--shm-bytes-max", "4 GB"])
    assert "'4 GB' is no number of bytes, as 4GiB or 512MiB" in capsys.readouterr().err
    for make in (lambda: WorkerOptions(["127.0.0.1:1"], shm_bytes_max=-1), lambda: CoordinatorOptions(shm_bytes_max=-1)):
        with pytest.raises(ValueError, match="shm_bytes_max: -1, must not be negative"):
            make()
