"""One registration of an agent, from connect() to its end, and the thread that keeps it alive."""
from __future__ import annotations

import contextlib
import logging
import threading
import time
from typing import Any, Callable, Iterator, Optional

from muster._wire.coordination import METHODS, Refusal, refusal
from muster.agent.errors import AgentError, CoordinationError
from muster.agent.service import Service, Waiter

BEAT_AGAIN = 1.0
"""Seconds, after a heartbeat without an answer."""
POLL_FIRST = 1.0
"""Seconds: what the poll tells says more than the refusal of a heartbeat, and comes at the same time."""
USES_MAX = 100_000
NEVER = float("inf")


class Run:
    """Thread-safe. Its end cuts short whatever waits, and every later call."""

    def __init__(self, task: int, incarnation: int) -> None:
        self.task = task
        self.incarnation = incarnation
        self.service = 0
        self.over = threading.Event()
        self.error: Optional[AgentError] = None
        self._lock = threading.Lock()  # protects the following
        self._end: Optional[CoordinationError] = None
        self._waiters: set[Waiter] = set()
        self._barriers: dict[str, Waiter] = {}
        self._uses: dict[str, int] = {}

    def sign(self, name: str, **fields: Any) -> Any:
        """A request with who asks."""
        request = METHODS[name].request(**fields)
        known = request.DESCRIPTOR.fields_by_name
        if "incarnations" in known:
            request.incarnations.task_incarnation = self.incarnation
            request.incarnations.service_incarnation = self.service
        for field in ("source_task_id", "requesting_task_id"):
            if field in known:
                setattr(request, field, self.task)
        if "incarnation" in known:
            request.incarnation = self.incarnation
        return request

    @contextlib.contextmanager
    def waiting(self, waiter: Optional[Waiter] = None) -> Iterator[Waiter]:
        waiter = waiter or Waiter()
        with self._lock:
            if self._end is not None:
                raise self._end.again()
            self._waiters.add(waiter)
        try:
            yield waiter
        finally:
            with self._lock:
                self._waiters.discard(waiter)

    def end(self, why: CoordinationError, but: Optional[Waiter] = None) -> bool:
        """False: it had ended before."""
        with self._lock:
            if self._end is not None:
                return False
            self._end = why
            if isinstance(why, AgentError):
                self.error = why
            waiters = self._waiters - {but}
        self.over.set()
        for waiter in waiters:
            waiter.cut(why)
        return True

    # Barriers: the same agent waits once at each, and says how often it has been there.

    @contextlib.contextmanager
    def at_barrier(self, id: str) -> Iterator[tuple[Waiter, int]]:
        waiter = Waiter()
        with self._lock:
            if id in self._barriers:
                raise CoordinationError("FAILED_PRECONDITION", f"this agent waits at barrier {id} already")
            self._barriers[id] = waiter
        try:
            yield waiter, self.next_use(id)
        finally:
            with self._lock:
                del self._barriers[id]

    def leave_barrier(self, id: str) -> bool:
        with self._lock:
            waiter = self._barriers.get(id)
        if waiter is not None:
            waiter.cut(CoordinationError("CANCELLED", "this agent has left the barrier"))
        return waiter is not None

    def next_use(self, id: str) -> int:
        with self._lock:
            return self._uses.get(id, -1) + 1

    def note_use(self, id: str, use: int) -> None:
        """Of ids beyond USES_MAX the one used longest ago is counted from 0 again, as the service does."""
        with self._lock:
            self._uses.pop(id, None)
            self._uses[id] = use
            if len(self._uses) > USES_MAX:
                del self._uses[next(iter(self._uses))]


class Heart:
    """Beats, polls for errors, and tells the one that ends the run; on a thread of its own."""

    def __init__(self, run: Run, service: Service, timeout: float, fail: Callable[[Run, Refusal], None],
                 on_error: Optional[Callable[[AgentError], None]]) -> None:
        self._run, self._service, self._timeout = run, service, timeout
        self._fail, self._on_error = fail, on_error
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._beat: Any = None
        self._poll: Any = None
        self._heard = time.monotonic()
        self._beat_at = self._heard + timeout / 2
        self._poll_at = self._heard
        self._judged: Optional[tuple[float, Refusal]] = None
        self._begin(self._heard)  # where there is a poll a closed connection tells of a death, so at once
        threading.Thread(target=self._live, name="muster-agent", daemon=True).start()

    def wake(self, *_: Any) -> None:
        self._wake.set()

    def beat_now(self) -> None:
        """So that an error that the service has is known at once. Any thread."""
        self._hurry.set()
        self._wake.set()

    def _live(self) -> None:
        try:
            self._until_over()
        except CoordinationError:  # the channel was closed
            pass
        for call in (self._beat, self._poll):
            if call is not None:
                call.cancel()
        if self._run.error is not None and self._on_error is not None:
            try:
                self._on_error(self._run.error.again())
            except Exception:
                logging.getLogger("muster").exception("on_error of an agent has failed")

    def _until_over(self) -> None:
        while not self._run.over.is_set():
            self._wake.clear()
            now = time.monotonic()
            self._look_at_poll(now)
            self._look_at_beat(now)
            if self._hurry.is_set():
                self._hurry.clear()
                self._beat_at = min(self._beat_at, now)
            if self._judged and self._judged[0] <= now:
                self._fail(self._run, self._judged[1])
            self._begin(now)
            due = [at for at, call in ((self._beat_at, self._beat), (self._poll_at, self._poll)) if call is None]
            due += [self._judged[0]] if self._judged else []
            if not self._run.over.is_set():
                self._wake.wait(None if not due or min(due) == NEVER else max(0.0, min(due) - time.monotonic()))

    def _begin(self, now: float) -> None:
        if self._beat is None and self._beat_at <= now and not self._judged:
            self._beat = self._start("Heartbeat", min(self._timeout / 2, 10.0))
        if self._poll is None and self._poll_at <= now:
            self._poll = self._start("PollForError", None)

    def _start(self, name: str, seconds: Optional[float]) -> Any:
        call = self._service.begin(name, self._run.sign(name), seconds)
        call.add_done_callback(self.wake)
        return call

    def _look_at_poll(self, now: float) -> None:
        """No deadline: an error may come at any time. A connection that breaks is left to heartbeats."""
        if self._poll is None or not self._poll.done():
            return
        refused = refusal(self._poll)
        self._poll = None
        # It has left, another process polls in its place, or errors travel by heartbeat.
        if refused.answered and refused.code == "CANCELLED":
            self._poll_at = NEVER
        elif refused.answered and refused.code != "RESOURCE_EXHAUSTED":
            self._fail(self._run, refused)
        else:
            self._poll_at = now + 0.5

    def _look_at_beat(self, now: float) -> None:
        if self._beat is None or not self._beat.done():
            return
        call, self._beat = self._beat, None
        if call.code().name == "OK":
            self._heard, self._beat_at = now, now + self._timeout / 2
            return
        refused = refusal(call)
        if refused.answered:
            self._beat_at = NEVER
            at_once = refused.other_service or self._poll_at == NEVER
            self._judged = (now + (0.0 if at_once else POLL_FIRST), refused)
        elif now - self._heard >= self._timeout:
            self._fail(self._run, Refusal(
                "UNAVAILABLE", f"nothing was heard of {self._service.address} for {self._timeout:g} s: "
                               f"{refused.message}"))
        else:
            self._beat_at = now + min(self._timeout / 2, BEAT_AGAIN)
