"""A killed coordinator can start again with the same names."""
from __future__ import annotations

import subprocess
import sys
import time
from typing import Callable

import pytest

import muster
from conftest import DEADLINE, Cluster

np = pytest.importorskip("numpy")

PROGRAM = """
import sys, numpy as np, muster
with muster.ClusterCoordinator(sys.argv[1]) as c:
    w = c.variable(np.zeros(2), name="w", task="ps:0")
    w.assign_add(1).fetch()
    print("up", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def one_ps(make_cluster: Callable[..., Cluster]) -> Cluster:
    cluster = make_cluster()
    cluster.add("--job", "ps", "--index", "0", "--processes", "1")
    cluster.add("--index", "0", "--processes", "1")
    return cluster


def start(cluster: Cluster) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", PROGRAM, cluster.server.grpc], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_killed_coordinator_starts_again_with_its_names(one_ps: Cluster) -> None:
    for _ in range(2):
        first = start(one_ps)
        assert first.stdout and first.stdout.readline() == "up\n"
        first.kill()
        killed = time.monotonic()
        first.communicate()
        said, error = start(one_ps).communicate("\n", DEADLINE)
        assert said == "up\n", error
        assert time.monotonic() - killed < 10, "the names are free after three seconds, not after a minute"


def test_names_of_a_connected_coordinator_are_refused_at_once(one_ps: Cluster) -> None:
    owner, other = one_ps.coordinator(), one_ps.coordinator()
    w = owner.variable(np.ones(2), name="w", task="ps:0")
    began = time.monotonic()
    with pytest.raises(muster.InputError, match="object 'w' already exists"):
        other.variable(np.zeros(2), name="w", task="ps:0")
    assert time.monotonic() - began < 3
    assert w.read().fetch(DEADLINE).tolist() == [1.0, 1.0]
