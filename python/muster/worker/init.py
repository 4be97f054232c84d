"""Runs a program in a container as a child of PID 1. PID 1 inherits all orphaned processes. Never imports grpc."""
from __future__ import annotations

import os
import signal
import sys

_SI_KERNEL = 0x80
_FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP}


def run_as_init() -> None:
    """Forks PID 1 and continues the program in the child. PID 1 reaps all orphans, forwards signals to the child, and
    exits with the child's status. Therefore the reaping does not prevent the program from waiting for its own child
    processes.

    Signals from a terminal reach both processes through their process group and are not forwarded. Returns only in the
    child. Does nothing if this process is not PID 1. Must be called before any thread is started.
    """
    if os.getpid() != 1:
        return
    signals = signal.valid_signals() - _FAULTS
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # SIGCHLD is not delivered if it is ignored
    sys.stdout.flush()
    sys.stderr.flush()
    program = os.fork()
    if program:
        os._exit(_serve(program, signals))
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(program: int, signals: set[signal.Signals]) -> int:
    while True:  # no deadline: PID 1 runs as long as the program
        info = signal.sigwaitinfo(signals)
        if info.si_signo == signal.SIGCHLD:
            status = _reap(program)
            if status is not None:
                return status
        elif info.si_code != _SI_KERNEL:
            os.kill(program, info.si_signo)


def _reap(program: int) -> int | None:
    ended = None
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == program:
                code = os.waitstatus_to_exitcode(status)
                ended = 128 - code if code < 0 else code
    except ChildProcessError:
        pass
    return ended
