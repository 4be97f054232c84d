"""Exceptions that calls and waits raise."""
from __future__ import annotations

import enum
from typing import Any, NamedTuple, Sequence

from muster import _failures


class FailureKind(enum.IntEnum):
    """Reason why a call failed. The protocol uses the same numbers. USER means that the function raised an exception.
    """

    USER = 0
    WORKER_LOST = 1
    STALE_HANDLE = 2
    DEPENDENCY_LOST = 3
    TIMEOUT = 4
    CANCELLED = 5
    INPUT = 6


class MusterError(Exception):
    """Base class of all errors of this package."""


class WaitTimeout(MusterError, TimeoutError):
    """Raised if a wait reaches its time limit. The calls continue to run."""


class Failure(NamedTuple):
    """The received data about the failure of a call."""

    kind: FailureKind
    type: str
    message: str
    remote_traceback: str = ""
    worker: str = ""
    attempt: int = 0
    dependency: Sequence[str] = ()
    exception: bytes = b""
    """The exception, encoded by `_pickled.exceptions`. Read this field only if `own` is set."""
    own: bool = False
    """Whether this session scheduled a Python callable, whose code is therefore trusted."""
    cause: ClosureError | None = None
    """The error of the input, for an InputError whose input belongs to this session."""


class ClosureError(MusterError):
    """Raised if a call has failed.

    If this process has imported the class of the function's exception, the error is also an instance of this class. For
    example, ``except ValueError`` then catches the error. For a Python callable, the error has the attributes,
    ``args``, notes, ``__cause__`` and ``__context__`` of the original exception. The last exception in the chain of
    causes contains the traceback of the worker.

    Attributes:
        kind: Reason of the failure, as a FailureKind.
        type: Class name of the original error.
        message: Message of the original error.
        remote_traceback: Traceback on the worker, or "" if there is no traceback.
        worker: The task of the worker, such as ``"worker:3"``, or "" if the call had no worker.
        attempt: Number of the attempt, starting at 1.
        dependency: Lost tasks, such as ``["ps:1"]``.
        original: The exception that the function raised, or None if the exception was not received.
    """

    def __init__(self, kind: FailureKind, type: str, message: str, remote_traceback: str = "",
                 worker: str = "", attempt: int = 0, dependency: list[str] | None = None) -> None:
        Exception.__init__(self, message)
        self._failure = Failure(kind, type, message, remote_traceback, worker, attempt,
                                dependency or ())
        self._original: BaseException | None = None
        if remote_traceback:
            self.__cause__ = RemoteTraceback(remote_traceback)

    # These are properties, so that attributes of the original exception class cannot hide them.

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
        # The message of an error that was passed on by another call already contains the task where it was raised.
        where = f" (on {f.worker})" if f.worker and not _failures.names_a_task(f.message) else ""
        name = f.type.rpartition(".")[2] or f.kind.name
        # Python displays the class name before this text.
        if name == type(self).__name__ or f.kind not in (FailureKind.USER, FailureKind.INPUT):
            return f"{f.message}{where}"
        return f"{name}: {f.message}{where}"

    def again(self, stops: bool = False) -> ClosureError:
        """Returns a copy of the error, which is also an instance of the original class. Code that raises the error must
        raise a copy.

        Args:
            stops: Whether the copy can be an instance of StopIteration. Coroutines, generators and futures cannot raise
                StopIteration.
        """
        return _whole(self._failure, stops)

    def same(self, other: ClosureError) -> bool:
        """Returns whether two errors describe the same failure of the same attempt.

        Args:
            other: An error from any session or call.
        """
        return (self._failure._replace(own=False, cause=None) ==
                other._failure._replace(own=False, cause=None))

    def __reduce__(self) -> Any:
        f = self._failure
        return failure_error, (int(f.kind), f.type, f.message, f.remote_traceback, f.worker, f.attempt,
                               list(f.dependency), f.exception if f.own else b"", f.cause)


class InputError(ClosureError):
    """Raised if an argument of the call could not be converted, or if the call that computes the argument has failed.
    If that call has failed, ``type``, ``worker``, ``remote_traceback`` and ``__cause__`` describe its error.
    """


class CancelledError(ClosureError):
    """Raised if the call was cancelled by the user, or because another scheduled call failed. The call can be scheduled
    again. Unlike in TensorFlow, the loss of a worker results in AbortedError.
    """


class AbortedError(ClosureError):
    """Raised if the call was interrupted too often by the loss of its worker. The call is not retried."""


class TimedOutError(ClosureError, TimeoutError):
    """Raised if the call does not finish within its `timeout`."""


class UnavailableError(ClosureError):
    """Raised if the call or the session depends on a lost resource, such as a parameter server, a value or the Muster
    server.
    """


class NotServedError(ClosureError):
    """Raised if no worker can run the call. Either all workers have a different Python version or, with
    ``require_function``, no worker provides the function. The message lists the available functions or versions.
    """


class RemoteTraceback(Exception):
    """An exception that contains the traceback on the worker. This exception is the cause of the error that the client
    raises.
    """

    def __str__(self) -> str:
        return "\n" + str(self.args[0])


class DependencyLost(MusterError):
    """Error that a function on a worker can raise if the function depends on lost tasks.

    The server counts DependencyLost errors for each task. See the option ``--transient-dependency-failures``.

    Args:
        message: Error message.
        *tasks: The lost tasks, such as ``"ps:1"``. At least one task is required.

    Raises:
        ValueError: No task is given.
    """

    def __init__(self, message: str, *tasks: str) -> None:
        if not tasks:
            raise ValueError("DependencyLost: pass at least one task, such as 'ps:1'")
        super().__init__(message)
        self.tasks = tasks

    def __reduce__(self) -> Any:
        return type(self), (*self.args, *self.tasks)


class Cancelled(BaseException):
    """Raised in a function on a worker if the function is still running one second after a stop request.

    Like KeyboardInterrupt, this class is not derived from ``Exception``, so ``except Exception`` does not catch it.
    """

    def __init__(self, message: str = "the closure was asked to stop") -> None:
        super().__init__(message)


LOST = "muster.AbortedError"
"""Failure type with which a worker reports that a call has reached its limit of ended processes."""


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
    """Returns the exception for a failure. The function unpickles `exception`, so the sender must be trusted."""
    return _whole(Failure(_kind_of(kind, type), type, message, remote_traceback, worker,
                          attempt, dependency or (), exception, bool(exception), cause))


def from_wire(f: Any, own: bool = False, cause: ClosureError | None = None) -> ClosureError:
    """Returns the exception for a `muster.v1.Failure`, with a class of this package. See Failure for `own` and `cause`.
    """
    return plain_error(Failure(_kind_of(f.kind, f.type), f.type, f.message, f.traceback,
                               f.worker, f.attempt, list(f.dependency), f.exception, own, cause))


def plain_error(failure: Failure) -> ClosureError:
    """Returns the exception for a failure, with a class of this package. The session thread can call this function,
    because no code of the original exception class is executed. `again` adds the original class.
    """
    made: ClosureError = _CLASSES.get(failure.kind, ClosureError)(
        failure.kind, failure.type, failure.message, failure.remote_traceback, failure.worker,
        failure.attempt, list(failure.dependency))
    made._failure = failure
    return made


def _kind_of(number: int, type: str) -> FailureKind:
    known = FailureKind(number) if number in FailureKind._value2member_map_ else FailureKind.USER
    if known is FailureKind.USER and type == LOST:
        return FailureKind.WORKER_LOST  # only the server itself sends this kind
    return known


def _whole(failure: Failure, stops: bool = False) -> ClosureError:
    """Returns the error with the class and the attributes of the original exception. ClosureError.again describes
    `stops`.
    """
    if failure.own:
        failure = failure._replace(remote_traceback=_failures.with_lines(failure.remote_traceback))
    from muster._pickled.exceptions import chain, dictionary  # imports cloudpickle, which REST clients do not need

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
        str(made), made.kind  # raises an exception if the original class cannot be displayed
        return made
    except KeyboardInterrupt:
        raise
    except BaseException:  # code of the user's class can raise any exception
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
    except Exception:  # the class layouts conflict, or the class cannot be created from a string
        return None
    exceptions.dictionary(made)["_failure"] = failure
    if original is None and failure.remote_traceback:
        exceptions.chain(made, RemoteTraceback(failure.remote_traceback), None)
    found: ClosureError = made
    return found
