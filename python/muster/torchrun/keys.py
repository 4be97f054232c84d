"""Provides REST access to the keys of a cluster that the rounds use, and to the cluster's torch.distributed store."""
from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlsplit

from muster.rest.coordination import CoordinationClient


class Entry(NamedTuple):
    value: bytes
    changed: float
    """Time of the last change in seconds, measured by the server's clock."""


class Keys(CoordinationClient):
    def folder(self, prefix: str) -> dict[str, Entry]:
        return {k["key"]: Entry(self._value(k), k["changed_ms"] / 1000) for k in self._pages(prefix)}

    def put(self, key: str, value: bytes | str) -> bool:
        """Sets a key. Returns whether the key was created."""
        return bool(self._put(key, value, {})["created"])

    def begin_attempt(self) -> None:
        """Starts a new key space. Clients that connect to the store from now on find an empty store."""
        self._http.json("POST", self._at + "/torch/attempts", {})

    def store_address(self) -> tuple[str, int]:
        """Returns the host and port under which this client can reach the store. Raises ServerError if there is no
        store.
        """
        told: Any = self._http.json("GET", self._at + "/torch", limit=1)
        host, _, port = str(told["address"]).rpartition(":")
        if host in ("0.0.0.0", "[::]"):
            host = urlsplit(self._http.url).hostname or host
        return host.strip("[]"), int(port)
