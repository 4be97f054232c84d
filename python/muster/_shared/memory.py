"""Memory that other processes can take: sealed memfds, which nobody can change or cut off any more.

Whoever has a descriptor of one, or a mapping, keeps it; the kernel frees it with the last. Its file name says
which content it is, so that whoever opens a number in /proc can tell whether that is still the same. Never
imports grpc. Any thread; nothing here is kept.
"""
from __future__ import annotations

import ctypes
import fcntl
import functools
import mmap
import os
from typing import Any, Callable, Optional, Sequence, Union

from muster._pickled.buffers import Data

BYTES_MAX = 4 << 30
"""Of what one process holds, unless it is told otherwise; at most half of the memory that there is."""
PREFIX = "muster-"
_WRITTEN_AT_ONCE = 1 << 30
_SEALS = 1 | 2 | 4 | 8
"""F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE: Python names them from 3.9 on Linux alone."""
_ADD_SEALS, _GET_SEALS = 1033, 1034


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
    def fill(fd: int) -> None:
        for part in parts:
            view = memoryview(part).cast("B")
            while len(view):  # not by a mapping, where a full memory is SIGBUS
                view = view[os.write(fd, view[:_WRITTEN_AT_ONCE]):]

    return filled(name, fill)


def check(fd: int, name: bytes, size: int) -> None:
    """Raises OSError unless it is that content, whole and sealed."""
    if not is_named(fd, name) or os.fstat(fd).st_size != size:
        raise OSError(f"this is not the memory of {name.hex()}")
    if fcntl.fcntl(fd, _GET_SEALS) & _SEALS != _SEALS:
        raise OSError(f"the memory of {name.hex()} is not sealed")


def is_named(fd: int, name: bytes) -> bool:
    """Whether the descriptor is of memory, or of a file, with this content."""
    return name.hex() in os.readlink(f"/proc/self/fd/{fd}")


def mapped(fd: int) -> memoryview:
    """Its bytes; what is written to them is seen by nobody else. Needs no descriptor any more. Raises OSError."""
    size = os.fstat(fd).st_size
    made = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    at, _ = address(made)
    fixed = 0x10  # MAP_FIXED, in place of what `made` has and gives back; an mmap of a file would keep a descriptor
    if _libc().mmap(at, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | fixed, fd, 0) != at:
        raise OSError(ctypes.get_errno(), "memory cannot be mapped")
    return memoryview(made)


def address(data: Union[Data, mmap.mmap]) -> tuple[int, int]:
    """Where its bytes are, for as long as it lives, and how many."""
    found = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(data), ctypes.byref(found), 0)
    try:
        return found.buf or 0, found.len
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(found))


def same(one: Data, other: Data) -> bool:
    """Whether their bytes are. Other threads run meanwhile."""
    (a, size), (b, length) = address(one), address(other)
    return size == length and _libc().memcmp(a, b, size) == 0


def bytes_max(asked: Optional[int]) -> int:
    """What a process may hold; 0: this is not to be used, or cannot be."""
    if not there() or asked == 0:
        return 0
    if asked is not None:
        return asked
    from muster.worker.machine import ControlGroup

    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(BYTES_MAX, min(total, ControlGroup("").memory_limit or total) // 2)
