"""What went wrong with a closure, and with waiting for one."""
from __future__ import annotations

import enum
from typing import Any, NamedTuple, Sequence

from muster import _failures


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


class Failure(NamedTuple):
    """What is known of a closure's failure."""

    kind: FailureKind
    type: str
    message: str
    remote_traceback: str = ""
    worker: str = ""
    attempt: int = 0
    dependency: Sequence[str] = ()
    exception: bytes = b""
    """As `_pickled.exceptions` has it; to be read only where the function was `own`."""
    own: bool = False
    """This session had it run as a Python callable, whose code it trusts."""
    cause: ClosureError | None = None
    """Of an InputError: what ended the input, where that was of this session."""


class ClosureError(MusterError):
    """A closure failed.

    Where the function raised an exception whose class this process knows, the error is an instance
    of that class, too: ``except ValueError`` catches it. One of a Python callable has its attributes,
    ``args``, notes, ``__cause__`` and ``__context__``. The first ``__cause__`` that is free shows the
    traceback of the worker.

    Attributes: ``kind``; ``type``, the class of the original error as text; ``message``, its text;
    ``remote_traceback``; ``worker``, as ``"worker:3"``; ``attempt``, from 1; ``dependency``, tasks
    that are gone, as ``["ps:1"]``; ``original``, the exception as the function raised it, or None
    where it did not come.
    """

    def __init__(self, kind: FailureKind, type: str, message: str, remote_traceback: str = "",
                 worker: str = "", attempt: int = 0, dependency: list[str] | None = None) -> None:
        Exception.__init__(self, message)
        self._failure = Failure(kind, type, message, remote_traceback, worker, attempt,
                                dependency or ())
        self._original: BaseException | None = None
        if remote_traceback:
            self.__cause__ = RemoteTraceback(remote_traceback)

    # Properties, so that those of the original's class cannot hide them.

    @property
    def kind(self) -> FailureKind:
        return self._failure.kind

    @property
    def type(self) -> str:
        return self._failure.type

    @property
    def message(self) -> str:
        return self._failure.message

    @property
    def remote_traceback(self) -> str:
        return self._failure.remote_traceback

    @property
    def worker(self) -> str:
        return self._failure.worker

    @property
    def attempt(self) -> int:
        return self._failure.attempt

    @property
    def dependency(self) -> list[str]:
        return list(self._failure.dependency)

    @property
    def original(self) -> BaseException | None:
        return self._original

    def __str__(self) -> str:
        f = self._failure
        where = f" (on {f.worker})" if f.worker else ""
        name = f.type.rpartition(".")[2] or f.kind.name
        # Python shows the name of the class in front of this text.
        if name == type(self).__name__ or f.kind not in (FailureKind.USER, FailureKind.INPUT):
            return f"{f.message}{where}"
        return f"{name}: {f.message}{where}"

    def again(self, stops: bool = False) -> ClosureError:
        """Returns a copy to raise, with the class of the original, as the same error may be raised in several places.

        Args:
            stops: Whether it may be a StopIteration, which cannot leave a coroutine, a generator or a future.
        """
        return _whole(self._failure, stops)

    def same(self, other: ClosureError) -> bool:
        """Whether it is another copy of it, wherever that came from."""
        return (self._failure._replace(own=False, cause=None) ==
                other._failure._replace(own=False, cause=None))

    def __reduce__(self) -> Any:
        f = self._failure
        return failure_error, (int(f.kind), f.type, f.message, f.remote_traceback, f.worker, f.attempt,
                               list(f.dependency), f.exception if f.own else b"", f.cause)


class InputError(ClosureError):
    """An argument could not be converted, or the closure that should have made it failed: then
    ``type``, ``worker``, ``remote_traceback`` and ``__cause__`` are of the error of that one."""


class CancelledError(ClosureError):
    """The closure was cancelled, by the user or after the first error; schedule it again. Not of one
    that lost its workers, as TensorFlow's is: that is an AbortedError."""


class AbortedError(ClosureError):
    """The closure lost its worker too often and is not tried again."""


class TimedOutError(ClosureError, TimeoutError):
    """The closure has not ended within its `timeout`."""


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

    def __reduce__(self) -> Any:
        return type(self), (*self.args, *self.tasks)


class Cancelled(BaseException):
    """Raised inside a function on a worker that was asked to stop and went on for a second.

    Not an ``Exception``, so that ``except Exception`` lets it pass, as KeyboardInterrupt.
    """

    def __init__(self, message: str = "the closure was asked to stop") -> None:
        super().__init__(message)


LOST = "muster.AbortedError"
"""The type of a failure by which a worker says that a closure has ended the last process it may."""


_CLASSES = {
    FailureKind.STALE_HANDLE: NotServedError,
    FailureKind.INPUT: InputError,
    FailureKind.CANCELLED: CancelledError,
    FailureKind.WORKER_LOST: AbortedError,
    FailureKind.DEPENDENCY_LOST: UnavailableError,
    FailureKind.TIMEOUT: TimedOutError,
}


def failure_error(kind: int, type: str, message: str, remote_traceback: str = "", worker: str = "",
                  attempt: int = 0, dependency: list[str] | None = None, exception: bytes = b"",
                  cause: ClosureError | None = None) -> ClosureError:
    """Returns the exception for a failure. `exception` is unpickled, so its sender must be trusted."""
    return _whole(Failure(_kind_of(kind, type), type, message, remote_traceback, worker,
                          attempt, dependency or (), exception, bool(exception), cause))


def from_wire(f: Any, own: bool = False, cause: ClosureError | None = None) -> ClosureError:
    """Returns the plain exception for a `muster.v1.Failure`. See Failure for `own` and `cause`."""
    return plain_error(Failure(_kind_of(f.kind, f.type), f.type, f.message, f.traceback,
                               f.worker, f.attempt, list(f.dependency), f.exception, own, cause))


def plain_error(failure: Failure) -> ClosureError:
    """Returns the exception for a failure, of a class of this package. Runs no code of the class that the function raised,
    so the session's own thread can call it; `again` adds that class."""
    made: ClosureError = _CLASSES.get(failure.kind, ClosureError)(
        failure.kind, failure.type, failure.message, failure.remote_traceback, failure.worker,
        failure.attempt, list(failure.dependency))
    made._failure = failure
    return made


def _kind_of(number: int, type: str) -> FailureKind:
    known = FailureKind(number) if number in FailureKind._value2member_map_ else FailureKind.USER
    if known is FailureKind.USER and type == LOST:
        return FailureKind.WORKER_LOST  # only the server sends this kind itself
    return known


def _whole(failure: Failure, stops: bool = False) -> ClosureError:
    """Returns the error with the class of the original and what was sent of it. `stops`: see ClosureError.again."""
    if failure.own:
        failure = failure._replace(remote_traceback=_failures.with_lines(failure.remote_traceback))
    from muster._pickled.exceptions import chain, dictionary  # loads cloudpickle, which clients over REST do not need

    made = plain_error(failure)
    try:
        original = _original(failure)
        made = _of_both(failure, original, stops) or made
        dictionary(made)["_original"] = original
        if failure.cause is not None:
            chain(made, failure.cause.again(), None)
        elif original is not None:
            shown = RemoteTraceback(failure.remote_traceback)
            chain(made, original.__cause__ or shown, original.__context__)
            if original.__cause__ is not None:
                last = _failures.last_cause(original.__cause__)
                chain(last, shown, last.__context__)
        str(made), made.kind  # or it could not even be shown
        return made
    except KeyboardInterrupt:
        raise
    except BaseException:  # whatever a class may do
        return plain_error(failure)


def _original(failure: Failure) -> BaseException | None:
    if not (failure.own and failure.exception) or failure.kind is FailureKind.INPUT:
        return None
    from muster._pickled import exceptions

    try:
        return exceptions.unpack(failure.exception)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def _of_both(failure: Failure, original: BaseException | None, stops: bool) -> ClosureError | None:
    from muster._pickled import exceptions

    if failure.kind is not FailureKind.USER:
        return None
    kind = _failures.class_named(failure.type) if original is None else type(original)
    if kind is None or not issubclass(kind, Exception):
        return None
    if not stops and issubclass(kind, (StopIteration, StopAsyncIteration)):
        return None
    try:
        both = _failures.class_of(ClosureError, kind)
        made: Any = (exceptions.new(both, (failure.message,)) if original is None
                     else exceptions.like(original, both))
    except Exception:  # their layouts do not fit together, or it cannot be made of a text
        return None
    exceptions.dictionary(made)["_failure"] = failure
    if original is None and failure.remote_traceback:
        exceptions.chain(made, RemoteTraceback(failure.remote_traceback), None)
    found: ClosureError = made
    return found
