"""Descriptors of processes (Linux 5.3 or newer), which become readable when the process ends, even if others have
inherited its sockets.
"""
from __future__ import annotations

import ctypes
import os
import signal

_SEND_SIGNAL, _OPEN = 424, 434  # equal on all architectures; Python builds for old systems lack both functions


def opened(pid: int) -> int:
    """Returns a descriptor that the caller closes; -1 if the process was reaped, or the system has no such descriptors.
    """
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
    """Sends SIGKILL. Has no effect after the process has ended."""
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
