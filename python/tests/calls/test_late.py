"""A wait that times out reports why its call has not finished."""
from __future__ import annotations

import asyncio
import concurrent.futures
import re
import subprocess
import urllib.error
import urllib.request
from typing import Any, Callable

import pytest

import muster
from conftest import Cluster, binary

NOBODY = "QUEUED .*'nobody.has.this'"


class Counter:
    def add(self) -> int:
        return 1


def by_as_completed(c: muster.ClusterCoordinator) -> None:
    list(muster.as_completed([c.submit("nobody.has.this")], 0.6))


def by_async_as_completed(c: muster.ClusterCoordinator) -> None:
    async def wait() -> None:
        async for _ in muster.as_completed([c.submit("nobody.has.this")], 0.6):
            pass

    asyncio.run(wait())


WAYS: dict[str, Callable[[muster.ClusterCoordinator], Any]] = {
    "fetch": lambda c: c.submit("nobody.has.this").fetch(0.6),
    "coordinator.fetch": lambda c: c.fetch([c.submit("nobody.has.this")], 0.6),
    "join": lambda c: c.submit("nobody.has.this") and c.join(0.6),
    "as_completed": by_as_completed,
    "async as_completed": by_async_as_completed,
}


@pytest.mark.parametrize("way", WAYS)
def test_each_kind_of_wait_reports_why_its_closure_has_not_finished(cluster: Cluster, way: str) -> None:
    with pytest.raises(muster.WaitTimeout, match=NOBODY):
        WAYS[way](cluster.coordinator())


def test_executor_future_reports_why_it_has_not_finished(cluster: Cluster) -> None:
    with muster.Executor(cluster.server.grpc) as executor:
        future: Any = executor.submit("nobody.has.this")  # type: ignore[arg-type]
        try:
            with pytest.raises(concurrent.futures.TimeoutError, match=NOBODY):
                future.result(0.6)
        finally:
            future.cancel()  # otherwise the executor would wait for it


def test_object_reports_that_its_task_has_not_connected(cluster: Cluster) -> None:
    h = cluster.coordinator().create(Counter, task="worker:77")
    for wait in (lambda: h.add().fetch(0.6), lambda: list(muster.as_completed([h.add()], 0.6))):
        with pytest.raises(muster.WaitTimeout, match="is waiting for its task: no task worker:77 has connected"):
            wait()


def test_rest_and_command_line_report_why_a_job_has_not_finished(cluster: Cluster) -> None:
    value = cluster.coordinator().submit("nobody.has.this")
    with pytest.raises(muster.WaitTimeout):
        value.fetch(0.1)
    rv = f"rv_{value._record.closure:016x}" if value._record.closure else ""
    job = cluster.server.post("/api/v1/jobs", {"closures": [{"function": "nobody.has.this"}]})
    rv = rv or cluster.server.get(f"/api/v1/jobs/{job['id']}/closures")["closures"][0]["id"].replace("cl_", "rv_")
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{cluster.server.http}/api/v1/remote_values/{rv}/value?timeout=100ms", timeout=20)
    assert caught.value.code == 504 and re.search(NOBODY, caught.value.read().decode())
    for id in (rv, job["id"]):
        done = subprocess.run([binary(), "fetch", id, "--timeout", "1s", "--quiet", "--url", cluster.server.http],
                              capture_output=True, text=True)
        assert done.returncode == 1 and re.search(NOBODY, done.stderr), done.stderr
