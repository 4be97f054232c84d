"""Base classes of the clients, and the functions that several clients use."""
from __future__ import annotations

import http.client
import json
import os
import random
import time
import urllib.error
import urllib.request
from typing import Any, Callable

import muster
from recorder import Recorder, now

CALL_TIMEOUT = 90.0
"""Seconds after which a call without an outcome is stuck. Longer than every outage that a nemesis makes."""


NO_ANSWER, NOT_SENT = 0, -1
"""In place of a status: a server may have executed the request; no server did."""
UNAVAILABLE = (NO_ANSWER, NOT_SENT, 429, 503, 504, 507)


class Refused(Exception):
    """The server refused an operation, which had no effect."""


class Stop:
    """Says whether SIGTERM was received. The handler sets a plain flag: it must not take a lock, because it may
    interrupt the thread that holds the lock."""

    requested = False

    def request(self, *_: object) -> None:
        self.requested = True


stopping = Stop()


class Client:
    """Base of the clients."""

    def __init__(self, config: dict[str, Any], history: Recorder, name: str, seed: int) -> None:
        self.config, self.history, self.name = config, history, name
        self.random = random.Random(f"{name} {seed}")
        self.numbers = 0
        self.started = now()

    def next_id(self) -> str:
        """Returns an id that no other process of the round uses, because a killed client starts again."""
        self.numbers += 1
        return f"{self.name}.{self.started}-{self.numbers}"

    def run(self) -> None:
        """Runs operations until `stopping` is requested."""
        raise NotImplementedError

    def operation(self, client: str, op: str, key: str, act: Callable[[], str | None], **fields: Any) -> str:
        """Records one operation on a key, before the call as unknown and after the call with its answer.

        A killed client cannot write after the call. A record without an outcome is a call of a killed client."""
        record = {"client": client, "key": key, "op": op, **fields, "call": now()}
        self.history.write(**record, outcome="unknown")
        try:
            value = act() or ""
        except Refused:
            self.history.write(**record, outcome="failed")
            raise
        self.history.write(**record, outcome="ok", value=value, **{"return": now()})
        return value

    def use_coordinators(self, use: Callable[[muster.ClusterCoordinator], None]) -> None:
        """Calls `use` with a coordinator until stopping, with another one after the session of one was lost."""
        while not stopping.requested:
            try:
                with muster.ClusterCoordinator(self.config["grpc"], name=self.name) as c:
                    use(c)
            except muster.UnavailableError as error:
                self.history.write(kind="session_lost", error=f"{type(error).__name__}: {error}", at=now())
                time.sleep(0.2)


class RestClient(Client):
    """Base of the clients that use REST."""

    def ask(self, method: str, path: str, body: Any = None, token: str = "") -> tuple[int, Any]:
        """Returns status and body; NO_ANSWER or NOT_SENT without an answer. `token` replaces the token of the client."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token or os.environ['MUSTER_TOKEN']}"}
        status = NOT_SENT
        for url in self.config["http"]:
            request = urllib.request.Request(url + path, data, headers, method=method)
            try:
                with urllib.request.urlopen(request, timeout=15) as answer:
                    text = answer.read()
                    return answer.status, json.loads(text) if text else None
            except urllib.error.HTTPError as error:
                refusal = error.read().decode(errors="replace")
                if error.code != 503 or len(self.config["http"]) == 1:
                    return error.code, refusal
                if '"leader"' not in refusal:  # a standby does nothing but name the leader
                    status = NO_ANSWER
            except (OSError, http.client.HTTPException) as error:
                if not isinstance(getattr(error, "reason", error), ConnectionRefusedError):
                    status = NO_ANSWER
        return status, None
