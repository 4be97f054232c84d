"""Shared memory that other processes can open; see ``client/blobs/memory.hpp`` and ``regions.hpp``. Thread-safe. Never
imports grpc.
"""
from __future__ import annotations

import ctypes
import functools
import mmap
import os
from typing import Any, Sequence

from muster._pickled.buffers import Data
from muster._shared import library

_MAP_FIXED = 0x10


class _Buffer(ctypes.Structure):
    """The structure Py_buffer, whose layout has not changed since Python 3.0."""

    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


@functools.lru_cache(None)
def _mmap() -> Any:
    function = ctypes.CDLL(None, use_errno=True).mmap
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    function.restype = ctypes.c_void_p
    return function


def bytes_max(asked: int | None) -> int:
    """Returns how many bytes a process may hold for other processes. Returns 0 if sharing is disabled or impossible."""
    found = library.found()
    return 0 if found is None else int(found.bytes_max(-1 if asked is None else asked))


@functools.lru_cache(None)
def this_host() -> str:
    """Returns a string that is identical for all processes that can connect to each other's Unix sockets. The string is
    empty if it cannot be determined.
    """
    found = library.loaded()
    return found.text(found.host)


def is_reused() -> bool:
    """Returns whether a process can reuse memory after all other processes have closed it."""
    found = library.found()
    return found is not None and bool(found.memory_is_reused())


def make(name: bytes, parts: Sequence[Data], free_max: int = 0) -> int:
    """Creates shared memory that contains the concatenated parts, and returns the descriptor of the memory.

    This process keeps at most `free_max` bytes of unused memory for later values. Raises OSError, for example if there
    is not enough memory.
    """
    found = [address(part) for part in parts]
    at = (ctypes.c_void_p * len(found))(*[place for place, _ in found])
    sizes = (ctypes.c_size_t * len(found))(*[size for _, size in found])
    return int(library.loaded().make(name, at, sizes, len(found), free_max))


def forget_unused() -> None:
    """Frees the unused memory that this process keeps for later values."""
    found = library.found()
    if found is not None:
        found.forget_unused()


def size_of(fd: int) -> int:
    """Returns the size of the value in shared memory. Raises OSError if the size cannot be read."""
    found = library.found()
    return os.fstat(fd).st_size if found is None else int(found.size(fd))


def check(fd: int, name: bytes, size: int) -> None:
    """Checks that the memory is sealed and contains exactly the named value. Raises OSError otherwise."""
    library.loaded().check(fd, name, size)


def is_named(fd: int, name: bytes) -> bool:
    """Returns whether the descriptor refers to memory, or to a file, that contains the named value."""
    found = library.found()
    return name.hex() in os.readlink(f"/proc/self/fd/{fd}") if found is None else bool(found.is_named(fd, name))


def same(one: Data, other: Data) -> bool:
    """Returns whether two buffers contain equal bytes."""
    (at, size), (there, length) = address(one), address(other)
    return size == length and bool(library.loaded().same(at, there, size))


def mapped(fd: int) -> memoryview:
    """Maps shared memory privately, without keeping a descriptor. Raises OSError if the memory cannot be mapped."""
    size = size_of(fd)
    made = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    at, _ = address(made)  # replaces the mapping of `made`, which unmaps it; mmap of a file would keep a descriptor
    if _mmap()(at, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | _MAP_FIXED, fd, 0) != at:
        raise OSError(ctypes.get_errno(), "memory cannot be mapped")
    return memoryview(made)


def address(data: Data | mmap.mmap) -> tuple[int, int]:
    """Returns the address and the size in bytes of a buffer. The address is valid while the buffer exists."""
    found = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(data), ctypes.byref(found), 0)
    try:
        return found.buf or 0, found.len
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(found))
