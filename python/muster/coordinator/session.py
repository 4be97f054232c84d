"""The session of a coordinator, with the methods that other modules call. Methods can be called from any thread."""
from __future__ import annotations

import time
from typing import Any, Callable, NamedTuple, Sequence

from muster._pickled.calls import FUNCTION
from muster._pickled.names import as_text
from muster.coordinator.objects import SessionObjects
from muster.coordinator.options import ClosureOptions
from muster.coordinator.records import Built, Record
from muster.coordinator.requests import Request
from muster.coordinator.session_state import unavailable
from muster.coordinator.session_waits import SessionWaits
from muster.errors import CancelledError, ClosureError, FailureKind, UnavailableError
from muster.objects.call import run_all
from muster.worker.context import waiting

CANCEL_LIMIT = 10.0
"""Seconds after which a cancel of queued closures gives up: until sent closures have reached the server, or a lost
connection is restored.
"""
CANCEL_AGAIN_LIMIT = 1.0
"""Limit in seconds after a cancel request that has given up, until the server answers a cancel request."""


class Cancelled(NamedTuple):
    """The result of `cancel_queued`, as sets of closure tokens."""

    started: set[int]
    """Closures that are running or have ended."""
    left: set[int]
    """Closures that could not be cancelled: started closures, and closures with an unknown state."""


class Session(SessionWaits):
    _cancel_limit = CANCEL_LIMIT

    # Scheduling.

    def put(self, requests: Sequence[Request], options: ClosureOptions | None,
            own_errors: bool = False, stops: bool = True) -> list[Record]:
        """Adds closures in order and returns their records. Blocks while the queue or the outbox is full.

        Args:
            own_errors: Whether closures fail independently, as in `submit`.
            stops: See ClosureError.again.

        Raises:
            UnavailableError: The session has ended.
            ClosureError: An earlier closure of this generation has failed, and `own_errors` is False. Some of the
                closures may have been added.
        """
        own_errors &= self.own_errors or not self._heard.is_set()
        may = self._may_submit if own_errors else self._may_schedule
        added: list[Record] = []
        with self._lock:
            for request in requests:
                if not may():
                    drains = self._generation.cancelling if own_errors else not self._generation.settled
                    if drains and self._is_reading():
                        raise RuntimeError("a callback cannot schedule calls while an error or cancellation is still "
                                           "stopping other calls; schedule from another thread")
                    self._signal()
                    with waiting():  # back-pressure; the wait ends with the session at the latest
                        self._changed.wait_for(may)
                self._throw_if_over() if own_errors else self._raise_pending(stops)
                added.append(self._add(request, options, own_errors))
            self._signal()
        return added

    def _add(self, request: Request, options: ClosureOptions | None, own_error: bool) -> Record:
        self._last_token = token = self._last_token + 1
        number = self._numbers.get(request.function)
        if number is None:
            number = self._number_of(request.function)
        r = Record(token, number, request.args, request.encoding, options,
                   0 if own_error else self._generation.number)
        r.contents = request.contents
        r.called = request.called
        if request.inputs:
            r.inputs = tuple((record if self._records.get(record.token) is record else None,
                              record.closure, offset, pickled)
                             for record, offset, pickled in request.inputs)
            for record, closure, _, _ in r.inputs:
                if record is not None:
                    record.references += 1
                elif not closure:
                    self._last_token -= 1
                    raise ValueError("an argument is a value of another coordinator and is not ready")
        if request.per_worker:
            r.per_worker = tuple({v.built.token: v.built for v in request.per_worker}.values())
            for b in r.per_worker:
                b.references += 1
        if self._streaming:
            self._out.add(r)  # must be first: after Ctrl-C, no thread may wait for a closure that is never sent
            if self._bounded:
                self._queue.add()
        self._records[token] = r
        self._unfinished += 1
        return r

    def is_pickled(self, record: Record) -> bool:
        return record.function == self._numbers.get(FUNCTION)

    def _number_of(self, function: str) -> int:
        self._names.append(function)
        self._numbers[function] = number = len(self._names) - 1
        return number

    def create(self, request: Request, name: str) -> Built:
        """Creates a per-worker value and waits until the server has accepted it.

        Raises:
            InputError: The server rejected the value.
            ValueError: `name` is not valid Unicode text.
        """
        as_text("name", name)
        if self._is_reading():
            raise RuntimeError("a callback cannot create values of workers, because it runs on the thread that receives the answer; "
                               "use a thread of your own")
        with self._lock:
            self._throw_if_over()
            self._last_token += 1
            number = self._numbers.get(request.function)
            number = self._number_of(request.function) if number is None else number
            b = Built(self._last_token, number, request.args, name)
            b.contents = request.contents
            self._built[b.token] = b
            if self._streaming:
                self._out.built.append(b)
            self._signal()
        b.answered.wait()  # the wait ends with the session at the latest
        if b.error is not None:
            raise b.error.again()
        return b

    def objects_known(self, datasets: bool = False) -> SessionObjects:
        """Returns the objects of the session. Raises UnavailableError if the server is too old or unreachable."""
        self._heard.wait()  # the wait ends with the session at the latest
        if not self.has_objects:
            self._throw_if_over()
            raise unavailable("the server does not support objects on tasks; upgrade it")
        if datasets and not self.has_datasets:
            raise unavailable("the server does not support distributed datasets; upgrade it")
        return self.objects

    # Closures and errors.

    def keep_decoded(self, record: Record, value: Any) -> None:
        with self._lock:
            if record.encoding >= 0:
                record.value, record.raw, record.encoding = value, b"", -1
                record.contents = ()

    def cancel(self) -> None:
        with self._lock:
            if self._ended or self.closing or self._generation.cancelling:
                return
            if not self._generation.settled:  # an error cancels scheduled closures, but not submitted closures
                for r in self._records.values():
                    if r.generation == 0:
                        self._cancel_one(r)
                return
            self._generation.cancel()
            if self._streaming:
                self._cancel_sent = self._out.cancel = True
                self._signal()

    def cancel_one(self, record: Record) -> None:
        with self._lock:
            self._cancel_one(record)

    def cancel_queued(self, records: Sequence[Record], dry_run: bool = False) -> Cancelled:
        """Cancels closures that no worker has started. With `dry_run`, only asks the server which closures would be
        cancelled. Can be called from any thread.

        The request is repeated while there is no connection. With `dry_run`, and in callbacks, the method does not wait
        for a connection.
        """
        started: set[int] = set()
        asked: list[int] = []
        unsent: list[Record] = []
        ready: list[Callable[[], None]] = []
        by_token = {r.token: r for r in records}
        with self._lock:
            for r in records:
                if r.ended:
                    started.add(r.token)
                elif r.token <= self._last_sent or r.references > 1:
                    asked.append(r.token)
                elif not dry_run:
                    unsent.append(r)
            if unsent:
                self._drop_unsent(unsent, ready)
        run_all(ready)
        limit = self._cancel_limit
        end = time.monotonic() + limit
        at_once = dry_run or self._is_reading()
        pause = 0.002
        while asked:
            try:
                answer = self.link.cancel_queued(self._id, asked, dry_run, limit)
            except UnavailableError:  # the state of the closures is unknown
                if time.monotonic() >= end:
                    self._cancel_limit = CANCEL_AGAIN_LIMIT
                unknown = set(asked)
            else:
                self._cancel_limit = CANCEL_LIMIT
                running, unknown = answer or (set(), set())
                started |= running
                if not dry_run:
                    self._note_cancelled(set(asked) - running - unknown, answer is None)
                elif unknown:
                    break
            # The server does not know these closures yet, or they have ended and their outcome has not arrived.
            asked = [token for token in unknown if not by_token[token].ended]
            started.update(token for token in unknown.difference(asked)
                           if not isinstance(by_token[token].error, CancelledError))
            if asked and (at_once or self.over or time.monotonic() >= end):
                return Cancelled(started, started.union(asked))
            if asked:
                time.sleep(pause)
                pause = min(2 * pause, 0.1)
        return Cancelled(started, started)

    def _note_cancelled(self, tokens: set[int], tell: bool) -> None:
        with self._lock:
            for token in tokens:
                if (r := self._records.get(token)) is None:
                    continue
                if tell:  # an older server, on which a cancel also stops running calls
                    self._cancel_one(r)
                r.cancelled = True  # the cancel is sent again on the next stream

    def _drop_unsent(self, records: Sequence[Record], ready: list[Callable[[], None]]) -> None:
        """Ends the given closures that have not been sent."""
        dropped = {r.token for r in records}
        self._queue.remove(self._out.drop(dropped))
        for r in records:
            r.error = CancelledError(FailureKind.CANCELLED, "muster.ClusterCoordinator", "cancelled before it started")
            self._end(r, ready)
        self._changed.notify_all()

    def fetched(self, error: ClosureError) -> None:
        """Records that `error` was already raised when a value was fetched."""
        with self._lock:
            self._generation.fetched(error)

    def failures(self) -> list[ClosureError]:
        with self._lock:
            failures = list(self._generation.failures)
        return [f.again() for f in failures]

    def stop(self, reason: str) -> None:
        """Makes the session reject new closures, because there is no server."""
        with self._lock:
            if not self._ended:
                self._reason = reason
                self._refuses = True
                self._changed.notify_all()

    def begin_close(self) -> None:
        """Makes the session reject new closures, and notifies the server that the session is closing."""
        with self._lock:
            if self.closing or self._ended:
                return
            self.closing = self._refuses = True
            self._out.close = self._streaming
            self._signal()
            self._changed.notify_all()
