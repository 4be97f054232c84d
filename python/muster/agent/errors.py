"""Exceptions of muster.Agent."""
from __future__ import annotations

from typing import Any

from muster.errors import AbortedError, CancelledError, ClosureError, FailureKind, MusterError, UnavailableError, WaitTimeout

CODES = ("OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED "
         "RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE "
         "DATA_LOSS UNAUTHENTICATED").split()
"""Names of gRPC status codes; the index is the number."""

_ALSO: dict[str, tuple[type, FailureKind]] = {
    "UNAVAILABLE": (UnavailableError, FailureKind.DEPENDENCY_LOST),
    "ABORTED": (AbortedError, FailureKind.WORKER_LOST),
    "CANCELLED": (CancelledError, FailureKind.CANCELLED),
    "DEADLINE_EXCEEDED": (WaitTimeout, FailureKind.TIMEOUT),
}
_made: dict[tuple[type, str], type] = {}


def _class_of(base: type, code: str) -> type:
    if code not in _ALSO or issubclass(base, _ALSO[code][0]):
        return base
    if (base, code) not in _made:
        _made[base, code] = type(base.__name__, (base, _ALSO[code][0]), {"__module__": base.__module__})
    return _made[base, code]


class CoordinationError(MusterError):
    """Raised if the coordination service rejects a call or cannot be reached.

    For some codes, the error is also an instance of another class: UnavailableError for ``UNAVAILABLE``, AbortedError
    for ``ABORTED``, CancelledError for ``CANCELLED`` and WaitTimeout for ``DEADLINE_EXCEEDED``.

    Attributes:
        code: Name of a gRPC status, for example ``"NOT_FOUND"``.
        message: Error message of the service.
    """

    _plain: type

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "_plain" not in cls.__dict__ and not issubclass(cls, (ClosureError, WaitTimeout)):
            cls._plain = cls

    def __new__(cls, code: str, message: str, *rest: Any) -> CoordinationError:
        chosen = _class_of(cls, code)
        # WaitTimeout is an OSError, so OSError.__new__ must be called.
        made: CoordinationError = super(CoordinationError, chosen).__new__(chosen, message)  # type: ignore[misc]
        return made

    def __init__(self, code: str, message: str, *rest: Any) -> None:
        if isinstance(self, ClosureError):
            ClosureError.__init__(self, _ALSO[code][1], "muster." + type(self).__name__, message)
        Exception.__init__(self, code, message, *rest)

    @property
    def code(self) -> str:
        """Name of a gRPC status, for example ``"NOT_FOUND"``."""
        return str(self.args[0])

    @property
    def message(self) -> str:
        """Error message of the service."""
        return str(self.args[1])

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def again(self, stops: bool = False) -> Any:
        """Returns a copy to raise, because the same error can be raised in several places.

        Args:
            stops: Ignored.
        """
        return self._plain(*self.args)

    def __reduce__(self) -> Any:
        return self._plain, self.args


CoordinationError._plain = CoordinationError


class BarrierError(CoordinationError):
    """Raised if a barrier has timed out or was cancelled, or if a participating task cannot arrive.

    Attributes:
        barrier: Id of the barrier.
        use: Index of this use of the barrier id, counted from 0.
    """

    def __init__(self, code: str, message: str, barrier: str, use: int) -> None:
        super().__init__(code, message, barrier, use)

    @property
    def barrier(self) -> str:
        """Id of the barrier."""
        return str(self.args[2])

    @property
    def use(self) -> int:
        """Index of this use of the barrier id, counted from 0."""
        return int(self.args[3])


class AgentError(CoordinationError):
    """Raised if the agent or the whole run has failed. The agent must connect again.

    Attributes:
        task: The task that failed first, for example ``"worker:1"``, or None if the task is unknown.
        reported: Whether the failed task itself reported the error with ``report_error``.
    """

    def __init__(self, code: str, message: str, task: str | None = None, reported: bool = False) -> None:
        super().__init__(code, message, task, reported)

    @property
    def task(self) -> str | None:
        """The task that failed first, or None if the task is unknown."""
        found: str | None = self.args[2]
        return found

    @property
    def reported(self) -> bool:
        """Whether the failed task itself reported the error."""
        return bool(self.args[3])
