"""Rounds of a job of torchrun: which nodes are its world, agreed on by keys of a cluster.

Below ``torchrun/JOB/`` each node has ``nodes/NODE``, which it alone writes, again and again: the round that it has come
for. ``rounds/N``, written once, is who is in round N, or that the job is closed; who is first to write it has decided.
``wanted/N``: those of round N - 1 are asked to come. ``ready/N``: the empty key space of round N is there. Who lives
is judged by the server's clock alone, by when keys were written. All values are JSON.
"""
from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import threading
import time
import urllib.parse
from typing import Any, Callable, Mapping, NamedTuple, Protocol

from muster.errors import MusterError, WaitTimeout
from muster.rest.http import NoServer, ServerError
from muster.torchrun.keys import Entry

ROOT = "torchrun/"
PAUSE = 0.5
"""Seconds from look to look while a round is waited for."""
ROUNDS_KEPT = 16
"""A node that slept through so many rounds may write one of them anew; it looks after it has written."""

log = logging.getLogger("muster.torchrun")


class Closed(MusterError):
    """The job has ended, or was given up by a node."""


class TimedOut(MusterError):
    """Too few nodes came in time."""


class Broken(MusterError):
    """The keys are not what nodes write, or the cluster is another job's."""


class KeysLike(Protocol):
    def folder(self, prefix: str) -> dict[str, Entry]: ...
    def put(self, key: str, value: str) -> bool: ...
    def set_if_absent(self, key: str, value: str) -> bool: ...
    def get(self, key: str, timeout: float | None = None) -> bytes: ...
    def delete(self, key: str, recursive: bool = False) -> None: ...


@dataclasses.dataclass(frozen=True)
class Settings:
    min_nodes: int
    max_nodes: int
    join_timeout: float = 600.0
    """How long a round is waited for."""
    last_call: float = 30.0
    """How long more nodes than the fewest are waited for."""
    interval: float = 5.0
    """A node says that often that it lives."""
    attempts: int = 3
    """So many times unheard it counts as dead."""

    @property
    def dead_after(self) -> float:
        return self.interval * self.attempts


class Decision(NamedTuple):
    """`nodes` by rank; none: closed."""

    number: int
    nodes: list[str]
    by: str


class Node(NamedTuple):
    name: str
    round: int | None
    """That it has come for; None: it has only looked so far."""
    changed: float
    """When it last said that it lives, by the server's clock."""


class Seen(NamedTuple):
    last: Decision | None
    numbers: set[int]
    nodes: dict[str, Node]
    living: dict[str, Node]
    rivals: dict[str, float]
    """Other jobs in this cluster: when a node of it last said that it lives; 0: none does."""


def segment(text: str) -> str:
    """One segment of a key."""
    return urllib.parse.quote(text, safe="").replace(".", "%2E")


class Rounds:
    """What one node knows of its job's rounds. `join`, `close` and `leave` are for one thread."""

    def __init__(self, keys: KeysLike, job: str, node: str, settings: Settings) -> None:
        self._keys = keys
        self.job, self.node = job, segment(node)
        self._settings = settings
        self._at = f"{ROOT}{segment(job)}/"
        self._lock = threading.Lock()  # of this node's own key
        self._round: int | None = None
        self._world: Decision | None = None
        self._asked_for = -1  # somebody wants this round
        self._changed: dict[str, float] = {}  # when others had said that they live at the first look
        self._stopped = threading.Event()
        self._watcher: threading.Thread | None = None

    # The round.

    def join(self, prepare: Callable[[Decision], None]) -> Decision:
        """Waits for a round that this node is in. The node that decides it calls `prepare`, which makes the key space.
        Raises Closed, TimedOut, Broken, NoServer, ServerError."""
        over = self._world.number if self._world else -1
        deadline = time.monotonic() + self._settings.join_timeout
        enough_since: float | None = None
        wanted = -1
        heard = self._world is not None
        while True:
            try:
                seen = self._look()
                self._start_watch()
                heard = True
                holds = self._judge(seen)
                last = seen.last
                if last and last.number > over and self.node in last.nodes:
                    if self._enter(last, prepare):
                        return last
                    over = last.number
                    continue
                target = max(over, last.number if last else -1) + 1
                if self._say(target):
                    continue  # look again, with this node among those who have come
                come = [n for n in seen.living.values() if n.round == target]
                slow = [n for n in last.nodes if n in seen.living and seen.living[n].round != target] if last else []
                if last and last.nodes and wanted != target and self._may_ask(last, seen):
                    self._keys.set_if_absent(f"{self._at}wanted/{target:09}", json.dumps({"by": self.node}))
                    wanted = target
                if len(come) < self._settings.min_nodes:
                    enough_since = None
                elif enough_since is None:
                    enough_since = time.monotonic()
                chosen = self._ranked(come, last)
                if not slow and not holds and self.node in chosen and self._is_full(come, enough_since):
                    if self._decide(target, chosen):
                        self._tidy(target, seen)
                    continue
                if time.monotonic() >= deadline:
                    raise TimedOut(self._too_few(target, come, slow))
                with contextlib.suppress(WaitTimeout):
                    self._keys.get(f"{self._at}rounds/{target:09}", timeout=PAUSE)
            except (NoServer, ServerError) as error:
                if not heard or time.monotonic() >= deadline or not _passes(error):
                    raise
                log.warning("muster: the job '%s' waits for its next round: %s", self.job, error)
                self._stopped.wait(PAUSE)

    def _judge(self, seen: Seen) -> bool:
        """Raises what keeps this node out of any round. True: it is not known yet."""
        if self._world is None:
            for rival in sorted(r for r, changed in seen.rivals.items() if changed):
                # Of two that begin at one time the first in order goes on.
                if not (rival < self._at or self._has_world(rival)):
                    continue
                if self._is_heard(rival, seen.rivals[rival]):
                    name = urllib.parse.unquote(rival[len(ROOT):-1])
                    raise Broken(f"the job '{name}' of torchrun uses the store of this cluster; give each job a "
                                 "cluster of its own: --rdzv-conf cluster=NAME")
                return True
        last = seen.last
        if last is None or last.nodes:
            return False
        if self._world or self._round == last.number:
            raise Closed(f"the job '{self.job}' has been closed by {last.by}")
        # An earlier run with this name, which is over when its nodes have gone.
        old = [n for n in seen.living.values() if n.round is not None and n.round <= last.number]
        if any(self._is_heard(n.name, n.changed) for n in old):
            raise Closed(f"the job '{self.job}' has been closed by {last.by}, and nodes of it are still there")
        return bool(old)

    def _is_heard(self, who: str, changed: float) -> bool:
        """Whether it has said that it lives since this node looks."""
        return changed > self._changed.setdefault(who, changed)

    def _has_world(self, rival: str) -> bool:
        decided = {k: e for k, e in self._keys.folder(rival).items() if k.startswith(rival + "rounds/")}
        return bool(decided) and bool(self._decision(max(decided), decided[max(decided)].value).nodes)

    def _may_ask(self, last: Decision, seen: Seen) -> bool:
        """Those of the last round need not stop for one who would find no room."""
        return self.node in last.nodes or sum(n in seen.living for n in last.nodes) < self._settings.max_nodes

    def _is_full(self, come: list[Node], enough_since: float | None) -> bool:
        return enough_since is not None and (len(come) >= self._settings.max_nodes
                                             or time.monotonic() - enough_since >= self._settings.last_call)

    def _ranked(self, come: list[Node], last: Decision | None) -> list[str]:
        """Who was there before keeps its place before others."""
        before = {name: rank for rank, name in enumerate(last.nodes)} if last else {}
        names = sorted((n.name for n in come), key=lambda name: (before.get(name, len(before)), name))
        return names[:self._settings.max_nodes]

    def _decide(self, number: int, nodes: list[str]) -> bool:
        """False: another has."""
        return self._keys.set_if_absent(f"{self._at}rounds/{number:09}", json.dumps({"nodes": nodes, "by": self.node}))

    def _enter(self, world: Decision, prepare: Callable[[Decision], None]) -> bool:
        """False: whoever decided it did not get to make its key space."""
        self._world = world
        ready = f"{self._at}ready/{world.number:09}"
        if world.by == self.node:
            prepare(world)
            self._keys.put(ready, "{}")
            return True
        try:
            self._keys.get(ready, timeout=self._settings.dead_after)
            return True
        except WaitTimeout:
            log.warning("muster: round %d of '%s' got no key space from %s; another round", world.number, self.job,
                        world.by)
            return False

    def _too_few(self, target: int, come: list[Node], slow: list[str]) -> str:
        text = (f"round {target} of '{self.job}' has not begun within {self._settings.join_timeout:g} s: {len(come)} "
                f"of {self._settings.min_nodes} to {self._settings.max_nodes} nodes have come")
        return text + (f", {', '.join(slow)} is in the round before" if slow else "")

    # Others.

    def is_closed(self) -> bool:
        last = self._look().last
        return last is not None and not last.nodes

    def waiting(self) -> bool:
        """Whether somebody waits for the round after this node's; costs nothing."""
        return self._world is not None and self._asked_for == self._world.number + 1

    def close(self, timeout: float, *, of_world: bool = False) -> None:
        """No more rounds. `of_world`: only by who is in the last one; others would end what goes on without them."""
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            last = self._look().last
            if (last and not last.nodes) or (of_world and not (last and self.node in last.nodes)):
                return
            if self._decide(last.number + 1 if last else 0, []):
                return
        raise TimedOut(f"'{self.job}' could not be closed within {timeout:g} s")

    def leave(self) -> None:
        """Nobody waits for this node any more. The last one takes the keys of a closed job along."""
        if self._stopped.is_set() or self._watcher is None:
            return
        self._stopped.set()
        with self._lock, contextlib.suppress(MusterError):
            self._keys.delete(f"{self._at}nodes/{self.node}")
            left = self._seen(self._keys.folder(ROOT))
            if left.last and not left.last.nodes and not left.living:
                self._keys.delete(self._at[:-1], recursive=True)

    # Keys.

    def _look(self) -> Seen:
        while True:
            self._beat()
            listed = self._keys.folder(ROOT)
            if f"{self._at}nodes/{self.node}" in listed or self._stopped.is_set():
                return self._seen(listed)

    def _seen(self, listed: Mapping[str, Entry]) -> Seen:
        own = listed.get(f"{self._at}nodes/{self.node}")  # has just been written: the server's time
        now = own.changed if own else max((e.changed for e in listed.values()), default=0.0)
        decided, numbers = "", set()
        nodes: dict[str, Node] = {}
        rivals: dict[str, float] = {}
        for key, entry in listed.items():
            job, _, rest = key[len(ROOT):].partition("/")
            kind, _, name = rest.partition("/")
            at = f"{ROOT}{job}/"
            if at != self._at:
                lives = kind == "nodes" and now - entry.changed < self._settings.dead_after
                rivals[at] = max(rivals.get(at, 0.0), entry.changed if lives else 0.0)
            elif kind == "nodes":
                come = self._read(key, entry.value).get("round")
                nodes[name] = Node(name, come if isinstance(come, int) else None, entry.changed)
            elif kind == "rounds" and name.isdigit():
                decided = max(decided, key)
                numbers.add(int(name))
        last = self._decision(decided, listed[decided].value) if decided else None
        living = {n.name: n for n in nodes.values() if now - n.changed < self._settings.dead_after}
        return Seen(last, numbers, nodes, living, rivals)

    def _decision(self, key: str, value: bytes) -> Decision:
        told = self._read(key, value)
        if not isinstance(told.get("nodes"), list):
            raise Broken(f"the key {key} has no nodes")
        return Decision(int(key.rpartition("/")[2]), [str(n) for n in told["nodes"]], str(told.get("by", "")))

    def _read(self, key: str, value: bytes) -> dict[str, Any]:
        try:
            told = json.loads(value)
        except ValueError:
            told = None
        if not isinstance(told, dict):
            raise Broken(f"the key {key} is no object of JSON, which nodes of torchrun write")
        return told

    def _say(self, number: int) -> bool:
        """That it has come for this round. False: it had said so before."""
        if self._round == number:
            return False
        self._round = number
        self._beat()
        return True

    def _beat(self) -> bool:
        """Whether the server knew nothing of this node."""
        with self._lock:
            if self._stopped.is_set():
                return False
            is_new = self._keys.put(f"{self._at}nodes/{self.node}", json.dumps({"round": self._round}))
            world = self._world
            if is_new and world:  # a server that has lost all keys, or this node was thought dead
                told = json.dumps({"nodes": world.nodes, "by": world.by})
                self._keys.set_if_absent(f"{self._at}rounds/{world.number:09}", told)
            return is_new

    def _tidy(self, number: int, seen: Seen) -> None:
        """Removes what nobody asks for any more."""
        dead = [f"nodes/{name}" for name in seen.nodes if name not in seen.living]
        old = [f"{kind}/{n:09}" for n in seen.numbers if n <= number - ROUNDS_KEPT
               for kind in ("rounds", "ready", "wanted")]
        with contextlib.suppress(NoServer):
            for key in dead + old:
                with contextlib.suppress(ServerError):
                    self._keys.delete(self._at + key)
            for rival, lives in seen.rivals.items():
                if not lives:  # 0: of nobody
                    with contextlib.suppress(ServerError):
                        self._keys.delete(rival[:-1], recursive=True)

    # That it lives, and whether others wait.

    def _start_watch(self) -> None:
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._watch, name="muster-torchrun", daemon=True)
            self._watcher.start()

    def _watch(self) -> None:
        heard_since = time.monotonic()  # others, too, since the server is there and knows its keys
        is_unheard = False
        while not self._stopped.is_set():
            try:
                if self._beat():
                    heard_since = time.monotonic()
                is_unheard = False
                if not self._hear(time.monotonic() - heard_since >= self._settings.dead_after):
                    self._stopped.wait(self._settings.interval)
            except Exception as error:  # whatever it is: without this thread the node counts as dead
                if not is_unheard:
                    log.warning("muster: the server is not told that this node of '%s' lives: %s", self.job, error)
                is_unheard = True
                self._stopped.wait(self._settings.interval)
                heard_since = time.monotonic()

    def _hear(self, is_sure: bool) -> bool:
        """Whether the time until the next beat has been waited for here. `is_sure`: who is not heard is gone."""
        world = self._world
        if world is None:
            return False
        if not is_sure or not self._misses(world):
            try:
                self._keys.get(f"{self._at}wanted/{world.number + 1:09}", timeout=self._settings.interval)
            except WaitTimeout:
                return True
        last = self._seen(self._keys.folder(ROOT)).last
        if last and last.nodes:  # who is closed need not come
            self._asked_for = world.number + 1
        return False

    def _misses(self, world: Decision) -> bool:
        """Whether one of this round is gone, and the others are enough for another."""
        living = self._seen(self._keys.folder(ROOT)).living
        gone = [name for name in world.nodes if name not in living]
        if not gone or len(world.nodes) - len(gone) < self._settings.min_nodes:
            return False
        if self._asked_for <= world.number:
            log.warning("muster: %s of '%s' is gone; another round", ", ".join(gone), self.job)
        return True


def _passes(error: MusterError) -> bool:
    """Whether it is worth to ask again."""
    return isinstance(error, NoServer) or getattr(error, "status", 0) in (429, 503)
