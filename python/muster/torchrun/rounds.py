"""Rounds of a torchrun job: the job's nodes use keys of a cluster to agree on the members of each round.

Each node regularly writes its own key ``torchrun/JOB/nodes/NODE`` with the round that it wants to join. Other keys
below ``torchrun/JOB/``:

- ``rounds/N``: the nodes of round N; empty if the job is closed. Only the first node that decides writes this key.
- ``wanted/N``: a request to the nodes of round N - 1 to join round N.
- ``ready/N``: exists once the empty key space of round N has been created.

A node counts as alive if its key was written recently according to the server's clock. All values are JSON.
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
"""Seconds between two reads of the keys while waiting for a round."""
ROUNDS_KEPT = 16
"""Number of rounds whose keys are kept. A node that misses more rounds may write the key of an old round again; the
node reads the keys after writing.
"""

log = logging.getLogger("muster.torchrun")


class Closed(MusterError):
    """Raised if the job is complete or a node has closed the job."""


class TimedOut(MusterError):
    """Raised if too few nodes joined in time."""


class Broken(MusterError):
    """Raised if the keys have invalid values, or another job uses the cluster."""


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
    """Seconds to wait for a round."""
    last_call: float = 30.0
    """Seconds to wait for more nodes than the minimum."""
    interval: float = 5.0
    """Seconds between two writes of a node's own key."""
    attempts: int = 3
    """Number of missed writes after which a node counts as dead."""

    @property
    def dead_after(self) -> float:
        return self.interval * self.attempts


class Decision(NamedTuple):
    """The decision for a round. `nodes` is ordered by rank, and empty if the job is closed."""

    number: int
    nodes: list[str]
    by: str


class Node(NamedTuple):
    name: str
    round: int | None
    """The round that the node wants to join, or None if the node has only read keys so far."""
    changed: float
    """Time of the last write, measured by the server's clock."""


class Seen(NamedTuple):
    last: Decision | None
    numbers: set[int]
    nodes: dict[str, Node]
    living: dict[str, Node]
    rivals: dict[str, float]
    """Other jobs in this cluster, each with the time of the last write by a living node, or 0 if all nodes are dead."""


def segment(text: str) -> str:
    """Quotes `text` so that it forms a single segment of a key."""
    return urllib.parse.quote(text, safe="").replace(".", "%2E")


class Rounds:
    """A node's view of its job's rounds. `join`, `close` and `leave` must be called on a single thread."""

    def __init__(self, keys: KeysLike, job: str, node: str, settings: Settings) -> None:
        self._keys = keys
        self.job, self.node = job, segment(node)
        self._settings = settings
        self._at = f"{ROOT}{segment(job)}/"
        self._lock = threading.Lock()  # protects this node's own key
        self._round: int | None = None
        self._world: Decision | None = None
        self._asked_for = -1  # the newest round that a node has requested
        self._changed: dict[str, float] = {}  # last write time of each other node, as of this node's first read
        self._stopped = threading.Event()
        self._watcher: threading.Thread | None = None

    # Joining a round.

    def join(self, prepare: Callable[[Decision], None]) -> Decision:
        """Waits for a round that includes this node. The node that coordinates the round calls `prepare`, which creates
        the round's key space.

        Raises Closed, TimedOut, Broken, NoServer or ServerError.
        """
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
                    continue  # read the keys again, now that this node has arrived
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
                log.warning("muster: the job '%s' is waiting for its next round: %s", self.job, error)
                self._stopped.wait(PAUSE)

    def _judge(self, seen: Seen) -> bool:
        """Raises an exception if this node cannot join any round. Returns True while this is undecided."""
        if self._world is None:
            for rival in sorted(r for r, changed in seen.rivals.items() if changed):
                # If two jobs start at the same time, the job whose name sorts first continues.
                if not (rival < self._at or self._has_world(rival)):
                    continue
                if self._is_heard(rival, seen.rivals[rival]):
                    name = urllib.parse.unquote(rival[len(ROOT):-1])
                    raise Broken(f"the torchrun job '{name}' already uses the TCPStore of this cluster; give each job "
                                 "its own cluster with --rdzv-conf cluster=NAME")
                return True
        last = seen.last
        if last is None or last.nodes:
            return False
        if self._world or self._round == last.number:
            raise Closed(f"the job '{self.job}' has been closed by {last.by}")
        # This is an earlier run of a job with the same name. The run is over when all its nodes are
        # dead.
        old = [n for n in seen.living.values() if n.round is not None and n.round <= last.number]
        if any(self._is_heard(n.name, n.changed) for n in old):
            raise Closed(f"the job '{self.job}' has been closed by {last.by}, but some of its nodes are still "
                         "connected")
        return bool(old)

    def _is_heard(self, who: str, changed: float) -> bool:
        """Returns whether the given node has written its key since this node's first read."""
        return changed > self._changed.setdefault(who, changed)

    def _has_world(self, rival: str) -> bool:
        decided = {k: e for k, e in self._keys.folder(rival).items() if k.startswith(rival + "rounds/")}
        return bool(decided) and bool(self._decision(max(decided), decided[max(decided)].value).nodes)

    def _may_ask(self, last: Decision, seen: Seen) -> bool:
        """Returns whether to request a new round. A running round is not interrupted for a node that would exceed the
        maximum number of nodes.
        """
        return self.node in last.nodes or sum(n in seen.living for n in last.nodes) < self._settings.max_nodes

    def _is_full(self, come: list[Node], enough_since: float | None) -> bool:
        return enough_since is not None and (len(come) >= self._settings.max_nodes
                                             or time.monotonic() - enough_since >= self._settings.last_call)

    def _ranked(self, come: list[Node], last: Decision | None) -> list[str]:
        """Returns the chosen nodes, ordered by rank. Nodes of the last round keep their order and precede new nodes."""
        before = {name: rank for rank, name in enumerate(last.nodes)} if last else {}
        names = sorted((n.name for n in come), key=lambda name: (before.get(name, len(before)), name))
        return names[:self._settings.max_nodes]

    def _decide(self, number: int, nodes: list[str]) -> bool:
        """Writes the decision for a round. Returns False if another node has already written a decision."""
        return self._keys.set_if_absent(f"{self._at}rounds/{number:09}", json.dumps({"nodes": nodes, "by": self.node}))

    def _enter(self, world: Decision, prepare: Callable[[Decision], None]) -> bool:
        """Enters a round. Returns False if the node that decided the round has not created the key space in time."""
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
            log.warning("muster: the store for round %d of '%s' was not prepared by %s in time; starting another round",
                        world.number, self.job, world.by)
            return False

    def _too_few(self, target: int, come: list[Node], slow: list[str]) -> str:
        text = (f"round {target} of '{self.job}' did not begin within {self._settings.join_timeout:g} s: {len(come)} "
                f"of {self._settings.min_nodes} to {self._settings.max_nodes} nodes have joined")
        return text + (f"; still in the previous round: {', '.join(slow)}" if slow else "")

    # Other nodes.

    def is_closed(self) -> bool:
        last = self._look().last
        return last is not None and not last.nodes

    def waiting(self) -> bool:
        """Returns whether a node is waiting for the next round. Does not send a request."""
        return self._world is not None and self._asked_for == self._world.number + 1

    def close(self, timeout: float, *, of_world: bool = False) -> None:
        """Closes the job, so that no further rounds start.

        If `of_world` is set, closes the job only if this node is in the last round. Otherwise, a run that continues
        without this node would also be closed.
        """
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            last = self._look().last
            if (last and not last.nodes) or (of_world and not (last and self.node in last.nodes)):
                return
            if self._decide(last.number + 1 if last else 0, []):
                return
        raise TimedOut(f"'{self.job}' could not be closed within {timeout:g} s")

    def leave(self) -> None:
        """Withdraws this node from the job. The last node of a closed job also deletes the job's keys."""
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
        own = listed.get(f"{self._at}nodes/{self.node}")  # just written, so it has the server's current time
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
            raise Broken(f"the value of the key {key} contains no list of nodes")
        return Decision(int(key.rpartition("/")[2]), [str(n) for n in told["nodes"]], str(told.get("by", "")))

    def _read(self, key: str, value: bytes) -> dict[str, Any]:
        try:
            told = json.loads(value)
        except ValueError:
            told = None
        if not isinstance(told, dict):
            raise Broken(f"the value of the key {key} is not a JSON object, so it was not written by a torchrun node")
        return told

    def _say(self, number: int) -> bool:
        """Records in this node's key that the node wants to join a round. Returns False if the key already contains
        this request.
        """
        if self._round == number:
            return False
        self._round = number
        self._beat()
        return True

    def _beat(self) -> bool:
        """Writes this node's key. Returns True if the key did not exist."""
        with self._lock:
            if self._stopped.is_set():
                return False
            is_new = self._keys.put(f"{self._at}nodes/{self.node}", json.dumps({"round": self._round}))
            world = self._world
            if is_new and world:  # the server has lost all keys, or this node was considered dead
                told = json.dumps({"nodes": world.nodes, "by": world.by})
                self._keys.set_if_absent(f"{self._at}rounds/{world.number:09}", told)
            return is_new

    def _tidy(self, number: int, seen: Seen) -> None:
        """Deletes keys of dead nodes, old rounds and dead jobs."""
        dead = [f"nodes/{name}" for name in seen.nodes if name not in seen.living]
        old = [f"{kind}/{n:09}" for n in seen.numbers if n <= number - ROUNDS_KEPT
               for kind in ("rounds", "ready", "wanted")]
        with contextlib.suppress(NoServer):
            for key in dead + old:
                with contextlib.suppress(ServerError):
                    self._keys.delete(self._at + key)
            for rival, lives in seen.rivals.items():
                if not lives:  # 0: no living node
                    with contextlib.suppress(ServerError):
                        self._keys.delete(rival[:-1], recursive=True)

    # The watching thread writes this node's key and checks whether other nodes are waiting.

    def _start_watch(self) -> None:
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._watch, name="muster-torchrun", daemon=True)
            self._watcher.start()

    def _watch(self) -> None:
        heard_since = time.monotonic()  # other nodes can also write since this time
        is_unheard = False
        while not self._stopped.is_set():
            try:
                if self._beat():
                    heard_since = time.monotonic()
                is_unheard = False
                if not self._hear(time.monotonic() - heard_since >= self._settings.dead_after):
                    self._stopped.wait(self._settings.interval)
            except Exception as error:  # catches everything: without this thread, the node would be considered dead
                if not is_unheard:
                    log.warning("muster: cannot report to the server that this node of '%s' is alive: %s",
                                self.job, error)
                is_unheard = True
                self._stopped.wait(self._settings.interval)
                heard_since = time.monotonic()

    def _hear(self, is_sure: bool) -> bool:
        """Checks for a request for a new round. Returns whether this call has already waited until the next write is
        due.

        `is_sure` is true if nodes without a recent write are definitely dead.
        """
        world = self._world
        if world is None:
            return False
        if not is_sure or not self._misses(world):
            try:
                self._keys.get(f"{self._at}wanted/{world.number + 1:09}", timeout=self._settings.interval)
            except WaitTimeout:
                return True
        last = self._seen(self._keys.folder(ROOT)).last
        if last and last.nodes:  # a closed job has no further rounds
            self._asked_for = world.number + 1
        return False

    def _misses(self, world: Decision) -> bool:
        """Returns whether a node of this round is dead and enough other nodes remain for a new round."""
        living = self._seen(self._keys.folder(ROOT)).living
        gone = [name for name in world.nodes if name not in living]
        if not gone or len(world.nodes) - len(gone) < self._settings.min_nodes:
            return False
        if self._asked_for <= world.number:
            log.warning("muster: these nodes no longer respond: %s (job '%s'); starting another "
                        "round", ", ".join(gone), self.job)
        return True


def _passes(error: MusterError) -> bool:
    """Returns whether a retry may succeed."""
    return isinstance(error, NoServer) or getattr(error, "status", 0) in (429, 503)
