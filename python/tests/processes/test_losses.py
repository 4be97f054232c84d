"""Calls that lose their process or their worker: how often they are retried, how long they wait, and which error they
return. With real processes."""
from __future__ import annotations

import os
import pathlib
import time
from typing import Any, Callable

import pytest

import muster
from conftest import Cluster, until

MakeCluster = Callable[..., Cluster]


def exits() -> None:
    os._exit(7)


def kills_itself() -> None:
    os.kill(os.getpid(), 9)


def exits_before(attempt: int) -> int:
    if muster.context().attempt < attempt:
        os._exit(7)
    return muster.context().attempt


def hangs_before(attempt: int) -> int:
    if muster.context().attempt < attempt:
        time.sleep(60)
    return muster.context().attempt


def attempts_of(error: pytest.ExceptionInfo[muster.AbortedError]) -> int:
    return error.value.attempt


@pytest.mark.parametrize("poison, how", [
    (exits, r"exited with status 7"), (kills_itself, r"was killed by SIGKILL, perhaps out of memory")])
def test_submitted_call_that_ends_its_process_fails_after_the_third_loss(make_cluster: MakeCluster, poison: Any, how: str
                                                                         ) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "2")
    c = cluster.coordinator()
    beside = [c.submit(abs, -i) for i in range(50)]
    began = time.monotonic()
    value = c.submit(poison)
    with pytest.raises(muster.AbortedError, match=rf"3 workers were lost .*{how}.*{how}.*{how}") as error:
        value.fetch(20)
    assert time.monotonic() - began > 0.3  # the call waits 0.1 s, then 0.2 s
    assert attempts_of(error) == 3
    assert error.value.kind is muster.FailureKind.WORKER_LOST
    assert value.status is muster.RemoteValueStatus.ABORTED
    assert c.fetch(beside, 20) == list(range(50))
    assert worker.text().count(" its process ") == 3


def test_scheduled_call_that_ends_its_process_fails_after_the_third_loss(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1")
    c = cluster.coordinator()
    with pytest.raises(muster.AbortedError, match="3 workers were lost .*exited with status 7") as error:
        c.schedule(exits).fetch(20)
    assert attempts_of(error) == 3
    with pytest.raises(muster.AbortedError):
        c.join(20)
    assert c.schedule(abs, (-1,)).fetch(20) == 1


def test_losses_after_a_killed_call_are_counted(make_cluster: MakeCluster) -> None:
    """The process that the worker kills is no loss. The processes that end by themselves afterwards are losses."""
    cluster = make_cluster()
    cluster.add("--processes", "1", "--stop-grace", "500ms")
    c = cluster.coordinator()
    ignoring = c.options(name="deaf").submit("deaf", 60)
    until(cluster.server.running, "it runs")
    ignoring.cancel()
    with pytest.raises(muster.CancelledError):
        ignoring.fetch(20)
    with pytest.raises(muster.AbortedError, match="3 workers were lost (.*exited with status 7){3}") as error:
        c.submit(exits).fetch(20)
    assert attempts_of(error) in (3, 4), "the call may have been sent to the killed process first"


def test_map_fails_at_the_item_that_ends_its_process(make_cluster: MakeCluster) -> None:
    def item(i: int) -> int:
        if i == 5:
            os._exit(7)
        return i

    cluster = make_cluster()
    cluster.add("--processes", "2")
    c = cluster.coordinator()
    with pytest.raises(muster.AbortedError, match="exited with status 7"):
        list(c.map(item, range(10)))


def test_executor_and_joblib_fail_with_the_call_that_ends_its_process(make_cluster: MakeCluster) -> None:
    joblib = pytest.importorskip("joblib")
    import muster.joblib

    cluster = make_cluster()
    cluster.add("--processes", "2")
    with muster.Executor(cluster.server.grpc) as executor:
        good = executor.submit(abs, -1)
        with pytest.raises(muster.AbortedError, match="exited with status 7"):
            executor.submit(exits).result(20)
        assert good.result(20) == 1
    with joblib.parallel_config(backend="muster", server=cluster.server.grpc):
        with pytest.raises(muster.AbortedError, match="exited with status 7"):
            joblib.Parallel(n_jobs=2)(joblib.delayed(f)() for f in (int, exits, int))


def test_max_worker_failures_of_zero_means_no_limit(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1")
    c = cluster.coordinator(max_worker_failures=0)
    assert c.submit(exits_before, 5).fetch(20) == 5
    assert c.schedule(exits_before, (5,)).fetch(20) == 5
    with muster.Executor(cluster.server.grpc, max_worker_failures=0) as executor:
        assert executor.submit(exits_before, 5).result(20) == 5


def test_max_worker_failures_is_checked_and_sent() -> None:
    with pytest.raises(ValueError, match="max_worker_failures: 256, must be from 0 to 255"):
        muster.CoordinatorOptions(max_worker_failures=256)
    with pytest.raises(ValueError, match="max_worker_failures: -1"):
        muster.CoordinatorOptions(max_worker_failures=-1)
    absent = muster.CoordinatorOptions().open()
    assert (absent.max_worker_failures, absent.unlimited_worker_failures) == (0, False)
    none = muster.CoordinatorOptions(max_worker_failures=0).open()
    assert (none.max_worker_failures, none.unlimited_worker_failures) == (0, True)
    some = muster.CoordinatorOptions(max_worker_failures=5).open()
    assert (some.max_worker_failures, some.unlimited_worker_failures) == (5, False)


def lose_workers(cluster: Cluster, count: int, end: Callable[[Any], Any]) -> None:
    for _ in range(count):
        worker = cluster.add("--processes", "1", "--drain-timeout", "100ms")
        until(cluster.server.running, "it runs")
        end(worker)
        until(lambda: not cluster.server.running(), "it is taken back")


def test_submitted_call_counts_lost_workers_and_a_scheduled_one_does_not(make_cluster: MakeCluster) -> None:
    cluster = make_cluster("--reconnect-grace", "100ms")
    c = cluster.coordinator()
    scheduled = c.schedule(hangs_before, (5,))
    lose_workers(cluster, 4, lambda worker: worker.kill())
    cluster.add("--processes", "1")
    assert scheduled.fetch(30) == 5

    cluster.workers[-1].kill()
    submitted = c.submit(hangs_before, 4)
    lose_workers(cluster, 3, lambda worker: worker.kill())
    with pytest.raises(muster.AbortedError, match="3 workers were lost .*connection lost") as error:
        submitted.fetch(20)
    assert attempts_of(error) == 3


def test_stopped_worker_does_not_count_as_a_loss(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    value = cluster.coordinator(max_worker_failures=1).submit(hangs_before, 4)
    lose_workers(cluster, 3, lambda worker: worker.stop())
    cluster.add("--processes", "1")
    assert value.fetch(30) == 4


def test_jobs_over_rest_have_the_same_limit(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1")

    def submit(options: Any) -> Any:
        job = cluster.server.post("/api/v1/jobs", {"closures": [{"function": "die", "args": ["exit"]}],
                                                   "options": options})
        return str(job["id"])

    default, one, none = submit({}), submit({"max_worker_failures": 1}), submit({"max_worker_failures": 0})

    def closure(job: str) -> Any:
        return cluster.server.get(f"/api/v1/jobs/{job}/closures")["closures"][0]

    until(lambda: closure(default)["state"] == "FAILED", "three are enough")
    assert closure(default)["error"]["kind"] == "WORKER_LOST"
    assert "3 workers were lost" in closure(default)["error"]["message"]
    assert closure(one)["state"] == "FAILED" and "1 worker was lost" in closure(one)["error"]["message"]
    until(lambda: len(closure(none)["attempts"]) > 4, "it is tried again")
    until(lambda: closure(none)["state"] == "QUEUED", "it waits")
    why = cluster.server.get(f"/api/v1/closures/{closure(none)['id']}/explain")
    assert why["reason"] == "PAUSE", why
    said = why["explanation"]
    assert "retried in " in said and " lost workers: its process " in said, said


def test_server_restart_neither_counts_nor_forgets_losses(make_cluster: MakeCluster, tmp_path: pathlib.Path
                                                          ) -> None:
    cluster = make_cluster("--data-dir", str(tmp_path / "data"))
    server = cluster.server
    job = server.post("/api/v1/jobs", {"closures": [{"function": "die", "args": ["exit"]}]})["id"]

    def closure() -> Any:
        return server.get(f"/api/v1/jobs/{job}/closures")["closures"][0]

    worker = cluster.add("--processes", "1")
    until(lambda: len(closure()["attempts"]) >= 2 and closure()["state"] == "QUEUED", "it waits 0.2 s")
    worker.kill()
    before = server.grpc, server.http.removeprefix("http://")
    server.kill()
    server.start(*before)
    assert closure()["state"] == "QUEUED"
    cluster.add("--processes", "1")
    until(lambda: closure()["state"] == "FAILED", "the third is enough")
    assert "3 workers were lost" in closure()["error"]["message"], closure()["error"]
    assert len(closure()["attempts"]) == 3
