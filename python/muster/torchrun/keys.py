"""Keys of a cluster as rounds need them, and the cluster's store of torch.distributed, over REST."""
from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlsplit

from muster.rest.coordination import CoordinationClient


class Entry(NamedTuple):
    value: bytes
    changed: float
    """Seconds by the server's clock."""


class Keys(CoordinationClient):
    def folder(self, prefix: str) -> dict[str, Entry]:
        return {k["key"]: Entry(self._value(k), k["changed_ms"] / 1000) for k in self._pages(prefix)}

    def put(self, key: str, value: bytes | str) -> bool:
        """True: it was not there."""
        return bool(self._put(key, value, {})["created"])

    def begin_attempt(self) -> None:
        """Whoever connects to the store from now on finds no keys."""
        self._http.json("POST", self._at + "/torch/attempts", {})

    def store_address(self) -> tuple[str, int]:
        """Where the store is, as this client reaches it. Raises ServerError: there is none."""
        told: Any = self._http.json("GET", self._at + "/torch", limit=1)
        host, _, port = str(told["address"]).rpartition(":")
        if host in ("0.0.0.0", "[::]"):
            host = urlsplit(self._http.url).hostname or host
        return host.strip("[]"), int(port)
