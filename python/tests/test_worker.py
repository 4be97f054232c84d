"""Workers: functions with names, what they report, how they and their closures end."""
from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
import urllib.request
from typing import Any, Callable, Iterator

import pytest

import muster
from conftest import Cluster, until
from muster._wire.messages import ServerMessage, WorkerMessage
from muster.worker.held import Held

MakeCluster = Callable[..., Cluster]


def test_a_function_with_a_name_takes_and_gives_json(cluster: Cluster) -> None:
    c = cluster.coordinator()
    assert c.schedule("mean", args=([1, 2, 6],)).fetch() == 3
    assert c.schedule("mean", args=([1, 2, 6],), kwargs={"offset": 0.5}).fetch() == 3.5


def test_what_is_no_json_is_told(cluster: Cluster) -> None:
    c = cluster.coordinator(continue_on_error=True)
    with pytest.raises(TypeError, match="no_json returns what is no JSON"):
        c.schedule("no_json").fetch()


def test_what_is_printed_and_logged_becomes_lines_of_the_closure(cluster: Cluster) -> None:
    c = cluster.coordinator()
    session = c.wait_open()

    def talk() -> None:
        import logging
        import sys

        print("printed")
        print("without an end", end="")
        sys.stderr.write("to stderr\n")
        logging.info("logged %d", 5)

    kept = c.schedule(talk)
    kept.fetch()
    text = until(lambda: logs_of(cluster, session), "the lines are there")
    for line in ("printed", "without an end", "to stderr", "logged 5"):
        assert line in text


def logs_of(cluster: Cluster, job: str) -> str:
    with urllib.request.urlopen(f"{cluster.server.http}/api/v1/jobs/{job}/logs", timeout=10) as a:
        return str(a.read().decode())


def test_progress_is_shown_while_it_runs(cluster: Cluster) -> None:
    server = cluster.server
    job = server.post("/api/v1/jobs", {"closures": [{"function": "progress", "args": [30]}]})
    until(lambda: "a quarter" in str(server.get(f"/api/v1/jobs/{job['id']}/closures")),
          "the progress is shown")
    server.post(f"/api/v1/jobs/{job['id']}/cancel", {})
    until(lambda: server.get(f"/api/v1/jobs/{job['id']}")["state"] == "CANCELLED",
          "it is cancelled")


def test_a_failure_has_class_message_traceback_and_worker(cluster: Cluster) -> None:
    c = cluster.coordinator()
    with pytest.raises(ValueError, match="too few") as caught:
        c.schedule("fail", args=("too few",)).fetch()
    error: Any = caught.value
    assert isinstance(error, muster.ClosureError)
    assert error.kind is muster.FailureKind.USER and error.type == "ValueError"
    assert error.worker.startswith("worker:") and error.attempt == 1
    assert "served.py" in error.remote_traceback and "runner.py" not in error.remote_traceback


def test_a_process_that_dies_is_a_counted_loss_and_comes_back(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "1")
    c = cluster.coordinator(continue_on_error=True)
    with pytest.raises(muster.AbortedError, match="3 workers were lost"):
        c.schedule("die", args=("signal",)).fetch(20)
    assert "was killed by SIGSEGV" in worker.text()
    assert c.schedule("mean", args=([4],)).fetch(20) == 4


def test_a_closure_that_loses_its_process_once_is_run_again(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1")

    def die_once() -> int:
        import os

        if muster.context().attempt == 1:
            os._exit(7)
        return muster.context().attempt

    assert cluster.coordinator().schedule(die_once).fetch(20) == 2


def test_a_cancelled_function_is_interrupted(cluster: Cluster) -> None:
    c = cluster.coordinator()
    running = c.schedule(time.sleep, args=(60,))
    until(cluster.server.running, "it runs")
    began = time.monotonic()
    running.cancel()
    with pytest.raises(muster.CancelledError):
        running.fetch(20)
    assert time.monotonic() - began < 10


def test_one_that_does_not_listen_is_killed_and_others_are_not_blamed(make_cluster: MakeCluster
                                                                       ) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "1", "--stop-grace", "500ms")
    c = cluster.coordinator()
    running = c.schedule("deaf", args=(60,))
    behind = c.schedule("mean", args=([1],))
    until(cluster.server.running, "it runs")
    running.cancel()
    with pytest.raises(muster.CancelledError, match="did not stop within 0.5 s"):
        running.fetch(20)
    assert behind.fetch(20) == 1
    assert "killed: it did not stop" in worker.text()


def test_sigterm_lets_what_runs_finish(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "2")
    c = cluster.coordinator()
    values = [c.schedule(time.sleep, args=(0.5,)) for _ in range(2)]
    until(lambda: cluster.server.running() == 2, "both run")
    assert worker.stop() == 0
    assert c.fetch(values, 5) == [None, None]


def test_it_comes_back_when_the_server_does(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "2")
    server = cluster.server
    grpc, http = server.grpc, server.http.partition("//")[2]
    server.kill()
    server.start(grpc, http)
    cluster.wait_connected(2)
    assert cluster.coordinator().schedule("mean", args=([4],)).fetch(20) == 4


def test_threads_share_a_process(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--threads", "4")
    c = cluster.coordinator()

    def who() -> tuple[int, str]:
        import os
        import threading

        time.sleep(0.2)
        print("a line of a thread")
        return os.getpid(), threading.current_thread().name

    began = time.monotonic()
    found = c.fetch([c.schedule(who) for _ in range(4)])
    assert len({pid for pid, _ in found}) == 1 and len({name for _, name in found}) == 4
    assert time.monotonic() - began < 0.7


def test_a_module_that_cannot_be_imported_is_told(cluster: Cluster) -> None:
    made = subprocess.run([sys.executable, "-m", "muster", "worker", "no_such_module", "--server",
                           cluster.server.grpc, "--processes", "1"], capture_output=True, text=True,
                          timeout=30)
    assert made.returncode == 1
    assert "ModuleNotFoundError: No module named 'no_such_module'" in made.stderr


def test_wrong_words_are_told() -> None:
    made = subprocess.run([sys.executable, "-m", "muster", "worker", "--processes", "0"],
                          capture_output=True, text=True, timeout=30)
    assert made.returncode == 2 and "must be at least 1" in made.stderr


def test_resources_and_gpus_are_shared_out(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "2", "--gpus", "4,5")
    c = cluster.coordinator().options(resources={"gpu": 1})

    def visible() -> str:
        import os

        time.sleep(0.3)
        return os.environ["CUDA_VISIBLE_DEVICES"]

    assert sorted(v.fetch(20) for v in [c.schedule(visible), c.schedule(visible)]) == ["4", "5"]


@contextlib.contextmanager
def own_worker(cluster: Cluster, **options: Any) -> Iterator[muster.Worker]:
    """One of this process, of the job "own"."""
    worker = muster.Worker(cluster.server.grpc, job="own", **options)
    worker.function("twice", lambda x: 2 * x)
    ended: list[int] = []
    thread = threading.Thread(target=lambda: ended.append(worker.run()))
    thread.start()
    try:
        yield worker
    finally:
        worker.stop()
        thread.join(20)
    assert ended == [0]


def test_a_worker_object_serves_functions_of_its_own(cluster: Cluster) -> None:
    with own_worker(cluster, threads=1):
        assert cluster.coordinator().schedule("twice", args=(21,)).fetch(20) == 42


def test_what_runs_goes_on_when_the_connection_breaks(cluster: Cluster) -> None:
    def slow() -> int:
        time.sleep(3)
        return muster.context().attempt

    with own_worker(cluster, processes=1) as worker:
        value = cluster.coordinator().options(task="own").schedule(slow)
        until(cluster.server.running, "it runs")
        time.sleep(2)  # the server waits for a quarter of the time that it has run
        worker._attachments[0]._call.cancel()
        assert value.fetch(20) == 1


def test_answers_that_nobody_waits_for_are_left_out() -> None:
    held = Held()
    held.sent(ServerMessage(closure=[1, 2], attempt=[1, 4]))
    said = WorkerMessage(closure=[1, 2, 3], attempt=[1, 3, 1], value=[b"a", b"", b"c"],
                         execution_us=[1, 2, 3], returned_closure=[2], returned_attempt=[3],
                         log_closure=[1], log_text=["kept"])
    said.failure.add(position=1)
    assert not held.wanted(said)
    left = held.only_wanted(said)
    assert (list(left.closure), list(left.value), len(left.failure)) == ([1], [b"a"], 0)
    assert not left.returned_closure and list(left.log_text) == ["kept"]
    held.answered(left)
    assert held.attempts == {2: 4}
