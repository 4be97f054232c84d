"""The worker's side of the forkserver."""
from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from typing import Callable, Optional

from muster.worker.frames import Frames

START_TIMEOUT = 30.0
"""Seconds for the forkserver to fork."""


class Child:
    """One process: frames to and from it, and how it ended."""

    def __init__(self, pid: int, frames: Frames, kill: Callable[[int], None]) -> None:
        self.pid = pid
        self.frames = frames
        self._kill = kill
        self._exited = threading.Event()
        self._status = 0

    def kill(self) -> None:
        """At once; does nothing when it has exited."""
        self._kill(self.pid)

    def exited(self, status: int) -> None:
        self._status = status
        self._exited.set()

    def how(self, timeout: float) -> str:
        """How it ended, for people; waits for that at most `timeout` seconds."""
        if not self._exited.wait(timeout):
            return "closed its connection"
        if self._status < 0:
            try:
                name = signal.Signals(-self._status).name
                return f"was killed by {name}" + (", perhaps out of memory" if name == "SIGKILL" else "")
            except ValueError:
                return f"was killed by signal {-self._status}"
        return f"exited with status {self._status}"


class Children:
    """Starts the forkserver with the first child. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # one fork at a time; protects all below
        self._server: Optional[subprocess.Popen[bytes]] = None
        self._control: Optional[socket.socket] = None
        self._children: dict[int, Child] = {}
        self._early: dict[int, int] = {}  # exits that came before their child was listed
        self._started = threading.Event()
        self._pid = 0

    def start(self) -> Child:
        """Raises OSError if it cannot be forked."""
        with self._lock:
            control = self._control or self._start_server()
            ours, theirs = socket.socketpair()
            self._started.clear()
            socket.send_fds(control, [b"F"], [theirs.fileno()])
            theirs.close()
            if not self._started.wait(START_TIMEOUT):
                raise OSError("the forkserver has not started a process")
            child = Child(self._pid, Frames(ours), self._kill)
            self._children[child.pid] = child
            if child.pid in self._early:
                child.exited(self._early.pop(child.pid))
            return child

    def close(self) -> None:
        """Kills what is left."""
        with self._lock:
            if self._control:
                self._control.shutdown(socket.SHUT_RDWR)
                self._control.close()
                self._control = None
            if self._server:
                self._server.wait()  # it ends when its control socket is closed
                self._server = None

    def _start_server(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        environment = dict(os.environ)
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        environment["PYTHONPATH"] = os.pathsep.join(
            [package, *filter(None, [environment.get("PYTHONPATH")])])
        self._server = subprocess.Popen([sys.executable, "-m", "muster.worker.forkserver"],
                                        stdin=theirs.fileno(), env=environment)
        theirs.close()
        self._control = ours
        threading.Thread(target=self._listen, args=(ours,), name="muster-children",
                         daemon=True).start()
        return ours

    def _kill(self, pid: int) -> None:
        with self._lock:
            if self._control:
                self._control.sendall(b"kill %d\n" % pid)

    def _listen(self, control: socket.socket) -> None:
        begun = b""
        while True:
            try:
                data = control.recv(4096)
            except OSError:
                return
            if not data:
                return
            *lines, begun = (begun + data).split(b"\n")
            for line in lines:
                self._heard(line.split())

    def _heard(self, words: list[bytes]) -> None:
        pid = int(words[1])
        if words[0] == b"started":
            self._pid = pid
            self._started.set()
            return
        child = self._children.pop(pid, None)
        if child:
            child.exited(int(words[2]))
        else:
            self._early[pid] = int(words[2])
