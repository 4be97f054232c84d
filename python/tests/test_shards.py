"""``range(n)[index::num_workers]`` on every worker: each item is in exactly one shard."""
from __future__ import annotations

import os
import pathlib
import signal
import time
from typing import Any, Callable

import pytest

import muster
from conftest import Cluster, until

MakeCluster = Callable[..., Cluster]


def shard() -> list[int]:
    here = muster.context()
    return list(range(12))[here.index::here.num_workers]


def rest(values: Any) -> list[int]:
    return list(values)


def where() -> tuple[str, int]:
    here = muster.context()
    return here.job, here.num_workers


def shards(c: muster.ClusterCoordinator, iterator: Any, workers: int = 3) -> list[int]:
    """Returns the remaining items of all shards, sorted."""
    return sorted(left for i in range(workers) for left in c.options(task=f"worker:{i}").schedule(rest, (iterator,)).fetch(20))


def test_workers_of_other_jobs_do_not_count_and_build_nothing(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "2")
    cluster.add("--processes", "1", "--job", "ps")
    c = cluster.coordinator()
    iterator = iter(c.create_per_worker_dataset(shard))
    assert shards(c, iterator, 2) == list(range(12))
    assert c.options(task="ps:0").schedule(where).fetch(20) == ("ps", 1)
    values = cluster.server.get("/api/v1/per_worker_values")["per_worker_values"]
    tasks = [part["task"] for v in values for part in v["components"]]
    assert tasks and "ps:0" not in tasks


def test_declared_number_of_workers_holds_for_late_workers(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    c = cluster.coordinator(num_workers=3)
    iterator = iter(c.create_per_worker_dataset(shard))
    read = []
    for i in range(3):
        cluster.add("--processes", "1")
        on = c.options(task=f"worker:{i}")
        assert on.schedule(where).fetch(20) == ("worker", 3)
        read += on.schedule(rest, (iterator,)).fetch(20)
    assert sorted(read) == list(range(12))


def test_replacement_of_a_lost_worker_gets_its_shard(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    for _ in range(3):
        cluster.add("--processes", "1")
    c = cluster.coordinator()
    iterator = iter(c.create_per_worker_dataset(shard))
    assert c.options(task="worker:1").schedule(next, (iterator,)).fetch(20) == 1
    cluster.workers[1].kill()
    until(lambda: cluster.server.tasks()[1]["state"] == "ERROR", "it is lost")
    cluster.add("--processes", "1")
    assert shards(c, iterator) == list(range(12))


def covered(c: muster.ClusterCoordinator, workers: int) -> list[int]:
    """Returns the items of all shards, one from each index."""
    on = [c.options(task=f"worker:{i}").submit(shard) for i in range(workers)]
    return sorted(item for v in on for item in v.fetch(20))


def deaf(path: str) -> None:
    pathlib.Path(path).touch()
    while True:
        try:
            time.sleep(0.02)
        except muster.Cancelled:
            pass


def die_running(cluster: Cluster, c: muster.ClusterCoordinator, index: int, folder: pathlib.Path) -> None:
    with pytest.raises(muster.AbortedError):
        c.options(task=f"worker:{index}").submit(os._exit, 1).fetch(20)


def die_idle(cluster: Cluster, c: muster.ClusterCoordinator, index: int, folder: pathlib.Path) -> None:
    os.kill(cluster.server.tasks()[index]["pid"], signal.SIGKILL)


def die_deaf(cluster: Cluster, c: muster.ClusterCoordinator, index: int, folder: pathlib.Path) -> None:
    running = folder / f"deaf-{index}"
    running.unlink(missing_ok=True)
    stopped = c.options(task=f"worker:{index}").submit(deaf, str(running))
    until(running.exists, "it runs")
    stopped.cancel()


def test_replacing_process_keeps_the_index(make_cluster: MakeCluster, tmp_path: pathlib.Path) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "3", "--stop-grace", "200ms")
    c = cluster.coordinator(max_worker_failures=1)
    for die in (die_running, die_idle, die_deaf, die_running, die_deaf, die_idle):
        for index in range(3):
            before = cluster.server.tasks()[index]["incarnation"]
            die(cluster, c, index, tmp_path)
            until(lambda: cluster.server.tasks()[index]["incarnation"] != before
                  and len(cluster.connected()) == 3, f"another process serves worker:{index}")
            tasks = cluster.server.tasks()
            assert [(t["index"], t["state"]) for t in tasks] == [(i, "CONNECTED") for i in range(3)], (die, index)
        assert covered(c, 3) == list(range(12)), die
    assert c.submit(where).fetch(20) == ("worker", 3)


def test_process_keeps_its_index_when_it_ends_while_the_server_restarts(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "3")
    pids = {t["index"]: t["pid"] for t in cluster.server.tasks()}
    grpc, http = cluster.server.grpc, cluster.server.http.removeprefix("http://")
    cluster.server.kill()
    os.kill(pids.pop(1), signal.SIGKILL)
    cluster.server.start(grpc, http)
    cluster.wait_connected(3)
    now = {t["index"]: t["pid"] for t in cluster.server.tasks()}
    assert sorted(now) == [0, 1, 2] and {**now, **pids} == now
    assert covered(cluster.coordinator(), 3) == list(range(12))


def test_worker_counts_all_its_processes_from_the_first_one_on(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    c = cluster.coordinator()
    first = c.submit(where)
    cluster.add("--processes", "4")
    assert first.fetch(20) == ("worker", 4)


def test_local_cluster_keeps_all_shards_when_its_processes_crash() -> None:
    with muster.LocalCluster(workers=2) as local, local.coordinator(max_worker_failures=3) as c:
        for _ in range(3):
            with pytest.raises(muster.AbortedError):
                c.submit(os._exit, 1).fetch(20)
        until(lambda: sum(t["state"] == "CONNECTED" for t in local.client().tasks()) == 2, "both are back")
        assert covered(c, 2) == list(range(12))
        assert len(local.client().tasks()) == 2


def test_index_in_use_by_another_host_is_refused(make_cluster: MakeCluster) -> None:
    from muster.worker.worker import Worker

    cluster = make_cluster()
    cluster.add("--processes", "1", "--index", "9")
    assert Worker(cluster.server.grpc, threads=1, index=9, host="elsewhere").run() == 1
    assert [t["state"] for t in cluster.server.tasks()] == ["CONNECTED"]
