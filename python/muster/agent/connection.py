"""Registers a muster.Agent, makes its calls and ends its run."""
from __future__ import annotations

import contextlib
import logging
import os
import random
import threading
from typing import Any, Callable, Iterator

from muster import _forks
from muster._wire.coordination import METHODS, Refusal
from muster.agent.errors import AgentError, CoordinationError
from muster.agent.heart import POLL_FIRST, Heart
from muster.agent.names import ASK_LIMIT, Names
from muster.agent.run import Run
from muster.agent.service import Retry, Service, Waiter, wait_time

log = logging.getLogger("muster.agent")

SAY_AFTER = 5.0
"""Seconds of waiting for a registration before the reason is logged."""
LEAVE_MARGIN = 5.0
"""Seconds that are added to the deadline of a shutdown, because the service answers shortly before its own deadline."""
_OWN = {("TryGetKeyValue", "NOT_FOUND"), ("InsertKeyValue", "ALREADY_EXISTS"),
        ("IncrementKeyValue", "FAILED_PRECONDITION")}
"""Refusals that are not caused by the end of a run. ShutdownTask itself reports the end of the run."""


class Connection:
    """The connection of an agent to the service. Has at most one run at a time. Each call belongs to the run that is
    current at the start of the call. Thread-safe.
    """

    def __init__(self, service: Service, names: Names, heartbeat_timeout: float,
                 on_error: Callable[[AgentError], None] | None) -> None:
        self.service, self.names = service, names
        self._heartbeat_timeout, self._on_error = heartbeat_timeout, on_error
        self._process = os.getpid()
        self._lock = threading.Lock()  # protects the fields below
        self.state = "idle"
        self.run: Run | None = None
        self._heart: Heart | None = None

    @property
    def is_of_this_process(self) -> bool:
        return os.getpid() == self._process

    def check_process(self) -> None:
        if not self.is_of_this_process:
            raise _forks.of_parent("agent")

    def connect(self, seconds: float, incarnation: int) -> None:
        self.check_process()
        with self._lock:
            if self.state in ("connected", "connecting"):
                raise CoordinationError("FAILED_PRECONDITION", "the agent is already connected or connecting")
            if self.state == "closed":
                raise CoordinationError("FAILED_PRECONDITION", "the agent was closed")
            self.state = "connecting"
        try:
            retry = Retry(seconds, 0.02)
            run = Run(0, incarnation or random.SystemRandom().getrandbits(64) or 1)
            with self._lock:
                self.run = run
            reached = threading.Event()
            with self._saying_what_for(reached):
                self._register(run, seconds, retry, reached)
            self.names.own_is(run.task)
            with self._lock:
                if self.state != "connecting":  # close() was called
                    raise CoordinationError("CANCELLED", "the agent was closed")
                self._heart = Heart(run, self.service, self._heartbeat_timeout, self.fail, self._on_error)
                self.state = "connected"
        except BaseException:
            self._become("idle", "connecting")
            raise

    @contextlib.contextmanager
    def _saying_what_for(self, reached: threading.Event) -> Iterator[None]:
        """Logs once what the ``with`` block is waiting for, if the wait takes long."""
        def say() -> None:
            where = self.service.address
            if reached.is_set():
                log.warning("%s is waiting at %s for the other tasks; 'muster tasks' shows which tasks are missing",
                            self.names.own, where)
            else:
                log.warning("no server has answered at %s for %g s; still trying%s", where, SAY_AFTER,
                            self.service.hint)
        timer = threading.Timer(SAY_AFTER, say)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _register(self, run: Run, seconds: float, retry: Retry, reached: threading.Event) -> None:
        """Registers the task. Repeats the request while the server is unreachable or the previous run still exists."""
        with run.waiting() as waiter:
            while True:
                waiter.check()
                # The task number is resolved for each attempt, because task numbers may differ in a new run.
                run.task, refused = self.names.resolve(retry.left())
                if refused is None:
                    reached.set()
                    answer, refused = waiter.perform(
                        self.service.begin("RegisterTask", run.sign("RegisterTask"), retry.left()))
                if refused is None:
                    run.service = answer.service_incarnation
                    run.heartbeat_timeout = answer.heartbeat_timeout_ms / 1000
                    return self._check_number(run)
                passes = refused.passes or (refused.answered and
                                            refused.code in ("ABORTED", "INTERNAL", "UNAVAILABLE"))
                if refused.barrier is not None and refused.code == "FAILED_PRECONDITION":
                    raise self._agent_error(refused)  # the run was failed before it began
                if not passes or not retry.may_wait():
                    raise self.service.error_of(refused, seconds)
                retry.wait(waiter)

    def _check_number(self, run: Run) -> None:
        """Raises CoordinationError (ABORTED) if the cluster was replaced between the request and the registration."""
        number, refused = self.names.resolve(ASK_LIMIT)
        if refused is None and number != run.task:
            raise CoordinationError("ABORTED", f"{self.names.own} was task {run.task} and is {number} now: the "
                                               "cluster changed while the task was registering")

    def current(self) -> Run:
        self.check_process()
        with self._lock:
            if self.run is None or self.state in ("idle", "connecting"):
                raise CoordinationError("FAILED_PRECONDITION", "the agent is not connected")
            return self.run

    def ask(self, name: str, seconds: float, *, again: bool = True, waiter: Waiter | None = None,
            **fields: Any) -> Any:
        """Returns the answer of the service. Raises CoordinationError if the call fails.

        If `again` is set, the call is repeated after its connection has broken.
        """
        answer, refused = self._ask(name, seconds, again, waiter, fields)
        if refused is not None:
            raise self.service.error_of(refused, seconds)
        return answer

    def _ask(self, name: str, seconds: float, again: bool, waiter: Waiter | None,
             fields: dict[str, Any]) -> tuple[Any, Refusal | None]:
        """Returns the answer or the refusal of the service. Raises CoordinationError if the run has ended."""
        run = self.current()
        retry = Retry(seconds, 0.05)
        with run.waiting(waiter) as waiter:
            request = run.sign(name, **fields)
            while True:
                answer, refused = waiter.perform(self.service.begin(name, request, retry.left()))
                waiter.check()
                if refused is None:
                    return answer, None
                if refused.other_service:
                    self.fail(run, refused)
                    waiter.check()
                if not (refused.passes and again and retry.may_wait()):
                    if refused.answered and name != "ShutdownTask" and (name, refused.code) not in _OWN:
                        self._whether_over(waiter)
                    return None, refused
                retry.wait(waiter)
                waiter.check()

    def _whether_over(self, waiter: Waiter) -> None:
        """Raises the error that ended the run, if there is one.

        Called after the service has refused a call. Waits until the error arrives or a heartbeat succeeds.
        """
        with self._lock:
            heart = self._heart
        if heart is not None:
            heart.beat_now(waiter.wake)
            waiter.pause(POLL_FIRST + ASK_LIMIT + 1.0)  # for the error poll, the task name and the calls
        waiter.check()

    def fail(self, run: Run, refused: Refusal) -> None:
        """Ends the run with an error."""
        self.end(run, self._agent_error(refused), "failed")

    def _agent_error(self, refused: Refusal) -> AgentError:
        why = ("this is not the service that the agent registered with; the service or the run was restarted. "
               if refused.other_service else "")
        task = None if refused.task is None else self.names.of(refused.task)
        return AgentError(refused.code, why + refused.message, task, refused.reported)

    def end(self, run: Run, why: CoordinationError, state: str, but: Waiter | None = None) -> None:
        with self._lock:
            if not run.ends(why):
                return
            if self.run is run and self.state == "connected":
                self.state = state
            heart = self._heart
        run.cut(but)  # must follow the state change, because on_error may call connect() immediately
        if heart is not None:
            heart.wake()

    def shutdown(self, seconds: float) -> None:
        run = self.current()
        if run.over.is_set():
            if run.error is not None:
                raise run.error.again()
            return
        waiter, limit = Waiter(), wait_time(seconds) + LEAVE_MARGIN
        try:
            _, refused = self._ask("ShutdownTask", limit, True, waiter, {})
        except AgentError:
            raise
        except CoordinationError:
            if self.state == "shut_down":  # another thread has shut the agent down
                return
            raise
        if refused is not None:
            if not refused.answered and refused.code == "DEADLINE_EXCEEDED":
                raise self.service.error_of(refused, limit)  # the run may still continue
            error = self._agent_error(refused)
            self.end(run, error, "failed")
            raise error.again()
        self.end(run, CoordinationError("CANCELLED", "the agent was shut down"), "shut_down", waiter)

    def reset(self, seconds: float) -> None:
        self.check_process()
        with self._lock:
            run, state = self.run, self.state
        if run is None or state != "failed":
            raise CoordinationError("FAILED_PRECONDITION", f"the agent's state is {state}, not failed")
        request = METHODS["ResetTask"].request()
        request.source_task.task_id = run.task
        _, refused = Waiter().perform(self.service.begin("ResetTask", request, seconds))
        if refused is not None:
            raise self.service.error_of(refused, seconds)
        self._become("idle", "failed")

    def close(self) -> None:
        if not self.is_of_this_process:  # a fork may have copied the lock while a thread held it
            return
        with self._lock:
            run, before, self.state = self.run, self.state, "closed"
        if before == "closed":
            return
        if run is not None:
            self.end(run, CoordinationError("CANCELLED", "the agent was closed"), "closed")
        self.service.close()

    def _become(self, state: str, before: str) -> None:
        with self._lock:
            if self.state == before:
                self.state = state
