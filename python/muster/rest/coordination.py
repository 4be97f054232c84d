"""REST client for the keys, barriers and tasks of a cluster. The client does not register as a task."""
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
"""Seconds that one request waits; a longer wait for a key consists of several requests."""


class CoordinationClient:
    """Client of the REST API for the keys, barriers and tasks of a cluster.

    The client does not register as a task. At barriers, the client represents `task`. Keys are strings with slashes;
    values are bytes. Methods can be called from any thread. All methods raise ServerError if the server rejects a
    request, and NoServer if no server answers.

    Args:
        url: URL of the server, or several URLs separated by commas. None means MUSTER_URL, otherwise
            ``http://127.0.0.1:8477``.
        cluster: Name of the cluster.
        task: Task that the client represents at barriers, for example ``"worker:3"``. If None, the client cannot wait
            at barriers.
        token: Token for the server. Empty means MUSTER_TOKEN or MUSTER_TOKEN_FILE.
        ca: PEM file with the CA certificates that verify the server. None means MUSTER_CA.
        cert: PEM file with the client certificate. None means MUSTER_CERT.
        key: PEM file with the private key of `cert`. None means MUSTER_KEY.

    Example:
        ```python
        k = muster.CoordinationClient("http://127.0.0.1:8477", cluster="train", task="worker:3")
        k.set("address/3", "10.0.0.3:99")
        ```
    """

    def __init__(self, url: str | None = None, *, cluster: str = "default",
                 task: str | None = None, token: str = "", ca: str | None = None,
                 cert: str | None = None, key: str | None = None) -> None:
        self._http = Http(url, ca, cert, key, token)
        self._at = f"/api/v1/clusters/{segment(cluster)}"
        self.task = task

    # Keys.

    def set(self, key: str, value: bytes | str) -> None:
        """Sets the value of a key, and replaces an existing value.

        Args:
            key: Name of the key, for example ``"address/0"``.
            value: The value; a str is sent as UTF-8.
        """
        self._put(key, value, {})

    def set_if_absent(self, key: str, value: bytes | str) -> bool:
        """Sets a key unless it exists.

        Args:
            key: Name of the key.
            value: The value; a str is sent as UTF-8.

        Returns:
            Whether the key was set. If the key already exists, returns False and leaves its value unchanged.
        """
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
        """Waits for a key and returns its value.

        Args:
            key: Name of the key.
            timeout: Seconds to wait. None means no limit.

        Returns:
            The value.

        Raises:
            WaitTimeout: The key was not set within `timeout`.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = POLL if end is None else min(POLL, max(0.001, end - time.monotonic()))
            try:
                return self._http.raw("GET", self._key(key), timeout=left, wait=left)
            except ServerError as error:
                if error.status != 504:
                    raise
            if end is not None and time.monotonic() >= end:
                raise WaitTimeout(f"the key {key!r} was not set within {timeout:g} s")

    def try_get(self, key: str) -> bytes | None:
        """Returns the value of a key, or None if the key does not exist.

        Args:
            key: Name of the key.
        """
        try:
            return self._http.raw("GET", self._key(key))
        except ServerError as error:
            if error.status != 404:
                raise
            return None

    def list(self, prefix: str = "") -> dict[str, bytes]:
        """Returns all keys below a folder, with their values.

        Args:
            prefix: Name of the folder. Empty means all keys.
        """
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
        """Deletes a key.

        Args:
            key: Name of the key.
            recursive: Whether to also delete all keys below this key. If False, the server rejects a key that has keys
                below it.

        Raises:
            ServerError: Status 409: there are keys below this key.
        """
        self._http.raw("DELETE", self._key(key), recursive=recursive or None)

    def _key(self, key: str) -> str:
        return f"{self._at}/kv/{urllib.parse.quote(key, safe='/')}"

    # Barriers.

    def barrier(self, id: str, timeout: float, *,
                participants: Iterable[str] | None = None) -> int:
        """Waits at a barrier until all its participants have arrived.

        Args:
            id: Name of the barrier.
            timeout: Seconds to wait.
            participants: Tasks that must arrive, for example ``["worker:0"]``. None means all tasks.

        Returns:
            The index of this use of the barrier id.

        Raises:
            WaitTimeout: A participant is missing. The message contains the name of the participant.
            ServerError: The barrier was cancelled, or a task passed different participants.
            ValueError: The `task` of this client is not set.
        """
        if self.task is None:
            raise ValueError("barrier: the client was created without a task; pass task= to its constructor")
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
        """Cancels a barrier for all tasks that are waiting at it.

        Args:
            id: Name of the barrier.
        """
        self._http.json("POST", f"{self._at}/barriers/{segment(id)}/cancel", {})

    def barriers(self) -> builtins.list[dict[str, Any]]:
        """Returns the barriers of the cluster, as in the REST API."""
        page: list[dict[str, Any]] = self._http.json("GET", self._at + "/barriers")["barriers"]
        return page

    # Tasks.

    def fail(self, message: str, code: str = "ABORTED", refuse_calls: bool = False) -> None:
        """Marks the current run of the cluster as failed. Every task receives the error, and every waiting call fails
        with the error.

        Args:
            message: The reason.
            code: Name of the gRPC status that the tasks receive.
            refuse_calls: Whether to also reject later calls for keys and barriers, until the next run.

        Raises:
            ServerError: Status 409: no task is connected, or the run has ended.
        """
        self._http.json("POST", self._at + "/fail",
                        {"message": message, "code": code, "refuse_calls": refuse_calls})

    def report_error(self, message: str, code: str = "ABORTED", task: str | None = None) -> None:
        """Reports an error on behalf of a task. The other tasks receive the error.

        Args:
            message: The reason.
            code: Name of the gRPC status that the other tasks receive.
            task: The task, for example ``"worker:1"``. None means the `task` of this client.

        Raises:
            ValueError: Neither `task` nor the `task` of this client is set.
            ServerError: Status 404: the cluster does not contain the task. Status 409: the task is not connected or
                already has an error.
        """
        job, colon, index = (task or self.task or "").rpartition(":")
        if not colon:
            raise ValueError("report_error: pass task='worker:1', or create the client with task=")
        self._http.json("POST", f"{self._at}/tasks/{segment(job)}/{segment(index)}/error",
                        {"message": message, "code": code})

    def tasks(self) -> builtins.list[dict[str, Any]]:
        """Returns the tasks of the cluster, at most 1,000, with their states, devices and errors."""
        page: list[dict[str, Any]] = self._http.json("GET", self._at + "/tasks", limit=1000)["tasks"]
        return page

    def live_tasks(self) -> builtins.list[str]:
        """Returns the names of the connected tasks, for example ``["worker:3"]``."""
        return [f"{t['job']}:{t['index']}" for t in self.tasks() if t["state"] == "CONNECTED"]

    def errors(self) -> dict[str, Any]:
        """Returns the errors that tasks have reported, by task name."""
        return {f"{t['job']}:{t['index']}": t["error"] for t in self.tasks() if t.get("error")}
