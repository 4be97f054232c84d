"""A registration of an agent, from connect() to the end of the run."""
from __future__ import annotations

import contextlib
import threading
from typing import Any, Iterator

from muster._wire.coordination import METHODS
from muster.agent.errors import AgentError, CoordinationError
from muster.agent.service import Waiter

USES_MAX = 100_000


class Run:
    """A run of an agent. When the run ends, waiting calls are interrupted and later calls are rejected. Thread-safe."""

    def __init__(self, task: int, incarnation: int) -> None:
        self.task = task
        self.incarnation = incarnation
        self.service = 0
        self.heartbeat_timeout = 0.0
        """The cluster's heartbeat timeout in seconds, or 0 if the server does not send the timeout."""
        self.over = threading.Event()
        self.error: AgentError | None = None
        self._lock = threading.Lock()  # protects the fields below
        self._end: CoordinationError | None = None
        self._waiters: set[Waiter] = set()
        self._barriers: dict[str, Waiter] = {}
        self._uses: dict[str, int] = {}

    def sign(self, name: str, **fields: Any) -> Any:
        """Returns a request that contains the task and its incarnation."""
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
    def waiting(self, waiter: Waiter | None = None) -> Iterator[Waiter]:
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

    def ends(self, why: CoordinationError) -> bool:
        """Ends the run. Later calls are rejected, and `cut` interrupts waiting calls. Returns False if the run had
        already ended.
        """
        with self._lock:
            if self._end is not None:
                return False
            self._end = why
            if isinstance(why, AgentError):
                self.error = why
        return True

    def cut(self, but: Waiter | None = None) -> None:
        """Interrupts all waiting calls except the call of `but`. The run must have ended."""
        with self._lock:
            why, waiters = self._end, self._waiters - {but}
        assert why is not None
        self.over.set()
        for waiter in waiters:
            waiter.cut(why)

    # Barriers: an agent has at most one wait at each barrier, and stores the number of uses of each id.

    @contextlib.contextmanager
    def at_barrier(self, id: str) -> Iterator[tuple[Waiter, int]]:
        waiter = Waiter()
        with self._lock:
            if id in self._barriers:
                raise CoordinationError("FAILED_PRECONDITION", f"this agent is already waiting at barrier {id}")
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
        """Stores the number of the use of a barrier id. If more than USES_MAX ids are stored, removes the least
        recently used id, as the service does.
        """
        with self._lock:
            self._uses.pop(id, None)
            self._uses[id] = use
            if len(self._uses) > USES_MAX:
                del self._uses[next(iter(self._uses))]
