"""A process that forks children for a worker. The forkserver has one thread and never imports grpc.

The control socket is standard input. To request a child, the worker sends a byte with the child's socket, and the
forkserver replies "started PID". "kill PID" kills a child. "exited PID STATUS" reports that a child has exited. STATUS
is the result of `os.waitstatus_to_exitcode`, which is negative for a signal. The forkserver and all its children exit
when the control socket is closed or the worker has exited. The argument is the worker's process id.
"""
from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import time
from typing import Any

from muster import _forks
from muster._shared import library
from muster.worker import child, pidfds
from muster.worker.descriptors import Left, pipes

LOOK_EVERY = 1.0
"""Seconds between two checks for unread output of children."""
LEFT_MAX = 256
"""Maximum number of exited children whose pipes are still read, because their subprocesses may write to these pipes. If
there are more, the pipes of the child that exited first are closed, and its subprocesses receive SIGPIPE.
"""


def _fork(control: socket.socket, over: socket.socket, waker: tuple[socket.socket, socket.socket],
          children: dict[int, Left], gone: list[Left], worker: int) -> None:
    ends = pipes()
    pid = os.fork()
    if pid:
        over.close()
        children[pid] = Left(ends)
        control.sendall(b"started %d\n" % pid)
        return
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        for end in waker:
            end.close()
        for other in (*children.values(), *gone):
            other.forget()
        child.main(over, ends, worker)
        status = 0
    finally:
        os._exit(status)


def _reap(control: socket.socket, children: dict[int, Left], gone: list[Left]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        left = children.pop(pid, None)  # before `sendall`, which can fail: `serve` must not kill a reaped PID
        control.sendall(b"exited %d %d\n" % (pid, os.waitstatus_to_exitcode(status)))  # before reading its pipes
        if left and left.take_rest():
            gone.append(left)
            if len(gone) > LEFT_MAX:
                gone.pop(0).forget()


def _serve(control: socket.socket, waker: tuple[socket.socket, socket.socket],
           children: dict[int, Left], worker: int) -> None:
    """Serves requests. Returns when the control socket is closed or the worker has exited."""
    begun = b""
    gone: list[Left] = []  # pipes of exited children; processes that the children have started may still write to them
    look_at = time.monotonic() + LOOK_EVERY
    watched: list[Any] = [control, waker[0], worker] if worker >= 0 else [control, waker[0]]
    while True:
        ready, _, _ = select.select(watched, [], [], LOOK_EVERY if children or gone else None)
        if worker in ready:
            return
        if time.monotonic() >= look_at:
            look_at = time.monotonic() + LOOK_EVERY
            for left in children.values():
                left.look()
            gone = [left for left in gone if left.take_rest()]
        try:
            waker[0].recv(4096)
        except BlockingIOError:
            pass
        _reap(control, children, gone)
        if not select.select([control], [], [], 0)[0]:
            continue
        data, given, _, _ = socket.recv_fds(control, 4096, 64)
        if not data:
            return
        for fd in given:
            _fork(control, socket.socket(fileno=fd), waker, children, gone, worker)
        *lines, begun = (begun + data.replace(b"F", b"")).split(b"\n")
        for line in lines:
            pid = int(line.split()[1])
            if pid in children:
                os.kill(pid, signal.SIGKILL)


def serve(control: socket.socket, worker: int) -> None:
    """Runs the forkserver. `worker` is the worker's pidfd, or -1 if there is none."""
    children: dict[int, Left] = {}
    waker = socket.socketpair()
    for end in waker:
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # blocked by the parent process
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.set_wakeup_fd(waker[1].fileno())
    library.found()  # loaded once for all children
    gc.collect()
    gc.freeze()  # children share the memory of existing objects
    with contextlib.suppress(ConnectionError):  # the worker exited during a message
        _serve(control, waker, children, worker)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # children exit while the interpreter shuts down
    signal.set_wakeup_fd(-1)
    for pid in children:
        os.kill(pid, signal.SIGKILL)



def _restore_environment() -> None:
    """Removes this package's directory, which the worker has added, from PYTHONPATH. Programs that functions start may
    use a different Python version.
    """
    _, _, before = os.environ.pop("PYTHONPATH", "").partition(os.pathsep)
    if before:
        os.environ["PYTHONPATH"] = before


if __name__ == "__main__":
    _restore_environment()
    serve(socket.socket(fileno=_forks.take_standard_input()), pidfds.opened(int(sys.argv[1])))
