"""Reads the stacks of a process. A signal handler in the process writes the stacks, and the process continues.

This module contains both sides: the process calls `register`, and another process of the same user calls `take`. The
stacks are written to a memfd at a high descriptor, so no file remains on disk. `take` finds the memfd by its name. The
signal is never sent to a process that the signal would kill. Never imports grpc, because child processes import this
module.
"""
from __future__ import annotations

import faulthandler
import fcntl
import os
import re
import signal
import tempfile
import threading
import time
from typing import Callable, Sequence

DEFAULT: int = signal.SIGRTMIN + 5 if hasattr(signal, "SIGRTMIN") else 0
PATIENCE = 0.9
"""Seconds that a process has to write its stacks."""
TEXT_MAX = 16 << 10
TAKING_MAX = 2
"""Maximum number of concurrent requests for the same process. Additional requests are answered with busy."""
_HIGH = 200
"""Lowest descriptor number to use, because programs may rely on low numbers."""
_STILL = 10
_EVERY = 0.01
"""Seconds between two checks. A file is complete after _STILL checks without a change."""

# The states are defined in programs.proto.
UNKNOWN, TAKEN, NOT_PYTHON, STOPPED, IN_KERNEL, NO_ANSWER, OFF = range(7)


def register(number: int) -> None:
    """Makes this process write its stacks when it receives the signal `number`. 0 disables the handler."""
    if not number:
        return
    try:
        with open(os.devnull, "rb") as any_file:
            file = fcntl.fcntl(any_file, fcntl.F_DUPFD_CLOEXEC, _HIGH)
        named = os.memfd_create(f"muster-stacks-{file}")
        os.dup2(named, file, inheritable=False)
        os.close(named)
        fcntl.fcntl(file, fcntl.F_SETFL, os.O_APPEND)
        faulthandler.register(number, file=file, all_threads=True)
    except (AttributeError, OSError, RuntimeError, ValueError):
        pass  # the process continues without stacks and is reported as NOT_PYTHON


def take(pid: int, number: int, patience: float = PATIENCE) -> tuple[int, str, str]:
    """Returns the state code, the stacks and the kernel state of a process."""
    if not number:
        return OFF, "", ""
    state = _kernel_state(pid)
    if not state:
        return UNKNOWN, "", ""
    word = state + _where(pid)
    if state in "Tt":
        return STOPPED, "", word
    file = _open(pid)
    if file is None:
        return (IN_KERNEL if state == "D" else NOT_PYTHON), "", word
    try:
        os.ftruncate(file, 0)
        if _takes(pid, number):
            os.kill(pid, number)
            _await(file, patience)
        text = os.pread(file, 4 * TEXT_MAX, 0)
    except OSError:
        text = b""
    finally:
        os.close(file)
    if not text:
        now = _kernel_state(pid) or state
        return STOPPED if now in "Tt" else IN_KERNEL if now == "D" else NO_ANSWER, "", word
    return TAKEN, without_addresses(text.decode("utf-8", "replace"))[:TEXT_MAX], word


def own() -> str:
    """Returns the stacks of all threads of this process."""
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        return without_addresses(file.read(4 * TEXT_MAX).decode("utf-8", "replace"))[:TEXT_MAX]


def without_addresses(text: str) -> str:
    """Removes addresses from stacks, so that identical stacks result in identical strings."""
    return re.sub(r"(?m)^(Thread|Current thread) 0x[0-9a-f]+", r"\1", text)


class Answering:
    """Answers requests for the stacks of a process. Each request is answered on a separate thread, because an answer
    may take a second.
    """

    def __init__(self, look: Callable[[], tuple[int, str, str]], pid: int,
                 send: Callable[[bytes], None]) -> None:
        self._look = look
        self._pid = pid
        self._send = send
        self._room = threading.Semaphore(TAKING_MAX)
        self._one = threading.Lock()  # serializes writes to the shared file

    def take(self, queries: Sequence[int]) -> None:
        for query in queries:
            threading.Thread(target=self._answer, args=(query,), name="muster-stacks", daemon=True).start()

    def _answer(self, query: int) -> None:
        from muster._wire.messages import WorkerMessage  # child processes do not import it
        if not self._room.acquire(blocking=False):
            answer = WorkerMessage()
            answer.stack.add(query=query, busy=True, pid=self._pid)
            return self._send(answer.SerializeToString())
        try:
            with self._one:
                state, text, process = self._look()
        finally:
            self._room.release()
        answer = WorkerMessage()
        answer.stack.add(query=query, state=state, text=text, process=process, pid=self._pid)
        return self._send(answer.SerializeToString())


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _kernel_state(pid: int) -> str:
    """Returns the kernel's letter for the state of a process, or an empty string if the process does not exist."""
    state = _content(f"/proc/{pid}/stat").rpartition(") ")[2][:1]
    return "" if state in "ZX" else state


def _where(pid: int) -> str:
    where = _content(f"/proc/{pid}/wchan").strip()
    return f" in {where}" if where not in ("", "0") else ""


def _takes(pid: int, number: int) -> bool:
    """Returns whether the process handles the signal, does not block it, and has no pending signal with this number."""
    sets = {line.split(":")[0]: line.split(":")[1] for line in _content(f"/proc/{pid}/status").splitlines()
            if line.startswith(("SigCgt:", "SigBlk:", "ShdPnd:", "SigPnd:"))}
    has = {name: bool(int(value, 16) >> (number - 1) & 1) for name, value in sets.items()}
    return has.pop("SigCgt", False) and not any(has.values())


def _open(pid: int) -> int | None:
    """Opens the memfd into which the process writes its stacks. Returns None if the process has closed the memfd and
    may use the descriptor number for another file.
    """
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{name}"
            try:
                if os.readlink(path) == f"/memfd:muster-stacks-{name} (deleted)":
                    return os.open(path, os.O_RDWR | os.O_CLOEXEC)
            except OSError:
                continue
    except OSError:
        pass
    return None


def _await(file: int, patience: float) -> None:
    until = time.monotonic() + patience
    size, still = 0, 0
    while still < _STILL and time.monotonic() < until:
        time.sleep(_EVERY)
        now = os.fstat(file).st_size
        still = still + 1 if now and now == size else 0
        size = now
