"""Broken connections, options, batches, collected handles, and asyncio."""
from __future__ import annotations

import asyncio
import copy
import gc
import os
import pathlib
import subprocess
import sys
import threading
import time
import types
from typing import Any, Callable

import pytest

import muster
from closures import wait_for_file
from conftest import DEADLINE, Cluster, until
from muster.coordinator.options import CoordinatorOptions
from muster.coordinator.requests import Request
from muster.coordinator.session import Session

MakeCluster = Callable[..., Cluster]


def square(x: int) -> int:
    return x * x


def test_map_returns_results_in_order(cluster: Cluster) -> None:
    c = cluster.coordinator()
    assert list(c.map(square, range(5000))) == [x * x for x in range(5000)]
    assert list(c.map(lambda a, b: a + b, [1, 2], [10, 20], chunksize=1)) == [11, 22]
    assert list(c.map(square, [])) == []


def test_schedule_many_returns_a_value_for_each_call(cluster: Cluster) -> None:
    c = cluster.coordinator()
    values = c.schedule_many(square, ((i,) for i in range(2500)))
    assert c.fetch(values) == [i * i for i in range(2500)]


def test_put_value_can_be_used_by_many_closures(cluster: Cluster) -> None:
    c = cluster.coordinator()
    table = c.put({i: i * i for i in range(1000)})
    assert c.fetch([c.schedule(dict.get, args=(table, i)) for i in range(20)]) == [
        i * i for i in range(20)]


def test_failed_closures_are_retried(cluster: Cluster) -> None:
    c = cluster.coordinator()
    kept = c.create_per_worker_value(lambda: [])

    def flaky(tried: list[int]) -> int:
        tried.append(1)
        if len(tried) < 2:
            raise RuntimeError("not yet")
        return len(tried)

    assert c.options(retries=2, task="worker:0").schedule(flaky, args=(kept,)).fetch(20) == 2


def test_timeout_ends_a_closure(cluster: Cluster) -> None:
    c = cluster.coordinator(continue_on_error=True)
    value = c.options(timeout=0.2).schedule(time.sleep, args=(60,))
    with pytest.raises(muster.ClosureError) as caught:
        value.fetch(20)
    assert caught.value.kind is muster.FailureKind.TIMEOUT


def test_waits_have_timeouts(cluster: Cluster) -> None:
    c = cluster.coordinator()
    value = c.schedule(time.sleep, args=(60,))
    for wait in (lambda: value.fetch(0.05), lambda: c.join(0.05), lambda: c.fetch([value], 0.05)):
        with pytest.raises(muster.WaitTimeout):
            wait()
    c.cancel()
    with pytest.raises(muster.CancelledError):
        value.fetch(20)
    c.join(20)  # a cancelled call is not an error


def test_close_cancels_calls_and_keeps_values_readable(cluster: Cluster) -> None:
    with muster.ClusterCoordinator(cluster.server.grpc) as c:
        done = c.schedule(square, args=(3,))
        assert done.fetch() == 9
        running = c.schedule(time.sleep, args=(60,))
    with pytest.raises(muster.CancelledError):
        running.fetch(20)
    assert done.fetch() == 9
    with pytest.raises(RuntimeError, match="closed"):
        c.schedule(square, args=(1,))


@pytest.mark.parametrize("ways", ["schedule", "submit", "schedule_many"])
def test_queue_capacity_limits_the_waiting_calls(make_cluster: MakeCluster, tmp_path: pathlib.Path,
                                                 ways: str) -> None:
    gate = tmp_path / "open"
    one = make_cluster()
    one.add("--processes", "1")
    c = one.coordinator(queue_capacity=100)
    blocker = c.schedule(wait_for_file, (gate,))
    until(lambda: counts(one, c)["running"] == 1, "the first call runs")
    taken: list[Any] = []

    def schedule_all() -> None:
        if ways == "schedule_many":
            c.schedule_many(square, ([i] for i in range(250)))
            return
        for i in range(250):
            taken.append(c.submit(square, i) if ways == "submit" else c.schedule(square, (i,)))

    thread = threading.Thread(target=schedule_all)
    thread.start()
    until(lambda: counts(one, c)["queued"] == 100, "the queue is full")
    thread.join(0.3)
    assert thread.is_alive() and counts(one, c)["queued"] == 100
    assert ways == "schedule_many" or len(taken) == 100
    gate.touch()
    thread.join(DEADLINE)
    c.join(DEADLINE)
    assert not thread.is_alive() and blocker.fetch() == "open" and counts(one, c)["succeeded"] == 251


def test_new_worker_makes_room_before_any_call_ends(make_cluster: MakeCluster, tmp_path: pathlib.Path) -> None:
    gate = tmp_path / "open"
    one = make_cluster()
    one.add("--processes", "1")
    c = one.coordinator(queue_capacity=1)
    c.schedule(wait_for_file, (gate,))
    until(lambda: counts(one, c)["running"] == 1, "the first call runs")
    c.schedule(wait_for_file, (gate,))
    thread = threading.Thread(target=lambda: c.schedule(wait_for_file, (gate,)))
    thread.start()
    thread.join(0.2)
    assert thread.is_alive(), "the thread waits, since one call is queued, which is the capacity"
    one.add("--processes", "1")
    thread.join(DEADLINE)
    assert not thread.is_alive() and counts(one, c)["running"] == 2
    gate.touch()
    c.join(DEADLINE)


def counts(of: Cluster, c: muster.ClusterCoordinator) -> dict[str, int]:
    found: dict[str, int] = of.server.get(f"/api/v1/jobs/{c.wait_open()}")["counts"]
    return found


def test_unsent_closures_release_their_room() -> None:
    session = Session(CoordinatorOptions(queue_capacity=2, log_to_driver=False))
    session.connected()  # a stream without a thread that sends
    first, second = session.put([Request("f", b"", 0), Request("f", b"", 0)], None, True)
    assert session._full()
    assert session.cancel_queued([second]).left == set()
    assert not session._full() and list(session._out.records) == [first]


def test_copy_of_a_coordinator_is_the_coordinator(cluster: Cluster) -> None:
    c = cluster.coordinator()
    named = c.options(name="named")
    assert copy.copy(c) is c and copy.deepcopy({"c": c})["c"] is c and copy.deepcopy(named) is named


def test_unreachable_server_is_an_error() -> None:
    c = muster.ClusterCoordinator("127.0.0.1:1", connect_timeout=0.3)
    with pytest.raises(muster.UnavailableError, match="no answer from 127.0.0.1:1 within 0.3 s"):
        c.wait_open()
    with pytest.raises(muster.UnavailableError):
        c.schedule(square, args=(1,))


def test_several_addresses_are_tried(cluster: Cluster) -> None:
    with muster.ClusterCoordinator(["127.0.0.1:1", cluster.server.grpc]) as c:
        assert c.schedule(square, args=(2,)).fetch(20) == 4


def test_session_pauses_once_for_all_addresses(cluster: Cluster) -> None:
    nobody = [f"127.0.0.1:{port}" for port in range(1, 9)]
    with muster.ClusterCoordinator([*nobody, cluster.server.grpc], connect_timeout=3.0) as c:
        c.wait_open()


def test_broken_connection_is_resumed(cluster: Cluster) -> None:
    c = cluster.coordinator()
    session = c.wait_open()
    kept = c.create_per_worker_value(lambda: [7])
    before = c.schedule(square, args=(5,))
    before.fetch()
    slow = c.schedule(lambda: time.sleep(0.5) or 1)
    until(cluster.server.running, "it runs")
    c._session.link._call.cancel()
    after = c.schedule(lambda a, b, k: a + b + k[0], args=(before, slow, kept))
    assert after.fetch(20) == 33
    assert c.wait_open() == session
    c.join(20)


def test_cancel_during_a_disconnection_is_not_lost(cluster: Cluster) -> None:
    c = cluster.coordinator()
    value = c.schedule(time.sleep, args=(60,))
    until(cluster.server.running, "it runs")
    c._session.link._call.cancel()
    until(lambda: c._session._away_since is not None, "there is no stream")
    value.cancel()
    with pytest.raises(muster.CancelledError):
        value.fetch(20)


def test_callback_that_would_wait_for_its_own_thread_is_refused(cluster: Cluster) -> None:
    """The session would be in a deadlock."""
    c = cluster.coordinator()
    said: list[str] = []
    called = threading.Event()

    def callback() -> None:
        for call in (lambda: c.schedule(square, (1,)), lambda: other.fetch(20), lambda: c.join(20),
                     lambda: c.create_per_worker_value(list), lambda: c.create(list, task="ps:0"),
                     lambda: c.variable(shape=()), lambda: c.get_object("it")):
            try:
                call()
            except RuntimeError as error:
                said.append(str(error))
        called.set()

    gate = cluster.folder / "gate"
    other = c.schedule(until, (gate.exists,))
    c.schedule(lambda: until(gate.with_name("first").exists) and 1 // 0).add_done_callback(callback)
    gate.with_name("first").touch()
    assert called.wait(20)
    gate.touch()
    assert len(said) == 7 and all("a callback cannot" in one and "thread" in one for one in said)
    with pytest.raises(ZeroDivisionError):
        c.join(20)
    assert c.schedule(square, (3,)).fetch(20) == 9


def test_error_of_a_callback_is_logged_and_ends_nothing(cluster: Cluster, caplog: Any) -> None:
    c = cluster.coordinator()
    slow = c.schedule(lambda: time.sleep(0.3))
    slow.add_done_callback(lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    slow.fetch(20)
    assert c.schedule(square, args=(3,)).fetch(20) == 9
    until(lambda: "ZeroDivisionError" in caplog.text, "it is logged")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_waits_end_when_the_thread_of_a_session_has_failed(cluster: Cluster) -> None:
    c = cluster.coordinator()
    c.wait_open()

    def broken(*_: Any) -> None:
        raise RuntimeError("a defect")

    c._session.take = broken  # type: ignore[method-assign]
    value = c.schedule(square, args=(3,))
    with pytest.raises(muster.UnavailableError, match="own thread failed"):
        value.fetch(20)
    with pytest.raises(muster.UnavailableError):
        c.join(20)


def test_session_ends_when_the_server_stays_away_for_its_grace(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    c = cluster.coordinator(session_grace=0.5)
    c.wait_open()
    value = c.schedule(square, args=(5,))
    cluster.server.kill()
    with pytest.raises(muster.UnavailableError, match="longer than the session's grace"):
        value.fetch(20)
    with pytest.raises(muster.UnavailableError):
        c.join()


def test_session_survives_server_restarts(make_cluster: MakeCluster, tmp_path: pathlib.Path) -> None:
    cluster = make_cluster("--data-dir", str(tmp_path / "data"))
    cluster.add("--processes", "2")
    c = cluster.coordinator()
    session = c.wait_open()
    values = []
    for _ in range(3):
        values += [c.schedule(square, args=(i,)) for i in range(len(values), len(values) + 200)]
        before = cluster.server.grpc, cluster.server.http.removeprefix("http://")
        cluster.server.kill()
        cluster.server.start(*before)
    c.join(60)
    assert c.fetch(values) == [i * i for i in range(600)]
    assert c.wait_open() == session
    assert cluster.server.get(f"/api/v1/jobs/{session}")["durable"]


def test_closure_that_ends_while_the_server_is_away_is_not_run_again(make_cluster: MakeCluster,
                                                            tmp_path: pathlib.Path) -> None:
    cluster = make_cluster("--data-dir", str(tmp_path / "data"))
    cluster.add("--processes", "1")
    c = cluster.coordinator()
    trace = tmp_path / "trace"
    go_on = tmp_path / "go_on"

    def slow() -> str:
        with trace.open("a") as f:
            f.write("began ")
        while not go_on.exists():
            time.sleep(0.01)
        with trace.open("a") as f:
            f.write("ended ")
        return "done"

    value = c.schedule(slow)
    until(trace.exists, "it runs")
    # Waits until the call is on the server's disk; `overview` counts durable changes.
    before = cluster.server.grpc, cluster.server.http.removeprefix("http://")
    until(lambda: cluster.server.get("/api/v1/overview")["durable"]["changes"] >= 3, "accepted")
    cluster.server.kill()
    go_on.touch()
    until(lambda: "ended" in trace.read_text(), "it has ended")
    cluster.server.start(*before)
    assert value.fetch(30) == "done"
    assert trace.read_text() == "began ended "


def test_values_are_released_when_their_handles_are_collected(cluster: Cluster) -> None:
    c = cluster.coordinator()
    c.wait_open()
    values = [c.schedule(square, args=(i,)) for i in range(100)]
    c.join()
    assert len(c._session._records) == 100
    del values
    gc.collect()
    until(lambda: not c._session._records, "the records are gone")
    again = c.schedule(square, args=(3,))
    chained = c.schedule(square, args=(again,))
    del again  # still needed as an input
    assert chained.fetch(20) == 81
    until(lambda: len(c._session._records) == 1, "only one is held")


def test_ready_value_of_another_coordinator_is_an_argument(cluster: Cluster) -> None:
    a, b = cluster.coordinator(), cluster.coordinator()
    value = a.schedule(square, args=(3,))
    value.fetch()
    assert b.schedule(square, args=(value,)).fetch(20) == 81
    pending = a.schedule(time.sleep, args=(60,))
    with pytest.raises(ValueError, match="another coordinator and is not ready"):
        b.schedule(square, args=(pending,))
    pending.cancel()


def test_python_value_is_an_argument_of_a_named_function(cluster: Cluster) -> None:
    c = cluster.coordinator(continue_on_error=True)
    numbers = c.schedule(lambda: [1, 2, 6])
    assert c.schedule("mean", args=(numbers,)).fetch(20) == 3
    assert c.schedule(square, args=(c.schedule("mean", args=([4],)),)).fetch(20) == 16
    pickled = c.schedule(lambda: {1, 2})
    with pytest.raises(muster.InputError, match="pickled Python value"):
        c.schedule("mean", args=(pickled,)).fetch(20)


def test_definitions_of_a_main_program_are_sent_with_its_calls(cluster: Cluster, tmp_path: Any) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"""
import dataclasses, muster

@dataclasses.dataclass
class Point:
    x: int

def right(p):
    return Point(p.x + 1)

with muster.ClusterCoordinator({cluster.server.grpc!r}) as c:
    print(c.schedule(right, args=(c.schedule(right, args=(Point(3),)),)).fetch(20))
""")
    made = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert made.stdout == "Point(x=5)\n", made.stderr


def test_module_that_workers_lack_is_named(cluster: Cluster, tmp_path: Any, monkeypatch: Any
                                           ) -> None:
    (tmp_path / "only_here.py").write_text("def f():\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_here  # type: ignore[import-not-found]

    c = cluster.coordinator()
    with pytest.raises(muster.InputError, match="no module 'only_here'"):
        c.schedule(only_here.f).fetch(20)


def test_large_arguments_and_values_are_complete(cluster: Cluster) -> None:
    c = cluster.coordinator()
    data = bytes(range(256)) * (8 << 12)
    value = c.schedule(lambda d: d + b"!", args=(data,))
    assert value.fetch(60) == data + b"!"
    assert c.schedule(len, args=(value,)).fetch(60) == len(data) + 1
    assert c.schedule(len, args=(bytes(33 << 20),)).fetch(60) == 33 << 20


def test_as_completed_yields_finished_values_first(cluster: Cluster) -> None:
    c = cluster.coordinator()
    slow = c.schedule(lambda: time.sleep(0.5) or "slow")
    fast = c.schedule(lambda: "fast")
    assert [v.fetch() for v in muster.as_completed([slow, fast], 20)] == ["fast", "slow"]


def test_bars_show_progress_if_tqdm_is_installed(cluster: Cluster, monkeypatch: Any) -> None:
    bars: list[Any] = []

    class Tqdm:
        def __init__(self, total: Any) -> None:
            self.total, self.n, self.closed = total, 0, False
            bars.append(self)

        def update(self, n: int) -> None:
            self.n += n

        def close(self) -> None:
            self.closed = True

    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Tqdm))
    c = cluster.coordinator()
    assert len(list(c.map(square, range(600), progress=True))) == 600
    values = [c.schedule(square, args=(i,)) for i in range(5)]
    assert len(list(muster.as_completed(values, 20, progress=True))) == 5
    assert [(b.total, b.n, b.closed) for b in bars] == [(600, 600, True), (5, 5, True)]
    list(c.map(square, range(3)))
    assert list(muster.as_completed([], progress=True)) == []
    assert len(bars) == 3 and bars[2].closed
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as if tqdm were not installed
    assert list(c.map(square, range(3), progress=True)) == [0, 1, 4]


def test_tqdm_itself_shows_bars(cluster: Cluster, capsys: Any) -> None:
    pytest.importorskip("tqdm")
    assert len(list(cluster.coordinator().map(square, range(600), progress=True))) == 600
    assert "600/600" in capsys.readouterr().err


def test_values_can_be_awaited(cluster: Cluster) -> None:
    c = cluster.coordinator()

    async def main() -> Any:
        a = c.schedule(square, args=(3,))
        b = await c.async_schedule(square, (a,))
        got = [await asyncio.gather(a, b)]
        async for value in muster.as_completed([a, b], 20):
            got.append(value.fetch())
        await c.async_join()
        got.append(await c.async_fetch({"a": a}))
        failed = c.schedule(lambda: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            await failed
        return got

    assert asyncio.run(main())[0] == [9, 81]


def test_cancelled_await_cancels_its_calls_or_leaves_them_running(cluster: Cluster) -> None:
    c = cluster.coordinator()
    slow, others = c.schedule(time.sleep, args=(60,)), {"a": [c.schedule(time.sleep, args=(60,))]}

    async def in_vain(awaited: Any) -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(awaited, 0.2)

    began = time.monotonic()
    asyncio.run(in_vain(c.async_join()))
    assert not slow.done() and c._session._cuts == []
    asyncio.run(in_vain(muster.as_completed([slow]).__anext__()))
    assert not slow.done()
    asyncio.run(in_vain(c.async_fetch(others)))
    with pytest.raises(muster.CancelledError):
        others["a"][0].fetch(20)
    assert not slow.done() and time.monotonic() - began < 30
    c.cancel()


def test_abandoned_join_takes_no_error(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    c = cluster.coordinator()
    path = tmp_path / "fails"

    def fails() -> None:
        while not path.exists():
            time.sleep(0.01)
        raise ValueError("of whoever waits")

    async def main() -> None:
        value = c.schedule(fails)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(c.async_join(), 0.2)
        path.touch()
        with pytest.raises(ValueError):
            await value
        with pytest.raises(ValueError, match="of whoever waits"):
            await c.async_join(20)

    asyncio.run(main())


def test_timed_out_anext_loses_no_value(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    c = cluster.coordinator()
    path = tmp_path / "ends"

    def ends(x: int) -> int:
        while not path.exists():
            time.sleep(0.01)
        return x

    async def main() -> list[int]:
        values = muster.as_completed([c.schedule(ends, args=(i,)) for i in range(3)], 20)
        for _ in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(values.__anext__(), 0.05)
        path.touch()
        found = []
        while True:
            try:
                found.append((await asyncio.wait_for(values.__anext__(), 0.003)).fetch())
            except asyncio.TimeoutError:
                pass
            except StopAsyncIteration:
                break
        late = muster.as_completed([c.schedule(time.sleep, args=(60,))], 0.1)
        with pytest.raises(muster.WaitTimeout, match="1 closure did not finish in time"):
            await late.__anext__()
        return sorted(found)

    assert asyncio.run(main()) == [0, 1, 2]
    c.cancel()


def test_value_provides_a_future(cluster: Cluster) -> None:
    c = cluster.coordinator(continue_on_error=True)
    assert c.schedule(square, args=(3,)).future().result(20) == 9
    assert isinstance(c.schedule(lambda: 1 // 0).future().exception(20), ZeroDivisionError)


def test_invalid_options_are_refused(cluster: Cluster) -> None:
    c = cluster.coordinator()
    for wrong in ({"retries": -1}, {"timeout": -1.0}, {"task": "worker:x"}):
        with pytest.raises(ValueError):
            c.options(**wrong)
    with pytest.raises(TypeError):
        c.options(nothing=1)
