"""Sealed memory."""
from __future__ import annotations

import fcntl
import mmap
import os
import pathlib
import secrets
from typing import Any

import pytest

from muster._shared import library, memory
from muster.coordinator.options import CoordinatorOptions
from muster.worker import command
from muster.worker.options import WorkerOptions

NAME = secrets.token_bytes(32)
MB = 1 << 20


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_sealed_memory_cannot_be_changed() -> None:
    fd = memory.make(NAME, [b"abc", memoryview(b"defg")])
    for change in (lambda: os.write(fd, b"x"), lambda: os.ftruncate(fd, 1), lambda: os.ftruncate(fd, 100),
                   lambda: mmap.mmap(fd, 7, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE),
                   lambda: fcntl.fcntl(fd, 1033, 1)):
        with pytest.raises(OSError):
            change()
    assert os.pread(fd, 100, 0) == b"abcdefg"
    assert not os.get_inheritable(fd)
    os.close(fd)


def test_mapping_is_private_and_needs_no_descriptor() -> None:
    before = open_descriptors()
    fd = memory.make(NAME, [b"x" * MB])
    one, other = memory.mapped(fd), memory.mapped(fd)
    os.close(fd)
    assert open_descriptors() == before
    one[:3] = b"abc"
    assert one[:4] == b"abcx" and other[:4] == b"xxxx"
    assert one.format == "B" and len(one) == MB


def test_memory_with_another_name_size_or_seal_is_refused() -> None:
    fd = memory.make(NAME, [b"abc"])
    memory.check(fd, NAME, 3)
    with pytest.raises(OSError, match="does not contain"):
        memory.check(fd, secrets.token_bytes(32), 3)
    with pytest.raises(OSError, match="does not contain"):
        memory.check(fd, NAME, 4)
    os.close(fd)
    unsealed = os.memfd_create("muster-" + NAME.hex(), os.MFD_ALLOW_SEALING)
    os.write(unsealed, b"abc")
    with pytest.raises(OSError, match="not sealed"):
        memory.check(unsealed, NAME, 3)
    os.close(unsealed)


def test_same_compares_contents() -> None:
    one = bytearray(b"x" * MB)
    assert memory.same(memoryview(one), b"x" * MB)
    one[-1] = 0
    assert not memory.same(memoryview(one), b"x" * MB)
    assert not memory.same(b"x", b"xx")
    assert memory.address(memoryview(one)[10:20])[1] == 10


def test_bytes_max_has_a_default_and_can_be_zero() -> None:
    assert memory.bytes_max(0) == 0 and memory.bytes_max(5) == 5
    assert MB < memory.bytes_max(None) <= 4 << 30


def test_nothing_is_shared_without_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """The program is missing, or has another version. Contents from the server are mapped nevertheless."""
    def now() -> Any:
        library.found.cache_clear()
        return library.found()

    try:
        assert now() is not None
        monkeypatch.setattr(library, "INTERFACE", -7)
        assert now() is None
        monkeypatch.undo()
        monkeypatch.delenv("MUSTER_BINARY", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert now() is None
        assert memory.bytes_max(None) == memory.bytes_max(5) == 0 and not memory.is_reused()
        with pytest.raises(OSError, match="does not contain the library"):
            memory.make(NAME, [b"abc"])
        (tmp_path / NAME.hex()).write_bytes(b"abc")
        with open(tmp_path / NAME.hex(), "rb") as file:
            fd = file.fileno()
            assert memory.is_named(fd, NAME) and memory.size_of(fd) == 3 and bytes(memory.mapped(fd)) == b"abc"
    finally:
        monkeypatch.undo()
        assert now() is not None


def test_shm_bytes_max_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    for text, size in (("0", 0), ("7B", 7), ("5MiB", 5 * MB), ("4GiB", 4 << 30)):
        assert command.parser().parse_args(["--shm-bytes-max", text]).shm_bytes_max == size
    with pytest.raises(SystemExit):
        command.parser().parse_args(["--shm-bytes-max", "4 GB"])
    assert "'4 GB' is not a number of bytes, such as 4GiB or 512MiB" in capsys.readouterr().err
    for make in (lambda: WorkerOptions(["127.0.0.1:1"], shm_bytes_max=-1), lambda: CoordinatorOptions(shm_bytes_max=-1)):
        with pytest.raises(ValueError, match="shm_bytes_max: -1, must not be negative"):
            make()
