"""One task of a cluster, beside agents of JAX, TensorFlow and C++ in the same cluster."""
from __future__ import annotations

import dataclasses
import math
import os
import urllib.parse
from types import TracebackType
from typing import Any, Callable, Iterable, Sequence

from muster._tls import Tls
from muster._wire.coordination import STATES
from muster.agent.connection import Connection
from muster.agent.errors import CODES, AgentError, BarrierError
from muster.agent.keys import Keys
from muster.agent.names import Names, Task
from muster.agent.service import Retry, Service, wait_time

BARRIER_MARGIN = 5.0
"""Seconds: the service ends a barrier by itself, and its word comes before the call's own deadline."""
_REPORTED = [code for code in CODES if code not in ("OK", "CANCELLED", "RESOURCE_EXHAUSTED")]
"""The other two tell agents that their poll is over, or not possible, and reach nobody as errors."""


@dataclasses.dataclass(frozen=True)
class TaskState:
    """A task as the service sees it."""

    task: str
    state: str
    """CONNECTED, DISCONNECTED or ERROR."""
    incarnation: int
    """0: it has never registered."""
    error: AgentError | None = None


class TaskStates(list[TaskState]):
    """All tasks of the cluster at one moment."""

    version = 0
    """Grows with every change."""


class Agent(Keys):
    """Registers as a task of a cluster, beats, hears of errors, and meets the others::

        with muster.Agent("127.0.0.1:8476", task="worker:0") as a:
            a.set("address/0", "10.0.0.1:99")
            a.barrier("ready", timeout=60)

    The block begins with ``connect`` and ends with ``shutdown``, or, where it raises, with
    ``report_error``, so that the others hear why; an error that has ended the run is raised at its end, if
    the block itself raises nothing. All times are seconds. Any thread; not in a process
    that was forked after it was made.

    address         ``"host:port"`` of the cluster: MUSTER_COORDINATOR unless given, else 127.0.0.1:8476
    cluster         by its name: the address is asked for at `url` (MUSTER_URL), over REST
    task            ``"worker:3"``, ``("worker", 3)``, or its number, counted through the cluster's jobs;
                    MUSTER_TASK_TYPE and MUSTER_TASK_INDEX unless given, which `muster run` sets
    token, ca, cert, key  as those of :class:`muster.Client`
    devices         what ``wait_for_all_tasks`` tells the others
    heartbeat_timeout     when the service has not answered for this long, the agent has failed. It sends a
                    heartbeat twice in this time, or twice in the cluster's own heartbeat_timeout if that is shorter
    on_error        hears, on the agent's thread, of the error that ends a run
    incarnation     tells this process from others that were the task before, in the first run; 0: random
    """

    def __init__(self, address: str | None = None, *, cluster: str | None = None, url: str | None = None,
                 task: Task | None = None, token: str = "", ca: str | None = None,
                 cert: str | None = None, key: str | None = None, devices: Sequence[str] = (),
                 heartbeat_timeout: float = 100.0, connect_timeout: float = 300.0,
                 shutdown_timeout: float = 300.0, call_timeout: float = 10.0, incarnation: int = 0,
                 on_error: Callable[[AgentError], None] | None = None) -> None:
        for name, seconds in (("heartbeat_timeout", heartbeat_timeout), ("connect_timeout", connect_timeout),
                              ("shutdown_timeout", shutdown_timeout), ("call_timeout", call_timeout)):
            if wait_time(seconds, name) <= 0:
                raise ValueError(f"{name}: {seconds} is not positive")
        if not 0 <= incarnation < 2**64:
            raise ValueError(f"incarnation: {incarnation} is not from 0 to 2**64 - 1")
        self.connect_timeout, self.shutdown_timeout = connect_timeout, shutdown_timeout
        self.call_timeout = call_timeout
        self._devices = list(devices)
        self._given_incarnation = incarnation
        where, hint = _address(address, cluster, url, token, ca, cert, key)
        service = Service(where, Tls.of(ca, cert, key), token, hint)
        self._names = Names(service, _own_task() if task is None else task)
        self._at = Connection(service, self._names, heartbeat_timeout, on_error)

    def __repr__(self) -> str:
        return f"<muster.Agent {self.task} at {self.address}, {self.state}>"

    @property
    def address(self) -> str:
        return self._at.service.address

    @property
    def task(self) -> str:
        return self._names.own

    @property
    def state(self) -> str:
        """idle, connecting, connected, failed, shut_down or closed."""
        return self._at.state

    @property
    def incarnation(self) -> int:
        """Of this process; 0 before the first connect()."""
        return self._at.run.incarnation if self._at.run else 0

    @property
    def service_incarnation(self) -> int:
        """Of the run that it registered for; 0 before."""
        return self._at.run.service if self._at.run else 0

    def connect(self, timeout: float | None = None) -> None:
        """Registers: waits until the service is up and, where the cluster begins together, until all tasks
        have come. After an error or a shutdown: begins anew, as another incarnation. Raises
        CoordinationError: a WaitTimeout, which names who is missing; INVALID_ARGUMENT, the cluster has no
        such task; FAILED_PRECONDITION, it is connected. AgentError (FAILED_PRECONDITION): the run was failed
        while it registered, by CoordinationClient.fail."""
        given, self._given_incarnation = self._given_incarnation, 0
        self._at.connect(self.connect_timeout if timeout is None else timeout, given)

    def shutdown(self, timeout: float | None = None) -> None:
        """Leaves, with all others where the cluster leaves together. Raises AgentError if somebody did not
        come to leave, or what the run has failed with, and WaitTimeout if the service did not answer: then the
        agent is as it was. Does nothing where the run ended otherwise."""
        self._at.shutdown(self.shutdown_timeout if timeout is None else timeout)

    def reset(self) -> None:
        """After an error: the service forgets it. Where the jobs are recoverable this task may connect again
        without a new run of the others; elsewhere the run is over for them, too. Raises
        CoordinationError (FAILED_PRECONDITION: it has not failed)."""
        self._at.reset(self.call_timeout)

    def close(self) -> None:
        """Stops beating. Without shutdown() before, that is a death to the others."""
        self._at.close()

    def __enter__(self) -> Agent:
        try:
            self.connect()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if not self._at.is_of_this_process:  # the task is the other one
            return
        try:
            failed = self.error if self.state == "failed" else None
            if failed is not None and error is None:
                raise failed.again()  # nobody else may have heard of it in the block
            if self.state != "connected":
                return
            if error is None or (isinstance(error, SystemExit) and not error.code):
                self.shutdown()
            else:
                try:
                    self.report_error("UNKNOWN", f"{type(error).__name__}: {error}")
                except Exception:  # that of the block is raised
                    pass
        finally:
            self.close()

    # The others.

    def wait_for_all_tasks(self, devices: Sequence[str] | None = None, timeout: float | None = None
                           ) -> list[str]:
        """Waits until all tasks have called it; what each says of its devices is given to all, in order of
        jobs by name, then tasks. Counts once for a run: later calls answer with what was said then."""
        told = self._devices if devices is None else devices
        answer = self._at.ask("WaitForAllTasks", self.connect_timeout if timeout is None else timeout,
                              source_task={"task_id": self._at.current().task},
                              device_info={"device": [{"value": d.encode("utf-8", "surrogateescape")} for d in told]})
        return [d.value.decode("utf-8", "surrogateescape") for d in answer.device_info.device]

    def barrier(self, id: str, timeout: float, *, tasks: Iterable[Task] | None = None) -> int:
        """Waits until all of `tasks` have come (None: all of the cluster); gives which use of the id it was.
        `timeout` counts from the first who comes, and ends it for all; who comes later with a shorter one
        gives up alone, 5 s after it, and the barrier waits on. The same id may be used again; all must agree
        on the tasks. Raises BarrierError; CoordinationError (DEADLINE_EXCEEDED: it gave up alone, or nobody
        answered; FAILED_PRECONDITION: this agent waits there already)."""
        timeout = max(0.0, wait_time(timeout))
        run = self._at.current()
        named = [] if tasks is None else self._names.numbers(tasks, self.call_timeout)
        with run.at_barrier(id) as (waiter, use):
            try:
                answer = self._at.ask("Barrier", timeout + BARRIER_MARGIN, waiter=waiter, barrier_id=id,
                                      barrier_timeout_in_ms=math.ceil(timeout * 1000), counter=use, task_ids=named)
            except BarrierError as error:
                run.note_use(id, error.use)
                raise
            run.note_use(id, answer.counter)
            return int(answer.counter)

    def cancel_barrier(self, id: str) -> None:
        """Ends it for all who wait. Raises CoordinationError (FAILED_PRECONDITION: nobody waits for its
        next use)."""
        use = self._at.current().next_use(id)
        try:
            self._ask("CancelBarrier", again=False, barrier_id=id, counter=use)
        except BarrierError as error:
            if error.use == use:
                raise
            # Which use of it runs, only its participants know; the refusal says it to others.
            self._ask("CancelBarrier", again=False, barrier_id=id, counter=error.use)

    def leave_barrier(self, id: str) -> bool:
        """Takes this agent's own call back; the barrier goes on waiting for it. False: it does not wait there."""
        return self._at.current().leave_barrier(id)

    def get_task_states(self) -> TaskStates:
        return self._read(self._ask("WatchTasks", version_number=-1))

    def wait_for_tasks(self, version: int, timeout: float) -> TaskStates:
        """Waits until the list has another version than this one."""
        return self._read(self._at.ask("WatchTasks", timeout, version_number=version))

    def live_tasks(self, tasks: Iterable[Task] | None = None, *, timeout: float) -> dict[str, int]:
        """Waits until every one of these tasks (None: all) that is connected has asked the same, and gives
        all of them the same answer: incarnations by task. REQUIRES: this task is among them."""
        retry = Retry(timeout, 0.0)
        among = ([s.task_id for s in self._at.ask("WatchTasks", retry.left(), version_number=-1).task_state]
                 if tasks is None else self._names.numbers(tasks, retry.left()))
        answer = self._at.ask("GetAliveTasks", retry.left(), task_ids=among)
        return dict(zip(self._names.all(list(answer.alive_task_ids), self.call_timeout), answer.incarnations))

    def _read(self, answer: Any) -> TaskStates:
        names = self._names.all([s.task_id for s in answer.task_state], self.call_timeout)
        made = TaskStates(TaskState(name, STATES.get(s.state, "UNKNOWN"), s.incarnation,
                                    AgentError(CODES[s.error_code], s.error_message, name)
                                    if 0 < s.error_code < len(CODES) else None)
                          for name, s in zip(names, answer.task_state))
        made.version = answer.version_number
        return made

    # Errors.

    @property
    def error(self) -> AgentError | None:
        """That ended the run, if one has."""
        run = self._at.run
        return run.error if run else None

    def wait_for_error(self, timeout: float) -> AgentError | None:
        """None: not within `timeout`, or the agent was shut down."""
        run = self._at.current()
        run.over.wait(wait_time(timeout))
        return run.error

    def report_error(self, code: str, message: str) -> None:
        """Tells all tasks that this one has failed: for itself it has, too. `code` as ``"DATA_LOSS"``."""
        if code not in _REPORTED:
            raise ValueError(f"code: {code!r} is none of {', '.join(_REPORTED)}")
        message = message.encode("utf-8", "replace").decode()
        run = self._at.current()
        try:
            self._ask("ReportErrorToService", again=False, error_code=CODES.index(code), error_message=message)
        except AgentError:
            if run.error is None or not run.error.reported:
                raise
        self._at.end(run, AgentError(code, message, self._names.of(run.task), True), "failed")


def _own_task() -> Task:
    job, index = os.environ.get("MUSTER_TASK_TYPE"), os.environ.get("MUSTER_TASK_INDEX")
    if not job or not index:
        raise ValueError("task: not given, and MUSTER_TASK_TYPE and MUSTER_TASK_INDEX are not set; is this program "
                         "started by 'muster run'?")
    return f"{job}:{index}"


def _address(address: str | None, cluster: str | None, url: str | None, *how: Any) -> tuple[str, str]:
    """The address, and what may be wrong where nobody answers."""
    if cluster is None:
        if url is not None:
            raise ValueError("url: of no use without a cluster")
        named = os.environ.get("MUSTER_COORDINATOR")
        if address is None and named:
            return named, " (MUSTER_COORDINATOR; 'muster run' has a service there with --server or --declare only)"
        return "127.0.0.1:8476" if address is None else address, ""
    if not cluster:
        raise ValueError("cluster: none")
    if address is not None:
        raise ValueError("address, cluster: each cluster has an address of its own; give one of the two")
    from muster.rest.http import Http, segment

    token, ca, cert, key = how
    http = Http(url, ca, cert, key, token)
    return _reachable(http.json("GET", f"/api/v1/clusters/{segment(cluster)}")["address"], http.url), ""


def _reachable(address: str, url: str) -> str:
    """At the host of the url, where the service listens at all of them."""
    host, _, port = address.rpartition(":")
    if host not in ("0.0.0.0", "[::]", "::", ""):
        return address
    named = urllib.parse.urlsplit(url).hostname or "127.0.0.1"
    return f"[{named}]:{port}" if ":" in named else f"{named}:{port}"
