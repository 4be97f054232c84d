"""Process file descriptors (pidfds, Linux 5.3 or newer). A pidfd becomes readable when its process exits, even if other
processes have inherited the sockets of that process.
"""
from __future__ import annotations

import ctypes
import os
import signal

_SEND_SIGNAL, _OPEN = 424, 434  # equal on all architectures; Python builds for old systems lack both functions


def opened(pid: int) -> int:
    """Opens a pidfd, which the caller must close. Returns -1 if the process was reaped or the system does not support
    pidfds.
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
    """Sends SIGKILL to the process. Has no effect after the process has exited."""
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
