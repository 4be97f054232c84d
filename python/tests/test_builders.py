"""Builders of per-worker values that lose their processes or wait: real servers, real workers."""
from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import time
from typing import Any, Callable

import pytest

import muster
from conftest import DEADLINE, Cluster, binary, until

MakeCluster = Callable[..., Cluster]


def build(folder: str, deaths: int) -> int:
    """Kills its process in the first `deaths` builds. Returns the number of earlier builds."""
    built = len(os.listdir(folder))
    pathlib.Path(folder, str(built)).touch()
    if built < deaths:
        os.kill(os.getpid(), signal.SIGKILL)
    return built


def same(value: Any) -> Any:
    return value


def first(iterator: Any) -> Any:
    return next(iterator)


@pytest.fixture
def with_one(make_cluster: MakeCluster) -> Cluster:
    cluster = make_cluster()
    cluster.add("--processes", "1", "--index", "0")
    return cluster


def muster_says(cluster: Cluster, *words: str) -> str:
    done = subprocess.run([binary(), *words, "--url", cluster.server.http], capture_output=True, text=True,
                          timeout=60)
    return done.stdout + done.stderr


@pytest.mark.parametrize("deaths", [2, 3])
def test_builder_that_finally_succeeds_is_used(with_one: Cluster, tmp_path: pathlib.Path, deaths: int) -> None:
    folder = tmp_path / "builds"
    folder.mkdir()
    c = with_one.coordinator()
    value = c.create_per_worker_value(build, (str(folder), deaths))
    assert c.schedule(same, (value,)).fetch(DEADLINE) == deaths
    c.join(DEADLINE)
    assert with_one.server.get("/api/v1/overview")["closures"]["failed"] == 0


def test_builder_that_always_kills_its_process_fails_dependent_calls(with_one: Cluster, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "builds"
    folder.mkdir()
    c = with_one.coordinator()
    value = c.create_per_worker_value(build, (str(folder), 10**6))
    needs = c.schedule(same, (value,))
    with pytest.raises(muster.InputError, match="quarantined: 4 workers were lost while they built it; the last was "
                                                "worker:0"):
        c.join(DEADLINE)
    alerts = {a["rule"]: a for a in with_one.server.get("/api/v1/attention")["items"]}
    assert "has lost 4 workers" in alerts["builder-quarantined"]["title"]
    _, explain, closure = alerts["session-failed"]["command"].split()
    assert "cannot be built: quarantined" in muster_says(with_one, explain, closure)
    assert needs.done()
    assert "The builder of per-worker value" in muster_says(with_one, "doctor")
    assert "quarantined: " in str(with_one.server.get("/api/v1/per_worker_values"))
    assert "builder_quarantined" in {e["kind"] for e in with_one.server.get("/api/v1/events?limit=1000")["events"]}
    assert c.submit(same, 1).fetch(DEADLINE) == 1, "a call without the value succeeds"


def test_quarantined_builder_is_tried_again_after_a_pause(with_one: Cluster, tmp_path: pathlib.Path) -> None:
    mark = tmp_path / "good"

    def numbers(mark: str = str(mark)) -> list[int]:
        if not os.path.exists(mark):
            os.kill(os.getpid(), signal.SIGKILL)
        return [7, 8]

    c = with_one.coordinator()
    iterator = iter(c.create_per_worker_dataset(numbers))
    with pytest.raises(muster.InputError, match="quarantined"):
        c.submit(first, iterator).fetch(DEADLINE)
    mark.touch()

    def works() -> bool:
        try:
            return bool(c.submit(first, iterator).fetch(DEADLINE) == 7)
        except muster.InputError:
            time.sleep(0.2)
            return False

    until(works, "it is built again after a pause")


def test_builder_that_waits_behind_a_call_is_not_a_failure(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "2", "--index", "0")
    c = cluster.coordinator()
    busy = c.options(task="worker:1").submit(time.sleep, 2)
    until(cluster.server.running, "it runs")
    value = c.create_per_worker_value(os.getpid)
    here = c.options(task="worker:1").submit(same, value)
    busy.fetch(DEADLINE)
    here.fetch(DEADLINE)
    counted = cluster.server.get("/api/v1/overview")["closures"]
    assert (counted["failed"], counted["succeeded"]) == (0, 4), "two calls and two builds"
