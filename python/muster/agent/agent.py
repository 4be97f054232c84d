"""The coordination client: one task of a cluster, together with clients of JAX, TensorFlow and C++."""
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
"""Seconds. Extends the deadline of the call, so that the service ends a barrier before the call times out."""
_REPORTED = [code for code in CODES if code not in ("OK", "CANCELLED", "RESOURCE_EXHAUSTED")]
"""Codes that a task can report. CANCELLED and RESOURCE_EXHAUSTED end or refuse an error poll instead."""


@dataclasses.dataclass(frozen=True)
class TaskState:
    """A task as the service sees it.

    Attributes:
        task: Name of the task, for example ``"worker:3"``.
        state: ``"CONNECTED"``, ``"DISCONNECTED"`` or ``"ERROR"``.
        incarnation: Number of the process that registered last; 0 if the task has never registered.
        error: The error of the task, or None.
    """

    task: str
    state: str
    incarnation: int
    error: AgentError | None = None


class TaskStates(list[TaskState]):
    """List of all tasks of the cluster at one moment.

    Attributes:
        version: Increases with every change. :meth:`Agent.wait_for_tasks` takes it.
    """

    version = 0


class Agent(Keys):
    """Coordination client: registers as a task of a cluster, sends heartbeats and receives errors.

    A ``with`` block begins with ``connect`` and ends with ``shutdown``. If the block raises, it ends with
    ``report_error``, so that the other tasks receive the reason. If an error has ended the run and the block raises
    nothing, the end of the block raises that error.

    All times are seconds. The methods may be called from any thread. After a fork, the child process cannot use the
    object.

    Args:
        address: ``"host:port"`` of the cluster. None: MUSTER_COORDINATOR, else ``127.0.0.1:8476``.
        cluster: Name of the cluster, in place of `address`. The address is requested at `url`, over REST.
        url: URL of the server's REST API; only with `cluster`. None: MUSTER_URL, else ``http://127.0.0.1:8477``.
        task: ``"worker:3"``, ``("worker", 3)``, or its number, counted across all jobs of the cluster. None:
            MUSTER_TASK_TYPE and MUSTER_TASK_INDEX, which `muster run` sets.
        token: Token for the server. Empty: MUSTER_TOKEN or MUSTER_TOKEN_FILE.
        ca: PEM file with the CA certificates that verify the server. None: MUSTER_CA.
        cert: PEM file with the client certificate. None: MUSTER_CERT.
        key: PEM file with the private key of `cert`. None: MUSTER_KEY.
        devices: Texts that ``wait_for_all_tasks`` sends to the other tasks.
        heartbeat_timeout: The agent fails if the service has not answered for this long. It sends two heartbeats in
            this time, or in the cluster's own timeout if that is shorter.
        connect_timeout: Default of ``connect`` and ``wait_for_all_tasks``.
        shutdown_timeout: Default of ``shutdown``.
        call_timeout: Time limit of calls that have no `timeout` argument.
        incarnation: Identifies this process among others that have been the same task, in the first run only. 0: a
            random number.
        on_error: Called on the agent's thread with the error that ends a run.

    Raises:
        ValueError: An argument is invalid, or the task is neither given nor set in the environment.
        ServerError: With `cluster`: the server does not know the cluster.
        NoServer: With `cluster`: no server answers at `url`.

    Example:
        ```python
        with muster.Agent("127.0.0.1:8476", task="worker:0") as a:
            a.set("address/0", "10.0.0.1:99")
            a.barrier("ready", timeout=60)
        ```
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
        """``"host:port"`` of the service."""
        return self._at.service.address

    @property
    def task(self) -> str:
        """Name of the task, for example ``"worker:3"``; ``"task:3"`` if only its number is known."""
        return self._names.own

    @property
    def state(self) -> str:
        """``"idle"``, ``"connecting"``, ``"connected"``, ``"failed"``, ``"shut_down"`` or ``"closed"``."""
        return self._at.state

    @property
    def incarnation(self) -> int:
        """Number of this process as a task; 0 before the first ``connect``."""
        return self._at.run.incarnation if self._at.run else 0

    @property
    def service_incarnation(self) -> int:
        """Number of the run that the agent has registered for; 0 before it has registered."""
        return self._at.run.service if self._at.run else 0

    def connect(self, timeout: float | None = None) -> None:
        """Registers the task, and waits for the service.

        If the cluster starts together, it also waits until all tasks have registered. After an error or a shutdown it
        begins a new incarnation.

        Args:
            timeout: Seconds to wait. None: `connect_timeout`.

        Raises:
            CoordinationError: DEADLINE_EXCEEDED (a WaitTimeout), with the names of the missing tasks;
                INVALID_ARGUMENT, the cluster has no such task; FAILED_PRECONDITION, the agent is connected, connecting
                or closed.
            AgentError: FAILED_PRECONDITION, the run was failed during the registration, as by
                :meth:`CoordinationClient.fail`.
        """
        given, self._given_incarnation = self._given_incarnation, 0
        self._at.connect(self.connect_timeout if timeout is None else timeout, given)

    def shutdown(self, timeout: float | None = None) -> None:
        """Leaves the cluster, together with all other tasks if the cluster leaves together.

        Does nothing if the run has already ended without an error.

        Args:
            timeout: Seconds to wait for the other tasks. None: `shutdown_timeout`.

        Raises:
            AgentError: Another task did not leave, or the error with which the run has failed.
            CoordinationError: DEADLINE_EXCEEDED (a WaitTimeout), the service did not answer; the agent is unchanged.
        """
        self._at.shutdown(self.shutdown_timeout if timeout is None else timeout)

    def reset(self) -> None:
        """Clears the error of this task in the service after a failure.

        If the jobs are recoverable, this task can connect again and the other tasks continue. Otherwise the run ends
        for all tasks.

        Raises:
            CoordinationError: FAILED_PRECONDITION, the agent has not failed.
        """
        self._at.reset(self.call_timeout)

    def close(self) -> None:
        """Stops the heartbeats. Without a previous ``shutdown``, the other tasks see this as a failure."""
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
        if not self._at.is_of_this_process:  # the parent process owns the task
            return
        try:
            failed = self.error if self.state == "failed" else None
            if failed is not None and error is None:
                raise failed.again()  # the block may not have seen it
            if self.state != "connected":
                return
            if error is None or (isinstance(error, SystemExit) and not error.code):
                self.shutdown()
            else:
                try:
                    self.report_error("UNKNOWN", f"{type(error).__name__}: {error}")
                except Exception:  # the exception of the block is raised
                    pass
        finally:
            self.close()

    # Other tasks.

    def wait_for_all_tasks(self, devices: Sequence[str] | None = None, timeout: float | None = None
                           ) -> list[str]:
        """Waits until all tasks have called it, and exchanges their devices.

        Waits once per run; later calls return the same result.

        Args:
            devices: Texts that describe the devices of this task. None: those given to the constructor.
            timeout: Seconds to wait. None: `connect_timeout`.

        Returns:
            The devices of all tasks, ordered by job name, then by task index.

        Raises:
            CoordinationError: DEADLINE_EXCEEDED (a WaitTimeout), a task is missing.
            AgentError: The run has ended.
        """
        told = self._devices if devices is None else devices
        answer = self._at.ask("WaitForAllTasks", self.connect_timeout if timeout is None else timeout,
                              source_task={"task_id": self._at.current().task},
                              device_info={"device": [{"value": d.encode("utf-8", "surrogateescape")} for d in told]})
        return [d.value.decode("utf-8", "surrogateescape") for d in answer.device_info.device]

    def barrier(self, id: str, timeout: float, *, tasks: Iterable[Task] | None = None) -> int:
        """Waits at a barrier until all its tasks have arrived.

        An id may be used again. All tasks of a barrier must name the same `tasks`.

        Args:
            id: Name of the barrier.
            timeout: Seconds from the arrival of the first task, after which the barrier fails for all. A task that
                arrives later with a shorter timeout gives up alone, 5 s after its timeout; the barrier continues.
            tasks: The tasks that meet. None: all tasks of the cluster.

        Returns:
            The number of this use of the id, from 0.

        Raises:
            BarrierError: The barrier has timed out or was cancelled, or a task cannot arrive.
            CoordinationError: DEADLINE_EXCEEDED, this task gave up alone, or the service did not answer;
                FAILED_PRECONDITION, this agent already waits there; CANCELLED, ``leave_barrier`` was called.
            AgentError: The run has ended.
            ValueError: `tasks` is empty or contains an invalid task.
        """
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
        """Ends a barrier for all tasks that wait there.

        Args:
            id: Name of the barrier.

        Raises:
            CoordinationError: FAILED_PRECONDITION, no task waits for its next use.
        """
        use = self._at.current().next_use(id)
        try:
            self._ask("CancelBarrier", again=False, barrier_id=id, counter=use)
        except BarrierError as error:
            if error.use == use:
                raise
            # Only participants know the current use; the refusal contains it.
            self._ask("CancelBarrier", again=False, barrier_id=id, counter=error.use)

    def leave_barrier(self, id: str) -> bool:
        """Ends this agent's own wait at a barrier, which continues to wait for the task.

        The interrupted ``barrier`` call raises CoordinationError (CANCELLED).

        Args:
            id: Name of the barrier.

        Returns:
            Whether the agent was waiting there.
        """
        return self._at.current().leave_barrier(id)

    def get_task_states(self) -> TaskStates:
        """Returns the states of all tasks, with their `version`."""
        return self._read(self._ask("WatchTasks", version_number=-1))

    def wait_for_tasks(self, version: int, timeout: float) -> TaskStates:
        """Waits until the list of tasks differs from a known version.

        Args:
            version: `version` of the known list.
            timeout: Seconds to wait.

        Returns:
            The states of all tasks.

        Raises:
            CoordinationError: DEADLINE_EXCEEDED (a WaitTimeout), no change within `timeout`.
        """
        return self._read(self._at.ask("WatchTasks", timeout, version_number=version))

    def live_tasks(self, tasks: Iterable[Task] | None = None, *, timeout: float) -> dict[str, int]:
        """Returns the connected tasks, and gives the same answer to all of them.

        Waits until every connected task of `tasks` has made the same call. This task must be one of them.

        Args:
            tasks: The tasks that take part. None: all tasks of the cluster.
            timeout: Seconds to wait.

        Returns:
            The incarnation of each connected task, by its name.

        Raises:
            CoordinationError: DEADLINE_EXCEEDED (a WaitTimeout), a task has not made the call.
        """
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
        """The error that ended the run, or None."""
        run = self._at.run
        return run.error if run else None

    def wait_for_error(self, timeout: float) -> AgentError | None:
        """Waits for an error that ends the run.

        Args:
            timeout: Seconds to wait.

        Returns:
            The error; None if there was none within `timeout`, or the agent was shut down.
        """
        run = self._at.current()
        run.over.wait(wait_time(timeout))
        return run.error

    def report_error(self, code: str, message: str) -> None:
        """Reports to all tasks that this task has failed. The agent itself fails, too.

        Args:
            code: Name of a gRPC status, for example ``"DATA_LOSS"``; not OK, CANCELLED or RESOURCE_EXHAUSTED.
            message: Text for people.

        Raises:
            ValueError: `code` is not allowed.
            CoordinationError: The service did not accept it. UNAVAILABLE: it may have.
        """
        if code not in _REPORTED:
            raise ValueError(f"code: {code!r} is not one of {', '.join(_REPORTED)}")
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
    """Returns the address, and a hint for the error message if the service does not answer."""
    if cluster is None:
        if url is not None:
            raise ValueError("url: used only with cluster=")
        named = os.environ.get("MUSTER_COORDINATOR")
        if address is None and named:
            return named, " (MUSTER_COORDINATOR; 'muster run' has a service there with --server or --declare only)"
        return "127.0.0.1:8476" if address is None else address, ""
    if not cluster:
        raise ValueError("cluster: none")
    if address is not None:
        raise ValueError("address, cluster: each cluster has its own address; pass only one of the two")
    from muster.rest.http import Http, segment

    token, ca, cert, key = how
    http = Http(url, ca, cert, key, token)
    return _reachable(http.json("GET", f"/api/v1/clusters/{segment(cluster)}")["address"], http.url), ""


def _reachable(address: str, url: str) -> str:
    """Replaces a wildcard host in `address` by the host of `url`."""
    host, _, port = address.rpartition(":")
    if host not in ("0.0.0.0", "[::]", "::", ""):
        return address
    named = urllib.parse.urlsplit(url).hostname or "127.0.0.1"
    return f"[{named}]:{port}" if ":" in named else f"{named}:{port}"
