"""Calls of objects that one caller makes: their numbers, what is to be sent, what waits for an answer.

    add --> out --fill--> sent --take--> answered, and `taken` by the server
                  └── the stream broke: `again`, from the first that is not answered

Any thread. A caller waits when it has too many that are not answered.
"""
from __future__ import annotations

import collections
import logging
import threading
import time
from typing import Any, Callable, Optional, Union

from muster._pickled import buffers, values
from muster._wire.failures import from_wire
from muster._wire.messages import BYTES, JSON
from muster.errors import ClosureError, WaitTimeout
from muster.objects import reasons
from muster.objects.reasons import unavailable
from muster.objects.taken import Taken
from muster.variables import arrays
from muster.worker.context import waiting

log = logging.getLogger("muster.session")

CALLS_MAX = 8192
BYTES_MAX = 64 << 20
"""Of calls that are not answered. More: who calls waits; callbacks, which cannot, have twice as much."""
PER_MESSAGE = 1000
BYTES_PER_MESSAGE = 256 << 10
SLOT_KEPT = 1.0
"""Seconds that a function waits for a call with its slot. Objects have threads of their own, so slots are for
nothing then, and functions that others begin beside train on weights that are older by all of these. After
it the object may be waiting for a function that needs the slot."""
REPEATED_AFTER = 0.05, 2.0
"""Seconds until what the server had no room for is sent again, twice as many each time; the last: at most."""
WARNED_EVERY = 10.0
Of = tuple[str, str]
"""The task of an object, and what it is."""


class Call:
    __slots__ = ("number", "object", "method", "args", "ticket", "plain", "json", "answered", "raw", "encoding",
                 "value", "error", "waiters", "of")

    def __init__(self, number: int, object: int, method: str, args: bytes, ticket: bytes,
                 plain: bool, of: Of, json: bool = False) -> None:
        self.number = number
        self.object = object
        self.method = method
        self.args = args
        self.ticket = ticket
        self.plain = plain
        """Its answer is arrays or JSON: whoever has the object cannot make this process run code."""
        self.json = json
        """Its arguments are JSON, and so is its answer, or bytes."""
        self.of = of
        self.answered = False
        self.raw: bytes = b""
        self.encoding = -1
        """-1: the answer is in `value`."""
        self.value: Any = None
        self.error: Optional[ClosureError] = None
        self.waiters: Optional[list[Callable[[], None]]] = None


class Calls:
    """`wake` is called when there is something to send, from any thread, under no lock."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._lock = threading.Lock()  # protects all below
        self._room = threading.Condition(self._lock)
        self._last = 0
        self._pending: dict[int, Call] = {}  # not answered, in order
        self._refused: list[Call] = []  # the server had no room: they are sent again, with other numbers
        self._repeats = False
        self._pause = REPEATED_AFTER[0]
        self._warned = -WARNED_EVERY
        self._bytes = 0  # of both
        self._out: collections.deque[Union[Call, int]] = collections.deque()
        """Calls, and objects that are deleted after the calls before them."""
        self._taken = Taken()
        self._sent = 0  # the highest number that was ever in a message
        self._told = False
        self._over: Optional[str] = None
        self._reader: Optional[int] = None  # the thread that takes answers, and runs callbacks of them

    def add(self, object: int, method: str, args: bytes, ticket: bytes, waits: bool = True,
            plain: bool = False, of: Of = ("", ""), json: bool = False) -> Call:
        """Waits while there is no room, unless it is told not to: then by who makes few of them only. Raises
        UnavailableError: it is over."""
        while True:
            with self._lock:
                if self._over is not None:
                    raise unavailable(self._over)
                if not waits or self._has_room(args) or self._is_callback_with_room():
                    call = self._add(Call(0, object, method, args, ticket, plain, of, json))
                    self._bytes += len(args)
                    told, self._told = self._told, True
                    break
                oldest = next(iter(self._pending.values()), None) or self._refused[0]
            self._await_room(args, oldest)
        if not told:
            self._wake()
        return call

    def _has_room(self, args: bytes) -> bool:
        count = len(self._pending) + len(self._refused)
        return count == 0 or (count < CALLS_MAX and self._bytes + len(args) <= BYTES_MAX)

    def _add(self, call: Call) -> Call:
        self._last = call.number = self._last + 1
        self._pending[call.number] = call
        self._out.append(call)
        return call

    def _on_reader(self) -> bool:
        """Nothing is answered while this thread waits."""
        return self._reader == threading.get_ident()

    def _is_callback_with_room(self) -> bool:
        """Callbacks have as much again, as they cannot wait. Raises RuntimeError: one has used it."""
        if not self._on_reader():
            return False
        if len(self._pending) >= 2 * CALLS_MAX or self._bytes >= 2 * BYTES_MAX:
            raise RuntimeError(f"{len(self._pending)} calls of {self._bytes} bytes are not answered, the limits are "
                               f"{CALLS_MAX} and {BYTES_MAX}, and a callback cannot wait: call from a thread of your own")
        return True

    def _await_room(self, args: bytes, oldest: Call) -> None:
        """Or until the oldest call is answered, for which its caller waits as for a value: where that
        is a circle, the call is answered with the error."""
        wait = self.begin_wait(oldest)
        try:
            with self._lock, waiting():
                self._room.wait_for(
                    lambda: self._over is not None or oldest.answered or self._has_room(args))
        finally:
            self.end_wait(wait)

    def has_more(self) -> bool:
        """There is more to send."""
        with self._lock:
            return bool(self._out) or self._has_more()

    def _has_more(self) -> bool:
        """Under the lock."""
        return False

    def _tell(self) -> None:
        with self._lock:
            told, self._told = self._told, True
        if not told:
            self._wake()

    def fill(self, m: Any) -> bool:
        """What there is to say, into an ObjectRequests: of one ticket, and not too much. False: nothing."""
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
                if any(c.json for c in batch):
                    m.encoding.extend([JSON if c.json else BYTES for c in batch])
                self._sent = max(self._sent, batch[-1].number)
                self._name(m, batch[0].ticket)
            said = self._fill_more(m) or bool(batch or m.taken or m.drop)
            if not out:
                self._told = False
            return said

    def _name(self, m: Any, ticket: bytes) -> None:
        """Whose calls a message has."""

    def _fill_more(self, m: Any) -> bool:
        """Under the lock."""
        return False

    def lost(self, task: str, error: Any) -> None:
        """The server has started anew, and so does not know an object."""

    def again(self) -> bool:
        """There is another stream: what is not answered is sent again, and what is taken said again. Whether there
        is any."""
        with self._lock:
            self._out = collections.deque(self._pending.values())
            self._taken.again()
            self._again_more()
            return bool(self._out or self._taken)

    def _again_more(self) -> None:
        """Under the lock."""

    def take(self, m: Any) -> None:
        """ObjectAnswers."""
        ready: list[Callable[[], None]] = []
        lost: list[Call] = []
        refused: Optional[Call] = None
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
                self._bytes -= len(call.args)
                call.args = b""
                if failure is None:
                    call.raw = raw
                    call.encoding = encoding
                elif failure.reason == reasons.SERVER_RESTARTED:
                    call.error = reasons.lost(call)
                    lost.append(call)
                else:
                    call.error = from_wire(failure, not call.plain)
                call.answered = True
                if call.waiters:
                    ready += call.waiters
                call.waiters = None
            if full:
                self._room.notify_all()
            due = self._taken.due
        if refused is None:
            self._pause = REPEATED_AFTER[0]
        else:
            self._wait_for_room(refused)
        if due:
            self._tell()
        for call in lost:
            self.lost(call.of[0], call.error)
        self._reader = threading.get_ident()
        try:
            run_all(ready)
        finally:
            self._reader = None

    def _wait_for_room(self, call: Call) -> None:
        now = time.monotonic()
        if now - self._warned >= WARNED_EVERY:
            self._warned = now
            log.warning("there is no room for calls, as %s of %s on %s: updates and reads of variables are sent again, "
                        "others fail", call.method, call.of[1] or "an object", call.of[0] or "its task")
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
        """Calls have other numbers. Under the lock."""

    def end(self, reason: str) -> None:
        """No answer will come any more."""
        ready: list[Callable[[], None]] = []
        with self._lock:
            self._over = reason
            for call in (*self._pending.values(), *self._refused):
                call.error = unavailable(reason)
                call.answered = True
                ready += call.waiters or ()
                call.waiters = None
            self._pending.clear()
            self._refused.clear()
            self._out.clear()
            self._room.notify_all()
        run_all(ready)

    # Who waits.

    def when_answered(self, call: Call, f: Callable[[], None]) -> None:
        with self._lock:
            if not call.answered:
                if call.waiters is None:
                    call.waiters = []
                call.waiters.append(f)
                return
        f()

    def wait(self, call: Call, timeout: Optional[float]) -> None:
        """Raises WaitTimeout."""
        answered = threading.Event()
        self.when_answered(call, answered.set)
        if answered.is_set():
            return
        if self._on_reader():
            raise RuntimeError(f"a callback cannot wait for the call of {call.method}, as answers come by its thread: "
                               "wait on a thread of your own")
        wait = self.begin_wait(call)
        try:
            if answered.wait(SLOT_KEPT if timeout is None else min(timeout, SLOT_KEPT)):
                return
            with waiting():
                if not answered.wait(None if timeout is None else max(0.0, timeout - SLOT_KEPT)):
                    raise WaitTimeout(f"the call of {call.method} has not been answered within {timeout:g} s")
        finally:
            with self._lock:  # who asks again and again would leave as many behind
                if call.waiters:
                    call.waiters.remove(answered.set)
            self.end_wait(wait)

    def begin_wait(self, call: Call) -> Any:
        """This thread waits for it, until `end_wait` with what this returns."""

    def end_wait(self, wait: Any) -> None:
        pass

    def value_of(self, call: Call) -> Any:
        """Of one that is answered, always the same object. Raises its error."""
        if call.error is not None:
            raise call.error.again()
        with self._lock:
            raw, encoding = call.raw, call.encoding
        if encoding >= 0:
            value = _decoded(call, raw, encoding)
            with self._lock:
                if call.encoding >= 0:
                    call.value, call.raw, call.encoding = value, b"", -1
        return call.value


def run_all(callbacks: list[Callable[[], None]]) -> None:
    """Where answers are read: whatever one raises, the others are called and the session goes on."""
    for f in callbacks:
        try:
            f()
        except BaseException:  # the user's, also sys.exit
            log.exception("a callback of a RemoteValue has failed")


def _decoded(call: Call, raw: bytes, encoding: int) -> Any:
    if call.json:
        from muster.objects import named

        return named.loads(raw) if encoding == JSON else raw
    if call.plain:
        return values.decode_json(raw) if encoding == JSON else arrays.answer_of(raw)
    if encoding == JSON:
        return values.decode(raw)
    return buffers.load(raw)
