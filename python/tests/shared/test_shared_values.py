"""Large arguments and values in shared memory, with real servers and workers."""
from __future__ import annotations

import gc
import os
import pathlib
import signal
import time
from typing import Any, Callable, Iterator

import numpy
import pytest

import muster
import muster.joblib
from conftest import Cluster, until
from memories import links_of, memories, nowhere, own
from muster._shared import memory
from muster.coordinator import shared
from shared_closures import MB, array, echo, total, where

FREE_STAYS = 5.0
"""Seconds for which unused memory is kept (client/blobs/regions.hpp)."""


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """Frees the memory that earlier tests have left for reuse."""
    memory.forget_unused()


@pytest.fixture
def made(make_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    """Two workers with one process each."""
    found = make_cluster()
    for i in range(2):
        found.add("--processes", "1", "--index", str(i))
    yield found
    found.close()
    memory.forget_unused()  # memory that this process keeps for reuse; `test_regions` checks that it is freed by itself
    until(lambda: not memories(), "the memory is free")


def at_server(cluster: Cluster) -> int:
    return int(cluster.server.get("/api/v1/blobs")["blobs"])


def settled(cluster: Cluster) -> None:
    """Waits until no memory is held, in this process or in others."""
    gc.collect()
    until(lambda: not memories(), "the memory is free")
    until(lambda: cluster.server.get("/api/v1/blobs")["elsewhere"]["values"] == 0)


def test_array_is_sent_and_returned_through_shared_memory(made: Cluster) -> None:
    big = array(64)
    with made.coordinator() as c:
        value = c.schedule(echo, args=(big,))
        found = value.fetch()
        assert numpy.array_equal(found, big)
        assert at_server(made) == 0
        assert sorted(size // MB for size in memories().values()) == [64, 64]  # the argument and the result
        found[0] = 7  # the array belongs to the program
        assert c.schedule(echo, args=(value,)).fetch()[0] == big[0] != 7
        del value, found
        settled(made)


def test_argument_can_be_changed_without_effect_on_other_calls(made: Cluster) -> None:
    def changed(x: Any, by: int) -> Any:
        before = int(x[0])
        x[:] += by
        return before, int(x[0])

    big = array(4)
    with made.coordinator() as c:
        found = c.fetch([c.schedule(changed, args=(big, by)) for by in range(1, 9)])
        assert found == [(big[0], big[0] + by) for by in range(1, 9)]


def test_closures_with_the_same_array_share_one_memory(made: Cluster) -> None:
    big = array(16)
    with made.coordinator() as c:
        values = [c.schedule(total, args=(big, 2.0 if i < 2 else 0)) for i in range(20)]
        until(lambda: made.server.running() == 2)
        assert [size // MB for size in memories().values()] == [16]
        assert c.fetch(values) == [total(big)] * 20
        assert at_server(made) == 0


def test_changed_buffer_is_a_new_content(made: Cluster) -> None:
    big = array(4)
    with made.coordinator() as c:
        assert c.schedule(total, args=(big,)).fetch() == total(big)
        assert c.schedule(total, args=(big,)).fetch() == total(big)
        assert len(memories()) == 1
        big[-1] += 1
        assert c.schedule(total, args=(big,)).fetch() == total(big)
        assert len(memories()) <= 2  # the first content was freed or its memory is reused


def test_few_contents_are_kept_after_their_closures(made: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with made.coordinator() as c:
        for i in range(shared.STAYING_MAX + 3):
            assert c.schedule(total, args=(array(2, i),)).fetch() == total(array(2, i))
        until(lambda: len(memories()) <= shared.STAYING_MAX)
        began = time.monotonic()
        settled(made)
        assert time.monotonic() - began < shared.STAYS + FREE_STAYS + 3


def test_memory_of_a_deleted_array_is_reused(made: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "STAYS", 1000.0)
    with made.coordinator() as c:
        def staying() -> int:
            return len(c._session.blobs._shared._staying)

        for i in range(8):
            big = array(4, i)
            assert c.options(task="worker:0").schedule(total, args=(big,)).fetch() == total(big)
            assert staying() == 1
            del big
            until(lambda: not staying())
        until(lambda: len(memories()) <= 3)
        big = array(4)
        view = big[1000:]
        assert c.schedule(total, args=(view,)).fetch() == total(view)
        del view
        assert c.schedule(total, args=(big[1000:],)).fetch() == total(big[1000:])
        assert staying() == 1  # one content, because the array with its bytes still exists
        del big
        until(lambda: not staying())


def test_outputs_of_a_loop_are_released_before_the_next_iteration(made: Cluster) -> None:
    """Otherwise each output needs new memory, which costs more than writing its content."""
    def elsewhere() -> int:
        return int(made.server.get("/api/v1/blobs")["elsewhere"]["values"])

    with made.coordinator() as c:
        took = []
        for i in range(13):
            assert c.schedule(array, args=(2, i)).fetch()[0] == array(2, i)[0]
            gone = time.monotonic()
            until(lambda: not elsewhere())
            took.append(time.monotonic() - gone)
        assert sorted(took)[6] < 0.6  # without a request, the server checks once a second


def test_output_is_an_argument_on_another_worker(made: Cluster) -> None:
    with made.coordinator() as c:
        value = c.options(task="worker:0").schedule(array, args=(8, 3))
        sums = [c.options(task=f"worker:{i % 2}").schedule(total, args=(value,)) for i in range(6)]
        assert c.fetch(sums) == [total(array(8, 3))] * 6
        assert len(memories()) == 1 and at_server(made) == 0
        del value, sums
        settled(made)


def test_several_clients_share_memory_with_the_same_workers(made: Cluster) -> None:
    with made.coordinator() as one, made.coordinator() as other, made.coordinator(shm_bytes_max=0) as third:
        data = [array(4, i) for i in range(3)]
        values = [c.schedule(echo, args=(x,)) for c, x in zip((one, other, third), data) for _ in range(4)]
        for i, value in enumerate(values):
            assert numpy.array_equal(value.fetch(), data[i // 4])
        del values, value
    settled(made)


def test_workers_and_clients_without_shared_memory_interoperate(make_cluster: Callable[..., Cluster]) -> None:
    made = make_cluster()
    made.add("--shm-bytes-max", "0", "--index", "0")
    made.add("--index", "1")
    big = array(4)
    for bytes_max in (None, 0):
        with made.coordinator(shm_bytes_max=bytes_max) as c:
            for task in ("worker:0", "worker:1"):
                value = c.options(task=task).schedule(echo, args=(big,))
                assert numpy.array_equal(value.fetch(), big)
                for other in ("worker:0", "worker:1"):
                    assert c.options(task=other).schedule(total, args=(value,)).fetch() == total(big)


def test_thread_workers_share_memory(make_cluster: Callable[..., Cluster]) -> None:
    made = make_cluster()
    made.add("--threads", "2")
    big = array(4)
    with made.coordinator() as c:
        values = [c.schedule(echo, args=(big,)) for _ in range(4)]
        for value in values:
            assert numpy.array_equal(value.fetch(), big)
        assert at_server(made) == 0
        del values, value
        settled(made)


def test_values_beyond_the_limit_are_sent_through_the_server(make_cluster: Callable[..., Cluster]) -> None:
    made = make_cluster()
    made.add("--shm-bytes-max", "5MiB")
    data = [array(4, i) for i in range(4)]
    with made.coordinator(shm_bytes_max=9 * MB) as c:
        values = [c.schedule(echo, args=(x,)) for x in data]
        until(lambda: all(value.done() for value in values))  # noqa: F821  they are deleted below
        held = memories()
        assert sum(held.values()) <= 14.1 * MB and len(held) <= 3
        for value, x in zip(values, data):
            assert numpy.array_equal(value.fetch(), x)
        del values, value
        settled(made)


def test_unused_memory_counts_towards_the_limit(make_cluster: Callable[..., Cluster]) -> None:
    made = make_cluster()
    made.add("--shm-bytes-max", "16MiB", "--processes", "1")
    most = 0

    def look() -> None:
        nonlocal most
        most = max(most, sum(memories(made.workers[0].process.pid).values()))

    with made.coordinator(shm_bytes_max=0) as c:
        value = c.schedule(array, args=(3,))
        until(value.done)
        del value
        until(lambda: made.server.get("/api/v1/blobs")["elsewhere"]["values"] == 0)  # unneeded, and kept for reuse
        kept = [c.schedule(array, args=(2, i)) for i in range(8)]
        for value in kept:
            until(value.done)
            look()
    assert 10 * MB < most <= 16.1 * MB
    with made.coordinator(shm_bytes_max=13 * MB) as c:
        c.schedule(total, args=(array(3),)).fetch()
        c._session.blobs._shared.tick(float("inf"))
        for x in [array(2, i) for i in range(6)]:
            c.schedule(total, args=(x,)).fetch()
            assert own() <= 13.1 * MB


def test_value_outlives_the_child_process_that_computed_it(made: Cluster) -> None:
    big = array(4)
    with made.coordinator() as c:
        value = c.options(task="worker:0").schedule(array, args=(8, 3))
        until(value.done)
        pid, _ = c.options(task="worker:0").schedule(where).fetch()
        os.kill(pid, signal.SIGKILL)
        assert c.schedule(total, args=(value,)).fetch() == total(array(8, 3))  # the worker's own process holds the value
        assert c.options(task="worker:0").schedule(total, args=(big,)).fetch() == total(big)
        del value
        settled(made)


def test_memory_of_a_killed_worker_is_freed_and_calls_continue_elsewhere(made: Cluster) -> None:
    big = array(8)
    with made.coordinator() as c:
        value = c.options(task="worker:0").schedule(echo, args=(big,))
        until(value.done)
        names = set(memories())
        assert len(names) == 2
        running = [c.schedule(total, args=(big, 2.0)) for _ in range(2)]
        until(lambda: made.server.running() == 2)
        made.workers[0].kill()
        assert c.fetch(running) == [total(big)] * 2  # on the other worker
        del value, running
        settled(made)
        until(lambda: nowhere(names))


CLIENT = """
import sys, time
import numpy
import muster
def slow(x):
    time.sleep(600)
c = muster.ClusterCoordinator({server!r})
big = numpy.ones(1 << 20)
values = [c.schedule(slow, args=(big,)) for _ in range(2)]
print("ready", flush=True)
time.sleep(600)
"""


def test_memory_of_a_killed_client_is_freed(made: Cluster) -> None:
    import subprocess
    import sys

    client = subprocess.Popen([sys.executable, "-c", CLIENT.format(server=made.server.grpc)], stdout=subprocess.PIPE,
                              env={**os.environ, "PYTHONPATH": str(pathlib.Path(muster.__file__).parents[1])})
    try:
        assert client.stdout and client.stdout.readline() == b"ready\n"
        until(lambda: made.server.running() == 2)
        names = set(memories(client.pid))
        workers = [w.process.pid for w in made.workers]
        until(lambda: all(memories(pid) for pid in workers), "the workers have it")
        client.kill()
        client.wait()
        # The children have the memory mapped while their closures run; no other process has it.
        until(lambda: made.server.get("/api/v1/blobs")["elsewhere"]["values"] == 0, "the server knows")
        for pid in workers:
            until(lambda: not any("memfd:muster-" in link for _, link in links_of(pid)))
        for worker in made.workers:
            worker.kill()
        until(lambda: nowhere(names))
    finally:
        client.kill()
        client.wait()
        client.stdout.close()  # type: ignore[union-attr]


def test_values_of_a_worker_that_leaves_are_moved_to_the_server(made: Cluster) -> None:
    with made.coordinator() as c:
        values = [c.options(task=f"worker:{i}").schedule(array, args=(4, i)) for i in range(2)]
        until(lambda: all(value.done() for value in values))
        assert at_server(made) == 0
        assert made.workers[0].stop() == 0
        for i, value in enumerate(values):
            assert numpy.array_equal(value.fetch(), array(4, i))
        assert at_server(made) == 1


def test_values_survive_a_server_restart(make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path) -> None:
    made = make_cluster("--data-dir", str(tmp_path / "data"))
    made.add()
    big = array(4)
    with made.coordinator() as c:
        value = c.schedule(echo, args=(big,))
        running = [c.schedule(total, args=(big, 1.0)) for _ in range(2)]
        until(value.done)
        assert at_server(made) == 1  # a durable server needs the argument after a restart
        grpc, http = made.server.grpc, made.server.http[len("http://"):]
        made.server.kill()
        made.server.start(grpc, http)
        assert numpy.array_equal(value.fetch(), big)
        assert c.fetch(running) == [total(big)] * 2
        made.add()
        assert c.fetch([c.schedule(total, args=(big,)) for _ in range(4)]) == [total(big)] * 4
        until(lambda: made.server.get("/api/v1/blobs")["elsewhere"]["values"] == 1, "it is told again")


def test_fetched_values_leave_no_descriptors_open(made: Cluster) -> None:
    def descriptors() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    with made.coordinator() as c:
        assert c.schedule(total, args=(array(2),)).fetch()
        before = descriptors()
        values = [c.schedule(array, args=(2, i)) for i in range(40)]
        kept = [value.fetch() for value in values]
        assert len(kept) == 40 and descriptors() <= before + 4  # not one descriptor for each value
        del values, kept
        settled(made)
        for worker in made.workers:
            assert not [link for _, link in links_of(worker.process.pid) if "memfd" in link]


def test_joblib_calls_share_one_array(made: Cluster) -> None:
    joblib = pytest.importorskip("joblib")
    big = array(8)
    with joblib.parallel_config(backend="muster", server=made.server.grpc, n_jobs=2), joblib.Parallel() as parallel:
        for _ in range(2):
            assert parallel(joblib.delayed(total)(big) for _ in range(40)) == [total(big)] * 40
            assert at_server(made) == 0
            big[0] += 1  # the array can be changed between two calls
        assert 1 <= len(memories()) <= 2
        temporary = [int(numpy.full(MB, i).sum()) for i in range(12)]  # each array has the address of the previous one
        assert parallel(joblib.delayed(total)(numpy.full(MB, i)) for i in range(12)) == temporary
