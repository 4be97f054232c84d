"""A process that forks children for a worker: it has one thread and never imports grpc.

Over its control socket (standard input): a byte with a socket asks for a child that talks over it,
answered by "started PID"; "kill PID"; and it says "exited PID STATUS" by itself, the status as
`os.waitstatus_to_exitcode` has it: negative for a signal. It ends, with all children, when the
control socket is closed, or when the worker, whose process id is its argument, has ended.
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
"""Seconds between looks at what children write and do not read."""
LEFT_MAX = 256
"""Children that have exited whose pipes are still read, since processes that they have started write to them. Those of the
child that exited first are closed when there are more, and such a process gets SIGPIPE."""


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
        control.sendall(b"exited %d %d\n" % (pid, os.waitstatus_to_exitcode(status)))  # before its pipes are read
        if (left := children.pop(pid, None)) and left.take_rest():
            gone.append(left)
            if len(gone) > LEFT_MAX:
                gone.pop(0).forget()


def _serve(control: socket.socket, waker: tuple[socket.socket, socket.socket],
           children: dict[int, Left], worker: int) -> None:
    """Returns when the control socket is closed or the worker has ended."""
    begun = b""
    gone: list[Left] = []  # of children that have exited; processes that they have left behind may write
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
    """`worker`: its pidfd, or -1."""
    children: dict[int, Left] = {}
    waker = socket.socketpair()
    for end in waker:
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # it was started with it blocked
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.set_wakeup_fd(waker[1].fileno())
    library.found()  # children have it, too
    gc.collect()
    gc.freeze()  # children share what is here
    with contextlib.suppress(ConnectionError):  # in the midst of saying something
        _serve(control, waker, children, worker)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the ends of children come while the interpreter goes
    signal.set_wakeup_fd(-1)
    for pid in children:
        os.kill(pid, signal.SIGKILL)



def _restore_environment() -> None:
    """Takes the folder of this package, which the worker has added, off PYTHONPATH: programs that functions start may be of
    another version of Python."""
    _, _, before = os.environ.pop("PYTHONPATH", "").partition(os.pathsep)
    if before:
        os.environ["PYTHONPATH"] = before


if __name__ == "__main__":
    _restore_environment()
    serve(socket.socket(fileno=_forks.take_standard_input()), pidfds.opened(int(sys.argv[1])))
