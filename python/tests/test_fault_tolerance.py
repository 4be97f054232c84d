"""TensorFlow's fault tolerance tests with processes that are killed; conformance_names.py lists all."""
from __future__ import annotations

import os
import signal
import time
from typing import Any, Callable

import pytest

import muster
from conftest import Cluster, until

MakeCluster = Callable[..., Cluster]


def pid() -> int:
    return os.getpid()


def step(seconds: float = 0.02) -> int:
    time.sleep(seconds)
    return 1


def bad() -> None:
    raise ValueError("bad")


def kill_worker(c: muster.ClusterCoordinator, index: int) -> None:
    os.kill(c.options(task=f"worker:{index}").schedule(pid).fetch(20), signal.SIGKILL)


def two(make_cluster: MakeCluster) -> Cluster:
    cluster = make_cluster()
    cluster.add("--processes", "2", "--index", "0")
    return cluster


def test_worker_preemption_between_functions(make_cluster: MakeCluster) -> None:
    c = two(make_cluster).coordinator()
    total = sum(c.fetch([c.schedule(step) for _ in range(2)]))
    kill_worker(c, 0)
    total += sum(c.fetch([c.schedule(step) for _ in range(2)], 20))
    assert total == 4


def test_worker_preemption_midst_function(make_cluster: MakeCluster) -> None:
    cluster = two(make_cluster)
    c = cluster.coordinator()
    pids = [c.options(task=f"worker:{i}").schedule(pid).fetch(20) for i in range(2)]
    values = [c.schedule(step, args=(0.2,)) for _ in range(8)]
    until(cluster.server.running, "they run")
    os.kill(pids[0], signal.SIGKILL)
    assert c.fetch(values, 30) == [1] * 8
    c.join()


def test_one_worker_preemption_with_cancellation(make_cluster: MakeCluster) -> None:
    cluster = two(make_cluster)
    c = cluster.coordinator()
    victim = c.options(task="worker:0").schedule(pid).fetch(20)
    long = c.options(task="worker:0").schedule(time.sleep, args=(60,))
    until(cluster.server.running, "it runs")
    os.kill(victim, signal.SIGKILL)
    c.schedule(bad)
    with pytest.raises(ValueError):
        c.join(30)
    with pytest.raises(muster.CancelledError):
        long.fetch(20)
    assert c.schedule(step).fetch(20) == 1


def iterators_while_it_is_down(make_cluster: MakeCluster, dataset: Any) -> None:
    cluster = two(make_cluster)
    c = cluster.coordinator()
    kill_worker(c, 0)
    iterator = iter(c.create_per_worker_dataset(dataset))
    got = [c.options(task=f"worker:{i}").schedule(next, args=(iterator,)) for i in range(2)]
    assert c.fetch(got, 20) == [1, 1]


def test_handle_dataset_creation_failure_with_dataset_fn(make_cluster: MakeCluster) -> None:
    iterators_while_it_is_down(make_cluster, lambda: range(1, 5))


def test_handle_dataset_creation_failure_with_dataset(make_cluster: MakeCluster) -> None:
    iterators_while_it_is_down(make_cluster, [1, 2, 3])


def test_two_workers_preempted(make_cluster: MakeCluster) -> None:
    c = two(make_cluster).coordinator()
    values = [c.schedule(step, args=(0.1,)) for _ in range(10)]
    kill_worker(c, 0)
    kill_worker(c, 1)
    assert sum(c.fetch(values, 30)) == 10


def test_worker_continuous_failure(make_cluster: MakeCluster) -> None:
    c = two(make_cluster).coordinator()
    kept = c.create_per_worker_value(lambda: [os.getpid()])
    on = c.options(task="worker:0")
    seen = set()
    for _ in range(3):
        (found,) = on.schedule(list, args=(kept,)).fetch(20)  # built again each time
        seen.add(found)
        os.kill(found, signal.SIGKILL)
    assert len(seen) == 3
    assert c.schedule(step).fetch(20) == 1


def test_ps_failure_while_recovery_from_woker_failure(make_cluster: MakeCluster) -> None:
    c = two(make_cluster).coordinator()

    def lost() -> None:
        raise muster.DependencyLost("it is gone", "ps:0")

    kill_worker(c, 0)
    for _ in range(3):
        c.schedule(lost)
    with pytest.raises(muster.UnavailableError):
        c.join(30)


def test_numpy_fetched_after_worker_failure(make_cluster: MakeCluster) -> None:
    numpy = pytest.importorskip("numpy")
    c = two(make_cluster).coordinator()
    value = c.schedule(lambda: __import__("numpy").arange(12).reshape(3, 4))
    c.join()
    for i in range(2):
        kill_worker(c, i)
    assert (value.fetch() == numpy.arange(12).reshape(3, 4)).all()


def test_tensor_got_after_worker_failure(make_cluster: MakeCluster) -> None:
    """The server stores the value: it can be an argument after its worker is lost."""
    c = two(make_cluster).coordinator()
    value = c.options(task="worker:0").schedule(lambda: {"key": (1, 2)})
    c.join()
    kill_worker(c, 0)
    assert c.options(task="worker:1").schedule(lambda v: v["key"], args=(value,)).fetch(20) == (1, 2)


def test_cluster_state_not_disrupted(make_cluster: MakeCluster) -> None:
    cluster = two(make_cluster)
    c = cluster.coordinator()
    for i in range(3):
        values = [c.schedule(step) for _ in range(4)]
        kill_worker(c, i % 2)
        assert sum(c.fetch(values, 30)) == 4
        c.schedule(bad)
        with pytest.raises(ValueError):
            c.join(30)
    assert c.done()


def test_the_whole_worker_is_killed(make_cluster: MakeCluster) -> None:
    """An additional test without a counterpart: the worker and its children are killed, and other workers continue."""
    cluster = make_cluster()
    first = cluster.add("--processes", "1", "--index", "0")
    c = cluster.coordinator()
    values = [c.schedule(step, args=(0.2,)) for _ in range(5)]
    until(cluster.server.running, "they run")
    victim = c.schedule(pid)
    first.kill()
    cluster.workers.clear()
    cluster.add("--processes", "1", "--index", "1")
    assert c.fetch(values, 30) == [1] * 5
    assert victim.fetch(20) > 0
