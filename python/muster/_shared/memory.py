"""Memory that other processes can take: sealed memfds, which nobody can change or cut off any more.

Whoever has a descriptor of one, or a mapping, keeps it; the kernel frees it with the last. Its file name says
which content it is, so that whoever opens a number in /proc can tell whether that is still the same. What is used again
(`regions`) has a label at its end instead, and its maker alone writes to it, while nobody else has it. Never imports grpc.
Any thread; nothing here is kept.
"""
from __future__ import annotations

import ctypes
import fcntl
import functools
import mmap
import os
import struct
import threading
from typing import Any, Callable, Sequence

from muster._control_group import ControlGroup
from muster._pickled.buffers import Data

BYTES_MAX = 4 << 30
"""Of what one process holds, unless it is told otherwise; at most half of the memory that there is."""
PREFIX = "muster-"
_WRITTEN_AT_ONCE = 1 << 30
THREADS_MAX = 4
THREAD_MIN = 4 << 20
"""Bytes that are copied or compared by a thread at least, of several."""
_SEALS = 1 | 2 | 4 | 8
"""F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE: Python names them from 3.9 on Linux alone."""
_SEALS_OF_LABELLED = 1 | 2 | 4 | 16
"""With F_SEAL_FUTURE_WRITE: whoever had mapped it before writes to it, and nobody else."""
_ADD_SEALS, _GET_SEALS = 1033, 1034
_LABEL = struct.Struct("<8sQ32s")
_LABEL_MAGIC = b"MUSTER-R"
LABEL = _LABEL.size
_MAP_FIXED = 0x10
POPULATE_WRITE = 23
"""Advice of madvise: all pages are there for writing; since Linux 5.14."""


class _Buffer(ctypes.Structure):
    """Py_buffer, as it has been since Python 3.0."""

    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


@functools.lru_cache(None)
def _libc() -> Any:
    c = ctypes.CDLL(None, use_errno=True)
    c.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    c.mmap.restype = ctypes.c_void_p
    c.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    c.memcpy.restype = ctypes.c_void_p
    c.memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    c.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return c


def there() -> bool:
    """Whether this system has it, and other processes of this user may open what this one has. They may not where it
    has changed its user after it was started."""
    try:
        return hasattr(os, "memfd_create") and os.stat("/proc/self/fd").st_uid == os.geteuid()
    except OSError:
        return False


def filled(name: bytes, fill: Callable[[int], None]) -> int:
    """A descriptor of what `fill` writes to it. Raises OSError, as when memory is full, and what `fill` raises."""
    fd = os.memfd_create(PREFIX + name.hex(), os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        fill(fd)
        fcntl.fcntl(fd, _ADD_SEALS, _SEALS)
        return fd
    except BaseException:
        os.close(fd)
        raise


def make(name: bytes, parts: Sequence[Data]) -> int:
    """A descriptor of the parts, one behind the other. Raises OSError, as when memory is full."""
    return filled(name, lambda fd: write(fd, parts))


def write(fd: int, parts: Sequence[Data]) -> None:
    """Not by a mapping, where a full memory is SIGBUS. Raises OSError."""
    for part in parts:
        view = memoryview(part).cast("B")
        while len(view):
            view = view[os.write(fd, view[:_WRITTEN_AT_ONCE]):]


def label(name: bytes, size: int) -> bytes:
    """What the end of memory that is used again says of it."""
    return _LABEL.pack(_LABEL_MAGIC, size, name)


def seal_labelled(fd: int) -> None:
    """Nobody maps it for writing from here on, or cuts it off. Raises OSError, as where the system has no such seal."""
    fcntl.fcntl(fd, _ADD_SEALS, _SEALS_OF_LABELLED)


def _labelled(fd: int) -> tuple[bytes, int] | None:
    """The name and size that its label says. None: it is no memory that is used again. Raises OSError."""
    try:
        if fcntl.fcntl(fd, _GET_SEALS) & (_SEALS | _SEALS_OF_LABELLED) != _SEALS_OF_LABELLED:
            return None
    except OSError:  # a file of a disk
        return None
    end = os.fstat(fd).st_size - LABEL
    magic, size, name = _LABEL.unpack(os.pread(fd, LABEL, end))
    if magic != _LABEL_MAGIC or size > end:  # it is being written
        return b"", 0
    return name, size


def size_of(fd: int) -> int:
    """Bytes of its content. Raises OSError."""
    labelled = _labelled(fd)
    return os.fstat(fd).st_size if labelled is None else labelled[1]


def check(fd: int, name: bytes, size: int) -> None:
    """Raises OSError unless it is that content, whole and sealed."""
    if not is_named(fd, name) or size_of(fd) != size:
        raise OSError(f"this is not the memory of {name.hex()}")
    seals = fcntl.fcntl(fd, _GET_SEALS)
    if seals & _SEALS != _SEALS and seals & _SEALS_OF_LABELLED != _SEALS_OF_LABELLED:
        raise OSError(f"the memory of {name.hex()} is not sealed")


def is_named(fd: int, name: bytes) -> bool:
    """Whether the descriptor is of memory, or of a file, with this content."""
    labelled = _labelled(fd)
    return name.hex() in os.readlink(f"/proc/self/fd/{fd}") if labelled is None else labelled[0] == name


def mapped(fd: int) -> memoryview:
    """Its bytes; what is written to them is seen by nobody else. Needs no descriptor any more. Raises OSError."""
    return memoryview(_map(fd, size_of(fd), mmap.MAP_PRIVATE))


def mapped_for_all(fd: int, size: int) -> mmap.mmap:
    """What is written to it is seen by all who have it. Raises OSError."""
    return _map(fd, size, mmap.MAP_SHARED)


def _map(fd: int, size: int, how: int) -> mmap.mmap:
    made = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    at, _ = address(made)  # in place of what `made` has and gives back; an mmap of a file would keep a descriptor
    if _libc().mmap(at, size, mmap.PROT_READ | mmap.PROT_WRITE, how | _MAP_FIXED, fd, 0) != at:
        raise OSError(ctypes.get_errno(), "memory cannot be mapped")
    return made


def advise(of: mmap.mmap, what: int) -> bool:
    """False: this system does not know such advice, or cannot take it. Other threads run meanwhile."""
    return bool(_libc().madvise(*address(of), what) == 0)


def copy(into: mmap.mmap, at: int, data: Data) -> None:
    """There is room for it. Other threads run meanwhile, and whatever is raised here, those that copy have both."""
    def some(begin: int, size: int) -> bool:
        _libc().memcpy(address(into)[0] + at + begin, address(data)[0] + begin, size)
        return True

    size = memoryview(data).nbytes
    assert at + size <= len(into)
    _by_several(size, some)


def _by_several(size: int, some: Callable[[int, int], bool]) -> bool:
    """Whether `some` is true of all, by several threads where that is worth it."""
    count = min(THREADS_MAX, size // THREAD_MIN, len(os.sched_getaffinity(0)))
    if count < 2:
        return some(0, size)
    step = -(-size // count)
    found: list[bool] = []

    def run(begin: int) -> None:
        found.append(some(begin, min(step, size - begin)))

    begun = []
    try:
        for begin in range(step, size, step):
            thread = threading.Thread(target=run, args=(begin,), name="muster-copy", daemon=True)
            try:
                thread.start()
                begun.append(thread)
            except RuntimeError:  # there can be no more
                run(begin)
        run(0)
    finally:
        for thread in begun:
            thread.join()
    return all(found)


def address(data: Data | mmap.mmap) -> tuple[int, int]:
    """Where its bytes are, for as long as it lives, and how many."""
    found = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(data), ctypes.byref(found), 0)
    try:
        return found.buf or 0, found.len
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(found))


def same(one: Data, other: Data) -> bool:
    """Whether their bytes are. Other threads run meanwhile."""
    size = memoryview(one).nbytes
    return size == memoryview(other).nbytes and _by_several(
        size, lambda at, some: _libc().memcmp(address(one)[0] + at, address(other)[0] + at, some) == 0)


def bytes_max(asked: int | None) -> int:
    """What a process may hold; 0: this is not to be used, or cannot be."""
    if not there() or asked == 0:
        return 0
    if asked is not None:
        return asked
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(BYTES_MAX, min(total, ControlGroup("").memory_limit or total) // 2)
