"""What is written to descriptors 1 and 2 of a child process, by whomever: subprocesses, C extensions,
other threads. The forkserver has put pipes there; the child reads them whenever there is time, and
before a closure is answered, and the lines go to the closure that runs. What comes while none runs goes
where the worker's own output goes.

A pipe that is full holds back who writes. Code that writes more than fits while it holds the
interpreter's lock would wait for itself, so the forkserver looks, too: what nobody has read for a
second, it takes (see :class:`Left`).
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
"""Read at one time from a writer that does not stop."""
STUCK_BYTES = 32 << 10
"""Unread bytes, the same number for a second, at which the forkserver takes them."""
PATIENCE_MS = 100
"""For who reads the worker's own output. Then it is dropped."""
DROPS_FOR = 1.0
"""Seconds in which everything is dropped after that."""
_IOLBF = 1


class Ends(NamedTuple):
    """Of the pipes for descriptors 1 and 2: what is read from, and what is written to."""

    read: tuple[int, int]
    write: tuple[int, int]


def pipes() -> Ends:
    (r1, w1), (r2, w2) = os.pipe(), os.pipe()
    for read in (r1, r2):
        os.set_blocking(read, False)
    return Ends((r1, r2), (w1, w2))


class Descriptors:
    """Of a child. `drain` may be called by any thread."""

    def __init__(self, ends: Ends) -> None:
        """Puts the pipes' ends to 1 and 2; the others stay with who has forked us."""
        self._ends = ends
        self._real = (os.dup(1), os.dup(2))  # not inherited by what a function starts
        for number, end in zip((1, 2), ends.write):
            os.dup2(end, number)
            os.close(end)
        self._there = select.epoll()
        for end in ends.read:
            self._there.register(end, select.EPOLLIN)
        self.poll = self._there.poll
        """Of (0, 1): whether something is there."""
        # One at a time; protects all below. A finalizer that prints may come back here under the lock.
        self._lock = threading.RLock()
        self._draining = False
        self._lines = (Line(), Line())
        libc = ctypes.CDLL(None)
        self._fflush = libc.fflush
        self._streams: list[ctypes.c_void_p] = []  # of C
        for name in ("stdout", "stderr"):
            try:
                stream = ctypes.c_void_p.in_dll(libc, name)
                libc.setvbuf(stream, None, _IOLBF, ctypes.c_size_t(0))
                self._streams.append(stream)
            except (AttributeError, ValueError):  # another C library: lines come when it likes
                pass
        _forks.notify_in_forks(self)

    def forked(self) -> None:
        """A fork that had the pipes' other ends would wait for itself once they were full."""
        for end in (*self._ends.read, *self._real):
            os.close(end)
        self._there.close()

    def flush(self) -> None:
        """What is in the buffers of C. Not in those of all its streams: a thread that waits for input has the
        lock of one."""
        for stream in self._streams:
            self._fflush(stream)

    def fileno(self) -> int:
        """Readable while something is there."""
        return self._there.fileno()

    def drain(self, take: Callable[[int, str], None] | None) -> bool:
        """Gives lines to `take` with 0 for descriptor 1 and 1 for 2; None: nobody runs. Whether there
        was much."""
        if not self.poll(0, 1):
            return False
        much = 0
        with self._lock:
            if self._draining:  # by this thread, in the midst of a line
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
        """A line has begun and not ended."""
        return bool(self._lines[0].begun or self._lines[1].begun)

    def report_standing(self, take: Callable[[int, str], None]) -> None:
        """Gives lines that stand without a newline to `take`."""
        if not self.begun:
            return
        with self._lock:
            for i, line in enumerate(self._lines):
                text = line.standing()
                if text is not None:
                    take(i, text)

    def end(self, take: Callable[[int, str], None]) -> None:
        """The closure is about to be answered: all that it wrote is its own."""
        self.drain(take)
        with self._lock:
            for i, line in enumerate(self._lines):
                if line.begun:
                    take(i, line.take())


class Left:
    """The forkserver's look at the pipes of one child: it takes what the child does not read, since it
    cannot, and what is written when it has exited. That goes where the worker's own output goes."""

    def __init__(self, ends: Ends) -> None:
        self._ends = ends
        self._unread = [0, 0]
        for end in ends.write:
            os.close(end)

    def look(self) -> None:
        """Once a second."""
        for i, end in enumerate(self._ends.read):
            waiting = array.array("i", [0])
            fcntl.ioctl(end, termios.FIONREAD, waiting)
            if waiting[0] >= STUCK_BYTES and waiting[0] == self._unread[i]:
                self._take(i)
            self._unread[i] = waiting[0]

    def forget(self) -> None:
        """In another child: these are not its own."""
        for end in self._ends.read:
            os.close(end)

    def take_rest(self) -> bool:
        """Once the child has exited, and then once a second: processes that it has left behind may write, and
        would be killed for it if nobody could read. Whether there may be more; False: it is closed."""
        if any([self._take(i) for i in (0, 1)]):
            return True
        self.forget()
        return False

    def _take(self, i: int) -> bool:
        """False: nobody can write any more."""
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
"""By descriptor: its reader does not read."""


def _write_all(to: int, data: bytes) -> None:
    """Writes as much as the reader takes within PATIENCE_MS, and nothing for DROPS_FOR after it took less: a fork server that
    waited for it again and again would neither fork nor report the end of a child."""
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
    except OSError:  # nobody is there
        pass
