"""Sends HTTP requests to the server and converts error responses to exceptions."""
from __future__ import annotations

import http.client
import json
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Mapping

from muster._tls import Tls
from muster._token import token_of
from muster.errors import MusterError

FAIL_OVER_SECONDS = 15.0
"""Seconds that a client with several addresses waits for an active server."""

RETRY_SECONDS = 15.0
"""Seconds for which a repeatable request is sent again after its connection broke."""

_DO = "; start a server with 'muster serve', or pass another url= (MUSTER_URL)"

SECONDS_MORE = 10.0
"""Seconds that an answer can take in addition to the requested wait."""


class ServerError(MusterError):
    """Raised if the server rejects a request. The response is a problem object as defined in RFC 9457.

    Attributes:
        status: HTTP status.
        code: Name of the gRPC status, for example ``"NOT_FOUND"``.
        detail: Error message of the server.
        field: Name of the invalid field, or None.
        limit: The limit that was exceeded, or None.
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(problem.get("code", "UNKNOWN"))
        self.detail = str(problem.get("detail", problem.get("title", "")))
        self.field: str | None = problem.get("field")
        self.limit: Any = problem.get("limit")
        super().__init__(f"{self.code}: {self.detail}")

    def __reduce__(self) -> Any:
        return type(self), (self.status, {"code": self.code, "detail": self.detail, "field": self.field, "limit": self.limit})


class NoServer(MusterError, ConnectionError):
    """Raised if no server answers at the address."""

    broke = False
    """Whether the server closed the connection before answering. False if the connection was refused."""


class Http:
    """Sends requests to a server. Thread-safe.

    `url` is "http://host:port", or several URLs separated by commas. Requests are sent to the active server. Tls
    describes `ca`, `cert` and `key`.
    """

    def __init__(self, url: str | None, ca: str | None = None, cert: str | None = None,
                 key: str | None = None, token: str = "") -> None:
        tls = Tls.of(ca, cert, key)
        url = url or os.environ.get("MUSTER_URL", "http://127.0.0.1:8477")
        self._urls = [u.rstrip("/") if re.match(r"https?://", u) else "http://" + u.rstrip("/")
                      for u in url.split(",") if u]
        if not self._urls:
            raise ValueError("url: empty; expected 'http://HOST:PORT'")
        self.url = self._urls[0]
        self._token = token_of(token)
        self._chosen = len(self._urls) == 1
        self._answered = False  # whether a server has ever answered; if so, an unreachable server may be restarting
        # Servers of a cluster are reached directly; proxy settings in the environment are ignored.
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
        if any(u.startswith("https:") for u in self._urls):
            handlers.append(urllib.request.HTTPSHandler(context=tls.context()))
        self._opener = urllib.request.build_opener(*handlers)

    def json(self, method: str, path: str, body: Any = None, *, wait: float = 0.0,
             **query: Any) -> Any:
        data = None if body is None else json.dumps(body).encode()
        answer = self.raw(method, path, data, {"Content-Type": "application/json"}, wait=wait,
                          **query)
        return json.loads(answer) if answer else None

    def raw(self, method: str, path: str, body: bytes | None = None,
            headers: Mapping[str, str] | None = None, *, wait: float = 0.0,
            **query: Any) -> bytes:
        """Sends a request and returns the body of the response.

        A server that has answered before and becomes unreachable may be restarting. Idempotent requests (GET, and PUT
        without If-None-Match) are then repeated with pauses for RETRY_SECONDS. An idempotent PUT is also sent again if
        the server closed the connection. All other requests are sent again only after a response with status 503.

        Raises:
            ServerError: The server rejected the request.
            NoServer: No server answers.
        """
        self._choose()
        end = time.monotonic() + RETRY_SECONDS
        repeatable = method == "GET" or (method == "PUT" and "If-None-Match" not in (headers or {}))
        refusals = 0
        pause = 0.2
        while True:
            before = self.url
            try:
                answer = self._once(method, path, body, headers, wait, query)
                self._answered = True
                return answer
            except (NoServer, ServerError) as error:
                unreached = isinstance(error, NoServer)
                refused = getattr(error, "status", 0) == 503
                broke = method == "PUT" and getattr(error, "broke", False)
                self._answered = self._answered or broke or not (unreached or refused)
                may_return = self._answered or len(self._urls) > 1
                if not (may_return and (unreached or refused)):
                    raise
                self._chosen = False
                # A request that the server may have processed before the connection broke is not repeated.
                if (not repeatable or time.monotonic() > end) if unreached else refusals:
                    raise
                refusals += not unreached
                if unreached:
                    time.sleep(pause)
                    pause = min(2 * pause, 2.0)
                self._choose()
                if not unreached and self.url == before and len(self._urls) > 1:
                    raise

    def _choose(self) -> None:
        """Chooses the server that reports that it is active. Waits up to FAIL_OVER_SECONDS for an active server."""
        until = time.monotonic() + FAIL_OVER_SECONDS
        while not self._chosen:
            for url in self._urls:
                try:
                    with self._opener.open(url + "/readyz", timeout=2.0):
                        self.url, self._chosen, self._answered = url, True, True
                        return
                except (OSError, http.client.HTTPException):  # HTTPError is an OSError
                    continue
            if time.monotonic() > until:
                raise NoServer(f"none of the servers {', '.join(self._urls)} is ready{_DO}")
            time.sleep(0.2)

    def _once(self, method: str, path: str, body: bytes | None,
              headers: Mapping[str, str] | None, wait: float,
              query: Mapping[str, Any]) -> bytes:
        asked = {k: _text(v) for k, v in query.items() if v is not None}
        url = self.url + path + ("?" + urllib.parse.urlencode(asked) if asked else "")
        request = urllib.request.Request(url, body, dict(headers or {}), method=method)
        if self._token:
            request.add_header("Authorization", "Bearer " + self._token)
        try:
            with self._opener.open(request, timeout=wait + SECONDS_MORE) as answer:
                data: bytes = answer.read()
                return data
        except urllib.error.HTTPError as error:
            raise ServerError(error.code, _problem(error.read())) from None
        except (http.client.HTTPException, OSError) as error:
            reason = getattr(error, "reason", error)
            failed = (NoServer(f"{self.url} answers, but not with HTTP ({type(error).__name__}); pass the HTTP "
                               "address, "
                               "not the gRPC address")
                      if isinstance(error, http.client.HTTPException) else
                      NoServer(f"{self.url} does not answer: {reason}{'' if self._answered else _DO}"))
            failed.broke = isinstance(reason, (ConnectionResetError, ConnectionAbortedError, BrokenPipeError))
            raise failed from None


def segment(text: str | int) -> str:
    """Returns `text`, percent-encoded as a single path segment."""
    return urllib.parse.quote(str(text), safe="")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):  # a duration, in seconds
        return f"{int(value * 1000)}ms"
    return str(value)


def _problem(body: bytes) -> Mapping[str, Any]:
    try:
        problem = json.loads(body)
        return problem if isinstance(problem, dict) else {}
    except ValueError:
        return {"detail": body[:200].decode("utf-8", "replace")}
