"""Keys, barriers and tasks of a cluster for a program without an agent of JAX or TensorFlow."""
from __future__ import annotations

import base64
import builtins
import json
import time
import urllib.parse
from typing import Any, Iterable, Iterator

from muster.errors import WaitTimeout
from muster.rest.http import Http, ServerError, segment

POLL = 30.0
"""Seconds that one request waits; longer waits for a key are several."""


class CoordinationClient:
    """``muster.CoordinationClient("http://127.0.0.1:8477", cluster="train", task="worker:3")``.

    Asks over REST, and registers nothing: it takes the place of `task` at barriers and reads what
    agents say. `ca`, `cert` and `key` are those of :class:`muster.Client`. Keys are text with slashes, values bytes. Any thread.
    """

    def __init__(self, url: str | None = None, *, cluster: str = "default",
                 task: str | None = None, token: str = "", ca: str | None = None,
                 cert: str | None = None, key: str | None = None) -> None:
        self._http = Http(url, ca, cert, key, token)
        self._at = f"/api/v1/clusters/{segment(cluster)}"
        self.task = task

    # Keys.

    def set(self, key: str, value: bytes | str) -> None:
        self._put(key, value, {})

    def set_if_absent(self, key: str, value: bytes | str) -> bool:
        """False: it is there already."""
        try:
            self._put(key, value, {"If-None-Match": "*"})
        except ServerError as error:
            if error.status != 412:
                raise
            return False
        return True

    def _put(self, key: str, value: bytes | str, headers: dict[str, str]) -> Any:
        data = value.encode() if isinstance(value, str) else value
        return json.loads(self._http.raw("PUT", self._key(key), data,
                                         {"Content-Type": "application/octet-stream", **headers}))

    def get(self, key: str, timeout: float | None = None) -> bytes:
        """Waits for the key. Raises WaitTimeout after `timeout` seconds; None: for ever."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = POLL if end is None else min(POLL, max(0.001, end - time.monotonic()))
            try:
                return self._http.raw("GET", self._key(key), timeout=left, wait=left)
            except ServerError as error:
                if error.status != 504:
                    raise
            if end is not None and time.monotonic() >= end:
                raise WaitTimeout(f"nobody has set {key!r} within {timeout:g} s")

    def try_get(self, key: str) -> bytes | None:
        """None: it is not there."""
        try:
            return self._http.raw("GET", self._key(key))
        except ServerError as error:
            if error.status != 404:
                raise
            return None

    def list(self, prefix: str = "") -> dict[str, bytes]:
        """All keys below a folder, with their values."""
        return {k["key"]: self._value(k) for k in self._pages(prefix)}

    def _pages(self, prefix: str) -> Iterator[dict[str, Any]]:
        token = None
        while True:
            page = self._http.json("GET", self._at + "/kv", prefix=prefix, limit=1000,
                                   page_token=token)
            yield from page["keys"]
            token = page.get("next_page_token")
            if not token:
                return

    @staticmethod
    def _value(told: dict[str, Any]) -> bytes:
        return base64.b64decode(told["value_base64"]) if "value_base64" in told else told["value"].encode()

    def delete(self, key: str, recursive: bool = False) -> None:
        """Refuses a key that has others below it (409) unless `recursive`."""
        self._http.raw("DELETE", self._key(key), recursive=recursive or None)

    def _key(self, key: str) -> str:
        return f"{self._at}/kv/{urllib.parse.quote(key, safe='/')}"

    # Barriers.

    def barrier(self, id: str, timeout: float, *,
                participants: Iterable[str] | None = None) -> int:
        """Meets the others; `timeout` in seconds. Returns which use of the barrier it was. Raises
        WaitTimeout, which names who is missing; ServerError: cancelled, or others name different
        participants. `participants` as ["worker:0"]; None: all tasks."""
        if self.task is None:
            raise ValueError("barrier: the client was made without a task")
        named = None if participants is None else ",".join(participants)
        try:
            passed = self._http.json("POST", f"{self._at}/barriers/{segment(id)}/wait", {},
                                     task=self.task, timeout=float(timeout), participants=named,
                                     wait=float(timeout))
        except ServerError as error:
            if error.status == 504:
                raise WaitTimeout(error.detail) from None
            raise
        return int(passed["counter"])

    def cancel_barrier(self, id: str) -> None:
        self._http.json("POST", f"{self._at}/barriers/{segment(id)}/cancel", {})

    def barriers(self) -> builtins.list[dict[str, Any]]:
        page: list[dict[str, Any]] = self._http.json("GET", self._at + "/barriers")["barriers"]
        return page

    # Tasks.

    def fail(self, message: str, code: str = "ABORTED", refuse_calls: bool = False) -> None:
        """The run of the cluster has failed, for this reason: every task is told, and every call that
        waits is answered with it. `refuse_calls`: so are later calls about keys and barriers, until the
        next run. Raises ServerError (409): nobody is there, or the run has ended."""
        self._http.json("POST", self._at + "/fail",
                        {"message": message, "code": code, "refuse_calls": refuse_calls})

    def report_error(self, message: str, code: str = "ABORTED", task: str | None = None) -> None:
        """Reports an error of one task, as its agent would. The other tasks receive the error.

        Args:
            message: What has gone wrong.
            code: The gRPC status that the other tasks see.
            task: "worker:1"; without it, the task that this client was made for.

        Raises:
            ValueError: There is no task.
            ServerError: 404, the cluster has no such task; 409, it is not connected or has an error already.
        """
        job, colon, index = (task or self.task or "").rpartition(":")
        if not colon:
            raise ValueError("report_error: name the task as 'worker:1', or make the client with task=")
        self._http.json("POST", f"{self._at}/tasks/{segment(job)}/{segment(index)}/error",
                        {"message": message, "code": code})

    def tasks(self) -> builtins.list[dict[str, Any]]:
        """With their states, devices and errors."""
        page: list[dict[str, Any]] = self._http.json("GET", self._at + "/tasks", limit=1000)["tasks"]
        return page

    def live_tasks(self) -> builtins.list[str]:
        """Names of connected ones, as "worker:3"."""
        return [f"{t['job']}:{t['index']}" for t in self.tasks() if t["state"] == "CONNECTED"]

    def errors(self) -> dict[str, Any]:
        """What tasks have reported, by name."""
        return {f"{t['job']}:{t['index']}": t["error"] for t in self.tasks() if t.get("error")}
