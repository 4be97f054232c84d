"""Hooks for processes that programs and functions fork. This module never imports grpc.

In a forked process, coordinators, executors and all other objects with threads raise RuntimeError immediately. A
process that a function forks keeps only descriptors 0, 1 and 2 of the worker process. The forked process has the signal
handlers of a normal program, and exits when it returns from the function.

A forked process holds inherited descriptors until this module closes them, and a fork by C code does not run these
hooks. Therefore an open socket or pipe does not prove that a process is alive; see `worker.pidfds`.
"""
from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
import weakref
from typing import Any, Callable, NoReturn, Protocol

generation = 0
"""Number of forks between the first process and this process."""


class Part(Protocol):
    def forked(self) -> None:
        """Closes descriptors, or replaces locks with `LostLock`, in a forked process. This method must not take a lock,
        because another thread may have held the lock during the fork.
        """


_parts: weakref.WeakSet[Any] = weakref.WeakSet()
_descriptors: list[int] = []
_handled: dict[int, Callable[..., Any]] = {}


class _Mask(threading.local):
    before: Any = None
    """The signal mask of this thread while it forks."""


_mask = _Mask()


def of_parent(what: str) -> RuntimeError:
    """Returns the error to raise if a forked process uses an object of its parent process."""
    return RuntimeError(f"this {what} belongs to the parent process and cannot be used after a fork; create a new "
                        f"{what} in this process")


class LostLock:
    """Replacement for a lock or a condition in a forked process. An attempt to take it raises RuntimeError, instead of
    waiting for a thread that does not exist in this process.
    """

    def __init__(self, what: str) -> None:
        """Creates the replacement. `what` is the user-visible name of the object to which the lock belongs."""
        self._what = what

    def acquire(self, *_: object) -> NoReturn:
        raise of_parent(self._what)

    def __enter__(self) -> NoReturn:
        raise of_parent(self._what)

    def __exit__(self, *_: object) -> None:
        pass


def notify_in_forks(part: Part) -> None:
    """Calls `part.forked()` in each process that is forked while `part` exists."""
    _parts.add(part)


def close_descriptor_in_forks(descriptor: int) -> None:
    """Closes a descriptor in all processes that are forked from now on. The descriptor stays open in the current
    process.
    """
    _descriptors.append(descriptor)


def handle_signal(number: int, handler: Callable[..., Any]) -> None:
    """Sets the handler of a signal for this process only. Call it on the main thread.

    In programs that this process starts, the signal has its default disposition, because the kernel resets handlers. An
    ignored signal would stay ignored. Forked processes also use the default disposition.
    """
    signal.signal(number, handler)
    _handled[number] = handler


def take_standard_input() -> int:
    """Returns a new descriptor of standard input. After this call, standard input is empty for this process and for
    programs that it starts.
    """
    taken = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return taken


def do_nothing(number: int, frame: Any) -> None:
    """Does nothing. Used as a signal handler instead of SIG_IGN."""


def leave(error: BaseException | None = None) -> NoReturn:
    """Exits a forked process that has returned from its function. The process exits in the same way as a normal Python
    program.
    """
    status = 0
    try:
        if isinstance(error, SystemExit):
            status = error.code & 0xff if isinstance(error.code, int) else 0 if error.code is None else 1
            if status and not isinstance(error.code, int):
                print(error.code, file=sys.stderr)
        elif error is not None:
            status = 1
            traceback.print_exception(type(error), error, error.__traceback__)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(status)


def _hold_signals() -> None:
    """Blocks signals, so that a forked process receives no signal before its own handlers are set."""
    _mask.before = signal.pthread_sigmask(signal.SIG_BLOCK, _handled) if _handled else None


def _release_signals() -> None:
    if _mask.before is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, _mask.before)


def _forked() -> None:
    global generation
    generation += 1
    for part in list(_parts):
        with contextlib.suppress(Exception):
            part.forked()
    _parts.clear()
    for descriptor in _descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _descriptors.clear()
    if threading.current_thread() is threading.main_thread():
        for number, handler in _handled.items():
            if signal.getsignal(number) is handler:
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    _handled.clear()
    _release_signals()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_signals, after_in_parent=_release_signals, after_in_child=_forked)
