"""Captures descriptors 1 and 2 of a child process, to which its subprocesses, C extensions and other threads write.

The forkserver has replaced the descriptors with pipes. The child reads the pipes regularly and before it answers a
closure, and adds the lines to the log of the running closure. Output that arrives while no closure is running is
written to the worker's own output.

A full pipe blocks the writing thread. Code that holds the interpreter lock and writes more than the pipe can hold would
block forever. Therefore the forkserver also checks the pipes, and reads data that has not been read for a second (see
`Left`).
"""
from __future__ import annotations

import array
import ctypes
import fcntl
import os
import select
import termios
import threading
import time
from typing import Callable, NamedTuple

from muster import _forks
from muster.worker.lines import Line

READ_BYTES = 64 << 10
DRAIN_BYTES_MAX = 1 << 20
"""Maximum number of bytes to read at a time from a continuous writer."""
STUCK_BYTES = 32 << 10
"""The forkserver reads a pipe that holds at least this many bytes, if this number has not changed for a second."""
PATIENCE_MS = 100
"""Milliseconds to wait for the reader of the worker's own output before the output is dropped."""
DROPS_FOR = 1.0
"""Seconds for which all output is dropped after the reader has not read in time."""
_IOLBF = 1


class Ends(NamedTuple):
    """The read and write ends of the pipes that replace descriptors 1 and 2."""

    read: tuple[int, int]
    write: tuple[int, int]


def pipes() -> Ends:
    (r1, w1), (r2, w2) = os.pipe(), os.pipe()
    for read in (r1, r2):
        os.set_blocking(read, False)
    return Ends((r1, r2), (w1, w2))


class Descriptors:
    """The captured descriptors of a child. `drain` can be called from any thread."""

    def __init__(self, ends: Ends) -> None:
        """Moves the write ends of the pipes to descriptors 1 and 2. The forkserver has its own copies."""
        self._ends = ends
        self._real = (os.dup(1), os.dup(2))  # not inherited by processes that functions start
        for number, end in zip((1, 2), ends.write):
            os.dup2(end, number)
            os.close(end)
        self._there = select.epoll()
        for end in ends.read:
            self._there.register(end, select.EPOLLIN)
        self.poll = self._there.poll
        """Polls both pipes for data; arguments (0, 1)."""
        # Serializes reads and protects all below. Reentrant, because a finalizer may print while
        # the lock is held.
        self._lock = threading.RLock()
        self._draining = False
        self._lines = (Line(), Line())
        libc = ctypes.CDLL(None)
        self._fflush = libc.fflush
        self._streams: list[ctypes.c_void_p] = []  # C's stdout and stderr
        for name in ("stdout", "stderr"):
            try:
                stream = ctypes.c_void_p.in_dll(libc, name)
                libc.setvbuf(stream, None, _IOLBF, ctypes.c_size_t(0))
                self._streams.append(stream)
            except (AttributeError, ValueError):  # another C library, which decides by itself when it writes
                pass
        _forks.notify_in_forks(self)

    def forked(self) -> None:
        """Closes the pipes in a forked process. Otherwise, the process could fill a pipe and then block forever."""
        for end in (*self._ends.read, *self._real):
            os.close(end)
        self._there.close()

    def flush(self) -> None:
        """Flushes C's stdout and stderr. Does not flush other C streams, because a thread that waits for input holds
        the lock of the input stream.
        """
        for stream in self._streams:
            self._fflush(stream)

    def fileno(self) -> int:
        """Returns a descriptor that is readable while a pipe contains data."""
        return self._there.fileno()

    def drain(self, take: Callable[[int, str], None] | None) -> bool:
        """Passes lines to `take`, with index 0 for descriptor 1 and index 1 for descriptor 2. `take` is None if no
        closure is running. Returns whether there was a lot of output.
        """
        if not self.poll(0, 1):
            return False
        much = 0
        with self._lock:
            if self._draining:  # this thread is already reading a line
                return False
            self._draining = True
            try:
                for i in (0, 1):
                    much += self._drain_one(i, take)
            finally:
                self._draining = False
        return much > READ_BYTES // 2

    def _drain_one(self, i: int, take: Callable[[int, str], None] | None) -> int:
        size = 0
        while size < DRAIN_BYTES_MAX:
            try:
                data = os.read(self._ends.read[i], READ_BYTES)
            except BlockingIOError:
                break
            if not data:
                break
            size += len(data)
            if take is None:
                _write_all(self._real[i], data)
                continue
            whole = self._lines[i].add(data)
            if whole is not None:
                take(i, whole)
        return size

    @property
    def begun(self) -> bool:
        """Whether there is an unfinished line."""
        return bool(self._lines[0].begun or self._lines[1].begun)

    def report_standing(self, take: Callable[[int, str], None]) -> None:
        """Passes lines that are still incomplete after a while to `take`."""
        if not self.begun:
            return
        with self._lock:
            for i, line in enumerate(self._lines):
                text = line.standing()
                if text is not None:
                    take(i, text)

    def end(self, take: Callable[[int, str], None]) -> None:
        """Passes all remaining output to `take`. Called before the closure is answered."""
        self.drain(take)
        with self._lock:
            for i, line in enumerate(self._lines):
                if line.begun:
                    take(i, line.take())


class Left:
    """The forkserver's end of one child's pipes. The forkserver reads data that the child cannot read or that is
    written after the child has exited, and writes this data to the worker's own output.
    """

    def __init__(self, ends: Ends) -> None:
        self._ends = ends
        self._unread = [0, 0]
        for end in ends.write:
            os.close(end)

    def look(self) -> None:
        """Reads data that the child has not read. Called once a second."""
        for i, end in enumerate(self._ends.read):
            waiting = array.array("i", [0])
            fcntl.ioctl(end, termios.FIONREAD, waiting)
            if waiting[0] >= STUCK_BYTES and waiting[0] == self._unread[i]:
                self._take(i)
            self._unread[i] = waiting[0]

    def forget(self) -> None:
        """Closes the pipes in another child, which must not use them."""
        for end in self._ends.read:
            os.close(end)

    def take_rest(self) -> bool:
        """Reads the output of processes that are still running after their child process has exited. Without a reader,
        these processes would be killed when they write.

        Called when the child has exited, and then once a second. Returns False once the pipes are closed.
        """
        if any([self._take(i) for i in (0, 1)]):
            return True
        self.forget()
        return False

    def _take(self, i: int) -> bool:
        """Reads a pipe. Returns False once no process can write to it."""
        size = 0
        while size < DRAIN_BYTES_MAX:
            try:
                data = os.read(self._ends.read[i], READ_BYTES)
            except BlockingIOError:
                return True
            if not data:
                return False
            size += len(data)
            _write_all(i + 1, data)
        return True


_drops_until: dict[int, float] = {}
"""For each descriptor whose reader does not read, the time until which output is dropped."""


def _write_all(to: int, data: bytes) -> None:
    """Writes as much as the reader accepts within PATIENCE_MS. If some data cannot be written, all output is dropped
    for DROPS_FOR.

    A forkserver that repeatedly waited for the reader could neither fork children nor report their exits.
    """
    if time.monotonic() < _drops_until.get(to, 0.0):
        return
    poll = select.poll()
    poll.register(to, select.POLLOUT)
    try:
        while data:
            if not poll.poll(PATIENCE_MS):
                _drops_until[to] = time.monotonic() + DROPS_FOR
                return
            data = data[os.write(to, data[:select.PIPE_BUF]):]
    except OSError:  # the output has no reader
        pass
