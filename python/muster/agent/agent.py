"""The coordination client of a single task. Other tasks of the same cluster can use the clients of JAX, TensorFlow or
C++ instead.
"""
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
"""Seconds that are added to the deadline of the call, so that the service ends a barrier before the call times out."""
_REPORTED = [code for code in CODES if code not in ("OK", "CANCELLED", "RESOURCE_EXHAUSTED")]
"""Codes that a task can report. CANCELLED and RESOURCE_EXHAUSTED are excluded, because they end or reject an error
poll.
"""


@dataclasses.dataclass(frozen=True)
class TaskState:
    """State of a task, as reported by the coordination service.

    Attributes:
        task: Name of the task, for example ``"worker:3"``.
        state: State of the task: ``"CONNECTED"``, ``"DISCONNECTED"`` or ``"ERROR"``.
        incarnation: Incarnation of the process that last registered as this task, or 0 if no process has registered.
        error: The error of the task, or None if it has no error.
    """

    task: str
    state: str
    incarnation: int
    error: AgentError | None = None


class TaskStates(list[TaskState]):
    """Snapshot of the states of all tasks of the cluster.

    Attributes:
        version: Version of the list, which increases with every change. Pass it to `Agent.wait_for_tasks`.
    """

    version = 0


class Agent(Keys):
    """Coordination client: registers as a task of a cluster, sends heartbeats and receives errors.

    A ``with`` block calls ``connect`` at its start and ``shutdown`` at its end. If the block raises an exception,
    ``report_error`` is called instead, and the other tasks receive the reason. If an error has ended the run and the
    block raises no exception, the error is raised at the end of the block.

    All times are in seconds. Methods can be called from any thread. After a fork, the child process cannot use the
    object.

    Args:
        address: Address ``"host:port"`` of the cluster. None means MUSTER_COORDINATOR, otherwise ``127.0.0.1:8476``.
        cluster: Name of the cluster, in place of `address`. The agent requests the address from the REST API at `url`.
        url: URL of the server's REST API, used only with `cluster`. None means MUSTER_URL, otherwise
            ``http://127.0.0.1:8477``.
        task: The task, as ``"worker:3"``, as ``("worker", 3)`` or as its number among the tasks of all jobs. None means
            MUSTER_TASK_TYPE and MUSTER_TASK_INDEX, which `muster run` sets.
        token: Token for the server. Empty means MUSTER_TOKEN or MUSTER_TOKEN_FILE.
        ca: PEM file with the CA certificates that verify the server. None means MUSTER_CA.
        cert: PEM file with the client certificate. None means MUSTER_CERT.
        key: PEM file with the private key of `cert`. None means MUSTER_KEY.
        devices: Descriptions of the devices of this task, which ``wait_for_all_tasks`` sends to the other tasks.
        heartbeat_timeout: Seconds without an answer of the service after which the agent fails. The agent sends two
            heartbeats within this time, or within the cluster's heartbeat timeout if the cluster's timeout is shorter.
        connect_timeout: Default timeout of ``connect`` and ``wait_for_all_tasks``.
        shutdown_timeout: Default timeout of ``shutdown``.
        call_timeout: Time limit of calls without a `timeout` argument.
        incarnation: Incarnation of this process in its first run, which distinguishes the process from earlier
            processes of the same task. 0 means a random number.
        on_error: Function that is called on the agent's thread with the error that ends a run.

    Raises:
        ValueError: An argument is invalid, or the task is set neither by an argument nor in the environment.
        ServerError: `cluster` is set, and the server does not know the cluster.
        NoServer: `cluster` is set, and no server answers at `url`.

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
        """Address of the service, as ``"host:port"``."""
        return self._at.service.address

    @property
    def task(self) -> str:
        """Name of the task, for example ``"worker:3"``, or ``"task:3"`` if only the number is known."""
        return self._names.own

    @property
    def state(self) -> str:
        """State of the agent: ``"idle"``, ``"connecting"``, ``"connected"``, ``"failed"``, ``"shut_down"`` or
        ``"closed"``.
        """
        return self._at.state

    @property
    def incarnation(self) -> int:
        """Incarnation of this process as a task, or 0 before the first ``connect``."""
        return self._at.run.incarnation if self._at.run else 0

    @property
    def service_incarnation(self) -> int:
        """Incarnation of the service in the agent's current run, or 0 before the agent has registered."""
        return self._at.run.service if self._at.run else 0

    def connect(self, timeout: float | None = None) -> None:
        """Registers the task and waits for the service.

        If the tasks of the cluster start together, `connect` also waits until all tasks have registered. After an error
        or a shutdown, `connect` registers with a new incarnation.

        Args:
            timeout: Seconds to wait. None means `connect_timeout`.

        Raises:
            CoordinationError: DEADLINE_EXCEEDED (a WaitTimeout) if tasks are missing; the message contains their names.
                INVALID_ARGUMENT if the cluster does not contain the task. FAILED_PRECONDITION if the agent is
                connected, connecting or closed.
            AgentError: FAILED_PRECONDITION if the run was marked as failed during the registration, for example by
                `CoordinationClient.fail`.
        """
        given, self._given_incarnation = self._given_incarnation, 0
        self._at.connect(self.connect_timeout if timeout is None else timeout, given)

    def shutdown(self, timeout: float | None = None) -> None:
        """Leaves the cluster. If the tasks of the cluster leave together, waits for all other tasks.

        Does nothing if the run has already ended without an error.

        Args:
            timeout: Seconds to wait for the other tasks. None means `shutdown_timeout`.

        Raises:
            AgentError: A different task did not leave, or the run has failed. The error contains the reason.
            CoordinationError: DEADLINE_EXCEEDED (a WaitTimeout) if the service did not answer. The state of the agent
                is unchanged.
        """
        self._at.shutdown(self.shutdown_timeout if timeout is None else timeout)

    def reset(self) -> None:
        """Clears the error of this task in the service after a failure.

        If the jobs are recoverable, the other tasks continue, and this task can connect again. Otherwise the run ends
        for all tasks.

        Raises:
            CoordinationError: FAILED_PRECONDITION if the agent has not failed.
        """
        self._at.reset(self.call_timeout)

    def close(self) -> None:
        """Stops the heartbeats. If ``shutdown`` was not called before, the other tasks treat the missing heartbeats as
        a failure.
        """
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
                raise failed.again()  # raised here, because no call in the block may have raised it
            if self.state != "connected":
                return
            if error is None or (isinstance(error, SystemExit) and not error.code):
                self.shutdown()
            else:
                try:
                    self.report_error("UNKNOWN", f"{type(error).__name__}: {error}")
                except Exception:  # the exception of the block is raised instead
                    pass
        finally:
            self.close()

    # Methods about other tasks.

    def wait_for_all_tasks(self, devices: Sequence[str] | None = None, timeout: float | None = None
                           ) -> list[str]:
        """Waits until all tasks have called this method, and exchanges the lists of their devices.

        Only the first call in a run waits; later calls return the same result.

        Args:
            devices: Descriptions of the devices of this task. None means the `devices` argument of the constructor.
            timeout: Seconds to wait. None means `connect_timeout`.

        Returns:
            The devices of all tasks, ordered by job name, then by task index.

        Raises:
            CoordinationError: DEADLINE_EXCEEDED (a WaitTimeout) if a task is missing.
            AgentError: The run has ended.
        """
        told = self._devices if devices is None else devices
        answer = self._at.ask("WaitForAllTasks", self.connect_timeout if timeout is None else timeout,
                              source_task={"task_id": self._at.current().task},
                              device_info={"device": [{"value": d.encode("utf-8", "surrogateescape")} for d in told]})
        return [d.value.decode("utf-8", "surrogateescape") for d in answer.device_info.device]

    def barrier(self, id: str, timeout: float, *, tasks: Iterable[Task] | None = None) -> int:
        """Waits at a barrier until all participating tasks have arrived.

        Barrier ids can be reused. All tasks of a barrier must pass the same `tasks`.

        Args:
            id: Name of the barrier.
            timeout: Time limit in seconds from the arrival of the first task. When this time expires, the barrier fails
                for all tasks. If a task arrives later with a shorter timeout, only that task fails, 5 s after its
                timeout has expired. The barrier is unaffected.
            tasks: The participating tasks. None means all tasks of the cluster.

        Returns:
            The index of this use of the barrier id, counted from 0.

        Raises:
            BarrierError: The barrier has timed out or was cancelled, or a participating task cannot arrive.
            CoordinationError: DEADLINE_EXCEEDED if only this task has timed out, or if the service did not answer.
                FAILED_PRECONDITION if this agent is already waiting at the barrier. CANCELLED if ``leave_barrier`` was
                called.
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
        """Cancels a barrier for all tasks that are waiting at it.

        Args:
            id: Name of the barrier.

        Raises:
            CoordinationError: FAILED_PRECONDITION if no task is waiting at the barrier.
        """
        use = self._at.current().next_use(id)
        try:
            self._ask("CancelBarrier", again=False, barrier_id=id, counter=use)
        except BarrierError as error:
            if error.use == use:
                raise
            # Only participants know the number of the current use; the error of the service contains it.
            self._ask("CancelBarrier", again=False, barrier_id=id, counter=error.use)

    def leave_barrier(self, id: str) -> bool:
        """Stops this agent's wait at a barrier. The barrier continues to wait for the task.

        The interrupted ``barrier`` call raises CoordinationError (CANCELLED).

        Args:
            id: Name of the barrier.

        Returns:
            Whether the agent was waiting at the barrier.
        """
        return self._at.current().leave_barrier(id)

    def get_task_states(self) -> TaskStates:
        """Returns the states of all tasks, as a list with the attribute `version`."""
        return self._read(self._ask("WatchTasks", version_number=-1))

    def wait_for_tasks(self, version: int, timeout: float) -> TaskStates:
        """Waits until the task list is newer than a known version.

        Args:
            version: The `version` of the last list that the caller received.
            timeout: Seconds to wait.

        Returns:
            The states of all tasks.

        Raises:
            CoordinationError: DEADLINE_EXCEEDED (a WaitTimeout) if the list does not change within `timeout`.
        """
        return self._read(self._at.ask("WatchTasks", timeout, version_number=version))

    def live_tasks(self, tasks: Iterable[Task] | None = None, *, timeout: float) -> dict[str, int]:
        """Returns the connected tasks. All callers receive the same answer.

        Waits until every connected task of `tasks` has made the same call. `tasks` must contain this task.

        Args:
            tasks: The participating tasks. None means all tasks of the cluster.
            timeout: Seconds to wait.

        Returns:
            A dict from the name of each connected task to its incarnation.

        Raises:
            CoordinationError: DEADLINE_EXCEEDED (a WaitTimeout) if a task does not make the call in time.
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

    # Methods about errors.

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
            The error, or None if no error occurred within `timeout` or the agent was shut down.
        """
        run = self._at.current()
        run.over.wait(wait_time(timeout))
        return run.error

    def report_error(self, code: str, message: str) -> None:
        """Reports to all tasks that this task has failed. The agent also enters the state ``"failed"``.

        Args:
            code: Name of a gRPC status, for example ``"DATA_LOSS"``. OK, CANCELLED and RESOURCE_EXHAUSTED are not
                allowed.
            message: Description of the error.

        Raises:
            ValueError: `code` is not allowed.
            CoordinationError: The service did not accept the report. If the code is UNAVAILABLE, the service may have
                accepted the report.
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
        raise ValueError("task: not given, and MUSTER_TASK_TYPE and MUSTER_TASK_INDEX are not set; pass task=, or "
                         "start this program with 'muster run' or 'muster launch'")
    return f"{job}:{index}"


def _address(address: str | None, cluster: str | None, url: str | None, *how: Any) -> tuple[str, str]:
    """Returns the address, and a hint for the error message in case the service does not answer."""
    if cluster is None:
        if url is not None:
            raise ValueError("url: used only with cluster=")
        named = os.environ.get("MUSTER_COORDINATOR")
        if address is None and named:
            return named, (" (from MUSTER_COORDINATOR; 'muster run' provides a server at this address only with "
                           "--server or --declare)")
        return "127.0.0.1:8476" if address is None else address, ""
    if not cluster:
        raise ValueError("cluster: must not be empty")
    if address is not None:
        raise ValueError("address, cluster: each cluster has its own address; pass only one of the two")
    from muster.rest.http import Http, segment

    token, ca, cert, key = how
    http = Http(url, ca, cert, key, token)
    return _reachable(http.json("GET", f"/api/v1/clusters/{segment(cluster)}")["address"], http.url), ""


def _reachable(address: str, url: str) -> str:
    """Replaces a wildcard host in `address` with the host of `url`."""
    host, _, port = address.rpartition(":")
    if host not in ("0.0.0.0", "[::]", "::", ""):
        return address
    named = urllib.parse.urlsplit(url).hostname or "127.0.0.1"
    return f"[{named}]:{port}" if ":" in named else f"{named}:{port}"
