"""The torchrun rendezvous: nodes agree on rounds over REST, and each round has an empty key space in the cluster's
store.
"""
from __future__ import annotations

import atexit
import contextlib
import datetime
import logging
import os
import re
import socket
import time
import uuid
from typing import Any, Iterator

import torch.distributed as dist
from torch.distributed.elastic.rendezvous import api

from muster.rest.http import NoServer, ServerError
from muster.torchrun.keys import Keys
from muster.torchrun.rounds import Broken, Closed, Decision, Rounds, Settings, TimedOut

log = logging.getLogger("muster.torchrun")
STORE_SECONDS = 300.0  # torch's own default timeout for store calls
CONNECT_SECONDS = 30.0
MORE_SECONDS = 15.0
"""Seconds that all nodes of a round have to connect to the round's key space, in addition to the time after which a
node counts as dead.
"""


class MusterRendezvous(api.RendezvousHandler):  # type: ignore[misc]
    """Rendezvous handler that torchrun creates from its command-line arguments.

    ``--rdzv-conf`` accepts ``cluster`` (default: ``default``), ``store`` (``HOST:PORT``, which overrides the server's
    answer), and torch's ``join_timeout``, ``last_call_timeout``, ``close_timeout``, ``keep_alive_interval`` and
    ``keep_alive_max_attempt``. Environment variables such as MUSTER_TOKEN and MUSTER_CA have the same meaning as for
    `muster.Client`.

    Args:
        params: torch's ``RendezvousParameters``.

    Raises:
        ValueError: A setting is invalid.
    """

    def __init__(self, params: Any) -> None:
        def seconds(name: str, default: int) -> float:
            given = params.get_as_int(name, default)
            if given <= 0:
                raise ValueError(f"{name}: {given}, must be at least 1")
            return float(given)

        settings = Settings(params.min_nodes, params.max_nodes, seconds("join_timeout", 600),
                            float(params.get_as_int("last_call_timeout", 30)), seconds("keep_alive_interval", 5),
                            int(seconds("keep_alive_max_attempt", 3)))
        self._close_timeout = seconds("close_timeout", 30)
        self._meet_seconds = settings.dead_after + MORE_SECONDS
        self._backend, self._job = params.backend, params.run_id
        self._given_store: str = params.get("store", "")
        if self._given_store and not re.fullmatch(r"\S+:\d+", self._given_store):
            raise ValueError(f"store: '{self._given_store}', expected HOST:PORT")
        self._cluster = params.get("cluster", "default")
        self._keys = Keys(_url(params.endpoint), cluster=self._cluster)
        host = params.local_addr or socket.gethostname()
        self._rounds = Rounds(self._keys, self._job, f"{host}-{os.getpid()}-{uuid.uuid4().hex[:6]}", settings)
        self._store: Any | None = None
        self._at = ("", 0)
        atexit.register(self._rounds.leave)

    def get_backend(self) -> str:
        return str(self._backend)

    @property
    def use_agent_store(self) -> bool:
        return True

    def get_run_id(self) -> str:
        return str(self._job)

    def next_rendezvous(self) -> Any:
        with _errors_of_torch():
            self._store = None
            self._at = self._store_address()
            while True:
                world = self._rounds.join(self._prepare)
                store = self._meet(world)
                if store is not None:
                    break
        rank = world.nodes.index(self._rounds.node)
        log.info("muster: round %d of '%s', node %d of %d", world.number, self._job, rank, len(world.nodes))
        return api.RendezvousInfo(store, rank, len(world.nodes), api.RendezvousStoreInfo(*self._at))

    def is_closed(self) -> bool:
        with _errors_of_torch():
            return self._rounds.is_closed()

    def set_closed(self) -> None:
        with _errors_of_torch():
            self._rounds.close(self._close_timeout)

    def num_nodes_waiting(self) -> int:
        return int(self._rounds.waiting())

    def shutdown(self) -> bool:
        try:
            with _errors_of_torch():
                self._rounds.close(self._close_timeout, of_world=True)
            return True
        except api.RendezvousError as error:
            log.warning("muster: the job '%s' could not be closed: %s", self._job, error)
            return False
        finally:
            self._rounds.leave()

    # The key space of a round.

    def _store_address(self) -> tuple[str, int]:
        if self._given_store:
            host, _, port = self._given_store.rpartition(":")
            return host.strip("[]"), int(port)
        return self._keys.store_address()

    def _prepare(self, world: Decision) -> None:
        self._keys.begin_attempt()
        self._store = self._connect()
        self._store.set("round", self._name(world))

    def _connect(self) -> Any:
        host, port = self._at
        store = dist.TCPStore(host, port, is_master=False, wait_for_workers=False,
                              timeout=datetime.timedelta(seconds=CONNECT_SECONDS))
        store.set_timeout(datetime.timedelta(seconds=STORE_SECONDS))
        return dist.PrefixStore("torchrun", store)

    def _meet(self, world: Decision) -> Any:
        """Returns the store once all nodes of this round have connected to the round's key space. Returns None if some
        nodes have not connected in time.
        """
        store, self._store = self._store or self._connect(), None
        until = time.monotonic() + self._meet_seconds

        def left() -> datetime.timedelta:
            return datetime.timedelta(seconds=max(0.1, until - time.monotonic()))

        try:
            store.wait(["round"], left())
            found = store.get("round").decode(errors="replace")
            if found != self._name(world):
                log.warning("muster: round %d of '%s' found the keys of another round (%s); starting another round",
                            world.number, self._job, found)
                return None
            store.set(f"here/{world.nodes.index(self._rounds.node)}", "")
            store.wait([f"here/{rank}" for rank in range(len(world.nodes))], left())
            return store
        except dist.DistStoreError as error:
            if isinstance(error, dist.DistNetworkError):
                raise
            log.warning("muster: some nodes of round %d of '%s' did not reach its store; starting another round",
                        world.number, self._job)
            return None

    def _name(self, world: Decision) -> str:
        return f"{self._job} {world.number}"


def _url(endpoint: str) -> str | None:
    """Converts a comma-separated list of "HOST", "HOST:PORT" or "https://HOST:PORT" to URLs."""
    def whole(one: str) -> str:
        return one if re.search(r":\d+/?$", one) else one.rstrip("/") + ":8477"

    return ",".join(whole(one.strip()) for one in endpoint.split(",") if one.strip()) or None


@contextlib.contextmanager
def _errors_of_torch() -> Iterator[None]:
    try:
        yield
    except Closed as error:
        raise api.RendezvousClosedError(str(error)) from error
    except TimedOut as error:
        raise api.RendezvousTimeoutError(str(error)) from error
    except Broken as error:
        raise api.RendezvousStateError(str(error)) from error
    except (NoServer, ServerError) as error:
        raise api.RendezvousConnectionError(str(error)) from error
    except dist.DistError as error:
        raise api.RendezvousConnectionError(f"the TCPStore of the cluster does not answer: {error} (the "
                                            "server accepts clients only from the networks of "
                                            "--torch-from)") from error
