"""Closures that wait for values of others: they release their slots, so that the others can run."""
from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import pathlib
import pickle
import signal
import threading
import time
from typing import Any, Callable, Iterator

import pytest

import muster
import muster.joblib
from conftest import Cluster, until

MakeCluster = Callable[..., Cluster]


def square(x: int) -> int:
    return x * x


def down(server: str, depth: int) -> int:
    """Starts a chain of `depth` closures, each waiting for the next one. Returns `depth`."""
    if depth == 0:
        return 0
    with muster.ClusterCoordinator(server) as c:
        return 1 + c.schedule(down, args=(server, depth - 1)).fetch(60)  # type: ignore[no-any-return]


def by_fetch(server: str) -> int:
    with muster.ClusterCoordinator(server) as c:
        return sum(c.fetch([c.schedule(square, args=(i,)) for i in range(4)], 30))


def by_join(server: str) -> int:
    with muster.ClusterCoordinator(server) as c:
        values = [c.schedule(square, args=(i,)) for i in range(4)]
        c.join(30)
        return sum(v.fetch(0) for v in values)


def by_map(server: str) -> int:
    with muster.ClusterCoordinator(server) as c:
        return sum(c.map(square, range(4), timeout=30))


def by_as_completed(server: str) -> int:
    with muster.ClusterCoordinator(server) as c:
        values = [c.schedule(square, args=(i,)) for i in range(4)]
        return sum(v.fetch() for v in muster.as_completed(values, 30))


def by_executor(server: str) -> int:
    with muster.Executor(server) as executor:
        return sum(f.result(30) for f in [executor.submit(square, i) for i in range(4)])


def by_exception(server: str) -> int:
    with muster.Executor(server) as executor:
        futures = [executor.submit(square, i) for i in range(4)]
        assert not any(f.exception(30) for f in futures)
        return sum(f.result(0) for f in futures)


def by_end_of_executor(server: str) -> int:
    with muster.Executor(server) as executor:
        futures = [executor.submit(square, i) for i in range(4)]
    return sum(f.result(0) for f in futures)


def by_future_of_value(server: str) -> int:
    with muster.ClusterCoordinator(server) as c:
        return sum(c.schedule(square, args=(i,)).future().result(30) for i in range(4))


def by_wait_of_futures(server: str) -> int:
    with muster.Executor(server) as executor:
        futures = [executor.submit(square, i) for i in range(4)]
        done, left = concurrent.futures.wait(futures, 30)
        return sum(f.result(0) for f in done) + 1000 * len(left)


def by_futures_as_completed(server: str) -> int:
    with muster.Executor(server) as executor:
        futures = [executor.submit(square, i) for i in range(4)]
        return sum(f.result(0) for f in concurrent.futures.as_completed(futures, 30))


def by_await(server: str) -> int:
    async def main() -> int:
        with muster.ClusterCoordinator(server) as c:
            values = [c.schedule(square, args=(i,)) for i in range(4)]
            return sum(await asyncio.wait_for(asyncio.gather(*values), 30))

    return asyncio.run(main())


def by_async_fetch(server: str) -> int:
    async def main() -> int:
        with muster.ClusterCoordinator(server) as c:
            values = [c.schedule(square, args=(i,)) for i in range(3)]
            values.append(await c.async_schedule(square, args=(3,)))
            await c.async_join(30)
            return sum(await c.async_fetch(values, 30))

    return asyncio.run(main())


def by_back_pressure(server: str) -> int:
    with muster.ClusterCoordinator(server, queue_capacity=1, pending_max=1) as c:
        return sum(v.fetch(30) for v in [c.schedule(square, args=(i,)) for i in range(4)])


def by_joblib(server: str) -> int:
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_config(backend="muster", server=server):
        return sum(joblib.Parallel(n_jobs=2)(joblib.delayed(square)(i) for i in range(4)))


WAYS = [by_fetch, by_join, by_map, by_as_completed, by_executor, by_exception, by_end_of_executor,
        by_future_of_value, by_wait_of_futures, by_futures_as_completed, by_await,
        by_async_fetch, by_back_pressure, by_joblib]


@pytest.fixture(scope="module")
def one_slot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("nested"))
    made.add("--processes", "1", "--index", "0")
    yield made
    made.close()


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_closure_releases_its_slot_in_each_kind_of_wait(one_slot: Cluster, way: Callable[[str], int]
                                                        ) -> None:
    with muster.ClusterCoordinator(one_slot.server.grpc) as c:
        assert c.schedule(way, args=(one_slot.server.grpc,)).fetch(60) == 14


def test_ten_nested_closures_run_on_one_slot(one_slot: Cluster) -> None:
    server = one_slot.server
    with muster.ClusterCoordinator(server.grpc) as c:
        assert c.schedule(down, args=(server.grpc, 10)).fetch(60) == 10
        # Afterwards the worker has one slot again.
        until(lambda: server.tasks()[0]["waiting_for_values"] == 0, "nothing waits")
        assert server.tasks()[0]["slots"] == 1


def test_many_waiting_closures_do_not_block_the_closures_they_wait_for(one_slot: Cluster) -> None:
    """More closures wait than the limit allows; nested closures start before closures that have not begun."""
    server = one_slot.server.grpc
    with muster.ClusterCoordinator(server) as c:
        values = [c.schedule(by_map, args=(server,)) for _ in range(100)]
        assert c.fetch(values, 120) == [14] * 100


def test_threads_release_their_slots(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--threads", "2")
    c = cluster.coordinator()
    server = cluster.server.grpc
    assert c.fetch([c.schedule(down, args=(server, 4)) for _ in range(4)], 60) == [4] * 4


def test_nested_closures_are_shared_between_two_workers(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "2")
    c = cluster.coordinator()
    server = cluster.server.grpc
    values = [c.schedule(by_fetch, args=(server,)) for _ in range(8)]
    values += [c.schedule(down, args=(server, 5)) for _ in range(4)]
    assert c.fetch(values, 60) == [14] * 8 + [5] * 4


def nested_loop(server: str) -> list[int]:
    import joblib

    with joblib.parallel_config(backend="muster", server=server):
        return joblib.Parallel(n_jobs=2)(  # type: ignore[no-any-return]
            joblib.delayed(square)(i) for i in range(3))


def test_joblib_in_joblib_runs_with_as_many_calls_as_slots(make_cluster: MakeCluster) -> None:
    joblib = pytest.importorskip("joblib")
    cluster = make_cluster()
    cluster.add("--processes", "2")
    server = cluster.server.grpc
    with joblib.parallel_config(backend="muster", server=server):
        found = joblib.Parallel(n_jobs=2, timeout=60)(
            joblib.delayed(nested_loop)(server) for _ in range(4))
    assert found == [[0, 1, 4]] * 4


def test_exceeding_nested_max_fails_the_waiting_closure(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1", "--nested-max", "3")
    server = cluster.server.grpc
    c = cluster.coordinator(continue_on_error=True)
    assert c.schedule(down, args=(server, 3)).fetch(30) == 3
    with pytest.raises(muster.ClosureError, match="3 closures of worker:0 already wait for values of other closures"):
        c.schedule(down, args=(server, 4)).fetch(30)
    assert c.schedule(down, args=(server, 3)).fetch(30) == 3


def test_slots_are_kept_with_nested_max_0(make_cluster: MakeCluster, tmp_path: pathlib.Path) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1", "--nested-max", "0")
    c = cluster.coordinator(continue_on_error=True)

    mark = tmp_path / "asked"

    def waits_in_vain(server: str) -> str:
        with muster.ClusterCoordinator(server) as below:
            value = below.schedule(square, args=(2,))
            timed_out = 0
            while not timed_out or not mark.exists():
                try:
                    value.fetch(0.1)
                    return "given back"
                except muster.WaitTimeout:
                    timed_out += 1
        return "kept"

    value = c.schedule(waits_in_vain, args=(cluster.server.grpc,))
    until(lambda: cluster.server.running() and
          cluster.server.get("/api/v1/overview")["closures"]["queued"] == 1, "it waits")
    for _ in range(50):  # much longer than releasing a slot takes
        (task,) = cluster.server.tasks()
        assert (task["running"], task["waiting_for_values"]) == (1, 0)
        time.sleep(0.02)
    mark.touch()
    assert value.fetch(30) == "kept"


# Nested closures that end when the test opens their gate.


def gate(path: str) -> int:
    mark = pathlib.Path(path)
    mark.touch()
    context = muster.context()
    while not mark.with_suffix(".open").exists():
        if context.wait_cancelled(0.02):
            raise RuntimeError("stopped")
    return context.attempt


def above_gate(server: str, path: str, options: Any = None) -> tuple[int, int]:
    """Returns its own attempt, and that of the nested closure."""
    with muster.ClusterCoordinator(server) as c:
        value = c.options(**(options or {})).schedule(gate, args=(path,))
        pathlib.Path(path).with_suffix(".above").touch()
        return muster.context().attempt, value.fetch(60)


def is_there(path: pathlib.Path, suffix: str = "") -> None:
    until(lambda: path.with_suffix(suffix).exists() if suffix else path.exists(), f"{path}{suffix}")


def test_task_rows_show_waiting_closures(make_cluster: MakeCluster, tmp_path: pathlib.Path) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1")
    c = cluster.coordinator()
    mark = tmp_path / "gate"
    value = c.schedule(above_gate, args=(cluster.server.grpc, str(mark)))
    is_there(mark)
    task = cluster.server.tasks()[0]
    assert (task["slots"], task["running"], task["waiting_for_values"]) == (1, 1, 1)
    mark.with_suffix(".open").touch()
    assert value.fetch(30) == (1, 1)
    until(lambda: cluster.server.tasks()[0]["waiting_for_values"] == 0, "nothing waits")


def test_waiting_and_nested_closures_run_again_when_their_process_dies(make_cluster: MakeCluster,
                                                                       tmp_path: pathlib.Path) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1")
    c = cluster.coordinator(max_worker_failures=1)  # a waiting closure is not blamed for the loss
    mark = tmp_path / "gate"
    value = c.schedule(above_gate, args=(cluster.server.grpc, str(mark)))
    is_there(mark)
    mark.unlink()
    os.kill(cluster.server.tasks()[0]["pid"], signal.SIGKILL)
    is_there(mark)
    mark.with_suffix(".open").touch()
    assert value.fetch(30)[0] == 2


def test_worker_that_leaves_completes_waiting_closures(make_cluster: MakeCluster, tmp_path: pathlib.Path
                                                       ) -> None:
    cluster = make_cluster()
    leaving = cluster.add("--processes", "1", "--index", "0")
    cluster.add("--processes", "1", "--index", "1")
    c = cluster.coordinator()
    mark = tmp_path / "gate"
    value = c.options(task="worker:0").schedule(
        above_gate, args=(cluster.server.grpc, str(mark), {"task": "worker:1"}))
    is_there(mark)
    until(lambda: cluster.server.tasks()[0]["waiting_for_values"] == 1, "it waits")
    leaving.process.terminate()
    until(lambda: cluster.server.tasks()[0]["draining"], "it is asked to leave")
    mark.with_suffix(".open").touch()
    assert value.fetch(30) == (1, 1)
    assert leaving.process.wait(20) == 0, leaving.text()


def spins(path: str) -> None:
    """Ignores cancellation."""
    pathlib.Path(path).touch()
    while True:
        for _ in range(1000):
            pass
        time.sleep(0.001)


def above_spins(server: str, path: str) -> tuple[int, str]:
    with muster.ClusterCoordinator(server) as c:
        value = c.submit(spins, path)
        while not os.path.exists(path):
            with contextlib.suppress(muster.WaitTimeout):
                value.fetch(0.1)
        value.cancel()
        try:
            value.fetch(60)
        except muster.CancelledError as error:
            return muster.context().attempt, error.message
    return 0, ""


def test_closure_that_runs_during_a_wait_is_interrupted(make_cluster: MakeCluster, tmp_path: pathlib.Path) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "1")
    c = cluster.coordinator()
    got = c.submit(above_spins, cluster.server.grpc, str(tmp_path / "spins")).fetch(30)
    assert got == (1, "the closure was asked to stop"), worker.text()
    assert "killed" not in worker.text()
    assert c.submit(above_spins, cluster.server.grpc, str(tmp_path / "again")).fetch(30) == got


def test_per_worker_iterator_is_used_by_one_closure_at_a_time(make_cluster: MakeCluster, tmp_path: pathlib.Path
                                                        ) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1")
    mark = tmp_path / "asked"

    def elements() -> Iterator[int]:
        mark.touch()
        time.sleep(0.5)
        yield 1
        yield 2

    def above(server: str, iterator: Any) -> int:
        with muster.ClusterCoordinator(server) as c:
            never = c.options(task="worker:9").submit(square, 1)
            while not mark.exists():
                with contextlib.suppress(muster.WaitTimeout):
                    never.fetch(0.1)
        return next(iterator)  # type: ignore[no-any-return]

    with cluster.coordinator() as c:
        iterator = iter(c.create_per_worker_dataset(elements))
        values = [c.submit(above, cluster.server.grpc, iterator), c.submit(next, iterator)]
        assert c.fetch(values, 30) == [2, 1]


@contextlib.contextmanager
def own_worker(cluster: Cluster, **options: Any) -> Iterator[muster.Worker]:
    worker = muster.Worker(cluster.server.grpc, job="own", **options)
    thread = threading.Thread(target=worker.run)
    before = len(cluster.connected())
    thread.start()
    try:
        until(lambda: len(cluster.connected()) > before, "it is attached")
        yield worker
    finally:
        worker.stop()
        worker.stop()
        thread.join(20)


@pytest.mark.parametrize("meanwhile", [False, True])
def test_wait_continues_after_a_broken_connection(make_cluster: MakeCluster, tmp_path: pathlib.Path,
                                                  meanwhile: bool) -> None:
    cluster = make_cluster()
    c = cluster.coordinator()
    mark = tmp_path / "gate"
    with own_worker(cluster, processes=1) as worker:
        value = c.schedule(above_gate, args=(cluster.server.grpc, str(mark)))
        is_there(mark)
        time.sleep(2)  # the server waits for a quarter of the time that it has run
        if meanwhile:
            mark.with_suffix(".open").touch()
        worker._attachments[0]._call.cancel()
        if not meanwhile:
            until(lambda: cluster.server.tasks()[0]["reconnects"] == 1, "it is back")
            task = cluster.server.tasks()[0]
            assert (task["running"], task["waiting_for_values"]) == (1, 1)
            mark.with_suffix(".open").touch()
        assert value.fetch(30) == (1, 1)
        assert c.schedule(square, args=(3,)).fetch(20) == 9
        until(lambda: cluster.server.tasks()[0]["waiting_for_values"] == 0, "nothing waits")


def test_cancelled_closure_stops_waiting(make_cluster: MakeCluster, tmp_path: pathlib.Path) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1")
    c = cluster.coordinator()
    mark = tmp_path / "gate"
    value = c.schedule(above_gate, args=(cluster.server.grpc, str(mark)))
    is_there(mark)
    value.cancel()
    with pytest.raises(muster.CancelledError):
        value.fetch(20)
    # The nested closure was cancelled with its session, so the slot is free.
    assert c.schedule(square, args=(3,)).fetch(20) == 9


def by_default() -> int:
    with muster.ClusterCoordinator() as c:
        return sum(c.map(square, range(4), timeout=30))


def by_executor_default() -> int:
    with muster.Executor() as executor:
        return sum(f.result(30) for f in [executor.submit(square, i) for i in range(4)])


def by_thread() -> int:
    """A thread started by a function has no context."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(by_default).result(30)


def by_argument(c: Any) -> int:
    return sum(c.map(square, range(4), timeout=30))


def priority_of(c: Any) -> int:
    priority: int = c._options.priority
    return priority


class Nests:
    def sum(self) -> int:
        return by_default()


@pytest.mark.parametrize("words", [("--processes", "2"), ("--threads", "2")], ids=["processes", "threads"])
def test_coordinator_in_a_function_connects_to_the_workers_server(make_cluster: MakeCluster, words: tuple[str, ...]
                                                                  ) -> None:
    cluster = make_cluster()
    cluster.add(*words)
    c = cluster.coordinator()
    assert c.fetch([c.submit(f) for f in (by_default, by_executor_default, by_thread)], 60) == [14, 14, 14]
    assert c.create(Nests, task="worker:0").sum().fetch(30) == 14


def test_coordinator_can_be_an_argument(one_slot: Cluster) -> None:
    with muster.ClusterCoordinator(one_slot.server.grpc) as c:
        assert c.submit(by_argument, c).fetch(60) == 14
        assert c.submit(by_argument, c.options(priority=3)).fetch(60) == 14
        assert c.submit(priority_of, c.options(priority=3)).fetch(60) == 3


def test_coordinator_of_another_server_keeps_its_address(one_slot: Cluster, make_cluster: MakeCluster) -> None:
    other = make_cluster()
    other.add("--processes", "1", "--index", "0")
    there = other.coordinator()
    there.wait_open()

    def session(c: Any) -> str:
        c.submit(square, 2).fetch(30)
        return str(c.wait_open())

    with muster.ClusterCoordinator(one_slot.server.grpc) as c:
        job = c.submit(session, there).fetch(30)
    assert other.server.get(f"/api/v1/jobs/{job}")["id"] == job


def test_pickle_of_a_coordinator_has_no_credentials(one_slot: Cluster) -> None:
    with muster.ClusterCoordinator(one_slot.server.grpc, token="a secret token") as c:
        data = pickle.dumps(c)
    assert b"secret" not in data and one_slot.server.grpc.encode() in data
