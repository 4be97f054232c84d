"""The contract of concurrent.futures.Executor: calls that run, are cancelled, or outlive the executor and the main code."""
from __future__ import annotations

import concurrent.futures
import gc
import itertools
import os
import pathlib
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Iterator

import pytest

import muster
from conftest import DEADLINE, Cluster, until
from muster.coordinator.link import Link
from muster.coordinator.session import Session
from muster.errors import FailureKind

PACKAGE = pathlib.Path(muster.__file__).parent.parent


def touched_when(go: pathlib.Path, begun: pathlib.Path, ended: pathlib.Path) -> str:
    begun.touch()
    while not go.exists():
        time.sleep(0.01)
    ended.touch()
    return "ended"


class Gate:
    """Calls that run until the gate is opened. The end of the `with` block opens it, so a failed test does not wait for its calls."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.go = folder / "go"

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *_: object) -> None:
        self.go.touch()

    def arguments(self, name: str) -> tuple[Any, ...]:
        return touched_when, self.go, self.folder / f"{name}.begun", self.folder / f"{name}.ended"

    def begun(self, name: str) -> bool:
        return (self.folder / f"{name}.begun").exists()

    def ended(self, name: str) -> bool:
        return (self.folder / f"{name}.ended").exists()


@pytest.fixture
def gate(tmp_path: pathlib.Path) -> Iterator[Gate]:
    with Gate(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with one worker, so that a second call waits."""
    made = Cluster(tmp_path_factory.mktemp("one"))
    made.add("--processes", "1")
    yield made
    made.close()


def is_sent(executor: muster.Executor, future: Any) -> bool:
    return bool(future.value._record.token <= executor._coordinator._session._last_sent)


def test_running_call_is_not_cancelled(one: Cluster, gate: Gate) -> None:
    with muster.Executor(one.server.grpc) as executor, gate:
        running = executor.submit(*gate.arguments("first"))
        until(lambda: gate.begun("first"))
        assert not running.cancel() and running.running() and not running.cancelled()
        gate.go.touch()
        assert running.result(DEADLINE) == "ended"
        assert not running.cancel() and not running.running()


def test_queued_call_is_cancelled(one: Cluster, gate: Gate) -> None:
    with muster.Executor(one.server.grpc) as executor, gate:
        executor.submit(*gate.arguments("first"))
        until(lambda: gate.begun("first"))
        queued = executor.submit(*gate.arguments("second"))
        until(lambda: is_sent(executor, queued), "the call is sent")
        assert not queued.running() and queued.cancel() and queued.cancelled() and queued.done()
        with pytest.raises(concurrent.futures.CancelledError):
            queued.result(DEADLINE)
        gate.go.touch()
        executor.submit(int).result(DEADLINE)
        assert not gate.begun("second")


def test_each_of_two_threads_cancels_a_queued_call(one: Cluster, gate: Gate) -> None:
    with muster.Executor(one.server.grpc) as executor, concurrent.futures.ThreadPoolExecutor(2) as threads:
        executor.submit(*gate.arguments("first"))
        until(lambda: gate.begun("first"))
        queued = [executor.submit(int) for _ in range(100)]
        both = threading.Barrier(2)

        def cancel_all() -> list[bool]:
            answers = []
            for future in queued:
                both.wait(DEADLINE)
                answers.append(future.cancel())
            return answers

        answers = [t.result(DEADLINE) for t in (threads.submit(cancel_all), threads.submit(cancel_all))]
        gate.go.touch()
        assert answers == [[True] * 100] * 2 and all(future.cancelled() for future in queued)


def counted(folder: pathlib.Path, name: str) -> None:
    (folder / name).touch()
    if name.startswith("0"):
        time.sleep(0.05)


def test_cancel_that_races_with_a_start_has_one_outcome(one: Cluster, tmp_path: pathlib.Path) -> None:
    """If `cancel` returns True there is never a result, although a worker may have started the call. If it returns False the call
    runs once and has a result."""
    with muster.Executor(one.server.grpc) as executor:
        cancelled = 0
        for turn in range(5):
            futures = {name: executor.submit(counted, tmp_path, name)
                       for name in (f"{n % 10}.{n}.{turn}" for n in range(100))}
            until(lambda: (tmp_path / f"0.0.{turn}").exists())
            answers = {name: future.cancel() for name, future in futures.items()}
            for name, future in futures.items():
                assert future.cancelled() is answers[name]
                if answers[name]:
                    with pytest.raises(concurrent.futures.CancelledError):
                        future.result(0)
                else:
                    assert future.result(DEADLINE) is None and (tmp_path / name).exists()
            cancelled += sum(answers.values())
        assert cancelled > 0


def test_cancel_futures_cancels_only_queued_calls(one: Cluster, gate: Gate) -> None:
    executor = muster.Executor(one.server.grpc)
    running = executor.submit(*gate.arguments("first"))
    until(lambda: gate.begun("first"))
    queued = [executor.submit(*gate.arguments("other")) for _ in range(50)]
    executor.shutdown(wait=False, cancel_futures=True)
    assert all(future.cancelled() for future in queued) and not running.cancelled()
    gate.go.touch()
    executor.shutdown()
    assert running.result(0) == "ended" and not gate.begun("other")


def test_unsent_call_is_cancelled_without_a_server() -> None:
    executor = muster.Executor("127.0.0.1:1", connect_timeout=60)
    future = executor.submit(int)
    called = threading.Event()
    future.add_done_callback(lambda _: called.set())
    assert future.cancel() and called.wait(DEADLINE)
    executor.shutdown()


def test_unreachable_server_leaves_calls_uncancelled(one: Cluster, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: Any) -> Any:
        raise muster.UnavailableError(FailureKind.DEPENDENCY_LOST, "", "no connection")

    with muster.Executor(one.server.grpc) as executor, gate:
        executor.submit(*gate.arguments("first"))
        until(lambda: gate.begun("first"))
        with monkeypatch.context() as patched:
            patched.setattr(Link, "_ask_on_stream", unreachable)
            patched.setattr(Session, "_cancel_limit", 0.2)
            queued = executor.submit(int)
            until(lambda: is_sent(executor, queued))
            assert not queued.cancel()
        gate.go.touch()
        assert queued.result(DEADLINE) == 0


def test_cancel_is_repeated_until_the_connection_is_restored(make_cluster: Callable[..., Cluster], gate: Gate,
                                                             tmp_path: pathlib.Path) -> None:
    made = make_cluster("--data-dir", str(tmp_path / "data"))
    made.add("--processes", "1")
    with muster.Executor(made.server.grpc) as executor, concurrent.futures.ThreadPoolExecutor() as threads:
        executor.submit(*gate.arguments("first"))
        until(lambda: gate.begun("first"))
        queued: Any = executor.submit(*gate.arguments("second"))
        assert not queued.running()
        until(lambda: is_sent(executor, queued))
        made.server.kill()
        until(lambda: executor._coordinator._session._away_since is not None)
        cancelled = threads.submit(queued.cancel)
        made.server.start(made.server.grpc, made.server.http.partition("//")[2])
        try:
            assert cancelled.result(DEADLINE) and queued.cancelled()
        finally:
            gate.go.touch()
    assert not gate.begun("second")


class EndsExecutor:
    """An argument that shuts its executor down while it is pickled, and that cannot be pickled."""

    def __init__(self, executor: muster.Executor) -> None:
        self.executor = executor

    def __reduce__(self) -> Any:
        self.executor.shutdown(wait=False)
        (future,) = self.executor._futures
        until(lambda: list(future._waiters), "the shutdown waits for the future")
        raise TypeError("cannot be pickled")


def test_shutdown_ends_when_a_submit_fails(one: Cluster) -> None:
    executor = muster.Executor(one.server.grpc)
    with pytest.raises(TypeError):
        executor.submit(id, EndsExecutor(executor))
    assert executor._finishing is not None
    executor._finishing.join(DEADLINE)
    assert not executor._finishing.is_alive()


def test_older_server_stops_running_calls(one: Cluster, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Link, "_ask_on_stream", lambda *_: None)
    with muster.Executor(one.server.grpc) as executor, gate:
        running = executor.submit(*gate.arguments("first"))
        until(lambda: gate.begun("first"))
        assert running.cancel()
        until(lambda: not one.server.running())
        assert not gate.ended("first")


SCRIPTS = {
    "ends": "",
    "shutdown": "e.shutdown(wait=False)",
    "collected": "del e, fs; import gc; gc.collect()",
    "cancel_futures": "import time\nwhile not os.path.exists(sys.argv[2] + '/0.begun'): time.sleep(0.01)\n"
                      "e.shutdown(wait=False, cancel_futures=True)",
}


@pytest.mark.parametrize("how", SCRIPTS)
def test_submitted_calls_end_before_the_program(cluster: Cluster, tmp_path: pathlib.Path, how: str) -> None:
    program = f"""
import os, sys, muster
from test_executor import touched_in_time
e = muster.Executor(sys.argv[1])
fs = [e.submit(touched_in_time, sys.argv[2], i) for i in range(3)]
{SCRIPTS[how]}
"""
    ended = run_program(program, cluster.server.grpc, str(tmp_path))
    assert ended.returncode == 0 and ended.stderr == "", ended.stderr
    begun = {p.name.split(".")[0] for p in tmp_path.glob("*.begun")}
    assert {p.name.split(".")[0] for p in tmp_path.glob("*.ended")} == begun
    assert begun == {"0", "1", "2"} if how != "cancel_futures" else "0" in begun


def test_mapped_calls_end_before_the_program(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    program = """
import sys, functools, muster
from test_executor import touched_in_time
muster.Executor(sys.argv[1]).map(functools.partial(touched_in_time, sys.argv[2]), range(3))
"""
    ended = run_program(program, cluster.server.grpc, str(tmp_path))
    assert ended.returncode == 0 and ended.stderr == "", ended.stderr
    assert len(list(tmp_path.glob("*.ended"))) == 3


def touched_in_time(folder: str, number: int) -> None:
    pathlib.Path(folder, f"{number}.begun").touch()
    time.sleep(0.5)
    pathlib.Path(folder, f"{number}.ended").touch()


def run_program(code: str, *words: str) -> Any:
    path = os.pathsep.join([str(PACKAGE), str(PACKAGE / "tests"), str(pathlib.Path(__file__).parent)])
    code = "import cloudpickle, test_executor; cloudpickle.register_pickle_by_value(test_executor)\n" + code
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": path})


def test_map_results_outlive_their_executor(cluster: Cluster) -> None:
    results = muster.Executor(cluster.server.grpc).map(bytes, [3 << 20, 1])
    gc.collect()
    assert [len(each) for each in results] == [3 << 20, 1]


def test_executor_knows_how_many_calls_run_at_the_same_time(cluster: Cluster) -> None:
    with muster.Executor(cluster.server.grpc) as executor:
        assert executor._max_workers == 3


def test_executor_names_itself_in_errors(cluster: Cluster) -> None:
    with pytest.raises(TypeError, match="Executor: unknown option 'max_worker'"):
        muster.Executor(cluster.server.grpc, max_worker=3)  # type: ignore[call-arg]
    with muster.Executor(cluster.server.grpc, name="mine") as executor:
        assert repr(executor) == f"<muster.Executor of <muster.ClusterCoordinator {cluster.server.grpc} 'mine'>>"
        unknown: Callable[..., Any] = executor.map
        with pytest.raises(TypeError, match="chunk_size"):
            unknown(abs, [1], chunk_size=3)


def test_map_submits_at_most_buffersize_calls_ahead(cluster: Cluster) -> None:
    taken = itertools.count()
    with muster.Executor(cluster.server.grpc) as executor:
        results = executor.map(abs, taken, buffersize=4)
        assert [next(results) for _ in range(3)] == [0, 1, 2]
        assert next(taken) <= 3 + 4
        results.close()  # type: ignore[attr-defined]
        with pytest.raises(ValueError):
            executor.map(abs, [1], buffersize=0)


@pytest.fixture(autouse=True)
def _by_value() -> None:
    """Pickles this module by value, because workers cannot import it."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
