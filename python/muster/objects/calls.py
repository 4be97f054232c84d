"""Calls of objects by a caller. Manages call numbers, the queue of calls to send, and the threads that wait for
answers.

    add --> out --fill--> sent --take--> answered, and acknowledged by `taken`; `Large` first fetches large results
                  └── the stream broke: `again`, from the first unanswered call

Functions can be called on any thread. Callers block when they have too many unanswered calls.
"""
from __future__ import annotations

import collections
import functools
import logging
import threading
import time
from typing import Any, Callable, Sequence

from muster import _forks
from muster._pickled.names import as_text
from muster._wire.messages import BYTES, JSON
from muster.coordinator.made_again import Apart
from muster.errors import ClosureError, WaitTimeout, from_wire
from muster.objects import large, reasons
from muster.objects.call import Call, Kept, Of, decoded, run_all
from muster.objects.large import Large, Memory
from muster.objects.reasons import unavailable
from muster.objects.taken import Taken
from muster.worker.context import waiting

log = logging.getLogger("muster.session")

CALLS_MAX = 8192
BYTES_MAX = 64 << 20
"""Maximum size in bytes of unanswered calls. Beyond this limit, callers wait. Callbacks cannot wait, so the limit for
callbacks is twice as high.
"""
PER_MESSAGE = 1000
BYTES_PER_MESSAGE = 256 << 10
SLOT_KEPT = 1.0
"""Seconds that a function keeps its slot while it waits for a call. Releasing the slot immediately would start further
functions, which would train on older weights. The object itself has its own thread and needs no slot. After this time,
the object may be waiting for a function that needs the slot.
"""
REPEATED_AFTER = 0.05, 2.0
"""Minimum and maximum number of seconds until calls are sent again for which the server had no room. The delay doubles
each time.
"""
WARNED_EVERY = 10.0


class _Callbacks(threading.local):
    run = False


_callbacks = _Callbacks()
"""Whether this thread runs callbacks of calls whose results were taken on a separate thread."""
_beside = Apart()
"""Threads for results of calls. Values of closures have separate threads, which can wait until a value has been
computed again.
"""


class Calls:
    """The calls of a caller.

    `wake` is called on any thread, without a lock, when there is something to send. `memory` returns the memory of this
    process for large arguments and results; see `Large`.
    """

    WHAT = "handle"
    """Public name of the object that makes the calls."""

    def __init__(self, wake: Callable[[], None], memory: Callable[[], Memory | None] = lambda: None) -> None:
        self._wake = wake
        self.large = Large(self, memory)
        self._lock = threading.Lock()  # protects all below
        self._room = threading.Condition(self._lock)
        self._last = 0
        self._pending: dict[int, Call] = {}  # unanswered calls, in order
        self._refused: list[Call] = []  # calls for which the server had no room; they are sent again with new numbers
        self._repeats = False
        self._pause = REPEATED_AFTER[0]
        self._warned = -WARNED_EVERY
        self._bytes = 0  # total bytes of _pending and _refused
        self._kept_bytes = 0
        self._taking: set[Call] = set()  # calls whose large results are being fetched
        self._out: collections.deque[Call | int] = collections.deque()
        """Calls to send, and numbers of objects to delete after the calls before them."""
        self._taken = Taken()
        self._sent = 0  # the highest call number that any message has contained
        self._told = False
        self._over: str | None = None
        self._reader: int | None = None  # the thread that processes answers and runs their callbacks
        self.is_forked = False
        """Whether this process was forked from the process that makes the calls."""
        _forks.notify_in_forks(self)

    def forked(self) -> None:
        self.is_forked = True
        lost: Any = _forks.LostLock(self.WHAT)
        self._lock = self._room = self.large._lock = lost

    def check_process(self) -> None:
        """Raises RuntimeError in a process that was forked from the process that makes the calls."""
        if self.is_forked:
            raise _forks.of_parent(self.WHAT)

    def add(self, object: int, method: str, args: bytes, ticket: bytes, waits: bool = True,
            plain: bool = False, of: Of = ("", ""), loads: Callable[[bytes], Any] | None = None,
            kept: Sequence[Kept] = ()) -> Call:
        """Adds a call and returns it.

        Waits while the limit of unanswered calls is reached, unless `waits` is False. Callers that make only a few
        calls pass False. `kept` is the memory that the arguments refer to, which is kept until the call is answered.
        Raises UnavailableError if the session has ended, and ValueError if `method` is not valid Unicode text.
        """
        as_text("method", method)
        while True:
            with self._lock:
                if self._over is not None:
                    raise unavailable(self._over)
                if not waits or self._has_room(args, kept) or self._is_callback_with_room():
                    call = self._add(Call(0, object, method, args, ticket, plain, of, loads, kept))
                    self._bytes += len(args)
                    if kept:
                        self._kept_bytes += sum(one.size for one in kept)
                    told, self._told = self._told, True
                    break
                oldest = next(iter(self._pending.values()), None) or self._refused[0]
            self._await_room(args, kept, oldest)
        if not told:
            self._wake()
        return call

    def _has_room(self, args: bytes, kept: Sequence[Kept]) -> bool:
        count = len(self._pending) + len(self._refused)
        return count == 0 or (count < CALLS_MAX and self._bytes + len(args) <= BYTES_MAX and (
            not kept or not self._kept_bytes or
            self._kept_bytes + sum(one.size for one in kept) <= large.BYTES_MAX))

    def _add(self, call: Call) -> Call:
        self._last = call.number = self._last + 1
        self._pending[call.number] = call
        self._out.append(call)
        return call

    def _on_reader(self) -> bool:
        """Returns whether this thread processes answers. A thread that processes answers must not wait for an answer.
        """
        return _callbacks.run or self._reader == threading.get_ident()

    def _is_callback_with_room(self) -> bool:
        """Returns whether this thread is running a callback. Callbacks have twice the limit, because they cannot wait.
        Raises RuntimeError if a callback has reached its limit.
        """
        if not self._on_reader():
            return False
        if len(self._pending) >= 2 * CALLS_MAX or self._bytes >= 2 * BYTES_MAX:
            raise RuntimeError(f"{len(self._pending)} calls with {self._bytes} bytes are unanswered (the limits are "
                               f"{CALLS_MAX} and {BYTES_MAX}), and a callback cannot wait; call from another thread")
        return True

    def _await_room(self, args: bytes, kept: Sequence[Kept], oldest: Call) -> None:
        """Waits until there is room, or until the oldest call is answered. The wait is recorded as a wait for the
        oldest call. If the wait completes a cycle of waits, the call fails.
        """
        wait = self.begin_wait(oldest)
        try:
            with self._lock, waiting():
                self._room.wait_for(
                    lambda: self._over is not None or oldest.answered or self._has_room(args, kept))
        finally:
            self.end_wait(wait)

    def has_more(self) -> bool:
        """Returns whether there is something to send."""
        with self._lock:
            return bool(self._out) or self._has_more()

    def _has_more(self) -> bool:
        """Returns whether there is something to send. The caller must hold the lock."""
        return False

    def _tell(self) -> None:
        with self._lock:
            told, self._told = self._told, True
        if not told:
            self._wake()

    def fill(self, m: Any) -> bool:
        """Adds calls of a single ticket, up to a limit, and acknowledgements to an ObjectRequests message. Returns
        whether anything was added.
        """
        with self._lock:
            if self._taken:
                self._taken.say(m.taken, self._sent + 1)
            batch: list[Call] = []
            size = 0
            out = self._out
            while out and len(batch) < PER_MESSAGE and size < BYTES_PER_MESSAGE:
                call = out[0]
                if isinstance(call, int):
                    break
                if batch and call.ticket != batch[0].ticket:
                    break
                out.popleft()
                size += len(call.args)
                batch.append(call)
            while out and isinstance(out[0], int) and len(m.drop) < PER_MESSAGE:
                m.drop.append(out.popleft())
            if batch:
                m.number.extend([c.number for c in batch])
                m.object.extend([c.object for c in batch])
                m.method.extend([c.method for c in batch])
                m.args.extend([c.args for c in batch])
                if any(c.loads for c in batch):
                    m.encoding.extend([JSON if c.loads else BYTES for c in batch])
                self._sent = max(self._sent, batch[-1].number)
                self._name(m, batch[0].ticket)
            said = self._fill_more(m) or bool(batch or m.taken or m.drop)
            if not out:
                self._told = False
            return said

    def _name(self, m: Any, ticket: bytes) -> None:
        """Writes the identity of the caller into a message with calls."""

    def _fill_more(self, m: Any) -> bool:
        """Adds more requests to a message. The caller must hold the lock."""
        return False

    def lost(self, task: str, error: Any) -> None:
        """Called when a restarted server does not know an object."""

    def again(self) -> bool:
        """Prepares for a new stream, on which unanswered calls and acknowledgements are sent again. Returns whether
        there is something to send again.
        """
        with self._lock:
            self._out = collections.deque(self._pending.values())
            self._taken.again()
            self._again_more()
            return bool(self._out or self._taken)

    def _again_more(self) -> None:
        """Prepares more requests to be sent again. The caller must hold the lock."""

    def take(self, m: Any) -> None:
        """Processes an ObjectAnswers message."""
        ready: list[Callable[[], None]] = []
        lost: list[Call] = []
        refused: Call | None = None
        whole: Call | None = None
        due_again = False
        named: list[Call] = []
        gone: list[Kept] = []
        failures = {f.position: f for f in m.failure} if m.failure else None
        with self._lock:
            pending = self._pending
            full = len(pending) >= CALLS_MAX // 2 or self._bytes > BYTES_MAX // 2
            for i, (number, raw, encoding) in enumerate(zip(m.number, m.value, m.encoding)):
                self._taken.add(number, len(raw))
                call = pending.pop(number, None)
                if call is None:
                    continue
                failure = None if failures is None else failures.get(i)
                if failure is not None and failure.reason in reasons.NO_ROOM:
                    refused = call
                    if reasons.may_be_repeated(call, failure.reason):
                        self._refused.append(call)
                        continue
                if failure is not None and reasons.may_be_given_again(call, failure.type) and call.tries < large.TRIES:
                    call.tries += 1
                    self._add(call)  # the memory still exists, but could not be reached
                    self._renumbered()
                    due_again = True
                    continue
                self._bytes -= len(call.args)
                if call.kept:
                    self._forget_kept(call, gone)
                if failure is None:
                    call.raw = raw
                    call.encoding = encoding
                    if large.is_named(encoding, raw):
                        self._taking.add(call)
                        named.append(call)
                        continue
                    if len(raw) > large.MIN and call.loads is None:
                        whole = call
                elif failure.reason == reasons.SERVER_RESTARTED:
                    call.error = reasons.lost(call)
                    lost.append(call)
                else:
                    call.error = from_wire(failure, not call.plain)
                call.args = b""
                call.answered = True
                if call.waiters:
                    ready += call.waiters
                call.waiters = None
            if full or gone:
                self._room.notify_all()
            due = self._taken.due or due_again
        if refused is None:
            self._pause = REPEATED_AFTER[0]
        else:
            self._wait_for_room(refused)
        if due:
            self._tell()
        self.large.let_go(gone)
        if whole is not None:
            self.large.ask(whole.object, whole.ticket, whole.of)
        for call in named:
            _beside.run(functools.partial(self.large.take, call))
        for call in lost:
            self.lost(call.of[0], call.error)
        self._reader = threading.get_ident()
        try:
            run_all(ready)
        finally:
            self._reader = None

    def _forget_kept(self, call: Call, to: list[Kept]) -> None:
        """Moves the call's memory to the list `to`, for release. The caller must hold the lock."""
        self._kept_bytes -= sum(one.size for one in call.kept)
        to += call.kept
        call.kept = ()

    def _outlives(self, call: Call) -> bool:
        """Returns whether the call will be executed even if its caller has exited."""
        return True

    def finish(self, call: Call, error: ClosureError | None = None) -> None:
        """Marks a call as answered after its large result was fetched. Must not run on the thread that reads answers.
        """
        with self._lock:
            if call not in self._taking:  # the caller's session has ended
                return
            self._taking.discard(call)
            call.args = b""
            call.error = error
            call.answered = True
            ready, call.waiters = call.waiters or [], None
            self._room.notify_all()
        before, _callbacks.run = _callbacks.run, True
        try:
            run_all(ready)
        finally:
            _callbacks.run = before

    def call_again(self, call: Call) -> bool:
        """Repeats a call whose result could not be fetched. Returns False if the call must not be executed again."""
        with self._lock:
            if call not in self._taking or not call.plain or call.method not in reasons.READS or call.tries >= large.TRIES:
                return False
            self._taking.discard(call)
            call.tries += 1
            self._bytes += len(call.args)
            self._add(call)
            self._renumbered()
        self._tell()
        return True

    def settle(self) -> None:
        """Ensures that the arguments of unanswered calls outlive this process."""
        if not self._kept_bytes:
            return
        with self._lock:
            left = [call for call in (*self._pending.values(), *self._refused) if call.kept and self._outlives(call)]
        end = time.monotonic() + large.SETTLE_WITHIN
        for call in left:
            try:
                self.wait(call, max(0.0, end - time.monotonic()))
            except (WaitTimeout, RuntimeError):
                self.large.put(call.kept)

    def _wait_for_room(self, call: Call) -> None:
        now = time.monotonic()
        if now - self._warned >= WARNED_EVERY:
            self._warned = now
            log.warning("calls such as %s of %s on %s cannot be buffered; updates and reads of variables are sent "
                        "again, other calls fail", call.method, call.of[1] or "an object", call.of[0] or "its task")
        if self._refused and not self._repeats:
            self._repeats = True
            again = threading.Timer(self._pause, self._repeat)
            again.daemon = True
            again.start()
            self._pause = min(2 * self._pause, REPEATED_AFTER[1])

    def _repeat(self) -> None:
        with self._lock:
            self._repeats = False
            refused, self._refused = self._refused, []
            for call in refused:
                self._add(call)
            if refused:
                self._renumbered()
        self._tell()

    def _renumbered(self) -> None:
        """Called after calls have received new numbers. The caller must hold the lock."""

    def end(self, reason: str) -> None:
        """Fails all unanswered calls, because no further answers will arrive."""
        ready: list[Callable[[], None]] = []
        with self._lock:
            self._over = reason
            gone: list[Kept] = []
            for call in (*self._pending.values(), *self._refused, *self._taking):
                self._forget_kept(call, gone)
                call.error = unavailable(reason)
                call.answered = True
                ready += call.waiters or ()
                call.waiters = None
            self._pending.clear()
            self._refused.clear()
            self._taking.clear()
            self._out.clear()
            self._room.notify_all()
        self.large.let_go(gone)
        run_all(ready)

    # Waits.

    def when_answered(self, call: Call, f: Callable[[], None]) -> None:
        with self._lock:
            if not call.answered:
                if call.waiters is None:
                    call.waiters = []
                call.waiters.append(f)
                return
        f()

    def forget_callback(self, call: Call, f: Callable[[], None]) -> None:
        with self._lock:
            if call.waiters and f in call.waiters:
                call.waiters.remove(f)

    def wait(self, call: Call, timeout: float | None) -> None:
        """Waits for the answer of a call. Raises WaitTimeout after `timeout` seconds."""
        answered = threading.Event()
        self.when_answered(call, answered.set)
        if answered.is_set():
            return
        if self._on_reader():
            raise RuntimeError(f"a callback cannot wait for the call of {call.method}, because its thread receives the "
                               "answers; wait on a thread of your own")
        wait = self.begin_wait(call)
        try:
            if answered.wait(SLOT_KEPT if timeout is None else min(timeout, SLOT_KEPT)):
                return
            with waiting():
                if not answered.wait(None if timeout is None else max(0.0, timeout - SLOT_KEPT)):
                    raise WaitTimeout(f"the call of {call.method} was not answered within {timeout:g} s" +
                                      self.reason_of(call, timeout))
        finally:
            self.forget_callback(call, answered.set)  # otherwise repeated waits would add callbacks without a limit
            self.end_wait(wait)

    def reason_of(self, call: Call, timeout: float | None) -> str:
        """Returns the reason why the call has not been answered, as the end of a sentence. Returns "" if the reason is
        unknown.
        """
        return ""

    def begin_wait(self, call: Call) -> Any:
        """Records that this thread is waiting for the call. To end the wait, pass the returned object to `end_wait`."""

    def end_wait(self, wait: Any) -> None:
        pass

    def value_of(self, call: Call, stops: bool = False) -> Any:
        """Returns the value of an answered call, always as the same object. Raises the call's error if it has failed.
        ClosureError.again describes `stops`.
        """
        if call.error is not None:
            raise call.error.again(stops)
        if call.encoding < 0:
            return call.value
        with self._lock:
            raw, encoding, views = call.raw, call.encoding, call.views
        if encoding >= 0:
            value = decoded(call, raw, encoding, None if views is None else views.__getitem__)
            with self._lock:
                if call.encoding >= 0:
                    call.value, call.raw, call.encoding, call.views = value, b"", -1, None
        return call.value
