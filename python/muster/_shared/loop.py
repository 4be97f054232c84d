"""The one thread of a process that gives memory to others and takes theirs. Any thread hands it work.

A process that was forked has no such thread: there the sockets and descriptors are closed, so that the other
side sees when this process ends.
"""
from __future__ import annotations

import logging
import os
import queue
import selectors
import socket
import threading
import weakref
from typing import Any, Callable

log = logging.getLogger("muster.shared")


class Loop:
    """Calls back when sockets can be read, and does what it is asked to."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._wake, woken = socket.socketpair()
        for end in (self._wake, woken):
            end.setblocking(False)
        self._woken = woken
        self._selector.register(woken, selectors.EVENT_READ, self._on_wake)
        self._asked: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._over = False
        self._at_end: list[Callable[[], None]] = []
        _loops.add(self)
        self._thread = threading.Thread(target=self._run, name="muster-shared", daemon=True)
        self._thread.start()

    def soon(self, what: Callable[[], None]) -> None:
        """On its thread. Takes no lock: also for what runs while something is collected."""
        self._asked.put(what)
        try:
            self._wake.send(b"x")
        except OSError:  # it is awake, or over
            pass

    def at_end(self, close: Callable[[], None]) -> None:
        """On its thread when it is closed, and in processes that are forked."""
        self._at_end.append(close)

    def close(self) -> None:
        """What it was asked before is done."""
        def end() -> None:
            self._over = True

        self.soon(end)
        if threading.current_thread() is not self._thread:
            self._thread.join(5.0)

    # Its own thread.

    def read(self, sock: socket.socket, on_ready: Callable[[], None]) -> None:
        self._selector.register(sock, selectors.EVENT_READ, on_ready)

    def forget(self, sock: socket.socket) -> None:
        """And closes it."""
        try:
            self._selector.unregister(sock)
        except (KeyError, ValueError):
            pass
        sock.close()

    def _on_wake(self) -> None:
        try:
            self._woken.recv(4096)
        except BlockingIOError:
            pass

    def _run(self) -> None:
        while not self._over:
            for key, _ in self._selector.select():
                self._call(key.data)
            while not self._asked.empty():
                self._call(self._asked.get())
        self.close_all()

    def _call(self, what: Callable[[], Any]) -> None:
        try:
            what()
        except Exception:  # the others go on
            log.exception("sharing memory")

    def close_all(self) -> None:
        for close in self._at_end:
            close()
        self._selector.close()
        self._wake.close()
        self._woken.close()


_loops: weakref.WeakSet[Loop] = weakref.WeakSet()


def _forked() -> None:
    for loop in list(_loops):
        loop.close_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
