"""The streams of a session. `messages` runs on the thread that writes a stream; all other methods run on the thread
that reads the stream.
"""
from __future__ import annotations

import logging
import queue
import threading
import time
from typing import Any, Callable, Iterator, Sequence

from muster._pickled.buffers import Data
from muster._pickled.calls import FUNCTION
from muster._pickled.values import may_be_name
from muster._wire.messages import BYTES, FAILED, JSON
from muster.coordinator.outbox import Outbox
from muster.coordinator.records import PICKLE, PICKLE_IN_JSON, Record
from muster.coordinator.session_state import SessionState, unavailable
from muster.coordinator.shared import SharedContent
from muster.errors import CancelledError, ClosureError, FailureKind, from_wire
from muster.objects.call import run_all

log = logging.getLogger("muster.session")

DROPS_WAIT = 0.05
"""Seconds for which released values wait to be sent, so that more values can be sent together."""


class SessionStreams(SessionState):
    # Methods of the writing thread.

    def messages(self, stream: int) -> Iterator[bytes]:
        """Yields the messages of a stream, until the session opens the next stream."""
        while True:
            with self._lock:
                if stream != self._stream:
                    return
                wake = self._wake
                self._take_drops()
                full = self._full()  # `take` wakes the threads that wait for a drain
                data = self._out.next_message(self._names)
                self._last_sent = max(self._last_sent, self._out.last_sent)
                if data is None:
                    self._signalled = False
                elif full:
                    self._changed.notify_all()
            if data is not None:
                yield data
            elif wake.get():  # only values were dropped, and usually more are dropped soon
                try:
                    wake.get(timeout=DROPS_WAIT)
                except queue.Empty:
                    pass

    # Methods of the reading thread.

    def connected(self) -> int:
        """Starts a new stream and returns its number."""
        with self._lock:
            self._take_drops()
            self._out = out = Outbox()
            out.open = self.options.open()
            if self._printer is not None:
                self._printer.ask(out.open)
            if self._id:
                out.open.resume = self._id
                out.open.resume_incarnation = self._incarnation
                out.open.resume_token.extend(self._records)
                out.open.resume_per_worker.extend(self._built)
            out.built = [b for b in self._built.values() if not b.answered.is_set()]
            unfinished = sorted(t for t, r in self._records.items() if not r.ended)
            self._queue.begin_stream(len(unfinished))
            for token in unfinished:
                r = self._records[token]
                out.add(r)
                if r.cancelled:
                    out.cancel_one.append(token)
                if r.references == 0:
                    out.release.append(token)
            out.close = self.closing
            out.objects = self.objects
            self.objects.again()
            self._stream += 1
            self._streaming = True
            self._cancel_sent = False
            self._renew_wake()
            self._signalled = True
            return self._stream

    def disconnected(self) -> None:
        with self._lock:
            self._stream += 1
            if self._away_since is None:
                self._away_since = time.monotonic()
            self._renew_wake()

    def _renew_wake(self) -> None:
        old, self._wake = self._wake, queue.SimpleQueue()
        old.put(False)

    @property
    def incarnation(self) -> int:
        """Returns the identifier of the server process that opened the session, or 0 if no session is open."""
        return self._incarnation

    @property
    def opened(self) -> bool:
        return bool(self._id)

    def take(self, m: Any, values: Sequence[Data]) -> None:
        """Processes a SessionResponse. `values` is the value column of the response."""
        self._reading = threading.get_ident()
        try:
            self._take(m, values)
        finally:
            self._reading = None
            if self._held:
                with self._lock:
                    self._changed.notify_all()

    def _take(self, m: Any, values: Sequence[Data]) -> None:
        ready: list[Callable[[], None]] = []
        if self._printer is not None and (m.log or m.log_last):
            self._printer.take(m)
        if m.HasField("objects"):
            self.objects.take(m.objects)
        with self._lock:
            unsettled = m.HasField("opened") or bool(m.notice)
            if m.HasField("opened"):
                self._take_opened(m.opened)
            unsettled |= self._queue.take(m)
            self._take_notices(m, False)
            for p in m.per_worker:
                self._take_created(p)
            cut_ended = self._take_outcomes(m, values, ready)
            self._take_notices(m, True)
            if self._out.waiting:
                self._signal()
            if unsettled or cut_ended:
                self._changed.notify_all()
        run_all(ready)
        for s in m.suspect:
            log.warning("%s (closure cl_%016x) has lost %d workers, most recently %s; from now on, it runs alone on "
                        "its worker", s.function, s.closure, s.workers_lost, s.worker)

    def _take_opened(self, o: Any) -> None:
        self._id = o.session
        self._away_since = None
        self.own_errors = o.own_errors
        self.has_objects = o.objects
        self.has_datasets = o.datasets
        self._incarnation = o.server_incarnation
        self.grace = o.session_grace_ms / 1000
        if self.blobs is not None:
            self.blobs.patience = self.patience
        self.inputs_beside_bytes = o.inputs_beside_bytes
        self._heard.set()
        # The cancel may have been lost with the old stream. If the server received it, the generation has ended.
        g = self._generation
        if g.cancelling and not self._cancel_sent and o.generation == g.number:
            self._cancel_sent = self._out.cancel = True

    def _take_notices(self, m: Any, drained: bool) -> None:
        for notice in m.notice:
            if (notice.kind != FAILED) == drained:
                self._generation.take(notice)

    def _take_created(self, p: Any) -> None:
        b = self._built.get(p.token)
        if b is None:
            if p.value:
                self._out.release_built.append(p.value)  # the handle was dropped before the server answered
        elif not b.answered.is_set():
            if p.HasField("failure"):
                b.error = from_wire(p.failure)
            else:
                b.handle = p.value
            b.answered.set()

    def _take_outcomes(self, m: Any, values: Sequence[Data],
                       ready: list[Callable[[], None]]) -> bool:
        failures = {f.position: f for f in m.failure} if m.failure else None
        records = self._records
        cut_ended = False
        python = self._numbers.get(FUNCTION)
        encodings = m.encoding or [JSON] * len(m.token)
        for i, (token, raw, encoding, closure) in enumerate(
                zip(m.token, values, encodings, m.closure)):
            r = records.get(token)
            if r is None or r.ended:
                continue  # the server has repeated this outcome
            r.closure = closure
            own = r.function == python
            if failures is not None and i in failures:
                r.error = from_wire(failures[i], own, _cause(failures[i], r))
                if r.generation:
                    self._generation.note(r.error)
            else:
                r.raw = raw
            # Only results of functions of this session are trusted to be unpickled here.
            if own:
                r.encoding = PICKLE if encoding == BYTES else PICKLE_IN_JSON
            elif encoding == JSON and r.options is not None and r.options.trust_pickles:
                r.encoding = PICKLE_IN_JSON
            else:
                r.encoding = encoding
            cut_ended |= self._end(r, ready)
        return cut_ended

    def _end(self, r: Record, ready: list[Callable[[], None]]) -> bool:
        """Ends a closure. Returns whether a join can then return."""
        r.ended = True
        self._unfinished -= 1
        cut_ended = False
        for c in self._cuts:
            if r.token <= c.last_token:
                c.left -= 1
                cut_ended |= c.left == 0
        if r.waiters:
            ready += r.waiters
            r.waiters = None
        r.args = b""
        r.is_large = may_be_name(r.raw)
        if r.is_large and self.blobs is not None and self.blobs.outputs_may_stay():
            # The closure may have to run again until its value has been fetched, or to provide the value to other
            # closures. The server keeps the closure's blobs longer by itself.
            self.blobs.lineage.ended(r.token, [c for c in r.contents if isinstance(c, SharedContent)],
                                     (used.token for used, _, _, _ in r.inputs if used is not None))
        else:
            r.contents = ()
        r.options = None
        inputs, r.inputs = r.inputs, ()
        per_worker, r.per_worker = r.per_worker, ()
        if r.references == 0:
            self._records.pop(r.token, None)
            if self.blobs is not None:
                self.blobs.lineage.forget(r.token)
            if self._streaming and not self._ended:
                self._out.release.append(r.token)  # an earlier release may have been sent before the closure
        for used, _, _, _ in inputs:
            if used is not None:
                self._unreference(used)
        for b in per_worker:
            self._unreference_built(b)
        return cut_ended

    def ended(self, reason: str) -> None:
        """Ends the session; no further stream will be opened. `reason` is "" if the session was closed normally."""
        ready: list[Callable[[], None]] = []
        self._heard.set()
        if self._printer is not None:
            self._printer.close()
        with self._lock:
            self._streaming = False
            self._ended = self._refuses = True
            closed = self.closing
            self._reason = "" if closed else reason or "the server ended the session"
            for r in [r for r in self._records.values() if not r.ended]:
                r.error = (CancelledError(FailureKind.CANCELLED, "muster.ClusterCoordinator",
                                          "the coordinator was closed")
                           if closed else unavailable(self._reason))
                self._end(r, ready)
            for b in self._built.values():
                if not b.answered.is_set():
                    b.error = unavailable(self._reason or "the coordinator was closed")
                    b.answered.set()
            self._generation.settle()
            self._out = Outbox()
            over = self._reason or "the coordinator was closed"
            self._stream += 1
            self._renew_wake()
            self._changed.notify_all()
        self.objects.end(over)
        run_all(ready)


def _cause(failure: Any, r: Record) -> ClosureError | None:
    """Returns the error of the input that made closure `r` fail, or None. This error was received before the failure of
    the closure.
    """
    if failure.kind != FailureKind.INPUT:
        return None
    ended = [used.error for used, _, _, _ in r.inputs if used is not None and used.error is not None]
    said = (failure.type, failure.worker, failure.attempt)
    # Several inputs may have failed. The failure describes the first failed input.
    for error in sorted(ended, key=lambda e: (e.type, e.worker, e.attempt) != said)[:1]:
        return error._failure.cause or error
    return None
