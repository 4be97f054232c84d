"""Clients of tokens over REST."""
from __future__ import annotations

import random
import threading
import time
from typing import Any

from clients.base import NOT_SENT, UNAVAILABLE, RestClient, stopping
from recorder import now


class Tokens(RestClient):
    """Creates, rotates, revokes and uses tokens. Each thread ends only its own tokens, and uses those of all threads.

    A history names a credential by its last characters. A rotation ends a credential and makes another one."""

    threads = 3
    kept_max = 30

    def run(self) -> None:
        self.live: dict[int, list[tuple[str, str]]] = {n: [] for n in range(self.threads)}
        self.ended: list[str] = []
        threads = [threading.Thread(target=self._use_tokens, args=(n,)) for n in range(self.threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _use_tokens(self, number: int) -> None:
        source = random.Random(f"{self.name} {number} {self.config['seed']}")
        live = self.live[number]
        while not stopping.requested:
            turn = source.randrange(20)
            if not live or (turn < 4 and len(live) < self.kept_max):
                self._create(live)
            elif turn < 6:
                index = source.randrange(len(live))
                if self._use(live[index][1]):  # the server answers, so the outcome of the end will probably be known
                    (self._rotate if turn == 4 else self._revoke)(live, index)
            elif turn == 6 and self.ended:  # the server answers wrong tokens slowly
                self._use(source.choice(self.ended))
            else:
                others = self.live[source.randrange(self.threads)]
                if others:
                    self._use(source.choice(others)[1])
            time.sleep(0.02)

    def _create(self, live: list[tuple[str, str]]) -> None:
        begun = now()
        status, answer = self.ask("POST", "/api/v1/tokens", {"role": "viewer", "name": "robustness"})
        if status == 201:
            live.append((answer["id"], answer["token"]))
            self._write("create", answer["token"], "ok", begun)
        elif status not in UNAVAILABLE:
            self._write("create", "", f"status {status}: {answer}", begun)

    def _rotate(self, live: list[tuple[str, str]], index: int) -> None:
        name, secret = live[index]
        begun = now()
        self._write("rotate", secret, "unknown", begun)
        status, answer = self.ask("POST", f"/api/v1/tokens/{name}/rotate")
        self._write("rotate", secret, self._outcome(status, answer), begun)
        if status == 200:
            self._write("create", answer["token"], "ok", begun)
            live[index] = (name, answer["token"])
            self._end(secret)
        elif status not in (NOT_SENT, 429, 507):
            live.pop(index)
            self._end(secret)

    def _revoke(self, live: list[tuple[str, str]], index: int) -> None:
        name, secret = live[index]
        begun = now()
        self._write("revoke", secret, "unknown", begun)
        status, answer = self.ask("DELETE", f"/api/v1/tokens/{name}")
        self._write("revoke", secret, self._outcome(status, answer), begun)
        if status not in (NOT_SENT, 429, 507):
            live.pop(index)
            self._end(secret)

    def _outcome(self, status: int, answer: Any) -> str:
        """Returns the outcome of the end of a token. It does not exist if a try without an answer had ended it."""
        if status in (200, 204) or (status == 404 and len(self.config["http"]) > 1):
            return "ok"
        if status in (NOT_SENT, 429, 507):
            return "failed"
        if status in UNAVAILABLE:
            time.sleep(0.5)  # a server that lost its disk answers no write until it restarts
            return "unknown"
        return f"status {status}: {answer}"

    def _end(self, secret: str) -> None:
        self.ended = [*self.ended[-20:], secret]

    def _use(self, secret: str) -> bool:
        begun = now()
        status, answer = self.ask("GET", "/api/v1/jobs?limit=1", token=secret)
        if status not in UNAVAILABLE:
            outcome = {200: "works", 401: "refused"}.get(status, f"status {status}: {answer}")
            self._write("use", secret, outcome, begun)
        return status == 200

    def _write(self, op: str, secret: str, outcome: str, begun: int) -> None:
        self.history.write(kind="token", op=op, token=secret[-12:], outcome=outcome, call=begun, ret=now())
