"""Keys in memory with the interface that rounds need, and nodes as threads."""
from __future__ import annotations

import threading
import time
from typing import Any, Callable

from muster.errors import WaitTimeout
from muster.rest.http import NoServer, ServerError
from muster.torchrun.keys import Entry
from muster.torchrun.rounds import Decision, Rounds, Settings

FAST = {"join_timeout": 20.0, "last_call": 0.1, "interval": 0.1, "attempts": 3}


class Memory:
    def __init__(self) -> None:
        self.keys: dict[str, Entry] = {}
        self.looks = 0
        self._changed = threading.Condition()  # reentrant

    def folder(self, prefix: str) -> dict[str, Entry]:
        with self._changed:
            self.looks += 1
            return {k: e for k, e in self.keys.items() if k.startswith(prefix)}

    def put(self, key: str, value: str) -> bool:
        with self._changed:
            is_new = key not in self.keys
            self.keys[key] = Entry(value.encode(), time.monotonic())
            self._changed.notify_all()
            return is_new

    def set_if_absent(self, key: str, value: str) -> bool:
        with self._changed:
            return key not in self.keys and self.put(key, value)

    def get(self, key: str, timeout: float | None = None) -> bytes:
        with self._changed:
            if not self._changed.wait_for(lambda: key in self.keys, timeout):
                raise WaitTimeout(key)
            return self.keys[key].value

    def delete(self, key: str, recursive: bool = False) -> None:
        with self._changed:
            gone = [k for k in self.keys if k == key or (recursive and k.startswith(key + "/"))]
            if not gone:
                raise ServerError(404, {})
            for k in gone:
                del self.keys[k]


class Unplugged:
    """The same keys, until the network is lost."""

    def __init__(self, keys: Any) -> None:
        self._keys, self.gone = keys, False

    def __getattr__(self, name: str) -> Any:
        if self.gone:
            raise NoServer("gone")
        return getattr(self._keys, name)


class Player:
    """One node of a job."""

    def __init__(self, keys: Any, name: str, least: int = 2, most: int = 2, *, job: str = "job",
                 prepare: Callable[[Decision], None] | None = None, **settings: Any) -> None:
        self.keys = Unplugged(keys)
        self.rounds = Rounds(self.keys, job, name, Settings(least, most, **{**FAST, **settings}))
        self.prepared: list[int] = []
        self._prepare = prepare or (lambda world: self.prepared.append(world.number))
        self._thread: threading.Thread | None = None
        self._said: Any = None

    def begin(self) -> Player:
        """Joins on a thread of its own."""
        def join() -> None:
            try:
                self._said = self.rounds.join(self._prepare)
            except Exception as error:  # raised by `end`
                self._said = error

        self._said = None
        self._thread = threading.Thread(target=join, daemon=True)
        self._thread.start()
        return self

    def end(self) -> Decision:
        assert self._thread
        self._thread.join(20.0)
        assert not self._thread.is_alive(), "the node still waits"
        if isinstance(self._said, Exception):
            raise self._said
        world: Decision = self._said
        return world

    def is_waiting(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def die(self) -> None:
        """Loses the network without leaving."""
        self.keys.gone = True
        self.rounds._stopped.set()


def all_join(*players: Player) -> list[Decision]:
    for p in players:
        p.begin()
    return [p.end() for p in players]
