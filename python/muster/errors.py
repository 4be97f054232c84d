"""What went wrong with a closure, and with waiting for one."""
from __future__ import annotations

import enum
import sys
from typing import Any, Optional


class FailureKind(enum.IntEnum):
    """Why a closure failed; the numbers are those of the protocol."""

    USER = 0
    WORKER_LOST = 1
    STALE_HANDLE = 2
    DEPENDENCY_LOST = 3
    TIMEOUT = 4
    CANCELLED = 5
    INPUT = 6


class MusterError(Exception):
    """Base of all errors of this package."""


class WaitTimeout(MusterError, TimeoutError):
    """A wait ended before what it waited for; that goes on."""


class ClosureError(MusterError):
    """A closure failed.

    Where the function raised an exception whose class this process knows, the error is an instance
    of that class, too: ``except ValueError`` catches it. ``__cause__`` shows the traceback of the
    worker.

    Attributes: ``kind``; ``type``, the class of the original error as text; ``message``, its text;
    ``remote_traceback``; ``worker``, as ``"worker:3"``; ``attempt``, from 1; ``dependency``, tasks
    that are gone, as ``["ps:1"]``.
    """

    def __init__(self, kind: FailureKind, type: str, message: str, remote_traceback: str = "",
                 worker: str = "", attempt: int = 0, dependency: Optional[list[str]] = None) -> None:
        Exception.__init__(self, message)
        self.kind = kind
        self.type = type
        self.message = message
        self.remote_traceback = remote_traceback
        self.worker = worker
        self.attempt = attempt
        self.dependency = dependency or []
        if remote_traceback:
            self.__cause__ = RemoteTraceback(remote_traceback)

    def __str__(self) -> str:
        where = f" (on {self.worker})" if self.worker else ""
        name = self.type.rpartition(".")[2] or self.kind.name
        return f"{name}: {self.message}{where}"

    def again(self) -> ClosureError:
        """A copy to raise: the same error may be raised in several places."""
        make, arguments = self.__reduce__()
        copied: ClosureError = make(*arguments)
        return copied

    def __reduce__(self) -> Any:
        return failure_error, (int(self.kind), self.type, self.message, self.remote_traceback,
                               self.worker, self.attempt, self.dependency)


class InputError(ClosureError):
    """An argument could not be converted, or the closure that should have made it failed."""


class CancelledError(ClosureError):
    """The closure was cancelled, by the user or after the first error; schedule it again."""


class AbortedError(ClosureError):
    """The closure lost its worker too often and is not tried again."""


class UnavailableError(ClosureError):
    """Something that the closure or the session relies on is gone: a parameter server, the server."""


class NotServedError(ClosureError):
    """No worker has what the closure asks for: they have other versions of Python, or, with
    ``require_function``, not the function. The message names what they have."""


class RemoteTraceback(Exception):
    """Carries the text of a worker's traceback as the cause of an error."""

    def __str__(self) -> str:
        return "\n" + str(self.args[0])


class DependencyLost(MusterError):
    """Raised by a function on a worker when tasks it relies on are gone, as ``"ps:1"``.

    The server counts such reports for each task; see ``--transient-dependency-failures``.
    """

    def __init__(self, message: str, *tasks: str) -> None:
        if not tasks:
            raise ValueError("DependencyLost: name at least one task, as 'ps:1'")
        super().__init__(message)
        self.tasks = tasks


class Cancelled(BaseException):
    """Raised inside a function on a worker that was asked to stop and went on for a second.

    Not an ``Exception``, so that ``except Exception`` lets it pass, as KeyboardInterrupt.
    """


_CLASSES = {
    FailureKind.STALE_HANDLE: NotServedError,
    FailureKind.INPUT: InputError,
    FailureKind.CANCELLED: CancelledError,
    FailureKind.WORKER_LOST: AbortedError,
    FailureKind.DEPENDENCY_LOST: UnavailableError,
}
LOST = "muster.AbortedError"
"""The type of a failure by which a worker says that a closure has ended the last process it may."""
_combined: dict[tuple[type, type], type] = {}


def failure_error(kind: int, type: str, message: str, remote_traceback: str = "", worker: str = "",
                  attempt: int = 0, dependency: Optional[list[str]] = None) -> ClosureError:
    """The exception for a failure as it came over the wire."""
    known = FailureKind(kind) if kind in FailureKind._value2member_map_ else FailureKind.USER
    if known is FailureKind.USER and type == LOST:
        known = FailureKind.WORKER_LOST  # which is the server's to say
    base: Any = _CLASSES.get(known, ClosureError)
    if known is FailureKind.USER:
        base = _with_original(base, type)
    made: ClosureError = base(known, type, message, remote_traceback, worker, attempt, dependency)
    return made


def _with_original(base: type, name: str) -> type:
    """`base` and the class with this name, if it is an exception that was imported already."""
    module, _, attribute = name.rpartition(".")
    original = getattr(sys.modules.get(module or "builtins"), attribute, None)
    # Neither of the two may leave a generator or a coroutine.
    if not isinstance(original, type) or not issubclass(original, Exception) or issubclass(
            original, (StopIteration, StopAsyncIteration)):
        return base
    key = (base, original)
    if key not in _combined:
        try:
            _combined[key] = type_of(base, original)
        except TypeError:  # their layouts do not fit together
            _combined[key] = base
    return _combined[key]


def type_of(base: type, original: type) -> type:
    """A class that is both; its instances are made as `base` is."""
    return type(original.__name__, (base, original), {"__module__": "muster.errors"})
