"""The state of a session and its handles. The session stores every output that has a handle, and every unfinished
closure, so that closures can be sent again after a break of the stream.

The lock protects the whole state. Handles can be garbage-collected on any thread at any time, so `drop` takes no lock
and only queues the handle.
"""
from __future__ import annotations

import collections
import queue
import threading
import time
from typing import Any, NamedTuple

from muster import _forks
from muster.coordinator import log_lines
from muster.coordinator.generation import Generation
from muster.coordinator.objects import SessionObjects
from muster.coordinator.options import CoordinatorOptions
from muster.coordinator.outbox import Outbox
from muster.coordinator.queue_bound import QueueBound
from muster.coordinator.records import Built, Record
from muster.errors import FailureKind, UnavailableError


class Cut:
    """The closures that a join waits for, namely all closures that were scheduled before the join."""

    def __init__(self, last_token: int, left: int) -> None:
        self.last_token = last_token
        self.left = left


class ToCancel(NamedTuple):
    """A closure that the writing thread must cancel."""

    record: Record


class SessionState:
    def __init__(self, options: CoordinatorOptions) -> None:
        self.options = options
        self._printer = log_lines.Printer() if log_lines.shown(options.log_to_driver) else None
        self.link: Any = None
        self.blobs: Any = None
        self.objects = SessionObjects(self._wake_for_objects, self._lost_objects, self._is_reading,
                                      lambda: None if self.blobs is None else self.blobs.memory)
        self._lock = threading.Lock()  # protects the fields below, except _drops and _wake
        self._changed = threading.Condition(self._lock)
        self._records: dict[int, Record] = {}
        self._built: dict[int, Built] = {}
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._last_token = 0
        self._last_sent = 0  # the highest token of a sent closure
        self._unfinished = 0
        self._cuts: list[Cut] = []
        self._out = Outbox()
        self._queue = QueueBound(options.queue_capacity)
        self._bounded = options.queue_capacity > 0
        self._generation = Generation()
        self._cancel_sent = False
        self._streaming = False
        self._stream = 0
        self._warned_of: set[int] = set()  # functions that no worker provides; each is logged once
        self._warned_of_break = 0.0
        self._away_since: float | None = time.monotonic()  # time at which the last stream ended; None: a stream is open
        self._id = ""
        self._incarnation = 0
        self.grace = 0.0
        self.own_errors = False  # the server supports closures with their own errors
        self.has_objects = False  # the server supports objects on tasks
        self.has_datasets = False  # the server supports datasets
        self.inputs_beside_bytes = False  # the server accepts inputs of closures with arguments in bytes
        self._heard = threading.Event()  # set when the server has answered, or when the session ends without an answer
        self._waited = False
        self.closing = False
        self._ended = False
        self._refuses = False  # True if the session is closing, has ended, or will end because there is no server
        self._reason = ""
        self._held = 0  # number of active `quiet` blocks, which delay new closures
        self._reading: int | None = None  # the thread that is processing a message and running its callbacks
        self._lost_with: set[tuple[int, str]] = set()  # pairs of stream and task for which the loss was reported
        self._told: BaseException | None = None  # an error that the next schedule, join or done raises
        self._signalled = False
        self._drops: collections.deque[Record | Built | ToCancel] = collections.deque()
        self._drops_told = False
        self._wake: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self.is_forked = False
        """Whether this process was forked from the session's process."""
        _forks.notify_in_forks(self)

    def forked(self) -> None:
        self.is_forked = True
        lost: Any = _forks.LostLock("coordinator")
        self._lock = self._changed = lost
        self.link._lock = self.blobs._lock = lost

    def check_process(self) -> None:
        """Raises RuntimeError in a process that was forked from the session's process, because the session's threads do
        not exist there.
        """
        if self.is_forked:
            raise _forks.of_parent("coordinator")

    @property
    def id(self) -> str:
        """Returns the session id as in the REST API, or "" if the server has not opened the session yet."""
        return self._id

    @property
    def patience(self) -> float:
        """Returns the number of seconds for which a call outside the stream is repeated while the server is
        unreachable. The session can be resumed within the same time.
        """
        return max(self.options.connect_timeout, self.grace)

    @property
    def over(self) -> bool:
        """Returns whether the session rejects new closures."""
        return self._refuses

    def takes_inputs_beside(self, timeout: float) -> bool:
        """Returns whether the server accepts inputs of closures whose arguments are bytes. Returns False if the server
        does not answer within `timeout` seconds.
        """
        if not self._heard.is_set() and not self._waited:
            self._waited = not self._heard.wait(timeout)  # only the first caller waits
        return self.inputs_beside_bytes

    def _may_schedule(self) -> bool:
        if self._refuses:
            return True
        generation = self._generation
        blocked = (self._held and self._holds()) or self._full()
        return not generation.draining and (not blocked or generation.failed)

    def _may_submit(self) -> bool:
        """Returns whether an independent closure can be added. A cancellation in progress would also end the new
        closure.
        """
        return self._refuses or not (self._generation.cancelling or (self._held and self._holds()) or self._full())

    def _holds(self) -> bool:
        """Returns whether this thread must wait because new closures are delayed. Callbacks do not wait, because their
        thread receives outcomes.
        """
        return not self._is_reading()

    def _is_reading(self) -> bool:
        """Returns whether this thread runs a callback."""
        return self._reading == threading.get_ident()

    def _full(self) -> bool:
        o, out = self.options, self._out
        return (len(out.records) >= o.pending_max or out.bytes >= o.pending_bytes_max or
                (not self._streaming and self._unfinished >= o.pending_max) or
                (self._bounded and self._queue_is_full()))

    def _queue_is_full(self) -> bool:
        """Returns whether the queue is full. Always False in a callback, because the thread of callbacks receives the
        server's reports.
        """
        return self._queue.is_full(self._streaming, self._unfinished) and not self._is_reading()

    def _throw_if_over(self) -> None:
        if self._refuses:
            if not self._reason:
                raise RuntimeError("the coordinator is closed")
            raise unavailable(self._reason)

    def _raise_pending(self, stops: bool = True) -> None:
        if self._generation.failed:
            self._generation.raise_error(stops)
        if self._told is not None:
            told, self._told = self._told, None
            raise told
        if self._refuses:
            self._throw_if_over()

    # Handles.

    def drop(self, record: Record | Built) -> None:
        """Queues the record of a handle that was garbage-collected. Takes no lock, because the garbage collector can
        call `drop` at any time.
        """
        self._drops.append(record)
        if isinstance(record, Record) and record.is_large:
            self._wake.put(False)  # wakes the writing thread now, so that the next large output can reuse the memory
        elif not self._drops_told:
            self._drops_told = True
            self._wake.put(True)

    def cancel_later(self, record: Record) -> None:
        """Requests the cancellation of a closure. Takes no lock, because the garbage collector can call `cancel_later`
        on any thread at any time.
        """
        self._drops.append(ToCancel(record))
        if not self._drops_told:
            self._drops_told = True
            self._wake.put(True)

    def _take_drops(self) -> None:
        self._drops_told = False
        while self._drops:
            dropped = self._drops.popleft()
            if isinstance(dropped, ToCancel):
                self._cancel_one(dropped.record)
            elif isinstance(dropped, Record):
                self._unreference(dropped)
            else:
                self._unreference_built(dropped)

    def _cancel_one(self, r: Record) -> None:
        if not r.ended and not self._ended:
            r.cancelled = True
            if self._streaming:
                self._out.cancel_one.append(r.token)
                self._signal()

    def _unreference(self, r: Record) -> None:
        r.references -= 1
        if r.references == 0:
            if r.ended:
                self._records.pop(r.token, None)
                if self.blobs is not None:
                    self.blobs.lineage.forget(r.token)
            if not self._ended and self._streaming:
                self._out.release.append(r.token)

    def _unreference_built(self, b: Built) -> None:
        b.references -= 1
        if b.references == 0:
            self._built.pop(b.token, None)
            if b.handle and self._streaming and not self._ended:
                self._out.release_built.append(b.handle)

    def _wake_for_objects(self) -> None:
        with self._lock:
            if self._streaming:
                self._signal()

    def _lost_objects(self, task: str, error: BaseException) -> None:
        """Reports the loss of a task. The next `schedule`, `join` or `done` raises the error, once per task and stream.
        """
        with self._lock:
            if (self._stream, task) not in self._lost_with:
                self._lost_with = {one for one in self._lost_with if one[0] == self._stream}
                self._lost_with.add((self._stream, task))
                self._told = error

    def _signal(self) -> None:
        if not self._signalled:
            self._signalled = True
            self._wake.put(False)


def unavailable(reason: str) -> UnavailableError:
    return UnavailableError(FailureKind.DEPENDENCY_LOST, "muster.ClusterCoordinator", reason)
