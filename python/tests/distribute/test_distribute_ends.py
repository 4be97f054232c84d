"""Events that end the tasks of a distribute coordinator: errors, the end of the data, interruptions."""
from __future__ import annotations

import json
import logging
import os
import pathlib
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from conftest import DEADLINE, HERE, Cluster, until
from muster import distribute
from recorded import TWO, InGraph, context, run


def test_error_of_the_only_function_is_raised() -> None:
    def fails(strategy: Any) -> None:
        raise RuntimeError("no cake")

    with pytest.raises(RuntimeError, match="no cake"):
        run(fails, TWO, InGraph())


def test_first_error_stops_the_others_and_is_raised() -> None:
    freed: list[Any] = []

    def f(strategy: Any) -> None:
        if context().is_chief:
            raise KeyError("no cake")
        try:
            context().wait_for_other_workers()
        except threading.BrokenBarrierError as error:
            freed.append((context().stop_requested, str(error)))
            raise

    start = time.monotonic()
    with pytest.raises(KeyError, match="no cake"):
        run(f, {"chief": ["c:1"], **TWO})
    assert freed == [(True, "barrier: chief:0 has failed")] * 2
    assert time.monotonic() - start < DEADLINE


def test_end_of_the_data_stops_the_others_and_is_not_an_error() -> None:
    def f(strategy: Any) -> None:
        if context().task_id:
            raise distribute.EndOfData
        until(lambda: context().stop_requested)

    assert run(f, TWO) is None


def test_later_failures_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    def f(strategy: Any) -> None:
        if context().task_id:
            raise distribute.EndOfData
        until(lambda: context().stop_requested)
        raise OSError("the checkpoint is not written")

    assert run(f, TWO) is None
    (line,) = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert line.getMessage() == "worker:0 has failed after it was asked to stop; the exception is not raised"
    assert line.exc_info and str(line.exc_info[1]) == "the checkpoint is not written"


def test_signal_that_ends_the_program_stops_the_threads() -> None:
    code = """
import os, signal, sys, muster

def train(strategy):
    c = muster.get_current_worker_context()
    c.wait_for_other_workers()
    if c.is_chief:
        os.kill(os.getpid(), signal.SIGTERM)
    while not c.stop_requested:
        pass
    os.write(1, b"stopped\\n")

signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
muster.run_distribute_coordinator(train, cluster_spec={"worker": ["a:1", "b:1"]}, environment={})
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                         env={**os.environ, "PYTHONPATH": str(HERE.parent)})
    assert (ran.returncode, ran.stdout.split()) == (3, ["stopped"] * 2), ran.stderr


def test_thread_that_cannot_start_stops_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    begins = threading.Thread.start

    def refuses(self: threading.Thread) -> None:
        if self.name == "worker:1":
            raise RuntimeError("can't start new thread")
        begins(self)

    stopped = threading.Event()

    def f(strategy: Any) -> None:
        until(lambda: context().stop_requested)
        stopped.set()

    monkeypatch.setattr(threading.Thread, "start", refuses)
    with pytest.raises(RuntimeError, match="can't start"):
        run(f, TWO)
    assert stopped.is_set()


def test_task_that_does_not_stop_is_named(caplog: pytest.LogCaptureFixture) -> None:
    over = threading.Event()

    def f(strategy: Any) -> None:
        if context().task_id:
            raise distribute.EndOfData
        over.wait(DEADLINE)

    with pytest.raises(RuntimeError, match="still running after they were asked to stop: worker:0"):
        run(f, TWO, stop_grace=0.1)
    over.set()
    over.clear()

    def fails(strategy: Any) -> None:
        if context().task_id:
            raise KeyError("no cake")
        over.wait(DEADLINE)

    with pytest.raises(KeyError, match="no cake"):
        run(fails, TWO, stop_grace=0.1)
    over.set()
    assert [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING] == [
        "these threads are still running after they were asked to stop: worker:0"]


def test_barrier_breaks_when_a_task_has_returned_or_does_not_arrive() -> None:
    def f(strategy: Any) -> None:
        if not context().is_chief:
            context().wait_for_other_workers()

    with pytest.raises(threading.BrokenBarrierError, match="worker:0 can no longer arrive at the barrier"):
        run(f, TWO)
    over = threading.Event()

    def late(strategy: Any) -> None:
        try:
            over.wait(DEADLINE) if context().is_chief else context().wait_for_other_workers()
        finally:
            over.set()

    with pytest.raises(threading.BrokenBarrierError, match="1 of 2 participants arrived within 0.1 s; missing: worker:0"):
        run(late, TWO, barrier_timeout=0.1)


SERVES = """import muster
muster.run_distribute_coordinator(lambda strategy: 1, mode=MODE)
"""


@pytest.mark.parametrize("mode", ["independent_worker", "standalone_client"])
def test_sigterm_lets_a_standard_server_finish_its_work(cluster: Cluster, tmp_path: pathlib.Path, mode: str) -> None:
    def works(folder: str) -> int:
        for step in ("begun", "finished"):
            while step == "finished" and not os.path.exists(os.path.join(folder, "go")):
                time.sleep(0.01)
            open(os.path.join(folder, step), "w").close()
        return 5

    config = {"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "ps", "index": 0}}
    code = SERVES.replace("MODE", f"muster.distribute.CoordinatorMode({mode!r})")
    server = subprocess.Popen([sys.executable, "-c", code], env={
        **os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "TF_CONFIG": json.dumps(config),
        "MUSTER_COORDINATOR": cluster.server.grpc})
    try:
        value = cluster.coordinator().options(task="ps:0").submit(works, str(tmp_path))
        until((tmp_path / "begun").exists, "it runs")
        server.terminate()
        until(lambda: any(t["job"] == "ps" and t["draining"] for t in cluster.server.tasks()), "the server leaves")
        (tmp_path / "go").touch()
        assert value.fetch(20) == 5 and server.wait(DEADLINE) == 0
    finally:
        server.kill()
        server.wait()
