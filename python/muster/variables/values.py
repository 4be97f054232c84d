"""RemoteValues that consist of the results of several calls."""
from __future__ import annotations

import contextlib
import functools
import threading
import time
from typing import Any, Callable, Iterator, Sequence

from muster.coordinator.remote_value import RemoteValue, RemoteValueStatus
from muster.errors import ClosureError, WaitTimeout
from muster.objects.call import Call, Of, run_all
from muster.objects.calls import Calls
from muster.objects.handle import CallValue

WINDOW = 8
"""Maximum number of calls of a value that are in progress."""
TOO_LARGE = "muster.ResultTooLarge"
"""Failure type of a call whose result is too large for a single call."""
Request = tuple[str, bytes]
"""A method and its arguments."""


class JoinedValue(CallValue):
    """The result of applying `join` to the values of `parts`, once all parts are available."""

    __slots__ = ("_parts", "_join", "_joined", "_lock", "_added")

    def __init__(self, parts: Sequence[RemoteValue[Any]], join: Callable[[list[Any]], Any],
                 owner: Any) -> None:
        self._owner = owner
        self._parts = list(parts)
        self._join = join
        self._lock = threading.Lock()  # protects _joined
        self._joined: list[Any] | None = None
        self._added: list[tuple[Callable[[], None], Callable[[], None]]] = []  # each callback and its parts' callback

    def _fetch(self, timeout: float | None = None, stops: bool = False) -> Any:
        end = None if timeout is None else time.monotonic() + timeout
        for part in self._parts:
            part._fetch(None if end is None else max(0.0, end - time.monotonic()), stops)
        with self._lock:
            if self._joined is None:
                self._joined = [self._join([part._fetch(None, stops) for part in self._parts])]
                self._parts = []
            return self._joined[0]

    def done(self) -> bool:
        return all(part.done() for part in self._parts)

    @property
    def status(self) -> RemoteValueStatus:
        found = {part.status for part in self._parts}
        for status in (RemoteValueStatus.NOT_READY, RemoteValueStatus.ABORTED):
            if status in found:
                return status
        return RemoteValueStatus.READY

    def add_done_callback(self, f: Callable[[], None]) -> None:
        parts = list(self._parts)
        lock = threading.Lock()
        left = len(parts)

        def ended() -> None:
            nonlocal left
            with lock:
                left -= 1
                last = left == 0
            if last:
                with contextlib.suppress(ValueError):
                    self._added.remove((f, ended))
                f()

        if not parts:
            f()
            return
        self._added.append((f, ended))
        for part in parts:
            part.add_done_callback(ended)

    def _forget_callback(self, f: Callable[[], None]) -> None:
        found = next((pair for pair in list(self._added) if pair[0] == f), None)
        if found is None:
            return
        with contextlib.suppress(ValueError):
            self._added.remove(found)
        for part in list(self._parts):
            part._forget_callback(found[1])

    def _reason(self, timeout: float | None) -> str:
        part = next((part for part in list(self._parts) if not part.done()), None)
        return "" if part is None else part._reason(timeout)

    @contextlib.contextmanager
    def _noted(self) -> Iterator[None]:
        with contextlib.ExitStack() as noted:
            for part in list(self._parts):
                noted.enter_context(part._noted())
            yield

    def __repr__(self) -> str:
        return f"<muster.RemoteValue of {len(self._parts)} calls {self.status.value}>"


class OrPieces(CallValue):
    """The result of a call. If the object's process has no memory for the whole result, the data is read in pieces."""

    __slots__ = ("_pieces", "_made", "_lock")

    def __init__(self, whole: CallValue, pieces: Callable[[], RemoteValue[Any]]) -> None:
        super().__init__(whole._calls, whole._call, whole._owner)
        self._pieces = pieces
        self._made: RemoteValue[Any] | None = None
        self._lock = threading.Lock()  # protects _made

    def _fetch(self, timeout: float | None = None, stops: bool = False) -> Any:
        end = None if timeout is None else time.monotonic() + timeout
        try:
            return super()._fetch(timeout, stops)
        except ClosureError as error:
            if error.type != TOO_LARGE:
                raise
        with self._lock:
            if self._made is None:
                self._made = self._pieces()
        return self._made._fetch(None if end is None else max(0.0, end - time.monotonic()), stops)


class Later(CallValue):
    """A call that is made after an earlier call has been answered."""

    __slots__ = ("_made", "_error", "_lock", "_waiters")

    def __init__(self, calls: Calls, owner: Any) -> None:
        self._owner = owner
        self._calls = calls
        self._made = threading.Event()
        self._error: ClosureError | None = None
        self._lock = threading.Lock()  # protects _waiters
        self._waiters: list[Callable[[], None]] = []

    def made(self, call: Call | None, error: ClosureError | None) -> None:
        if call is not None:
            self._call = call
        self._error = error
        with self._lock:
            self._made.set()
            waiters, self._waiters = self._waiters, []
        run_all([functools.partial(self.add_done_callback, f) for f in waiters])

    def _fetch(self, timeout: float | None = None, stops: bool = False) -> Any:
        end = None if timeout is None else time.monotonic() + timeout
        if not self._made.wait(timeout):
            raise WaitTimeout("a part of the value was not received in time")
        if self._error is not None:
            raise self._error.again(stops)
        return super()._fetch(None if end is None else max(0.0, end - time.monotonic()), stops)

    def done(self) -> bool:
        return self._made.is_set() and (self._error is not None or super().done())

    @property
    def status(self) -> RemoteValueStatus:
        if not self._made.is_set():
            return RemoteValueStatus.NOT_READY
        return super().status if self._error is None else RemoteValueStatus.ABORTED

    @contextlib.contextmanager
    def _noted(self) -> Iterator[None]:
        if not self._made.is_set() or self._error is not None:
            yield
            return
        with super()._noted():
            yield

    def add_done_callback(self, f: Callable[[], None]) -> None:
        with self._lock:
            if not self._made.is_set():
                self._waiters.append(f)
                return
        if self._error is None:
            super().add_done_callback(f)
        else:
            f()

    def _forget_callback(self, f: Callable[[], None]) -> None:
        with self._lock:
            if f in self._waiters:
                self._waiters.remove(f)
        if self._made.is_set() and self._error is None:
            super()._forget_callback(f)

    def _reason(self, timeout: float | None) -> str:
        return super()._reason(timeout) if self._made.is_set() and self._error is None else ""


class _Window:
    def __init__(self, calls: Calls, object: int, ticket: bytes, owner: Any, of: Of,
                 requests: Sequence[Request]) -> None:
        self._calls = calls
        self._object = object
        self._ticket = ticket
        self._of = of
        self.values = [Later(calls, owner) for _ in requests]
        self._left = iter(list(zip(requests, self.values)))
        self._lock = threading.Lock()  # protects _left; calls are made in order while it is held
        for _ in range(WINDOW):
            self._make_one()

    def _make_one(self) -> None:
        call: Call | None = None
        while call is None:
            with self._lock:
                found = next(self._left, None)
                if found is None:
                    return
                (method, args), value = found
                error: ClosureError | None = None
                try:
                    call = self._calls.add(self._object, method, args, self._ticket, waits=False,
                                           plain=True, of=self._of)
                except ClosureError as e:
                    error = e
            value.made(call, error)
        self._calls.when_answered(call, self._make_one)


def in_window(calls: Calls, object: int, ticket: bytes, owner: Any, of: Of, requests: Sequence[Request],
              join: Callable[[list[Any]], Any]) -> RemoteValue[Any]:
    """Makes several calls, with at most WINDOW calls in progress, so that answers do not accumulate on the server."""
    return JoinedValue(_Window(calls, object, ticket, owner, of, requests).values, join, owner)
