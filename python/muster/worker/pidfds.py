"""Descriptors of processes (Linux 5.3 or newer): readable once the process has ended, whoever has inherited its sockets."""
from __future__ import annotations

import ctypes
import os
import signal

_SEND_SIGNAL, _OPEN = 424, 434  # on every architecture; builds of Python for old systems have neither function


def opened(pid: int) -> int:
    """A descriptor of the process, which the caller closes; -1: it has been reaped, or this system has no such descriptors."""
    try:
        return os.pidfd_open(pid)
    except AttributeError:
        found = int(_call(_OPEN, pid, 0))
        if found >= 0:
            os.set_inheritable(found, False)
        return found
    except OSError:
        return -1


def kill(fd: int) -> None:
    """Sends SIGKILL. Does nothing when the process has ended."""
    try:
        signal.pidfd_send_signal(fd, signal.SIGKILL)
    except AttributeError:
        _call(_SEND_SIGNAL, fd, int(signal.SIGKILL), None, 0)
    except OSError:
        pass


def _call(*words: object) -> int:
    try:
        return int(ctypes.CDLL(None).syscall(*words))
    except AttributeError:
        return -1
