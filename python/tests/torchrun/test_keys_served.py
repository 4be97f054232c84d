"""Rounds of torchrun with keys of a real server, using only a worker's token."""
from __future__ import annotations

import pathlib
import socket
from typing import Iterator

import pytest

from conftest import Server, binary, until
from muster.rest.http import ServerError
from muster.torchrun.keys import Keys
from nodes_in_memory import Player, all_join
from test_tokens import token


@pytest.fixture
def guarded(tmp_path: pathlib.Path) -> Iterator[Server]:
    assert binary()
    server = Server(tmp_path, "--data-dir", str(tmp_path / "data"), "--auth", "on", "--torch", "127.0.0.1:0",
                    "--cluster", "main:worker=1", "--cluster", "bare:worker=1")
    yield server
    server.stop()


def test_nodes_join_a_round_with_a_workers_token(guarded: Server, tmp_path: pathlib.Path) -> None:
    keys = Keys(guarded.http, cluster="main", token=token(guarded, tmp_path, "worker"))
    with pytest.raises(ServerError, match="UNAUTHENTICATED"):
        Player(Keys(guarded.http, cluster="main"), "a").begin().end()

    a, b = (Player(keys, name, job="a job/1", prepare=lambda world: keys.begin_attempt()) for name in ("host.a", "b"))
    first, second = all_join(a, b)
    assert first == second and first.nodes == ["b", "host%2Ea"]
    a.begin()
    until(b.rounds.waiting, "the other hears it")
    assert b.begin().end() == a.end()
    for p in (a, b):
        p.rounds.close(5, of_world=True)
        p.rounds.leave()
    assert keys.folder("torchrun/") == {}


def test_address_of_the_store_is_found(guarded: Server, tmp_path: pathlib.Path) -> None:
    made = token(guarded, tmp_path, "worker")
    keys = Keys(guarded.http, cluster="main", token=made)
    with socket.create_connection(keys.store_address(), timeout=10):
        pass
    with pytest.raises(ServerError, match="cluster 'bare' has no TCPStore: declare the cluster"):
        Keys(guarded.http, cluster="bare", token=made).store_address()
