"""REST client for jobs and listings, for use in notebooks and scripts."""
from __future__ import annotations

import html
import json
import logging
import time
from typing import TYPE_CHECKING, Any, Iterator, Sequence

from muster.errors import ClosureError, FailureKind, WaitTimeout, failure_error
from muster.rest.http import Http, ServerError, segment
from muster.rest.programs import SAY_AFTER, Program, Tasks, found, listed, submit

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from muster.rest.programs import LaunchWords

log = logging.getLogger("muster")

POLL = 30.0
"""Seconds that one request waits; a longer wait consists of several requests."""


class Client:
    """Client of the REST API.

    Methods raise ServerError if the server rejects a request, and NoServer if no server answers.

    Args:
        url: URL of the server, or several URLs separated by commas. None means MUSTER_URL, otherwise
            ``http://127.0.0.1:8477``.
        token: Token for the server. Empty means MUSTER_TOKEN or MUSTER_TOKEN_FILE.
        ca: PEM file with the CA certificates that verify an https:// server. None means MUSTER_CA, otherwise the CA
            certificates of the system.
        cert: PEM file with the client certificate, for a server that requires a client certificate. None means
            MUSTER_CERT.
        key: PEM file with the private key of `cert`. None means MUSTER_KEY.

    Example:
        ```python
        muster.Client("http://127.0.0.1:8477").jobs(limit=10)
        ```
    """

    def __init__(self, url: str | None = None, *, token: str = "", ca: str | None = None,
                 cert: str | None = None, key: str | None = None) -> None:
        self._http = Http(url, ca, cert, key, token)

    def submit(self, function: str, *args: Any, name: str = "", **options: Any) -> Job:
        """Submits a job that calls a named function once.

        Args:
            function: Name of the function.
            *args: Arguments of the function, which must be JSON values.
            name: Name of the job. Empty means no name.
            **options: ``kwargs``, a mapping of keyword arguments, and closure options of the REST API, such as
                ``max_retries`` and ``deadline``.

        Returns:
            The job.

        Raises:
            ServerError: The server rejected the job.
            NoServer: No server answers.
        """
        closure: dict[str, Any] = {"function": function, "args": list(args)}
        if "kwargs" in options:
            closure["kwargs"] = options.pop("kwargs")
        if options:
            closure["options"] = options
        return self._post({"closures": [closure]}, name)

    def map(self, function: str, args: Sequence[Sequence[Any]], *, name: str = "",
            **body: Any) -> Job:
        """Submits a job that calls a named function once for each element of `args`.

        Args:
            function: Name of the function.
            args: A sequence of arguments for each call.
            name: Name of the job. Empty means no name.
            **body: Additional members of the REST request. For example, ``options={"weight": 2}`` sets a job option.

        Returns:
            The job.

        Raises:
            ServerError: The server rejected the job.
            NoServer: No server answers.
        """
        return self._post({"map": {"function": function, "args": [list(a) for a in args]}, **body},
                          name)

    def _post(self, body: dict[str, Any], name: str) -> Job:
        if name:
            body["name"] = name
        return Job(self._http, self._http.json("POST", "/api/v1/jobs", body)["id"])

    def job(self, id: str) -> Job:
        """Returns an existing job.

        Args:
            id: Id of the job.

        Raises:
            ServerError: There is no such job.
        """
        found = Job(self._http, id)
        found.refresh()
        return found

    def jobs(self, limit: int = 100) -> list[dict[str, Any]]:
        """Returns the latest jobs, newest first, as in the REST API.

        Args:
            limit: Maximum number of jobs.
        """
        return self._list("/api/v1/jobs", "jobs", limit)

    def launch(self, command: Sequence[str], tasks: Tasks = 1,
               **words: Unpack[LaunchWords]) -> Program:
        """Runs a command as a program on the cluster's workers; see `muster.launch`.

        Args:
            command: The command and its arguments.
            tasks: Number of ranks, or a mapping from each role to its number of ranks or its settings.
            **words: Additional fields of a program, as for `muster.launch`.

        Returns:
            The program, which has not started yet.

        Raises:
            ServerError: The server rejected the program; ``field`` is the name of the invalid field.
            NoServer: No server answers.
        """
        return submit(self._http, command, tasks, words)

    def program(self, name_or_id: str) -> Program:
        """Returns an existing program.

        Args:
            name_or_id: Id or name of the program. If several programs have this name, the newest program is returned.

        Raises:
            ServerError: There is no such program.
        """
        return found(self._http, name_or_id)

    def programs(self, limit: int = 100, *, state: str | None = None) -> list[Program]:
        """Returns the latest programs, newest first.

        Args:
            limit: Maximum number of programs.
            state: State of the programs to return, for example ``"RUNNING"``. None means all programs.
        """
        return list(listed(self._http, limit, state))

    def tasks(self, cluster: str = "default", limit: int = 1000) -> list[dict[str, Any]]:
        """Returns the tasks of a cluster, as in the REST API.

        Args:
            cluster: Name of the cluster.
            limit: Maximum number of tasks.
        """
        return self._list(f"/api/v1/clusters/{segment(cluster)}/tasks", "tasks", limit)

    def functions(self, limit: int = 1000) -> list[dict[str, Any]]:
        """Returns the functions that workers provide, as in the REST API.

        Args:
            limit: Maximum number of functions.
        """
        return self._list("/api/v1/functions", "functions", limit)

    def clusters(self) -> list[dict[str, Any]]:
        """Returns the clusters of the server, at most 1,000, as in the REST API."""
        return self._list("/api/v1/clusters", "clusters", 1000)

    def events(self, after: int | None = None, limit: int = 100) -> list[dict[str, Any]]:
        """Returns events of the server, oldest first, as in the REST API.

        Args:
            after: Number of an event. Only later events are returned. None means the newest events.
            limit: Maximum number of events.
        """
        return self._list("/api/v1/events", "events", limit, after=after)

    def explain(self, closure: str) -> dict[str, Any]:
        """Returns the reason why a call is waiting, was moved to a different worker or has failed, as in the REST API.

        Args:
            closure: Id of the call.
        """
        told: dict[str, Any] = self._http.json("GET", f"/api/v1/closures/{segment(closure)}/explain")
        return told

    def stacks(self, what: str, cluster: str = "default") -> dict[str, Any]:
        """Returns the stack of the worker process that executes calls and objects, without stopping the process.

        Args:
            what: A task such as ``"worker:3"``, or the id of a running call.
            cluster: Name of the task's cluster.

        Returns:
            A mapping with three members. ``state`` is ``TAKEN``, ``NATIVE`` for C and C++ functions, or the reason why
            there is no stack. ``stack`` is the stack in the format of faulthandler. ``closures`` lists the calls that
            the process is executing.
        """
        path = f"/api/v1/closures/{segment(what)}/stacks"
        if ":" in what:
            job, _, index = what.rpartition(":")
            path = f"/api/v1/clusters/{segment(cluster)}/tasks/{segment(job)}/{segment(index)}/stacks"
        told: dict[str, Any] = self._http.json("GET", path)
        return told

    def machines(self, task: str = "", host: str = "", samples: int = 0, limit: int = 100) -> list[dict[str, Any]]:
        """Returns the load of the machines on which the server and its workers run.

        Args:
            task: Task of the machine to return, for example ``"worker:3"``. Empty means all machines.
            host: Host name of the machine to return. Empty means all machines.
            samples: Number of load samples to return, from the last hour. The samples are returned as columns.
            limit: Maximum number of machines.

        Returns:
            A mapping for each machine, with ``task``, ``host`` and ``fresh``. If ``fresh`` is true, the mapping also
            contains ``machine`` with ``cpu`` (number of busy cores), ``cpus``, ``memory_bytes``,
            ``memory_total_bytes``, ``gpus``, and the network and disk rates. Unknown values are omitted.
        """
        query = {name: value for name, value in (("task", task), ("host", host), ("samples", samples)) if value}
        return self._list("/api/v1/machines", "machines", limit, **query)

    def overview(self) -> dict[str, Any]:
        """Returns the overview of the server, as in the REST API."""
        told: dict[str, Any] = self._http.json("GET", "/api/v1/overview")
        return told

    def version(self) -> str:
        """Returns the version of the server."""
        return str(self._http.json("GET", "/api/v1/version")["version"])

    def _list(self, path: str, member: str, limit: int, **query: Any) -> list[dict[str, Any]]:
        page: list[dict[str, Any]] = self._http.json("GET", path, limit=limit, **query)[member]
        return page


class Job:
    """A job. A notebook displays the progress of the job.

    Attributes:
        id: Id of the job.
        view: The server's last response about the job, as in the REST API.
    """

    def __init__(self, http: Http, id: str) -> None:
        self._http = http
        self.id = id
        self.view: dict[str, Any] = {}

    def refresh(self) -> dict[str, Any]:
        """Requests the job's current state from the server and sets ``view``.

        Returns:
            The job, as in the REST API.
        """
        self.view = self._http.json("GET", self._path())
        return self.view

    @property
    def state(self) -> str:
        """State of the job. Each access sends a request."""
        return str(self.refresh()["state"])

    def join(self, timeout: float | None = None) -> Job:
        """Waits until all calls of the job have ended.

        If no call is running after five seconds, the logger ``muster`` reports once what the job is waiting for.

        Args:
            timeout: Seconds to wait. None means no limit.

        Returns:
            The job itself.

        Raises:
            ClosureError: The job has failed. The error describes the failed call.
            WaitTimeout: The job is still running after `timeout`. The job continues.
        """
        begun = time.monotonic()
        end = None if timeout is None else begun + timeout
        told = False
        while True:
            patience = POLL if time.monotonic() - begun >= SAY_AFTER else SAY_AFTER
            left = patience if end is None else min(patience, max(0.0, end - time.monotonic()))
            said = self._http.json("GET", self._path("/join"), timeout=left, wait=left)
            if said["done"]:
                self.view = said
                if said.get("error"):
                    raise _failure(said["error"])
                return self
            if end is not None and time.monotonic() >= end:
                why = self._what_for(said)
                raise WaitTimeout(f"{self.id} did not finish within {timeout:g} s" + (f": {why}" if why else ""))
            if not told and time.monotonic() - begun >= SAY_AFTER and (why := self._what_for(said)):
                told = True
                log.warning("%s is waiting: %s", self.id, why)

    def _what_for(self, said: dict[str, Any]) -> str:
        """Returns the reason why the first waiting call is waiting, or "" if a call is running or the reason is
        unknown.
        """
        if said["counts"]["running"]:
            return ""
        try:
            for state in ("QUEUED", "BLOCKED"):
                for closure in self._http.json("GET", self._path("/closures"), limit=1, state=state)["closures"]:
                    path = f"/api/v1/closures/{segment(closure['id'])}/explain"
                    return str(self._http.json("GET", path)["cause"])
        except ServerError:  # the call has ended
            pass
        return ""

    def results(self) -> Iterator[Any]:
        """Yields the available results of the calls, in the order of scheduling.

        Yields:
            The value of each call.

        Raises:
            ClosureError: A call has failed. The error is raised when the iteration reaches the failed call.
        """
        for line in self._http.raw("GET", self._path("/results")).splitlines():
            found = json.loads(line)
            if found.get("error"):
                raise _failure(found["error"])
            yield found.get("value")

    def logs(self) -> list[str]:
        """Returns the newest 1,000 lines that the calls have printed or logged."""
        said = self._http.json("GET", self._path("/logs"), tail=1000)
        return [line["text"] for line in said["lines"]]

    def cancel(self) -> None:
        """Cancels the job."""
        self._http.json("POST", self._path("/cancel"), {})

    def _path(self, rest: str = "") -> str:
        return f"/api/v1/jobs/{segment(self.id)}{rest}"

    def __repr__(self) -> str:
        counts = self.view.get("counts", {})
        return (f"<muster.Job {self.id} {self.view.get('state', '')} "
                f"{_ended(counts)} of {counts.get('total', '?')}>")

    def _repr_html_(self) -> str:
        view = self.refresh()
        counts = view["counts"]
        total = max(1, counts["total"])
        parts = "".join(
            f'<div style="width:{100 * counts[state] / total:.2f}%;background:{colour}"></div>'
            for state, colour in (("succeeded", "#2e7d32"), ("failed", "#c62828"),
                                  ("cancelled", "#757575"), ("running", "#1565c0")))
        name = html.escape(view.get("name") or self.id)
        return (f"<div><b>{name}</b> {html.escape(view['state'])}: {_ended(counts)} of "
                f"{counts['total']}, {counts['failed']} failed"
                f'<div style="display:flex;height:8px;background:#ddd;width:24em">{parts}</div></div>')


def _ended(counts: dict[str, int]) -> int:
    return sum(counts.get(state, 0) for state in ("succeeded", "failed", "cancelled"))


def _failure(told: dict[str, Any]) -> ClosureError:
    kind = FailureKind.__members__.get(told.get("kind", ""), FailureKind.USER)
    return failure_error(kind, told.get("type", ""), told.get("message", ""),
                         told.get("traceback", ""), told.get("worker", ""), told.get("attempt", 0))
