"""The generation that a coordinator's closures belong to. An error or a cancel makes the server
drain it, and the next one begins; the error is raised once, after that.

    settled --an error, or cancel()--> draining --drained--> settled, one further

Under the session's lock.
"""
from __future__ import annotations

from typing import Any

from muster._pickled.exceptions import dictionary
from muster._wire.messages import FAILED
from muster.errors import ClosureError, FailureKind, from_wire

FAILURES_MAX = 1000
FETCHED = ("The fetch of its value has raised this error before. It is the error of the generation, too, "
           "which schedule, join or done raises once; that of submit(...) is raised by its value alone.")


class Generation:
    def __init__(self) -> None:
        self.number = 1
        self.draining = False
        self.cancelling = False
        """By the user, and not drained."""
        self.failures: list[ClosureError] = []
        """Of this generation, or of the newest that failed; cancelled ones are left out."""
        self._failures_of = 1
        self._first: ClosureError | None = None  # until it has drained
        self._error: ClosureError | None = None  # to be raised
        self._fetched: ClosureError | None = None  # one of the two: its value's fetch has raised it

    @property
    def settled(self) -> bool:
        return not self.draining

    @property
    def failed(self) -> bool:
        """An error is to be raised."""
        return self._error is not None

    def cancel(self) -> None:
        self.draining = self.cancelling = True

    def take(self, notice: Any) -> None:
        """What the server says; again on another stream, it is ignored."""
        if notice.generation < self.number:
            return
        if notice.kind == FAILED:
            self.draining = True
            self._first = self._first or self._noted(from_wire(notice.failure))
            return
        self.number = notice.generation + 1
        self.settle()

    def settle(self) -> None:
        """Nothing is left, whatever the server would have said."""
        self.draining = self.cancelling = False
        self._error = self._error or self._first
        self._first = None

    def note(self, failure: ClosureError) -> None:
        """A closure of a generation has failed."""
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
        """The same as its closure's own, which says whether its exception may be read."""
        return next((f for f in self.failures if f.same(failure)), failure)

    def raise_error(self, stops: bool = True) -> None:
        """Raises the error if there is one, once. `stops`: see ClosureError.again."""
        error, self._error = self._error, None
        if error is not None:
            raised = error.again(stops)
            if error is self._fetched:
                add_note(raised, FETCHED)
            raise raised

    def fetched(self, error: ClosureError) -> None:
        """The fetch of a value has raised it."""
        if error is self._first or error is self._error:
            self._fetched = error


def add_note(error: ClosureError, text: str) -> None:
    """Adds a note to an error; before Python 3.11, which has no notes, a line to its message."""
    attributes = dictionary(error)  # a class of the user's may let nobody set anything
    if hasattr(error, "add_note"):
        attributes["__notes__"] = [*attributes.get("__notes__", ()), text]
    else:  # before Python 3.11
        attributes["_failure"] = error._failure._replace(message=f"{error.message}\n{text}")
