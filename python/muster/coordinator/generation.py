"""A generation of a coordinator's scheduled calls. After an error or a cancellation, the server drains the generation,
that is, ends all its calls. Then the error is raised once, and the next generation starts.

    settled --an error, or cancel()--> draining --drained--> settled, next generation

The session's lock protects this data.
"""
from __future__ import annotations

from typing import Any

from muster._pickled.exceptions import dictionary
from muster._wire.messages import FAILED
from muster.errors import ClosureError, FailureKind, from_wire

FAILURES_MAX = 1000
FETCHED = ("Fetching the value has already raised this error. schedule, join or done raises it again for the whole "
           "generation. An error of a call made with submit(...) is raised only when its value is fetched.")


class Generation:
    def __init__(self) -> None:
        self.number = 1
        self.draining = False
        self.cancelling = False
        """Whether the user has cancelled the generation and the drain is not complete."""
        self.failures: list[ClosureError] = []
        """Errors of this generation, or of the last generation that failed, without cancelled calls."""
        self._failures_of = 1
        self._first: ClosureError | None = None  # the first error, until the generation is drained
        self._error: ClosureError | None = None  # the error to raise
        self._fetched: ClosureError | None = None  # one of these two errors, if the fetch of its value has raised it

    @property
    def settled(self) -> bool:
        return not self.draining

    @property
    def failed(self) -> bool:
        """Returns whether there is an error to raise."""
        return self._error is not None

    def cancel(self) -> None:
        self.draining = self.cancelling = True

    def take(self, notice: Any) -> None:
        """Processes a drain notice of the server. A notice that the server repeats on a later stream is ignored."""
        if notice.generation < self.number:
            return
        if notice.kind == FAILED:
            self.draining = True
            self._first = self._first or self._noted(from_wire(notice.failure))
            return
        self.number = notice.generation + 1
        self.settle()

    def settle(self) -> None:
        """Completes the drain, because all calls have ended or the server will send no further notice."""
        self.draining = self.cancelling = False
        self._error = self._error or self._first
        self._first = None

    def note(self, failure: ClosureError) -> None:
        """Adds the error of a call."""
        if failure.kind is FailureKind.CANCELLED:
            return
        if self._failures_of != self.number:
            self.failures = []
            self._failures_of = self.number
        if len(self.failures) < FAILURES_MAX:
            self.failures.append(failure)
        if self._first is not None and self._first.same(failure):
            self._first = failure

    def _noted(self, failure: ClosureError) -> ClosureError:
        """Returns the call's own error, which indicates whether its exception may be unpickled."""
        return next((f for f in self.failures if f.same(failure)), failure)

    def raise_error(self, stops: bool = True) -> None:
        """Raises the pending error, if there is an error, and clears the pending error. ClosureError.again describes
        `stops`.
        """
        error, self._error = self._error, None
        if error is not None:
            raised = error.again(stops)
            if error is self._fetched:
                add_note(raised, FETCHED)
            raise raised

    def fetched(self, error: ClosureError) -> None:
        """Records that `error` was already raised when a value was fetched."""
        if error is self._first or error is self._error:
            self._fetched = error


def add_note(error: ClosureError, text: str) -> None:
    """Adds a note to an error. In Python versions before 3.11, which do not support notes, the text is added to the
    message.
    """
    attributes = dictionary(error)  # a user's exception class can forbid setting attributes
    if hasattr(error, "add_note"):
        attributes["__notes__"] = [*attributes.get("__notes__", ()), text]
    else:  # before Python 3.11
        attributes["_failure"] = error._failure._replace(message=f"{error.message}\n{text}")
