"""Jobs and listings over REST: what a notebook needs beside the program that schedules."""
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
"""Seconds that one request waits; longer waits are several."""


class Client:
    """Client of the REST API, for example ``muster.Client("http://127.0.0.1:8477")``.

    Args:
        url: Address of the server, several with commas between. None: MUSTER_URL, else http://127.0.0.1:8477.
        token: Sent with every request. Empty: MUSTER_TOKEN.
        ca: PEM file with the CA certificates that verify the server, for https://. None: MUSTER_CA, else those of the system.
        cert: PEM file with the client certificate, for a server that asks for one. None: MUSTER_CERT.
        key: PEM file with the private key of `cert`. None: MUSTER_KEY.
    """

    def __init__(self, url: str | None = None, *, token: str = "", ca: str | None = None,
                 cert: str | None = None, key: str | None = None) -> None:
        self._http = Http(url, ca, cert, key, token)

    def submit(self, function: str, *args: Any, name: str = "", **options: Any) -> Job:
        """A job of one closure of a named function. `options` are those of a closure in REST
        (``max_retries``, ``deadline``, ``kwargs``, …)."""
        closure: dict[str, Any] = {"function": function, "args": list(args)}
        if "kwargs" in options:
            closure["kwargs"] = options.pop("kwargs")
        if options:
            closure["options"] = options
        return self._post({"closures": [closure]}, name)

    def map(self, function: str, args: Sequence[Sequence[Any]], *, name: str = "",
            **body: Any) -> Job:
        """A job of one closure for each element of `args`, a sequence of arguments."""
        return self._post({"map": {"function": function, "args": [list(a) for a in args]}, **body},
                          name)

    def _post(self, body: dict[str, Any], name: str) -> Job:
        if name:
            body["name"] = name
        return Job(self._http, self._http.json("POST", "/api/v1/jobs", body)["id"])

    def job(self, id: str) -> Job:
        """Raises ServerError: there is none."""
        found = Job(self._http, id)
        found.refresh()
        return found

    def jobs(self, limit: int = 100) -> list[dict[str, Any]]:
        """Newest first."""
        return self._list("/api/v1/jobs", "jobs", limit)

    def launch(self, command: Sequence[str], tasks: Tasks = 1,
               **words: Unpack[LaunchWords]) -> Program:
        """See :func:`muster.launch`."""
        return submit(self._http, command, tasks, words)

    def program(self, name_or_id: str) -> Program:
        """Of several with a name the newest. Raises ServerError: there is none."""
        return found(self._http, name_or_id)

    def programs(self, limit: int = 100, *, state: str | None = None) -> list[Program]:
        """Newest first."""
        return list(listed(self._http, limit, state))

    def tasks(self, cluster: str = "default", limit: int = 1000) -> list[dict[str, Any]]:
        return self._list(f"/api/v1/clusters/{segment(cluster)}/tasks", "tasks", limit)

    def functions(self, limit: int = 1000) -> list[dict[str, Any]]:
        return self._list("/api/v1/functions", "functions", limit)

    def clusters(self) -> list[dict[str, Any]]:
        return self._list("/api/v1/clusters", "clusters", 1000)

    def events(self, after: int | None = None, limit: int = 100) -> list[dict[str, Any]]:
        return self._list("/api/v1/events", "events", limit, after=after)

    def explain(self, closure: str) -> dict[str, Any]:
        """Why it waits, moved or failed."""
        told: dict[str, Any] = self._http.json("GET", f"/api/v1/closures/{segment(closure)}/explain")
        return told

    def stacks(self, what: str, cluster: str = "default") -> dict[str, Any]:
        """In which lines a worker's process is that runs closures and objects: of a task, as
        ``"worker:3"``, or of the one that runs this closure. ``state`` (``TAKEN``, or why there is no
        stack), ``stack`` (a text, as faulthandler writes it) and the ``closures`` that run there. Nothing
        is stopped for it."""
        path = f"/api/v1/closures/{segment(what)}/stacks"
        if ":" in what:
            job, _, index = what.rpartition(":")
            path = f"/api/v1/clusters/{segment(cluster)}/tasks/{segment(job)}/{segment(index)}/stacks"
        told: dict[str, Any] = self._http.json("GET", path)
        return told

    def machines(self, task: str = "", host: str = "", samples: int = 0, limit: int = 100) -> list[dict[str, Any]]:
        """What the server and workers see of their machines: ``task``, ``host``, ``fresh``, and while that
        is so ``machine`` with ``cpu`` (cores that are busy), ``cpus``, ``memory_bytes``,
        ``memory_total_bytes``, ``gpus`` and rates of network and disks; what is not known is missing.
        `samples`: as many of the last hour, as columns."""
        query = {name: value for name, value in (("task", task), ("host", host), ("samples", samples)) if value}
        return self._list("/api/v1/machines", "machines", limit, **query)

    def overview(self) -> dict[str, Any]:
        told: dict[str, Any] = self._http.json("GET", "/api/v1/overview")
        return told

    def version(self) -> str:
        return str(self._http.json("GET", "/api/v1/version")["version"])

    def _list(self, path: str, member: str, limit: int, **query: Any) -> list[dict[str, Any]]:
        page: list[dict[str, Any]] = self._http.json("GET", path, limit=limit, **query)[member]
        return page


class Job:
    """One job. `view` is what the server said last; in a notebook it shows its progress."""

    def __init__(self, http: Http, id: str) -> None:
        self._http = http
        self.id = id
        self.view: dict[str, Any] = {}

    def refresh(self) -> dict[str, Any]:
        self.view = self._http.json("GET", self._path())
        return self.view

    @property
    def state(self) -> str:
        return str(self.refresh()["state"])

    def join(self, timeout: float | None = None) -> Job:
        """Waits until nothing of it is left. Raises the error that it failed with, or WaitTimeout. Where nothing
        of it runs after five seconds, the log (``muster``) says once what it waits for."""
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
                raise WaitTimeout(f"{self.id} has not finished within {timeout:g} s" + (f": {why}" if why else ""))
            if not told and time.monotonic() - begun >= SAY_AFTER and (why := self._what_for(said)):
                told = True
                log.warning("%s waits: %s", self.id, why)

    def _what_for(self, said: dict[str, Any]) -> str:
        """What the first closure waits for, where none runs; empty where it is not known."""
        if said["counts"]["running"]:
            return ""
        try:
            for state in ("QUEUED", "BLOCKED"):
                for closure in self._http.json("GET", self._path("/closures"), limit=1, state=state)["closures"]:
                    path = f"/api/v1/closures/{segment(closure['id'])}/explain"
                    return str(self._http.json("GET", path)["cause"])
        except ServerError:  # it has ended meanwhile
            pass
        return ""

    def results(self) -> Iterator[Any]:
        """Values in the order of scheduling, as far as they are there. Raises a failed closure's
        error at its place."""
        for line in self._http.raw("GET", self._path("/results")).splitlines():
            found = json.loads(line)
            if found.get("error"):
                raise _failure(found["error"])
            yield found.get("value")

    def logs(self) -> list[str]:
        """What its closures printed and logged, the newest lines."""
        said = self._http.json("GET", self._path("/logs"), tail=1000)
        return [line["text"] for line in said["lines"]]

    def cancel(self) -> None:
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
