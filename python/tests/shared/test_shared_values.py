"""Large arguments and values by shared memory, through real servers and workers."""
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
"""Seconds for which memory that nobody has stays (client/blobs/regions.hpp)."""


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """Of the tests before."""
    memory.forget_unused()


@pytest.fixture
def made(make_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    """Two workers with a process each."""
    found = make_cluster()
    for i in range(2):
        found.add("--processes", "1", "--index", str(i))
    yield found
    found.close()
    memory.forget_unused()  # what this process keeps for the next; `test_regions` has that it goes by itself
    until(lambda: not memories(), "the memory is free")


def at_server(cluster: Cluster) -> int:
    return int(cluster.server.get("/api/v1/blobs")["blobs"])


def settled(cluster: Cluster) -> None:
    """Nothing is held any more, here or there."""
    gc.collect()
    until(lambda: not memories(), "the memory is free")
    until(lambda: cluster.server.get("/api/v1/blobs")["elsewhere"]["values"] == 0)


def test_an_array_there_and_back(made: Cluster) -> None:
    big = array(64)
    with made.coordinator() as c:
        value = c.schedule(echo, args=(big,))
        found = value.fetch()
        assert numpy.array_equal(found, big)
        assert at_server(made) == 0
        assert sorted(size // MB for size in memories().values()) == [64, 64]  # there, and back
        found[0] = 7  # it is the program's own
        assert c.schedule(echo, args=(value,)).fetch()[0] == big[0] != 7
        del value, found
        settled(made)


def test_an_argument_may_be_written_to_and_nobody_else_sees_it(made: Cluster) -> None:
    def changed(x: Any, by: int) -> Any:
        before = int(x[0])
        x[:] += by
        return before, int(x[0])

    big = array(4)
    with made.coordinator() as c:
        found = c.fetch([c.schedule(changed, args=(big, by)) for by in range(1, 9)])
        assert found == [(big[0], big[0] + by) for by in range(1, 9)]


def test_twenty_closures_with_one_array_are_one_memory(made: Cluster) -> None:
    big = array(16)
    with made.coordinator() as c:
        values = [c.schedule(total, args=(big, 2.0 if i < 2 else 0)) for i in range(20)]
        until(lambda: made.server.running() == 2)
        assert [size // MB for size in memories().values()] == [16]
        assert c.fetch(values) == [total(big)] * 20
        assert at_server(made) == 0


def test_a_buffer_that_has_changed_is_another_content(made: Cluster) -> None:
    big = array(4)
    with made.coordinator() as c:
        assert c.schedule(total, args=(big,)).fetch() == total(big)
        assert c.schedule(total, args=(big,)).fetch() == total(big)
        assert len(memories()) == 1
        big[-1] += 1
        assert c.schedule(total, args=(big,)).fetch() == total(big)
        assert len(memories()) <= 2  # the first has gone, or is used again


def test_few_contents_stay_after_their_closures(made: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with made.coordinator() as c:
        for i in range(shared.STAYING_MAX + 3):
            assert c.schedule(total, args=(array(2, i),)).fetch() == total(array(2, i))
        until(lambda: len(memories()) <= shared.STAYING_MAX)
        began = time.monotonic()
        settled(made)
        assert time.monotonic() - began < shared.STAYS + FREE_STAYS + 3


def test_what_is_of_an_array_that_is_gone_is_used_again(made: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
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
        assert staying() == 1  # one content: whose bytes they are is still there
        del big
        until(lambda: not staying())


def test_outputs_of_a_loop_go_before_the_next(made: Cluster) -> None:
    """Or each of them is new memory, which costs more than what is in it."""
    def elsewhere() -> int:
        return int(made.server.get("/api/v1/blobs")["elsewhere"]["values"])

    with made.coordinator() as c:
        took = []
        for i in range(13):
            assert c.schedule(array, args=(2, i)).fetch()[0] == array(2, i)[0]
            gone = time.monotonic()
            until(lambda: not elsewhere())
            took.append(time.monotonic() - gone)
        assert sorted(took)[6] < 0.6  # when nothing is expected, the server looks once a second


def test_an_output_is_an_argument_of_another_worker(made: Cluster) -> None:
    with made.coordinator() as c:
        value = c.options(task="worker:0").schedule(array, args=(8, 3))
        sums = [c.options(task=f"worker:{i % 2}").schedule(total, args=(value,)) for i in range(6)]
        assert c.fetch(sums) == [total(array(8, 3))] * 6
        assert len(memories()) == 1 and at_server(made) == 0
        del value, sums
        settled(made)


def test_several_clients(made: Cluster) -> None:
    with made.coordinator() as one, made.coordinator() as other, made.coordinator(shm_bytes_max=0) as third:
        data = [array(4, i) for i in range(3)]
        values = [c.schedule(echo, args=(x,)) for c, x in zip((one, other, third), data) for _ in range(4)]
        for i, value in enumerate(values):
            assert numpy.array_equal(value.fetch(), data[i // 4])
        del values, value
    settled(made)


def test_a_worker_and_a_client_without_it(make_cluster: Callable[..., Cluster]) -> None:
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


def test_threads_share_too(make_cluster: Callable[..., Cluster]) -> None:
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


def test_what_does_not_fit_goes_by_the_server(make_cluster: Callable[..., Cluster]) -> None:
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


def test_memory_that_nobody_has_is_within_the_limit(make_cluster: Callable[..., Cluster]) -> None:
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
        until(lambda: made.server.get("/api/v1/blobs")["elsewhere"]["values"] == 0)  # nobody has it, and it stays
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


def test_a_child_is_killed(made: Cluster) -> None:
    big = array(4)
    with made.coordinator() as c:
        value = c.options(task="worker:0").schedule(array, args=(8, 3))
        until(value.done)
        pid, _ = c.options(task="worker:0").schedule(where).fetch()
        os.kill(pid, signal.SIGKILL)
        assert c.schedule(total, args=(value,)).fetch() == total(array(8, 3))  # the worker's own process holds it
        assert c.options(task="worker:0").schedule(total, args=(big,)).fetch() == total(big)
        del value
        settled(made)


def test_a_worker_is_killed(made: Cluster) -> None:
    big = array(8)
    with made.coordinator() as c:
        value = c.options(task="worker:0").schedule(echo, args=(big,))
        until(value.done)
        names = set(memories())
        assert len(names) == 2
        running = [c.schedule(total, args=(big, 2.0)) for _ in range(2)]
        until(lambda: made.server.running() == 2)
        made.workers[0].kill()
        assert c.fetch(running) == [total(big)] * 2  # elsewhere
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


def test_a_client_is_killed(made: Cluster) -> None:
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
        # The children have it mapped for as long as their closures run; nobody else has it.
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


def test_values_of_a_worker_that_leaves_are_at_the_server(made: Cluster) -> None:
    with made.coordinator() as c:
        values = [c.options(task=f"worker:{i}").schedule(array, args=(4, i)) for i in range(2)]
        until(lambda: all(value.done() for value in values))
        assert at_server(made) == 0
        assert made.workers[0].stop() == 0
        for i, value in enumerate(values):
            assert numpy.array_equal(value.fetch(), array(4, i))
        assert at_server(made) == 1


def test_a_server_starts_again(make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path) -> None:
    made = make_cluster("--data-dir", str(tmp_path / "data"))
    made.add()
    big = array(4)
    with made.coordinator() as c:
        value = c.schedule(echo, args=(big,))
        running = [c.schedule(total, args=(big, 1.0)) for _ in range(2)]
        until(value.done)
        assert at_server(made) == 1  # what a server that starts anew must have
        grpc, http = made.server.grpc, made.server.http[len("http://"):]
        made.server.kill()
        made.server.start(grpc, http)
        assert numpy.array_equal(value.fetch(), big)
        assert c.fetch(running) == [total(big)] * 2
        made.add()
        assert c.fetch([c.schedule(total, args=(big,)) for _ in range(4)]) == [total(big)] * 4
        until(lambda: made.server.get("/api/v1/blobs")["elsewhere"]["values"] == 1, "it is told again")


def test_no_descriptor_stays(made: Cluster) -> None:
    def descriptors() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    with made.coordinator() as c:
        assert c.schedule(total, args=(array(2),)).fetch()
        before = descriptors()
        values = [c.schedule(array, args=(2, i)) for i in range(40)]
        kept = [value.fetch() for value in values]
        assert len(kept) == 40 and descriptors() <= before + 4  # and not one for each of them
        del values, kept
        settled(made)
        for worker in made.workers:
            assert not [link for _, link in links_of(worker.process.pid) if "memfd" in link]


def test_calls_of_joblib_share_one_array(made: Cluster) -> None:
    joblib = pytest.importorskip("joblib")
    big = array(8)
    with joblib.parallel_config(backend="muster", server=made.server.grpc, n_jobs=2), joblib.Parallel() as parallel:
        for _ in range(2):
            assert parallel(joblib.delayed(total)(big) for _ in range(40)) == [total(big)] * 40
            assert at_server(made) == 0
            big[0] += 1  # between two calls it may be changed
        assert 1 <= len(memories()) <= 2
        temporary = [int(numpy.full(MB, i).sum()) for i in range(12)]  # each has the place of the one before
        assert parallel(joblib.delayed(total)(numpy.full(MB, i)) for i in range(12)) == temporary
