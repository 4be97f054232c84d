"""Starts child processes through the forkserver, and reports how the children exit. Runs in the worker."""
from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from typing import Callable, Iterator

from muster import _forks
from muster.worker import pidfds
from muster.worker.frames import Frames

log = logging.getLogger("muster.worker")

START_TIMEOUT = 30.0
"""Seconds that the forkserver has to fork. After this time, the forkserver counts as dead."""


END_TIMEOUT = 5.0
"""Seconds that the forkserver has to kill its children and exit. After this time, the forkserver is killed, and the
children exit by themselves.
"""


class Child:
    """A child process, with its frames and its exit status. Thread-safe.

    The forkserver waits for the process and reports its exit. If the forkserver has died, a pidfd reports the exit. The
    socket does not show whether the process has exited, because a process forked by the child may keep the socket open.
    """

    def __init__(self, pid: int, frames: Frames, kill: Callable[[int], bool]) -> None:
        self.pid = pid
        self.frames = frames
        self._kill = kill
        self._exited = threading.Event()
        self._status: int | None = None
        self._lock = threading.Lock()  # protects pidfd
        self.pidfd = pidfds.opened(pid)
        """-1 if the process has exited or the system does not support pidfds."""

    def kill(self) -> None:
        """Kills the process immediately. Has no effect if the process has already exited."""
        if self._exited.is_set() or self._kill(self.pid):
            return
        with self._lock:  # the forkserver is dead, so another process may have this PID now
            if self.pidfd >= 0:
                return pidfds.kill(self.pidfd)
        self._shut_down()  # the child exits when its socket is closed

    def exited(self, status: int | None) -> None:
        """Records the exit status, or None if it is unknown. Shuts the socket down, even if the socket is open in other
        processes. Data that was received earlier can still be read.
        """
        self._status = status
        self._exited.set()
        self._shut_down()
        with self._lock:
            if self.pidfd >= 0:
                os.close(self.pidfd)
                self.pidfd = -1

    def _shut_down(self) -> None:
        with contextlib.suppress(OSError):
            self.frames.socket.shutdown(socket.SHUT_RDWR)

    def how(self, timeout: float) -> str:
        """Returns a description of how the process exited. Waits at most `timeout` seconds for the exit."""
        if not self._exited.wait(timeout) or self._status is None:
            return "closed its connection"
        return _ended(self._status)


def _ended(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        return f"was killed by signal {-status}"
    return f"was killed by {name}" + (", perhaps out of memory" if name == "SIGKILL" else "")


class Children:
    """Starts a forkserver together with the first child. If the forkserver dies, a new forkserver is started with the
    next child. Children of a dead forkserver keep running. Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # protects _server
        self._server: ForkServer | None = None

    def start(self) -> Child:
        """Starts a child. Raises OSError if the child cannot be started."""
        for last in (False, True):
            with self._lock:
                if self._server is None or self._server.gone:
                    self._server = ForkServer()
                server = self._server
            try:
                return server.fork()
            except OSError:
                if last or not server.gone:
                    raise
        raise AssertionError("not reached")

    def close(self) -> None:
        """Kills the remaining children."""
        with self._lock:
            if self._server:
                self._server.close()
                self._server = None


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Blocks SIGINT within the ``with`` block, including in processes started there."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class ForkServer:
    """The process that forks children. Thread-safe."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        environment = dict(os.environ)
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        environment["PYTHONPATH"] = os.pathsep.join(
            [package, *filter(None, [environment.get("PYTHONPATH")])])
        with theirs, _interrupts_held():  # the forkserver ignores Ctrl-C only after its start-up
            self._process = subprocess.Popen([sys.executable, "-m", "muster.worker.forkserver", str(os.getpid())],
                                             stdin=theirs.fileno(), env=environment)
        self._fork_lock = threading.Lock()  # forks one child at a time
        self._changed = threading.Condition()  # protects all below
        self._children: dict[int, Child] = {}
        self._early: dict[int, int] = {}  # exit statuses of children that exited before they were listed
        self._pid = 0  # PID of the child that was just forked
        self._closing = False
        self.gone = False
        _forks.notify_in_forks(self)
        threading.Thread(target=self._listen, name="muster-children", daemon=True).start()

    def fork(self) -> Child:
        """Forks a child. Raises OSError if the forkserver cannot fork."""
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._fork_lock, self._changed:
                self._pid = 0
                socket.send_fds(self._control, [b"F"], [theirs.fileno()])
                if not self._changed.wait_for(lambda: self._pid or self.gone, START_TIMEOUT):
                    self._process.kill()
                    self.gone = True
                if not self._pid:
                    raise OSError("the forkserver did not start a process")
                child = Child(self._pid, Frames(ours), self._kill)
                if child.pid in self._early:
                    child.exited(self._early.pop(child.pid))
                elif self.gone:
                    _await_ends([child])
                else:
                    self._children[child.pid] = child
                return child
        except OSError:
            ours.close()
            raise

    def forked(self) -> None:
        self._control.close()

    def close(self) -> None:
        """Closes the control socket, which makes the forkserver and all its children exit."""
        with self._changed:
            self._closing = True
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._control.close()

    def _kill(self, pid: int) -> bool:
        """Kills a child. Returns False if the forkserver is dead."""
        with self._changed:
            if self.gone:
                return False
            try:
                self._control.sendall(b"kill %d\n" % pid)
            except OSError:
                return False
            return True

    def _listen(self) -> None:
        begun = b""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        pidfd = pidfds.opened(self._process.pid)
        if pidfd >= 0:
            poll.register(pidfd, select.POLLIN)
        while True:
            try:
                if self._control.fileno() not in [fd for fd, _ in poll.poll()]:
                    break  # the forkserver has exited, and all its output was read
                data = self._control.recv(4096)
            except OSError:
                break
            if not data:
                break
            *lines, begun = (begun + data).split(b"\n")
            with self._changed:
                for line in lines:
                    self._heard(line.split())
                self._changed.notify_all()
        if pidfd >= 0:
            os.close(pidfd)
        with self._changed:
            self.gone = True
            self._changed.notify_all()
            left = list(self._children.values())
            self._children.clear()
            closing = self._closing
        if left:
            _await_ends(left)
        if not closing:
            log.error("the forkserver %d %s; running processes continue, and a new forkserver is started with the "
                      "next process",
                      self._process.pid, _ended(self._process.wait()))

    def _heard(self, words: list[bytes]) -> None:
        """Handles a line from the forkserver. REQUIRES: _changed is locked."""
        pid = int(words[1])
        if words[0] == b"started":
            self._pid = pid
            return
        child = self._children.pop(pid, None)
        if child:
            child.exited(int(words[2]))
        else:
            self._early[pid] = int(words[2])


def _await_ends(children: list[Child]) -> None:
    """Calls `exited` for each child of a dead forkserver once the child has exited. Runs on a new thread.

    On a system without pidfds, only the closed socket shows that a child has exited.
    """
    poll = select.poll()
    by_pidfd = {child.pidfd: child for child in children if child.pidfd >= 0}
    for pidfd in by_pidfd:
        poll.register(pidfd, select.POLLIN)

    def wait() -> None:
        while by_pidfd:
            for pidfd, _ in poll.poll():
                poll.unregister(pidfd)
                by_pidfd.pop(pidfd).exited(None)

    threading.Thread(target=wait, name="muster-orphans", daemon=True).start()
