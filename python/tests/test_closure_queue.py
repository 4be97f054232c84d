"""The queue of closures: one test for each TensorFlow test that has a counterpart.

Names are those of tensorflow/python/distribute/coordinator, in lower case with underscores.
"""
from __future__ import annotations

import threading
import time
from typing import Any, Callable

import pytest

import muster
from closures import Coordinator, add, bad, one, start_one
from conftest import Cluster


def test_basic(cluster: Cluster) -> None:
    c = cluster.coordinator()
    value = start_one(cluster, c)
    assert not c.done()
    value.cancel()
    c.join()
    assert c.done()


def test_process_at_lease_once(cluster: Cluster) -> None:
    c = cluster.coordinator()
    labels = [f"label {i}" for i in range(200)]
    values = [c.schedule(str.upper, args=(label,)) for label in labels]
    c.join()
    c.join()
    assert c.fetch(values) == [label.upper() for label in labels]


def test_notify_before_wait(cluster: Cluster) -> None:
    c = cluster.coordinator()
    c.schedule(one).fetch()
    c.join(10)


def test_wait_raise_error_after_mark_failure(cluster: Cluster) -> None:
    c = cluster.coordinator()
    c.schedule(lambda: (time.sleep(0.3), bad()))
    with pytest.raises(ValueError, match="bad"):
        c.join()
    assert c.done()


def raised_by(cluster: Cluster, call: Callable[[Coordinator], Any]) -> None:
    c = cluster.coordinator()
    failed = c.schedule(bad, args=("the first",))
    with pytest.raises(ValueError):
        failed.fetch()
    with pytest.raises(ValueError, match="the first"):
        call(c)
    assert c.done()
    assert c.schedule(one).fetch() == 1


def test_put_raise_error(cluster: Cluster) -> None:
    raised_by(cluster, lambda c: c.schedule(one))


def test_wait_raise_error(cluster: Cluster) -> None:
    raised_by(cluster, lambda c: c.join())


def test_done_raise_error(cluster: Cluster) -> None:
    raised_by(cluster, lambda c: c.done())


def test_wait_raise_error_after_cancel_closure(cluster: Cluster) -> None:
    c = cluster.coordinator()
    running = start_one(cluster, c)
    c.schedule(bad, args=("the first",))
    with pytest.raises(ValueError, match="the first"):
        c.join()
    assert running.done()  # raising an error waits for running closures
    with pytest.raises(muster.CancelledError):
        running.fetch()
    c.join()


def test_put_raise_error_after_cancel_closure(cluster: Cluster) -> None:
    c = cluster.coordinator()
    running = start_one(cluster, c)
    failed = c.schedule(bad, args=("the first",))
    with pytest.raises(ValueError):
        failed.fetch()
    with pytest.raises(ValueError, match="the first"):
        c.schedule(one)
    assert running.done()


def test_state_is_restored_after_join_is_called(cluster: Cluster) -> None:
    c = cluster.coordinator()
    c.schedule(bad)
    with pytest.raises(ValueError):
        c.join()
    assert c.schedule(one).fetch() == 1
    c.join()


def test_thread_safey(cluster: Cluster) -> None:
    c = cluster.coordinator()
    found: list[int] = []

    def work(i: int) -> None:
        values = [c.schedule(add, args=(i, k)) for k in range(20)]
        found.extend(c.fetch(values))

    threads = [threading.Thread(target=work, args=(100 * i,)) for i in range(10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(found) == sorted(100 * i + k for i in range(10) for k in range(20))
    assert c.done()


def test_put_get_with_tag(cluster: Cluster) -> None:
    c = cluster.coordinator()
    on = c.options(task="worker:2")
    assert {v.fetch() for v in [on.schedule(lambda: muster.context().task) for _ in range(9)]} == {
        "worker:2"}


def test_worker_index_dataset_fn(cluster: Cluster) -> None:
    c = cluster.coordinator()

    def dataset_fn() -> list[int]:
        here = muster.context()
        return list(range(12))[here.index::here.num_workers]

    iterator = iter(c.create_per_worker_dataset(dataset_fn))
    sums = {i: c.options(task=f"worker:{i}").schedule(lambda it: sum(it), args=(iterator,)).fetch()
            for i in range(3)}
    assert sums == {0: 18, 1: 22, 2: 26}
