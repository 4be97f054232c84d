"""Functions that tests schedule, and how tests wait until one runs."""
from __future__ import annotations

import pathlib
import time
from typing import Any

import muster
from conftest import Cluster, until

Coordinator = muster.ClusterCoordinator


def one() -> int:
    return 1


def add(a: Any, b: Any) -> Any:
    return a + b


def bad(message: str = "bad") -> None:
    raise ValueError(message)


def wait_for_file(path: pathlib.Path) -> str:
    """Waits until the test has created the file. Returns its name."""
    while not path.exists():
        time.sleep(0.01)
    return path.name


def wait_until_stopped(limit: float = 60) -> None:
    """Ends when it is cancelled, as a TensorFlow operation does."""
    c = muster.context()
    if c.wait_cancelled(limit):
        raise RuntimeError("stopped")


def start_one(cluster: Cluster, c: Coordinator) -> muster.RemoteValue[None]:
    before = cluster.server.running()
    value = c.schedule(wait_until_stopped)
    until(lambda: cluster.server.running() > before, "it runs")
    return value
