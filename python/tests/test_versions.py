"""Clients of a Python version that no worker has."""
from __future__ import annotations

from typing import Any

import pytest

import muster
from closures import one
from conftest import Cluster, until
from muster._pickled import calls


def test_a_version_that_no_worker_has_is_refused(cluster: Cluster,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = calls.FUNCTION
    monkeypatch.setattr(calls, "FUNCTION", "python:2.7")
    c = cluster.coordinator()
    value = c.schedule(one)
    with pytest.raises(muster.NotServedError,
                       match=f"asks for python:2.7; connected workers have {theirs}") as caught:
        value.fetch(20)
    assert caught.value.kind is muster.FailureKind.STALE_HANDLE
    with pytest.raises(muster.NotServedError):
        c.join()


def test_without_workers_of_python_it_waits_and_says_so(make_cluster: Any) -> None:
    cluster = make_cluster()
    c = cluster.coordinator()
    value = c.schedule(one)
    path = f"/api/v1/jobs/{c.wait_open()}/closures"
    (waiting,) = until(lambda: cluster.server.get(path)["closures"], "it is scheduled")
    assert waiting["state"] == "QUEUED"
    explained = cluster.server.get(f"/api/v1/closures/{waiting['id']}/explain")["explanation"]
    assert "No worker of 'python' is connected, whatever its version." in explained
    cluster.add("--processes", "1")
    assert value.fetch(20) == 1
