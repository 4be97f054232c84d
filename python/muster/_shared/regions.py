"""Memory for large values that its maker uses again, once nobody else has it any more. Never imports grpc. Any thread.

New memory costs as much as writing to it: its pages are allocated, cleared and mapped. So the last few regions that a process
has made stay with it. Others have them for reading alone, and the kernel says whether anybody still has one (a descriptor, a mapping,
also of a process that was forked): only then it grants no lease for writing. The content is told by a label at the end
(`memory`), which is taken off first; so whoever comes late, by a number in /proc, is not given other bytes.

A thread of its own lets go of what stays unused; it ends with the last. A process that was forked has none of its parent's.
"""
from __future__ import annotations

import fcntl
import functools
import mmap
import os
import secrets
import signal
import threading
import time
import weakref
from typing import Any, Sequence

from muster._pickled.buffers import Data
from muster._shared import memory

FREE_MAX = 4
FREE_STAYS = 5.0
"""Seconds for which one that nobody has stays."""
USED_MAX = 8
"""That others have and which are looked after; of one beyond the first goes to its holders alone."""
LOOK_EVERY = 1.0
_UNLABELLED = bytes(memory.LABEL)


class _Region:
    """A memfd and its mapping. Raises OSError, as when memory is full."""

    def __init__(self, name: bytes, parts: Sequence[Data], size: int) -> None:
        page = mmap.PAGESIZE
        self.room = -(-(size + memory.LABEL) // page) * page - memory.LABEL
        self.free_since: float | None = None
        self.fd = -1
        self._mapping: Any = None
        self._populated = False
        opened = os.memfd_create(memory.PREFIX + secrets.token_hex(32), os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:  # what it was made with is not counted as a writer, and so gets no lease
            self.fd = os.open(f"/proc/self/fd/{opened}", os.O_RDWR | os.O_CLOEXEC)
        finally:
            os.close(opened)
        try:
            os.ftruncate(self.fd, self.room + memory.LABEL)
            self._mapping = memory.mapped_for_all(self.fd, self.room + memory.LABEL)  # before it is sealed
            memory.write(self.fd, parts)
            os.pwrite(self.fd, memory.label(name, size), self.room)
            memory.seal_labelled(self.fd)
            fcntl.fcntl(self.fd, fcntl.F_SETSIG, signal.SIGURG)  # who opens it under a lease: it is ignored
        except BaseException:
            self.close()
            raise
        _all.add(self)

    def write(self, name: bytes, parts: Sequence[Data], size: int) -> None:
        """It is free."""
        if not self._populated:
            self._populated = memory.advise(self._mapping, memory.POPULATE_WRITE)
        at = 0
        for part in parts:
            memory.copy(self._mapping, at, part)
            at += memoryview(part).nbytes
        self._mapping[self.room:] = memory.label(name, size)

    def given(self) -> int:
        """A descriptor for reading, which is the caller's."""
        return os.open(f"/proc/self/fd/{self.fd}", os.O_RDONLY | os.O_CLOEXEC)

    def is_free(self) -> bool:
        """Nobody else has it, and nobody will: it has no name any more."""
        if self.free_since is None:
            try:
                fcntl.fcntl(self.fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            except OSError:
                return False
            self._mapping[self.room:] = _UNLABELLED
            fcntl.fcntl(self.fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            self.free_since = time.monotonic()
        return True

    def close(self) -> None:
        """Others keep what they have."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)
        self._mapping = None  # not unmapped: a thread may still copy into it

    __del__ = close  # also where something was raised between two lines


class Regions:
    """Those of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # protects all below
        self._regions: list[_Region] = []
        """The one that was written first goes first."""
        self._free_max = 0
        self._tended = False

    def make(self, name: bytes, parts: Sequence[Data], free_max: int) -> int:
        """A descriptor of the parts, one behind the other. At most `free_max` bytes stay that nobody has. Raises OSError, as
        when memory is full."""
        size = sum(memoryview(part).nbytes for part in parts)
        region = self._fitting(size) if can_be() else None
        again = region is not None
        self._limit(free_max)  # before there is more
        if region is None and (size > free_max or not can_be()):
            return memory.make(name, parts)
        region = region or _Region(name, parts, size)
        try:
            if again:
                region.write(name, parts, size)
            fd = region.given()
        except BaseException:
            region.close()
            raise
        region.free_since = None
        self._add(region)
        return fd

    def clear(self) -> None:
        """Holders have theirs alone from here on."""
        with self._lock:
            regions, self._regions = self._regions, []
        for region in regions:
            region.close()

    def _fitting(self, size: int) -> _Region | None:
        with self._lock:
            for region in self._regions:
                if size <= region.room <= size + size // 16 + mmap.PAGESIZE and region.is_free():
                    self._regions.remove(region)
                    return region
        return None

    def _limit(self, free_max: int) -> None:
        with self._lock:
            self._free_max = free_max
            gone = self._too_many()
        for each in gone:
            each.close()

    def _add(self, region: _Region) -> None:
        with self._lock:
            self._regions.append(region)
            gone = self._too_many()
            if not self._tended:
                self._tended = True
                threading.Thread(target=self._tend, name="muster-regions", daemon=True).start()
        for each in gone:
            each.close()

    def _tend(self) -> None:
        """Its thread."""
        while True:
            time.sleep(LOOK_EVERY)
            with self._lock:
                gone = self._too_many()
                self._tended = bool(self._regions)
                tended = self._tended
            for each in gone:
                each.close()
            if not tended:
                return

    def _too_many(self) -> list[_Region]:
        """Under _lock; those that are no longer looked after."""
        free: list[_Region] = []
        used: list[_Region] = []
        for region in self._regions:
            (free if region.is_free() else used).append(region)
        now = time.monotonic()
        gone = [*used[:-USED_MAX], *free[:-FREE_MAX]]
        kept = free[-FREE_MAX:]
        while kept and (sum(region.room for region in kept) > self._free_max
                        or now - (kept[0].free_since or now) > FREE_STAYS):
            gone.append(kept.pop(0))
        self._regions = [region for region in self._regions if region not in gone]
        return gone


@functools.lru_cache(None)
def can_be() -> bool:
    """Whether this system says who has memory: it grants a lease to whoever has it alone, and to nobody else."""
    try:
        region = _Region(bytes(32), [b"x"], 1)
    except (OSError, AttributeError):
        return False
    try:
        fd = region.given()
        try:
            if region.is_free():
                return False
            mapping = memory.mapped(fd)
        finally:
            os.close(fd)
        if region.is_free():
            return False
        del mapping
        return region.is_free()
    except OSError:
        return False
    finally:
        region.close()


_all: weakref.WeakSet[_Region] = weakref.WeakSet()
regions = Regions()


def _forked() -> None:
    global regions
    regions = Regions()
    for region in list(_all):  # also one that another thread of the parent was writing
        region.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
