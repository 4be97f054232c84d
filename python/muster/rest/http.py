"""One request over HTTP, and its problem as an exception."""
from __future__ import annotations

import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Mapping, Optional, Union

from muster.errors import MusterError

SECONDS_MORE = 10.0
"""Seconds that an answer may take beyond the wait that was asked for."""


class ServerError(MusterError):
    """The server refused (RFC 9457). Attributes: ``status`` of HTTP; ``code``, the name of the gRPC
    status, as ``"NOT_FOUND"``; ``detail``; ``field`` and ``limit``, where the server names them."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(problem.get("code", "UNKNOWN"))
        self.detail = str(problem.get("detail", problem.get("title", "")))
        self.field: Optional[str] = problem.get("field")
        self.limit: Any = problem.get("limit")
        super().__init__(f"{self.code}: {self.detail}")


class NoServer(MusterError, ConnectionError):
    """Nobody answers at the address."""


class Http:
    """`url` as "http://host:port"; any thread."""

    def __init__(self, url: Optional[str]) -> None:
        url = url or os.environ.get("MUSTER_URL", "http://127.0.0.1:8477")
        if not re.match(r"https?://", url):
            url = "http://" + url
        self.url = url.rstrip("/")
        # Servers of a cluster are reached directly, whatever proxies the environment names.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def json(self, method: str, path: str, body: Any = None, *, wait: float = 0.0,
             **query: Any) -> Any:
        data = None if body is None else json.dumps(body).encode()
        answer = self.raw(method, path, data, {"Content-Type": "application/json"}, wait=wait,
                          **query)
        return json.loads(answer) if answer else None

    def raw(self, method: str, path: str, body: Optional[bytes] = None,
            headers: Optional[Mapping[str, str]] = None, *, wait: float = 0.0,
            **query: Any) -> bytes:
        """The bytes of the answer. Raises ServerError, NoServer."""
        asked = {k: _text(v) for k, v in query.items() if v is not None}
        url = self.url + path + ("?" + urllib.parse.urlencode(asked) if asked else "")
        request = urllib.request.Request(url, body, dict(headers or {}), method=method)
        try:
            with self._opener.open(request, timeout=wait + SECONDS_MORE) as answer:
                data: bytes = answer.read()
                return data
        except urllib.error.HTTPError as error:
            raise ServerError(error.code, _problem(error.read())) from None
        except (urllib.error.URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise NoServer(f"{self.url} does not answer: {reason}") from None


def segment(text: Union[str, int]) -> str:
    """One segment of a path."""
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
