"""``range(n)[index::num_workers]`` on every worker: nothing is left out and nothing comes twice."""
from __future__ import annotations

from typing import Any, Callable

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
    """What all of them have left."""
    return sorted(sum((c.options(task=f"worker:{i}").schedule(rest, (iterator,)).fetch(20)
                       for i in range(workers)), []))


def test_other_jobs_do_not_count_and_build_nothing(make_cluster: MakeCluster) -> None:
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


def test_a_declared_number_holds_however_late_workers_come(make_cluster: MakeCluster) -> None:
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


def test_who_follows_a_lost_one_has_its_shard(make_cluster: MakeCluster) -> None:
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
